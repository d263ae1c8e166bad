#include <algorithm>

#include "config/sections/defaults.h"
#include "config/sections/descriptors.h"
#include "config/sections/patterns.h"
#include "config/sections/score_over.h"
#include "config/sections/sections.h"
#include "config/sections/share.h"
#include "config/text/shapes.h"
#include "config/text/yaml_text.h"

namespace weir::config {

std::optional<Mode> read_mode(Reader& reader, const Member& m) { return reader.word(m, kModes); }

namespace {

using KeyCount = WholeNumber<1, 1'000'000'000>;
using Lateness = TimeSpan<0, kDay>;
using CounterVersion = WholeNumber<1, 1'000'000>;
constexpr Row<PolicyDraft> kPolicy[] = {
    {{"name", shape::kName, "name", "required", "The name in verdicts, metrics and lists."},
     [](Reader& r, const Member& m, PolicyDraft& d) {
       set(r.name(m, "a policy", true), d.policy.name);
     }},
    {{"watch", shape::kWatched, "an event, a call (below), or a list of them",
      "required, except for patterns", "What is counted or judged."},
     [](Reader& r, const Member& m, PolicyDraft& d) {
       d.policy.watch = read_watched(r, m, d.policy.described);
     }},
    {{"when", shape::kExpression, "expression", "`true`",
      "Only events for which the expression is true."},
     [](Reader& r, const Member& m, PolicyDraft& d) { d.policy.when = r.expression(m); }},
    {{"key", shape::kKey,
      "field, or list of fields; `ip/24,56` masks IPv4,IPv6; a place: `{near: {lon, lat, radius: "
      "1000m}}` "
      "or `{near: {lon, lat, cell: 6}}`",
      "one counter for all", "Events with the same key are counted together."},
     [](Reader& r, const Member& m, PolicyDraft& d) { read_key(r, m, d.policy.key); }},
    {{"metric", kMetricSchemaOf<PolicyMetrics>, kMetricValuesOf<PolicyMetrics>, "`count`",
      "What is measured."},
     [](Reader& r, const Member& m, PolicyDraft& d) {
       d.metric = m.key;
       read_metric(r, m, d.policy.metric);
     }},
    {{"window", shape::kWindow, "duration, or a window (below)", "required with a metric",
      "Over which time."},
     [](Reader& r, const Member& m, PolicyDraft& d) {
       d.window = m.key;
       d.policy.window = read_window(r, m);
     }},
    {{"reset", shape::kName, "an event", "",
      "An event of the same key whose answer empties the settled count."},
     [](Reader& r, const Member& m, PolicyDraft& d) { d.policy.reset = r.text(m); }},
    {{"then", R"({"type":"array","minItems":1,"items":{"$ref":"#/$defs/rung"}})",
      "list of rungs (below)", "required",
      "Thresholds and their actions; the severest rung that holds wins."},
     [](Reader& r, const Member& m, PolicyDraft& d) {
       read_rungs(r, m, d.policy.then, d.on_score);
     }},
    {{"charge", R"({"enum":["when_allowed","always"]})", "`when_allowed` or `always`",
      "`when_allowed`", "Whether refused requests count."},
     [](Reader& r, const Member& m, PolicyDraft& d) {
       set(m,
           r.choice<Charge>(m,
                            {{"when_allowed", Charge::when_allowed}, {"always", Charge::always}}),
           d.policy.charge);
     }},
    {{"missing", shape::kMissing, kValuesOf<kMissings>, "`skip`",
      "When a key part, a member or an amount is missing or unreadable, or a condition asks for an "
      "answer that cannot be read: with `skip` the event is not counted; with `same` it is "
      "counted, and all "
      "events that lack the field have one key or member (for an amount of the answer, weir counts "
      "`reserve`; an amount of the request adds nothing, and the rungs read the present count); "
      "with `deny` "
      "the request is refused; if the answer lacks the value, the event is counted."},
     [](Reader& r, const Member& m, PolicyDraft& d) {
       set(m, r.word(m, kMissings), d.policy.missing);
     }},
    {{"guard", shape::kWatched, "an event, a call (below), or a list of them", "`watch`",
      "The requests that the verdict applies to."},
     [](Reader& r, const Member& m, PolicyDraft& d) {
       d.policy.guard = read_watched(r, m, d.policy.described);
     }},
    {{"mode", shape::kMode, kValuesOf<kModes>, "`enforce`",
      "`shadow` judges and counts separately, and changes nothing."},
     [](Reader& r, const Member& m, PolicyDraft& d) { set(m, read_mode(r, m), d.policy.mode); }},
    {{"keep", R"({"type":"integer","minimum":1,"maximum":100000})",
      "1 to 50000; 1 to 100000 of a pattern", "1000; 100 of a pattern with `share`",
      "Maximum of events, members or open matches that weir keeps for each key."},
     [](Reader& r, const Member& m, PolicyDraft& d) {
       if (const auto n = r.integer(m, 1, 100'000))
         d.policy.keep = located(m, static_cast<std::size_t>(*n));
     }},
    {KeyCount::doc("keys", "`limits.keys`", "Keys of this counter at most."),
     [](Reader& r, const Member& m, PolicyDraft& d) {
       if (const auto n = KeyCount::read(r, m))
         d.policy.keys = located(m, static_cast<std::size_t>(*n));
     }},
    {{"announce", shape::kBoolean, "`true` or `false`", "`false`",
      "Send RateLimit headers also with answers to requests that pass."},
     [](Reader& r, const Member& m, PolicyDraft& d) { set(r.boolean(m), d.policy.announce); }},
    {{"metrics", R"({"type":"object","additionalProperties":{"$ref":"#/$defs/metric"}})",
      "map of names to metrics (below)", "",
      "Several numbers, each with its own events, key and window, for rungs that compare them."},
     [](Reader& r, const Member& m, PolicyDraft& d) {
       read_named_metrics(r, m, d.policy.metrics);
     }},
    {{"reserve", shape::kExpression, "expression", "0",
      "The estimate of an amount that only the answer tells, such as `sum(response.body.usage)`; "
      "weir also counts it for an answer that cannot be read or was cut short."},
     [](Reader& r, const Member& m, PolicyDraft& d) { d.policy.reserve = r.expression(m); }},
    {{"retain", shape::kDuration, "duration, up to 31d", "the window",
      "Keep events for this time, longer than the window: new policies that count the same, and "
      "whose window "
      "fits, start with that history."},
     [](Reader& r, const Member& m, PolicyDraft& d) {
       if (const auto time = r.duration(m, milliseconds(1), milliseconds(2'678'400'000)))
         d.policy.retain = located(m, *time);
     }},
    {{"clock", R"({"enum":["wall","event"]})", "`wall` or `event`",
      "`wall`; in replay the times of the rows",
      "The clock of the windows: weir's clock, or the time of each event."},
     [](Reader& r, const Member& m, PolicyDraft& d) {
       if (const auto clock = r.choice<PolicyClock>(
               m, {{"wall", PolicyClock::wall}, {"event", PolicyClock::event}}))
         d.policy.clock = located(m, *clock);
     }},
    {Lateness::doc(
         "late", "`0s`",
         "With `clock: event`: how much older than the newest event an event may be. Older "
         "events are not counted."),
     [](Reader& r, const Member& m, PolicyDraft& d) {
       if (const auto time = Lateness::read(r, m)) d.policy.late = located(m, *time);
     }},
    {CounterVersion::doc(
         "version", "1",
         "Part of the counter's identity: with another number the counter starts empty."),
     [](Reader& r, const Member& m, PolicyDraft& d) {
       if (const auto n = CounterVersion::read(r, m)) d.policy.version = located(m, *n);
     }},
    {{"sequence",
      R"({"type":"array","minItems":2,"maxItems":8,"items":{"anyOf":[{"type":"string","minLength":1},{"$ref":"#/$defs/step"}]}})",
      "2 to 8 steps (below)", "",
      "Events of one key in this order; `[a, no b]`: an a, and no b within the time."},
     [](Reader& r, const Member& m, PolicyDraft& d) { read_sequence(r, m, d.pattern); }},
    {{"pair",
      R"({"type":"array","minItems":2,"maxItems":2,"items":{"anyOf":[{"type":"string","minLength":1},{"$ref":"#/$defs/step"}]}})",
      "two steps (below)", "", "Two events of one key that belong together, one to one."},
     [](Reader& r, const Member& m, PolicyDraft& d) { read_pair(r, m, d.pattern); }},
    {{"within", R"({"anyOf":[{"$ref":"#/$defs/duration"},{"$ref":"#/$defs/within"}]})",
      "duration, 1ms to 31d; of a pair also both sides (below)", "required with `sequence`",
      "How long a match may take, inclusive."},
     [](Reader& r, const Member& m, PolicyDraft& d) { read_within(r, m, d.pattern); }},
    {{"strict", shape::kBoolean, "`true` or `false`", "`false`",
      "Of a sequence: no other event of `among` comes between its steps."},
     [](Reader& r, const Member& m, PolicyDraft& d) {
       d.pattern.strict = m.key;
       set(r.boolean(m), d.pattern.def.strict);
     }},
    {{"among", shape::kNames, "an event, or a list of events", "the steps",
      "What ends a strict sequence when it comes between its steps."},
     [](Reader& r, const Member& m, PolicyDraft& d) {
       d.pattern.among = m.key;
       d.pattern.def.among = read_event_names(r, m);
     }},
    {{"overlap", shape::kBoolean, "`true` or `false`", "`true`",
      "Of a sequence: an event may end one match and begin the next."},
     [](Reader& r, const Member& m, PolicyDraft& d) {
       d.pattern.overlap = m.key;
       set(r.boolean(m), d.pattern.def.overlap);
     }},
    {{"share", R"({"anyOf":[{"enum":["local","redis"]},{"$ref":"#/$defs/share"}]})",
      "`local`, `redis` or `{redis: {sync: 200ms}}`", "`local`",
      "Which processes count together: this one, or all replicas (each request asks Redis, or "
      "counts are exchanged)."},
     [](Reader& r, const Member& m, PolicyDraft& d) { read_share(r, m, d.policy.share); }},
    {{"on_error", R"({"anyOf":[{"enum":["local","allow","deny"]},{"$ref":"#/$defs/on_error"}]})",
      "`local`, `{local: 0.2}`, `allow` or `deny`", "`local`",
      "While Redis is away: this replica's own count (against a part of the limits), as if there "
      "were no policy, or a refusal with 503."},
     [](Reader& r, const Member& m, PolicyDraft& d) { read_on_error(r, m, d.policy.on_error); }},
};

}  // namespace

void read_policies(Reader& reader, const Member& section, const PolicyDefaults& defaults,
                   std::vector<PolicyDef>& out) {
  if (section.value->is_null()) {  // all of it commented out
    reader.problems().warning(section.key->where, "\"policies\" is empty: nothing is judged",
                              "write policies: [] if that is meant");
    return;
  }
  if (!section.value->is_list()) {
    std::string name = "...";  // of the first, where names are keys
    const auto& items = section.value->items;
    if (section.value->is_map() && !items.empty() && items[0].value->is_map())
      name = items[0].key->text.substr(0, 64);
    reader.error(*section.value, "\"policies\" must be a list",
                 "begin each policy with - name: " + name);
    return;
  }
  for (const Member& item : section.value->items) {
    PolicyDraft draft;
    draft.map = item.value;
    const std::size_t errors = reader.problems().errors();
    const Seen seen = reader.walk(*item.value, "a policy", kPolicy, draft);
    // A misspelt key is one error: the consequences of its absence are not reported.
    draft.has_window = Reader::has(seen, kPolicy, "window") ||
                       Reader::has(seen, kPolicy, "sequence") ||
                       Reader::has(seen, kPolicy, "pair") || Reader::has(seen, kPolicy, "metrics");
    draft.has_watch = Reader::has(seen, kPolicy, "watch");
    if (draft.pattern.key != nullptr) draft.policy.pattern = draft.pattern.def;
    draft.sound = reader.problems().errors() == errors;
    const auto said = [&](std::string_view key) { return Reader::has(seen, kPolicy, key); };
    apply_defaults(defaults, {said("share"), said("missing"), said("mode"), said("on_error")},
                   draft.policy);
    std::optional<PolicyDraft> scored = split_score_rungs(reader, draft);
    check_policy(reader, draft);
    if (scored) check_policy(reader, *scored);
    draft.policy.sound = reader.problems().errors() == errors;
    if (draft.policy.name.value.empty()) continue;
    out.push_back(std::move(draft.policy));
    if (!scored) continue;
    scored->policy.sound = out.back().sound;
    out.push_back(std::move(scored->policy));
  }
}

void add_policy_tables(std::vector<TableDoc>& out) {
  out.push_back(doc_of<kPolicy>("policy", "a policy", "Policies",
                                "`policies:` is a list of maps with these keys. A policy reads as "
                                "one sentence: *watch* this event, "
                                "*when* a filter holds, per *key*, take this *metric* over this "
                                "*window*; *then* these rungs."));
  add_default_tables(out);
  add_window_tables(out);
  add_near_tables(out);
  add_named_metric_tables(out);
  add_pattern_tables(out);
  add_share_tables(out);
}

}  // namespace weir::config
