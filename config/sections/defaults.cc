#include "config/sections/defaults.h"

#include <algorithm>

#include "config/sections/sections.h"
#include "config/sections/share.h"
#include "config/text/shapes.h"

namespace weir::config {
namespace {

constexpr Row<PolicyDefaults> kDefaults[] = {
    {{"share", R"({"anyOf":[{"enum":["local","redis"]},{"$ref":"#/$defs/share"}]})",
      "`local`, `redis` or `{redis: {sync: 200ms}}`", "`local`",
      "For policies that can share: not for policies that count nothing, nor with `retain` or "
      "`clock: event`."},
     [](Reader& r, const Member& m, PolicyDefaults& d) { read_share(r, m, d.share); }},
    {{"missing", shape::kMissing, kValuesOf<kMissings>, "`skip`",
      "When a key part or amount is missing or unreadable."},
     [](Reader& r, const Member& m, PolicyDefaults& d) {
       if (const auto missing = r.word(m, kMissings)) d.missing = located(m, *missing);
     }},
    {{"mode", shape::kMode, kValuesOf<kModes>, "`enforce`",
      "For policies without `mode`; rungs can still have their own `mode`."},
     [](Reader& r, const Member& m, PolicyDefaults& d) {
       if (const auto mode = read_mode(r, m)) d.mode = located(m, *mode);
     }},
    {{"tell", shape::kTell, kValuesOf<kTells>, "depends on the rung's action",
      "How much callers learn that a rung denies or challenges."},
     [](Reader& r, const Member& m, PolicyDefaults& d) {
       if (const auto tell = read_tell(r, m)) d.tell = located(m, *tell);
     }},
    {{"on_error", R"({"anyOf":[{"enum":["local","allow","deny"]},{"$ref":"#/$defs/on_error"}]})",
      "`local`, `{local: 0.2}`, `allow` or `deny`", "`local`",
      "While Redis is away: for policies that ask Redis for each decision."},
     [](Reader& r, const Member& m, PolicyDefaults& d) { read_on_error(r, m, d.on_error); }},
};

/// As check_share() would have it.
bool can_share(const PolicyDef& policy) {
  if (policy.retain || (policy.clock && policy.clock->value == PolicyClock::event)) return false;
  if (policy.pattern) {
    const PatternDef& pattern = *policy.pattern;
    return pattern.kind != PatternDef::Kind::pair || pattern.within || pattern.before ||
           pattern.after;
  }
  return policy.window || policy.metric.kind == Metric::in_flight || !policy.metrics.empty();
}

}  // namespace

void read_defaults(Reader& reader, const Member& m, PolicyDefaults& out) {
  reader.walk(*m.value, "\"defaults\"", kDefaults, out);
}

void apply_defaults(const PolicyDefaults& defaults, const SaidByPolicy& said, PolicyDef& policy) {
  if (defaults.missing && !said.missing) policy.missing = *defaults.missing;
  if (defaults.mode && !said.mode) policy.mode = *defaults.mode;
  if (defaults.share && !said.share && can_share(policy)) {
    policy.share = defaults.share;
    // Patterns cannot be exchanged.
    if (policy.pattern) policy.share->sync.reset();
  }
  const bool asks = policy.share && !policy.share->sync;
  const bool part = defaults.on_error && defaults.on_error->part != 1;
  if (asks && !said.on_error && !(part && policy.pattern)) policy.on_error = defaults.on_error;
  for (Rung& rung : policy.then) {
    if (defaults.tell && refuses(rung.action.value) && !rung.tell) rung.tell = defaults.tell;
  }
}

void add_default_tables(std::vector<TableDoc>& out) {
  out.push_back(doc_of<kDefaults>(
      "defaults", "\"defaults\"", "Defaults of policies",
      "`defaults:` in the main file applies to the policies of all files that do not set the key "
      "themselves."));
}

}  // namespace weir::config
