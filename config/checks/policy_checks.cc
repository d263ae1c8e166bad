#include "config/checks/policy_checks.h"

#include <algorithm>
#include <cmath>

#include "config/checks/exactness.h"
#include "config/checks/rung_order.h"
#include "config/sections/patterns.h"
#include "config/sections/sections.h"
#include "config/sections/share.h"
#include "config/text/units.h"
#include "config/text/yaml_text.h"
#include "core/text.h"

namespace weir::config {
namespace {

/// The smallest whole reading at which an upward rung with a number holds.
std::optional<double> holds_from(const Rung& rung) {
  const auto* limit = std::get_if<Located<Number>>(&rung.limit);
  if (limit == nullptr) return std::nullopt;
  const double number = limit->value.as_real();
  if (rung.compare == Compare::over) return std::floor(number) + 1;
  if (rung.compare == Compare::at) return std::ceil(number);
  return std::nullopt;
}

std::string threshold(const Rung& rung) {
  const auto* limit = std::get_if<Located<Number>>(&rung.limit);
  return std::string(name_of(rung.compare)) + ": " + limit->value.to_string();
}

/// A count of the last so many events and a reading that is kept member by member cannot pass the
/// number of events or members kept.
void check_keep(Reader& reader, const PolicyDef& policy) {
  using By = LargestReading::By;
  for (const Rung& rung : policy.then) {
    const auto* limit = std::get_if<Located<Number>>(&rung.limit);
    const WindowDef* const window = window_of(policy, rung);
    const auto largest = largest_reading(policy, window);
    if (limit == nullptr || !largest || (largest->by != By::events && largest->by != By::keep) ||
        !largest->is_below(rung.compare, limit->value))
      continue;
    std::string hint;
    if (largest->by == By::keep) {
      const double needs = holds_from(rung).value_or(std::ceil(limit->value.as_real()));
      const std::size_t most = keep_most(policy);
      hint = needs <= static_cast<double>(most)
                 ? "write keep: " + std::to_string(static_cast<std::int64_t>(needs))
                 : "keep is at most " + std::to_string(most) + " of a key here";
      if (policy.metric.kind == Metric::count && is_read_by_under(policy, window) &&
          rung.compare != Compare::under && !window->exact && !policy.keep) {
        hint = "a rung with \"under\" makes the window exact, and an exact window keeps at most " +
               std::to_string(keep_of(policy, window)) +
               " events of a key: give one of the two a policy of its own";
      }
    }
    reader.problems().error(limit->where,
                            "\"" + threshold(rung) + "\" " + largest->text(rung.compare), hint);
  }
}

/// Metrics with bounds of their own. Only events in flight can come on top of a leaky bucket's
/// reading.
void check_bounds(Reader& reader, const PolicyDef& policy) {
  using Kind = Metric;
  const Kind kind = policy.metric.kind;
  const bool counts = kind == Kind::count || kind == Kind::distinct || kind == Kind::in_flight ||
                      kind == Kind::exists;
  for (const Rung& rung : policy.then) {
    const auto* limit = std::get_if<Located<Number>>(&rung.limit);
    if (limit == nullptr || !counts) continue;
    const bool over = rung.compare == Compare::over;
    const auto largest = largest_reading(policy, window_of(policy, rung));
    const bool own = largest && largest->by != LargestReading::By::events &&
                     largest->by != LargestReading::By::keep;  // check_keep has reported the others
    std::string why, hint;
    if (own && largest->is_below(rung.compare, limit->value)) {
      why = largest->text(rung.compare);
    } else if (rung.compare == Compare::under && limit->value.as_real() <= 0) {
      why = "can never hold: nothing is counted below 0";
    } else if ((over && limit->value.as_real() < 0) ||
               (rung.compare == Compare::at && limit->value.as_real() <= 0)) {
      why = "always holds: nothing is counted below 0";
      hint = "for every event write over: 0";
    }
    // Warnings, not errors: the rung may be there only for its readings.
    if (!why.empty()) {
      reader.problems().warning(limit->where, "\"" + threshold(rung) + "\" " + why, hint);
    }
  }
}

/// An estimate that is a number: below 0 it makes no sense, and from a refusing threshold on it
/// refuses every request.
void check_reserve(Reader& reader, const PolicyDef& policy) {
  if (!policy.reserve) return;
  const Parsed<Number> estimate = parse_number(policy.reserve->value);
  if (!estimate) return;
  if (estimate.value->is_negative())
    return reader.problems().error(policy.reserve->where, "an estimate must be 0 or more");
  if (policy.when || policy.mode.value != Mode::enforce) return;
  for (const Rung& rung : policy.then) {
    const auto* limit = std::get_if<Located<Number>>(&rung.limit);
    if (limit == nullptr || rung.condition || rung.action.value != Action::deny ||
        (rung.mode && rung.mode->value != Mode::enforce))
      continue;
    const bool holds = (rung.compare == Compare::over && limit->value < *estimate.value) ||
                       (rung.compare == Compare::at && !(*estimate.value < limit->value));
    if (!holds) continue;
    return reader.problems().warning(
        policy.reserve->where, "every request is refused: \"" + threshold(rung) +
                                   "\" holds for an estimate of " + estimate.value->to_string());
  }
}

/// With `charge: when_allowed` a refused request is not counted: the reading stays at the value
/// where the lowest refusing rung holds. Amounts of a sum can jump over any rung, so sums are left
/// alone; a policy with a guard refuses other requests than it counts; one that resets by `clear`
/// still reads no more than this.
void check_refused_before(Reader& reader, const PolicyDef& policy) {
  const bool grows_by_one = policy.metric.kind == Metric::count ||
                            policy.metric.kind == Metric::distinct ||
                            policy.metric.kind == Metric::in_flight;
  const bool leaks = policy.window && policy.window->kind == WindowDef::Kind::leaky;
  if (policy.charge.value == Charge::always || !grows_by_one || leaks || !policy.guard.empty())
    return;
  for (const Rung& rung : policy.then) {
    const auto from = holds_from(rung);
    if (!from) continue;
    for (const Rung& refusing : policy.then) {
      const bool sure = refuses(refusing.action.value) && !refusing.condition &&
                        (!refusing.mode || refusing.mode->value == Mode::enforce);
      const auto refuses_from = sure ? holds_from(refusing) : std::nullopt;
      if (!refuses_from || *refuses_from >= *from ||
          !reads(policy, rung, window_of(policy, refusing)))
        continue;
      reader.problems().error(std::get<Located<Number>>(rung.limit).where,
                              "\"" + threshold(rung) + "\" can never hold: \"" +
                                  threshold(refusing) +
                                  "\" refuses before, and refused requests are not counted",
                              "write charge: always to count them");
      break;
    }
  }
}

/// If a rung empties the counter, a count that grows by ones does not exceed that threshold, except
/// by events in flight.
void check_cleared_before(Reader& reader, const PolicyDef& policy) {
  const Metric kind = policy.metric.kind;
  if (kind != Metric::count && kind != Metric::distinct) return;
  for (const Rung& rung : policy.then) {
    const auto from = holds_from(rung);
    if (!from) continue;
    for (const Rung& clearing : policy.then) {
      const bool clears = clearing.clear && !clearing.condition &&
                          (!clearing.mode || clearing.mode->value == policy.mode.value);
      const auto clears_from = clears ? holds_from(clearing) : std::nullopt;
      if (!clears_from || *clears_from >= *from ||
          !reads(policy, rung, window_of(policy, clearing)))
        continue;
      reader.problems().warning(std::get<Located<Number>>(rung.limit).where,
                                "\"" + threshold(rung) + "\" is hardly ever reached: \"" +
                                    threshold(clearing) + "\" empties the counter first");
      break;
    }
  }
}

std::string refill_of(const WindowDef& window) { return "1/" + human_duration(window.drain); }

/// Over a rate a rung without threshold is over the burst, and `do: delay` without `hold` holds a
/// request until the rate would have let it through.
void read_rate_rungs(Reader& reader, PolicyDef& policy) {
  constexpr double kHoldMax = 60'000;  // ms
  for (Rung& rung : policy.then) {
    const WindowDef* const window = window_of(policy, rung);
    const bool is_rate = window && window->is_rate;
    if (rung.paces && !is_rate) {
      reader.problems().error(*rung.paces, "\"delay\" needs \"hold\", a duration such as 2s");
      continue;
    }
    if (!is_rate) continue;
    if (rung.compare == Compare::none) {
      rung.compare = Compare::over;
      rung.limit = Located<Number>{window->capacity, rung.where};
    }
    if (!rung.paces) continue;
    const auto* limit = std::get_if<Located<Number>>(&rung.limit);
    if (!rung.durations.empty()) {
      reader.problems().error(*rung.paces,
                              "with \"for\" a delay needs \"hold\", a duration such as 2s");
    } else if (limit == nullptr || rung.compare != Compare::over ||
               !(limit->value < window->capacity)) {
      reader.problems().error(
          *rung.paces,
          "without \"hold\" a delay spaces requests out: it needs \"over\" with a number "
          "below the burst, so that something can wait",
          "write {over: 1, do: delay}, and {do: deny} beside it");
    } else {
      const double ms = static_cast<double>(window->drain.count()) / window->drains;
      const double longest = (window->capacity.as_real() + 1 - limit->value.as_real()) * ms;
      if (longest > kHoldMax) {
        reader.problems().error(
            *rung.paces,
            "this could hold a request for " +
                human_duration(milliseconds{static_cast<std::int64_t>(longest)}) +
                ", and 1m is the longest",
            "lower the burst, or raise \"over\"");
      }
    }
    const bool bounded = std::any_of(policy.then.begin(), policy.then.end(),
                                     [](const Rung& r) { return refuses(r.action.value); });
    if (!bounded) {
      reader.problems().warning(*rung.paces,
                                "above the burst, weir does not hold requests: they all pass",
                                "add {do: deny}, which refuses what is over the burst");
    }
  }
}

/// A leaky bucket that overflows starts again empty: refusing overflows alone refuses one of
/// many.
void warn_of_overflow(Reader& reader, const PolicyDef& policy) {
  for (const Rung& rung : policy.then) {
    const WindowDef* const window = window_of(policy, rung);
    const bool leaks = window && window->kind == WindowDef::Kind::leaky && !window->is_rate;
    if (!leaks || !refuses(rung.action.value) || rung.compare != Compare::none ||
        !rung.durations.empty())
      continue;
    const double capacity = std::floor(window->capacity.as_real());
    reader.problems().warning(
        rung.where,
        "a bucket that overflows is emptied: in a flood this refuses only one request in " +
            std::to_string(static_cast<std::int64_t>(capacity) + 1) + ", and the others pass",
        "write window: {rate: " + refill_of(*window) + ", burst: " + window->capacity.to_string() +
            "}, which refuses all requests above the burst; or give the rung a \"for\"");
  }
}

/// A ban that ends before the counted events leave the window: the next event bans again.
void warn_of_short_bans(Reader& reader, const PolicyDef& policy) {
  for (const Rung& rung : policy.then) {
    const WindowDef* const window = window_of(policy, rung);
    const bool stays = window != nullptr && (window->kind == WindowDef::Kind::last ||
                                             (window->kind == WindowDef::Kind::every));
    const bool threshold = rung.compare == Compare::over || rung.compare == Compare::at;
    if (!stays || !threshold || rung.condition || rung.clear || rung.list ||
        rung.action.value != Action::deny || rung.durations.empty() ||
        (policy.metric.kind != Metric::count && policy.metric.kind != Metric::sum &&
         policy.metric.kind != Metric::distinct)) {
      continue;
    }
    const Duration& ban = rung.durations.front();
    if (ban.value >= window->length) continue;  // short by a bucket at most: left alone
    // A window in buckets counts the whole bucket that its beginning is in.
    const bool rough = window->kind == WindowDef::Kind::last && !window->exact;
    const milliseconds free =
        window->length + (rough ? window->length / window->buckets : milliseconds{0});
    reader.problems().warning(
        ban.where,
        "the ban ends before the count does: events stay in the window for " +
            human_duration(window->length) + ", so the next event bans again",
        "add clear: true to the rung, or write for: " + human_duration(free) + " or more");
  }
}

/// Checks the score of the request, which is not a counter.
void check_score(Reader& reader, const PolicyDef& policy) {
  if (policy.metric.kind != Metric::score) return;
  for (const Rung& rung : policy.then) {
    if (rung.score) {
      reader.problems().error(rung.score->where,
                              "this policy reads the request's score, and adds nothing to it",
                              "write the score in a rung of another policy");
    }
    if (rung.in) {
      reader.problems().error(rung.in->where, "the score has no window: it belongs to one request");
    }
  }
}

/// Checks what a rung needs of its policy.
void check_rungs(Reader& reader, const PolicyDef& policy) {
  for (const Rung& rung : policy.then) {
    const WindowDef* const window = window_of(policy, rung);
    const bool leaks = window && window->kind == WindowDef::Kind::leaky;
    if (rung.compare == Compare::none && !rung.condition && !leaks && !policy.pattern) {
      reader.problems().error(rung.where,
                              "a rung needs a threshold (\"over\", \"at\" or \"under\") or \"if\"");
    }
    const bool ends = window && ((window->kind == WindowDef::Kind::every && !window->from_first) ||
                                 window->kind == WindowDef::Kind::calendar);
    const bool counts = policy.window || rung.in || policy.metric.kind == Metric::in_flight;
    const bool scored = policy.metric.kind == Metric::score;
    if (rung.clear && !counts && !policy.pattern) {
      reader.problems().error(
          rung.where,
          policy.metrics.empty() ? "this policy counts nothing that \"clear\" could empty"
                                 : "\"clear\" empties a policy's own counter, not its metrics",
          policy.metrics.empty() ? "" : "write reset: EVENT, which empties them");
    }
    if (rung.for_window && !ends) {
      reader.problems().error(
          rung.where,
          "\"for: window\" needs a window that ends for all keys at once: every or calendar",
          "write a duration, such as for: 15m");
    }
    if (rung.compare != Compare::none && !policy.metrics.empty() && !policy.window && !scored &&
        policy.metric.kind != Metric::in_flight) {
      reader.problems().error(
          rung.where, "this policy has several metrics and none of its own to compare",
          "name them in \"if\", such as if: '" + policy.metrics.front().name.value + " > 5'");
    }
  }
}

/// Without a key there is one entry, and it applies to every caller.
void check_keyless_memory(Reader& reader, const PolicyDef& policy) {
  if (!policy.key.empty()) return;
  for (const Rung& rung : policy.then) {
    const bool remembers = !rung.durations.empty() || rung.for_window;
    const ActionRow& action = row_of(rung.action.value);
    if (!remembers || rung.list || !action.remembers) continue;
    reader.problems().warning(
        rung.durations.empty() ? rung.where : rung.durations.front().where,
        "this policy has no key: once the rung holds, everybody is " + std::string(action.done) +
            (rung.for_window ? " until the window ends"
                             : " for " + human_duration(rung.durations.front().value)),
        "add key: ip, or leave out \"for\": then the action ends as soon as the count falls");
  }
}

/// Only trailing windows can be kept longer than they are read.
void check_retain(Reader& reader, const PolicyDef& policy) {
  if (!policy.retain) return;
  bool trails = false;
  const auto look = [&](const std::optional<WindowDef>& window) {
    if (!window || window->kind != WindowDef::Kind::last) return;
    trails = true;
    if (policy.retain->value >= window->length) return;
    reader.problems().error(
        policy.retain->where,
        "\"retain\" is shorter than a window of this policy, whose events are kept anyway",
        "write retain: " + human_duration(window->length) + " or more");
  };
  look(policy.window);
  for (const Rung& rung : policy.then) {
    if (rung.in) look(rung.in->value);
  }
  for (const NamedMetricDef& metric : policy.metrics) look(metric.window);
  if (policy.pattern) {
    reader.problems().error(policy.retain->where,
                            "a pattern keeps no history: its open matches are kept for \"within\"");
  } else if (!trails) {
    reader.problems().error(
        policy.retain->where,
        "\"retain\" needs a sliding window: other windows keep only the events that they count",
        "write window: 10m");
  }
}

/// Events with their own times can be counted only in windows that can be computed for any time.
void check_clock(Reader& reader, const PolicyDef& policy) {
  const bool event = policy.clock && policy.clock->value == PolicyClock::event;
  if (policy.late && !event) {
    reader.problems().error(policy.late->where, "with the wall clock no event is late",
                            "write clock: event beside \"late\", if events bring their own times");
  }
  if (!event) return;
  if (policy.retain) {
    reader.problems().error(
        policy.retain->where,
        "\"retain\" uses the wall clock, and this policy counts by the times of its events",
        "leave it out: events are kept for the window, and for \"late\" more");
  }
  if (policy.pattern) {
    reader.problems().error(policy.clock->where, "a pattern uses the wall clock",
                            "weir replay uses the times of the rows");
    return;
  }
  const Where* in_flight = policy.metric.kind == Metric::in_flight ? &policy.clock->where : nullptr;
  bool counts = policy.window.has_value();
  const auto look = [&](const WindowDef& window) {
    counts = true;
    const bool leaks = window.kind == WindowDef::Kind::leaky;
    if (!leaks && !window.from_first) return;
    reader.problems().error(
        window.where,
        window.is_rate ? "a rate uses the wall clock, not the times of events"
        : leaks        ? "a leaky bucket drains by the wall clock, not by the times of events"
                       : "the start of a key's window would depend on late events",
        leaks ? "write window: {last: 10m}, or leave out clock: event"
              : "leave out \"from: first\"");
  };
  if (policy.window) look(*policy.window);
  for (const Rung& rung : policy.then) {
    if (rung.in) look(rung.in->value);
  }
  for (const NamedMetricDef& metric : policy.metrics) {
    if (metric.metric.kind == Metric::in_flight) in_flight = &metric.metric.where;
    if (metric.window) look(*metric.window);
  }
  if (in_flight != nullptr) {
    reader.problems().error(*in_flight,
                            "in_flight counts the requests in flight now: event times do not apply",
                            "leave out clock: event");
  } else if (!counts) {
    reader.problems().error(policy.clock->where,
                            "this policy counts nothing, so it needs no clock");
  }
}

/// Counts of a shadow policy are separate, so that they never reach an enforced rung: such a rung
/// would have nothing to read.
void check_modes(Reader& reader, const PolicyDef& policy) {
  if (policy.mode.value != Mode::shadow) return;
  for (const Rung& rung : policy.then) {
    if (!rung.mode || rung.mode->value != Mode::enforce) continue;
    reader.problems().error(
        rung.mode->where,
        "a rung cannot be enforced in a policy with mode: shadow, whose counts are kept apart",
        "give the policy mode: enforce, and mode: shadow to each rung that must not act");
  }
}

}  // namespace

void check_policy(Reader& reader, PolicyDraft& draft) {
  PolicyDef& policy = draft.policy;
  const std::size_t errors = reader.problems().errors();
  check_modes(reader, policy);
  check_pattern(reader, draft);
  if (draft.sound) read_rate_rungs(reader, policy);
  if (draft.sound) check_near(reader, policy);
  if (draft.sound) check_retain(reader, policy);
  if (draft.sound) check_share(reader, policy);
  if (draft.sound) check_clock(reader, policy);
  if (draft.sound) check_keyless_memory(reader, policy);
  if (draft.pattern.key != nullptr) {
    if (draft.sound && reader.problems().errors() == errors)
      check_rung_order(reader.problems(), policy);
    return;
  }
  if (!draft.has_watch) reader.error(*draft.map, "a policy needs \"watch\"");
  const bool counts = draft.metric != nullptr ||
                      std::any_of(policy.then.begin(), policy.then.end(),
                                  [](const Rung& r) { return r.compare != Compare::none; });
  const bool in_flight = policy.metric.kind == Metric::in_flight;
  const bool scored = policy.metric.kind == Metric::score;
  if (in_flight && draft.window != nullptr) {
    reader.error(*draft.window, "in_flight has no window: it counts the requests in flight now");
  } else if (scored && draft.window != nullptr) {
    reader.error(*draft.window, "the score has no window: it belongs to one request");
  } else if (!in_flight && !scored && !draft.has_window && counts) {
    reader.error(*draft.map, "a policy that counts needs \"window\", such as window: 10m");
  }
  if (in_flight) {
    for (const Rung& rung : policy.then) {
      if (rung.in)
        reader.problems().error(rung.in->where,
                                "in_flight has no window: it counts the requests in flight now");
    }
  } else if (!draft.has_window && !counts) {
    for (const Rung& rung : policy.then) {
      if (rung.in)
        reader.problems().error(rung.in->where, "a rung's own window needs a policy that counts");
    }
  }
  if (!draft.sound) return;
  check_rungs(reader, policy);
  check_score(reader, policy);
  warn_of_overflow(reader, policy);
  warn_of_short_bans(reader, policy);
  check_keep(reader, policy);
  check_bounds(reader, policy);
  check_reserve(reader, policy);
  check_refused_before(reader, policy);
  check_cleared_before(reader, policy);
  if (reader.problems().errors() == errors) check_rung_order(reader.problems(), policy);
}

}  // namespace weir::config
