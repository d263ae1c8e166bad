#include "config/share.h"

#include <charconv>

#include "config/sections.h"
#include "config/shapes.h"

namespace weir::config {
namespace {

void read_part(Reader& r, const Member& m, OnErrorDef& out) {
  const auto text = r.scalar(m);
  if (!text) return;
  double part = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), part);
  if (error != std::errc{} || end != text->data() + text->size() || !(part > 0 && part <= 1)) {
    return r.error(*m.value, "\"" + std::string(*text) + "\" is no part of the limits",
                   "write a number over 0, up to 1: with 5 replicas 0.2 keeps to the limit in all");
  }
  out.part = part;
}

constexpr Row<OnErrorDef> kOnError[] = {
    {{"local", R"({"type":"number","exclusiveMinimum":0,"maximum":1})", "number over 0, up to 1",
      "required", "Count alone, against this part of the limits."},
     read_part},
};

}  // namespace

void read_share(Reader& reader, const Member& m, std::optional<ShareDef>& out) {
  if (m.value->is_map()) return reader.later(*m.value, "share: {redis: ...}");
  const auto redis = reader.choice<bool>(m, {{"local", false}, {"redis", true}});
  if (redis && *redis) out = ShareDef{m.value->where};
}

void read_on_error(Reader& reader, const Member& m, std::optional<OnErrorDef>& out) {
  OnErrorDef def;
  def.where = m.value->where;
  if (m.value->is_map()) {
    reader.walk(*m.value, "\"on_error\"", kOnError, def);
  } else {
    using What = OnErrorDef::What;
    set(reader.choice<What>(m,
                            {{"local", What::local}, {"allow", What::allow}, {"deny", What::deny}}),
        def.what);
  }
  out = def;
}

void check_share(Reader& reader, const PolicyDef& policy) {
  if (!policy.share) {
    if (policy.on_error) {
      reader.problems().error(
          policy.on_error->where,
          "\"on_error\" is about the shared store, and this policy counts alone",
          "write share: redis");
    }
    return;
  }
  const Where& where = policy.share->where;
  if (policy.pattern) {
    reader.problems().error(where, "a pattern that is shared is not supported yet");
  } else if (radius_of(policy.key) != nullptr) {
    reader.problems().error(where,
                            "a place with a radius cannot be shared: it is nine reads, not one",
                            "write cell: 6 instead of the radius");
  } else if (!policy.window && policy.metric.kind != MetricDef::Kind::in_flight &&
             policy.metrics.empty()) {
    reader.problems().error(where, "a policy that counts nothing has nothing to share",
                            "give it a window, such as window: 10m");
  }
  if (policy.clock && policy.clock->value == PolicyClock::event) {
    reader.problems().error(policy.clock->where,
                            "what is shared goes by the store's clock, not by the events'",
                            "leave out clock or share");
  }
  if (policy.retain) {
    reader.problems().error(policy.retain->where,
                            "what is shared retains nothing beyond its window");
  }
}

void check_shared_store(const Model& model, Problems& problems) {
  std::vector<Where> shared;
  for (const ListDef& list : model.lists) {
    if (list.share) shared.push_back(*list.share);
  }
  for (const PolicyDef& policy : model.policies) {
    if (policy.share) shared.push_back(policy.share->where);
  }
  const auto& redis = model.server.redis;
  for (const Where& where : shared) {
    if (redis) continue;
    problems.error(where, "\"share: redis\" needs \"redis\": where is it?",
                   "write redis: {url: redis://127.0.0.1:6379}");
  }
  if (!shared.empty() && redis && !redis->secret && !redis->secret_file) {
    problems.warning(redis->where,
                     "without \"secret\" keys are hashed by a constant that everybody knows",
                     "write secret_file, the same on every replica");
  }
}

void add_share_tables(std::vector<TableDoc>& out) {
  out.push_back(
      doc_of<kOnError>("on_error", "\"on_error\"", "On error", "The long form of `on_error`."));
}

}  // namespace weir::config
