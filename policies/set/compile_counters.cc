#include <algorithm>

#include "config/checks/exactness.h"
#include "limiter/kinds/kinds.h"
#include "policies/set/compiler.h"

/// The counters of a policy: the events that they count, and so which policies share them.
namespace weir::policies {
namespace {

using config::MetricDef;

/// Reports counters that cannot exist; the parser has checked the rest.
void check_kind(const limiter::CounterSpec& spec, const config::WindowDef& window,
                const config::PolicyDef& def, config::Problems& problems) {
  if (limiter::find_kind(spec) != nullptr) return;
  const std::size_t most = spec.radius != 0 ? limiter::kNearKeepMax : limiter::kKeepMax;
  if (def.keep && def.keep->value > most) {
    problems.error(def.keep->where, "a counter keeps " + std::to_string(most) +
                                        " of a key at most" +
                                        (spec.radius != 0 ? ", if it counts within a radius" : ""));
    return;
  }
  const bool fills =
      spec.metric == Metric::count || spec.metric == Metric::sum || spec.metric == Metric::distinct;
  if (spec.window == limiter::Window::leaky && !fills) {
    problems.error(window.where,
                   window.is_rate ? "a rate reads how much of its burst is taken, and nothing else"
                                  : "a leaky bucket has a level, and nothing else to read",
                   "its metric is count, sum(f) or distinct(f)");
  } else if (const bool every = window.kind == config::WindowDef::Kind::every;
             every && spec.length > limiter::kWindowMax) {
    const bool totals = spec.metric == Metric::count || spec.metric == Metric::sum;
    problems.error(
        window.where,
        window.from_first
            ? std::string("a window from the key's first event has at most 31d")
            : "a window of " + std::string(row_of(def.metric.kind).name) + " has at most 31d",
        totals ? "leave out \"from: first\": then it may have up to 366d"
               : "write every: 31d or less; only counts and sums may have up to 366d");
  } else {
    problems.error(window.where, "this window is beyond what a counter can hold");
  }
}

/// The events that empty the counter of that window: they are part of the counter's identity. A
/// leaky bucket is emptied by each rung without a threshold, too.
std::string cleared_by(const config::PolicyDef& def, const config::WindowDef* window) {
  const bool leaks = window != nullptr && window->kind == config::WindowDef::Kind::leaky;
  std::string out;
  for (const config::Rung& rung : def.then) {
    const Mode mode = rung.mode ? rung.mode->value : def.mode.value;
    const bool acts =
        mode != Mode::disabled && (mode != Mode::shadow || def.mode.value == Mode::shadow);
    const bool empties = rung.clear || (leaks && rung.compare == Compare::none);
    if (!empties || !acts || !config::reads(def, rung, window)) continue;
    out += "cleared " + std::to_string(static_cast<int>(rung.compare));
    if (const auto* number = std::get_if<config::Located<Number>>(&rung.limit))
      out += " " + number->value.to_string();
    if (const auto* text = std::get_if<config::Text>(&rung.limit)) out += " " + text->value;
    if (rung.condition) out += " if " + rung.condition->value;
    out += "; ";
  }
  return out;
}

/// Whether the amounts of any watched event may have fractions: then all of them are doubles.
bool has_real_amounts(const config::PolicyDef& def, const Policy& policy) {
  if (!takes_amount(def.metric.kind)) return false;
  return std::any_of(policy.bindings.begin(), policy.bindings.end(), [](const Binding& b) {
    return b.counts && b.arguments.front().type() != Type::integer;
  });
}

std::optional<double> radius_of(const config::PolicyDef& def) {
  std::optional<double> radius;
  for (const config::KeyPart& part : def.key) {
    if (part.near && part.near->radius) radius = part.near->radius;
  }
  return radius;
}

}  // namespace

/// The properties that the counters of all windows of one policy share.
struct CounterCompiler::Counted {
  std::string events;  ///< the counted events and their filters, for the identity
  bool real = false;
  bool outcome = false;  ///< an answer decides
  bool provisional = false;
  std::optional<double> radius;
};

CounterCompiler::Counted CounterCompiler::counted_by(const config::PolicyDef& def,
                                                     const Policy& policy) const {
  Counted counted;
  counted.real = has_real_amounts(def, policy);
  counted.outcome = std::any_of(policy.bindings.begin(), policy.bindings.end(),
                                [](const Binding& b) { return b.counts && b.outcome; });
  counted.provisional = policy.provisional && !counted.outcome &&
                        def.metric.kind != Metric::in_flight && def.metric.kind != Metric::last;
  counted.radius = radius_of(def);
  for (const Binding& binding : policy.bindings) {
    if (!binding.counts) continue;
    std::string& what = counted.events;
    what += "watch " + names_.event_canonical(binding.event);
    if (binding.when) what += " when " + binding.when->canonical();
    what += " key " + names_.key_canonical(binding.key);
    if (binding.reserve) what += " reserving " + binding.reserve->canonical();
    for (const Expression& argument : binding.arguments) what += " of " + argument.canonical();
    what += "; ";
  }
  return counted;
}

limiter::CounterSpec CounterCompiler::spec_for(const config::PolicyDef& def, const Counted& counted,
                                               const config::WindowDef* window) const {
  using limiter::Window;
  limiter::CounterSpec spec =
      spec_of(def.metric.kind, counted.real, counted.outcome || counted.provisional, window,
              config::keep_of(def, window));
  if (spec.window == Window::ring && config::is_read_by_under(def, window))
    spec.window = Window::log;
  if (counted.radius) {  // every event is kept by itself
    spec.radius = *counted.radius;
    if (spec.window == Window::ring) spec.window = Window::log;
  }
  const bool trails = spec.window == Window::ring || spec.window == Window::log;
  if (def.retain && trails && def.retain->value > spec.length) {
    spec.retain = def.retain->value;
    spec.window = Window::log;  // any window can be computed from a log
  }
  if (def.clock && def.clock->value == config::PolicyClock::event)
    spec.late = def.late ? def.late->value : milliseconds{0};
  return spec;
}

/// All that the identity has besides the metric and the window: the counted events, and all that
/// changes the number.
std::string CounterCompiler::canonical_of(const config::PolicyDef& def, const Counted& counted,
                                          const config::WindowDef* window,
                                          const Counter& counter) const {
  std::string out = counted.events;
  if (def.reset) {
    if (const auto event = names_.event_index.find(def.reset->value);
        event != names_.event_index.end()) {
      out += "reset " + names_.event_canonical(event->second) + "; ";
    }
  }
  out += cleared_by(def, window);
  // The meaning of an unknown answer is a part of the counter's identity.
  if (counted.outcome && def.missing.value != Missing::skip) out += "unknown answers count; ";
  if (counter.always) out += "always; ";
  if (counter.spec.late)
    out += "times of events, late " + std::to_string(counter.spec.late->count()) + " ms; ";
  if (def.version && def.version->value != 1)
    out += "version " + std::to_string(def.version->value) + "; ";
  if (counter.shadow) out += "shadow; ";
  if (def.share) out += def.share->sync ? "share redis sync; " : "share redis; ";
  if (def.peer_key) out += "keys of envoyproxy, " + def.peer_key->prefix + "; ";
  return out;
}

void CounterCompiler::share(const config::PolicyDef& def, Counter& counter) {
  counter.shared = std::make_shared<limiter::SharedCounter>(
      def.peer_key ? limiter::SharedCounter::decimal(counter.identity, counter.spec)
                   : limiter::SharedCounter(counter.identity, counter.spec));
  if (!def.share->sync) return;
  counter.synced =
      limiter::SyncedCounter::of(counter.shared, def.share->sync->value, counter.wall_clock);
  counter.shared = counter.synced.shared;
}

Counter CounterCompiler::counter_of(const config::PolicyDef& def, const Counted& counted,
                                    const config::WindowDef* window, bool shadow) const {
  Counter counter;
  counter.always = def.charge.value == config::Charge::always;
  counter.shadow = shadow;
  counter.keys = def.keys ? def.keys->value : 0;
  counter.spec = spec_for(def, counted, window);
  if (window != nullptr) {
    check_kind(counter.spec, *window, def, problems_);
    counter.window = counter.spec.length;
    counter.is_rate = window->is_rate;
    counter.wall_clock = window->kind == config::WindowDef::Kind::every ||
                         window->kind == config::WindowDef::Kind::calendar;
  }
  const std::string rest = canonical_of(def, counted, window, counter);
  counter.what = identity_of(describe_metric(counter.spec) + " of " + rest);
  counter.spec.what = counter.what;
  counter.canonical = describe(counter.spec) + " " + rest;
  if (counted.provisional) counter.canonical += "reserved; ";
  // A replica's room is not part of a shared identity: the counts in Redis continue.
  if (counter.keys != 0 && !def.share)
    counter.canonical += "keys " + std::to_string(counter.keys) + "; ";
  counter.identity = identity_of(counter.canonical);
  if (def.share) share(def, counter);
  return counter;
}

void CounterCompiler::compile_counters(const config::PolicyDef& def, Policy& policy) {
  if (!policy.has_metric) return;
  const Counted counted = counted_by(def, policy);
  const auto add = [&](const config::WindowDef* window) {
    policy.counters.push_back(intern_counter(counter_of(def, counted, window, policy.shadow)));
  };
  add(def.window ? &*def.window : nullptr);
  for (const config::Rung& rung : def.then) {
    if (rung.in) add(&rung.in->value);
  }
}

std::uint16_t CounterCompiler::intern_counter(Counter counter) {
  for (std::size_t i = 0; i < set_.counters.size(); ++i) {
    if (set_.counters[i].identity != counter.identity) continue;
    set_.counters[i].synced.exchange_within(counter.synced.interval);  // both or neither have one
    set_.counters[i].keys = std::max(set_.counters[i].keys, counter.keys);
    return static_cast<std::uint16_t>(i);
  }
  set_.counters.push_back(std::move(counter));
  return static_cast<std::uint16_t>(set_.counters.size() - 1);
}

void CounterCompiler::compile_resets(const config::PolicyDef& def, Policy& policy) {
  if (!def.reset) return;
  const auto event = names_.find_event(*def.reset);
  if (!event) return;
  Reset reset;
  reset.policy = policy.index;
  reset.event = *event;
  for (const config::KeyPart& part : def.key) {
    if (part.near) {
      Binding place;
      binder_.bind_place(*part.near, set_.events[*event], place);
      if (place.key.empty()) return;
      reset.key.push_back(place.key.front());
      continue;
    }
    const auto slot = names_.key_part_slot(part, set_.events[*event], false);
    if (!slot && set_.events[*event].unread) return;
    if (!slot) {
      problems_.error(def.reset->where, "reset needs the same key, and event \"" +
                                            def.reset->value + "\" does not provide \"" +
                                            part.field.value + "\"");
      return;
    }
    reset.key.push_back(*slot);
  }
  const Binding& counted = policy.bindings.front();
  names_.check_same_key(*def.reset, counted.key, set_.events[counted.event], reset.key,
                        set_.events[*event]);
  set_.resets.push_back(std::move(reset));
}

}  // namespace weir::policies
