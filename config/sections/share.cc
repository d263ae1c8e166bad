#include "config/sections/share.h"

#include <algorithm>

#include "config/sections/sections.h"
#include "config/text/shapes.h"
#include "core/chars/parse.h"
#include "core/text.h"

namespace weir::config {
namespace {

void read_part(Reader& r, const Member& m, OnErrorDef& out) {
  const auto text = r.scalar(m);
  if (!text) return;
  const auto part = parse_whole<double>(*text);
  if (!part || !(*part > 0 && *part <= 1)) {
    return r.error(
        *m.value, "\"" + std::string(*text) + "\" is not a part of the limits",
        "write a number over 0, up to 1: with 5 replicas, 0.2 keeps the total within the limit");
  }
  out.part = *part;
}

constexpr Row<OnErrorDef> kOnError[] = {
    {{"local", R"({"type":"number","exclusiveMinimum":0,"maximum":1})", "number over 0, up to 1",
      "required", "Count alone, against this part of the limits."},
     read_part},
};

constexpr Row<ShareDef> kShareRedis[] = {
    {{"sync", shape::kDuration, "duration, 10ms to 10s", "required",
      "Judge by the counts that this replica knows, and exchange counts at this interval."},
     [](Reader& r, const Member& m, ShareDef& def) {
       const auto length = r.duration(m, ShareDef::kSyncMin, ShareDef::kSyncMax);
       if (length) def.sync = Duration{*length, m.value->where};
     }},
};

constexpr Row<ShareDef> kShare[] = {
    {{"redis", R"({"$ref":"#/$defs/share_redis"})", "map (below)", "required",
      "How the counts get to the other replicas through Redis."},
     [](Reader& r, const Member& m, ShareDef& def) {
       r.walk(*m.value, "\"share: {redis: ...}\"", kShareRedis, def);
     }},
};

/// Why replicas that judge for themselves can't exchange it, and what can be done; limiter::Merge
/// is how they exchange the rest.
struct Obstacle {
  std::string_view why;
  const char* hint = "write share: redis";
};
std::optional<Obstacle> obstacle(Metric metric, const WindowDef* window) {
  using Kind = Metric;
  using Form = WindowDef::Kind;
  if (const std::string_view why = row_of(metric).alone; !why.empty()) return Obstacle{why};
  if (window == nullptr) return {};
  if (metric == Kind::distinct && window->kind == Form::leaky)
    return Obstacle{window->is_rate
                        ? "the use of a burst by other replicas does not say which members used it"
                        : "a bucket's level from other replicas does not say which members are in "
                          "it"};
  if (window->kind == Form::events)
    return Obstacle{"each replica would have different last events"};
  if (window->from_first && metric != Kind::count && metric != Kind::sum) {
    return Obstacle{"only for counts and sums Redis knows when the first event was",
                    "leave out from, or write share: redis"};
  }
  if (metric == Kind::average && window->kind == Form::last && window->exact) {
    return Obstacle{"replicas exchange an average in buckets",
                    "leave out exact, or write share: redis"};
  }
  const bool extreme = metric == Kind::minimum || metric == Kind::maximum;
  if (extreme && window->kind == Form::last) {
    return Obstacle{
        "a minimum or maximum leaves its window with its event, and other replicas do not have "
        "that event",
        "write window: {every: ...}, or share: redis"};
  }
  return {};
}

/// Each metric of a policy with each of its windows.
template <class F>
void for_each_counter(const PolicyDef& policy, F f) {
  if (policy.metrics.empty()) f(policy.metric, policy.window ? &*policy.window : nullptr);
  for (const NamedMetricDef& named : policy.metrics) {
    const WindowDef* const window = named.window    ? &*named.window
                                    : policy.window ? &*policy.window
                                                    : nullptr;
    f(named.metric, window);
  }
  for (const Rung& rung : policy.then) {
    if (rung.in) f(policy.metric, &rung.in->value);
  }
}

/// Falls back to asking the store each time, with a warning that requests wait.
void ask_each_time(Reader& reader, PolicyDef& policy, const Obstacle& obstacle) {
  reader.problems().warning(
      policy.share->sync->where,
      "asks Redis for each request in spite of \"sync\": " + std::string(obstacle.why),
      obstacle.hint);
  policy.share->sync.reset();
}

void check_sync(Reader& reader, PolicyDef& policy) {
  const Duration sync = *policy.share->sync;
  std::optional<Obstacle> first;
  const auto has_radius = [](const NamedMetricDef& metric) {
    return radius_of(metric.key) != nullptr;
  };
  if (radius_of(policy.key) != nullptr ||
      std::any_of(policy.metrics.begin(), policy.metrics.end(), has_radius)) {
    first = Obstacle{"a place with a radius is counted in nine cells",
                     "write share: redis, or cell: 6"};
  }
  for_each_counter(policy, [&](const MetricDef& metric, const WindowDef* window) {
    if (!first) first = obstacle(metric.kind, window);
  });
  if (first) return ask_each_time(reader, policy, *first);
  for_each_counter(policy, [&](const MetricDef&, const WindowDef* window) {
    if (window != nullptr &&
        (window->kind == WindowDef::Kind::last || window->kind == WindowDef::Kind::every) &&
        window->length < 2 * sync.value) {
      reader.problems().error(
          sync.where, "\"sync\" is too slow for a window of " + human_duration(window->length),
          "exchange counts at least twice in a window");
    }
    if (window != nullptr && window->kind == WindowDef::Kind::leaky &&
        window->capacity.as_real() * static_cast<double>(window->drain.count()) <
            static_cast<double>(2 * sync.value.count()) * window->drains) {
      reader.problems().error(sync.where,
                              "\"sync\" is too slow for a bucket that becomes empty in less than "
                              "two exchanges",
                              window->is_rate ? "exchange at least twice in burst / rate"
                                              : "exchange at least twice in capacity x drain");
    }
  });
  if (policy.on_error &&
      !(policy.on_error->what == OnErrorDef::What::local && policy.on_error->part == 1)) {
    reader.problems().error(policy.on_error->where,
                            "with \"sync\" a request does not ask Redis, so on_error never applies",
                            "leave out on_error: weir continues with the counts that it has");
  }
}

/// Warns of a small limit of which a part is less than one event.
void check_part(Reader& reader, const PolicyDef& policy) {
  const Metric kind = policy.metric.kind;
  const bool counts =
      kind == Metric::count || kind == Metric::distinct || kind == Metric::in_flight;
  if (!policy.on_error || policy.on_error->part == 1 || !counts) return;
  for (const Rung& rung : policy.then) {
    const auto* limit = std::get_if<Located<Number>>(&rung.limit);
    if (limit == nullptr || rung.compare == Compare::under) continue;
    const double part = limit->value.as_real() * policy.on_error->part;
    if (rung.compare == Compare::over ? part >= 1 : part > 1) continue;
    reader.problems().warning(policy.on_error->where,
                              "while Redis is away this part of the limit " +
                                  limit->value.to_string() +
                                  " is less than one event: the rung holds for every one",
                              "take a larger part, or write on_error: deny");
    return;
  }
}

/// The store knows the open matches and their deadlines, but not the end of all input.
void check_shared_pattern(Reader& reader, PolicyDef& policy) {
  const PatternDef& pattern = *policy.pattern;
  if (policy.share->sync) ask_each_time(reader, policy, {"replicas cannot add up a pattern"});
  if (pattern.kind == PatternDef::Kind::pair && !pattern.within && !pattern.before &&
      !pattern.after) {
    reader.problems().error(policy.share->where,
                            "without \"within\" a pair waits for the end of input, which never "
                            "comes with share: redis",
                            "write within: 5s, or {before: 3s, after: 5s}");
  }
  if (policy.on_error && policy.on_error->part != 1) {
    reader.problems().error(policy.on_error->where, "a pattern has no limit to take a part of",
                            "write on_error: local");
  }
}

}  // namespace

void read_share(Reader& reader, const Member& m, std::optional<ShareDef>& out) {
  if (m.value->is_map()) {
    ShareDef def{m.value->where, {}};
    reader.walk(*m.value, "\"share\"", kShare, def);
    if (def.sync) out = def;
    return;
  }
  const auto redis = reader.choice<bool>(m, {{"local", false}, {"redis", true}});
  if (redis && *redis) out = ShareDef{m.value->where, {}};
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

void check_share(Reader& reader, PolicyDef& policy) {
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
    check_shared_pattern(reader, policy);
  } else if (!policy.window && policy.metric.kind != Metric::in_flight && policy.metrics.empty()) {
    reader.problems().error(where, "a policy that counts nothing has nothing to share",
                            "give it a window, such as window: 10m");
  }
  if (policy.share->sync && !policy.pattern) check_sync(reader, policy);
  check_part(reader, policy);
  if (policy.clock && policy.clock->value == PolicyClock::event) {
    reader.problems().error(policy.clock->where,
                            "a shared counter uses the clock of the store, not the times of events",
                            "leave out clock or share");
  }
  if (policy.retain) {
    reader.problems().error(policy.retain->where,
                            "a shared counter keeps no events beyond its window");
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
  for (const ViewDef& view : model.views) {
    if (view.share) shared.push_back(*view.share);
  }
  const auto& redis = model.server.redis;
  for (const Where& where : shared) {
    if (redis) continue;
    problems.error(where, "\"share: redis\" needs \"redis\": say where Redis is",
                   "write redis: {url: redis://127.0.0.1:6379}");
  }
  if (!shared.empty() && redis && !redis->secret && !redis->secret_file) {
    problems.warning(redis->where,
                     "without \"secret\" keys are hashed by a constant that everybody knows",
                     "write secret_file, the same on every replica");
  }
}

void add_share_tables(std::vector<TableDoc>& out) {
  out.push_back(doc_of<kShare>("share", "\"share\"", "Share", "The long form of `share`."));
  out.push_back(doc_of<kShareRedis>(
      "share_redis", "\"share: {redis: ...}\"", "Share, redis",
      "Replicas exchange their counts, instead of asking Redis for each request."));
  out.push_back(
      doc_of<kOnError>("on_error", "\"on_error\"", "On error", "The long form of `on_error`."));
}

}  // namespace weir::config
