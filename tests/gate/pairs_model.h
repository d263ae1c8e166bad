#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/clock.h"

/// A naive model of what a gate does with policies of one key: lists of events, and the rules of
/// docs/accuracy.md written down one after the other. It knows no ceilings, plans, undo or stores.
namespace weir::gate::pairs {

enum class Action : std::uint8_t { flag, graylist, challenge, deny };
inline const char* name_of(Action action) {
  constexpr const char* kNames[] = {"flag", "graylist", "challenge", "deny"};
  return kNames[static_cast<int>(action)];
}
inline bool refuses(Action action) { return action >= Action::challenge; }

enum class How : std::uint8_t { failed_401, ok_200, aborted, upstream_failed, not_sent };
inline const char* name_of(How how) {
  constexpr const char* kNames[] = {"401", "200", "aborted", "upstream failed", "not sent"};
  return kNames[static_cast<int>(how)];
}

struct Rung {
  bool at = false;  ///< else over
  int limit = 1;
  Action action = Action::flag;
  std::int64_t listed_for = 0;  ///< ms; 0: it lists nobody
  bool clear = false;
  bool holds(double value) const { return at ? value >= limit : value > limit; }
};

/// A policy, drawn at random.
struct Drawn {
  enum class Metric : std::uint8_t { count, sum, distinct, in_flight };
  std::string name;
  int version = 1;  ///< so that no two policies share a counter
  bool outcome = false, shared = false, shadow = false, guards_other = false, always = false,
       reset = false, every = false;
  Metric metric = Metric::count;
  std::int64_t window = 10'000;
  std::vector<Rung> rungs;

  static Drawn draw(std::mt19937_64& random, const std::string& name, int version) {
    const auto one_of = [&](unsigned n) { return random() % n == 0; };
    Drawn out;
    out.name = name;
    out.version = version;
    out.metric = static_cast<Metric>(random() % 4);
    const bool flies = out.metric == Metric::in_flight;
    out.outcome = !flies && one_of(2);
    out.shared = one_of(2);
    out.shadow = one_of(3);
    out.guards_other = one_of(4);
    out.always = !flies && one_of(5);
    out.reset = !flies && out.outcome && one_of(3);
    out.every = !flies && one_of(3);
    Rung last;
    last.action = static_cast<Action>(random() % 4);
    last.at = one_of(2);
    last.limit = 1 + static_cast<int>(random() % 4);
    last.clear = !flies && one_of(3);
    const auto lists = [&](Rung& rung) {
      const bool may = rung.action != Action::flag;
      const bool must = rung.action == Action::graylist;
      if (must || (may && one_of(2)))
        rung.listed_for = static_cast<std::int64_t>(1'000 + random() % 6'000);
    };
    lists(last);
    if (one_of(3) && last.limit > 1) {
      Rung first;
      first.at = true;
      first.limit = last.limit - 1;
      first.action = one_of(2) ? Action::flag : Action::graylist;
      if (first.action <= last.action) {
        lists(first);
        out.rungs.push_back(first);
      }
    }
    out.rungs.push_back(last);
    return out;
  }

  std::string yaml() const {
    constexpr const char* kMetrics[] = {"count", "sum(n)", "distinct(user)", "in_flight"};
    std::string out = "  - {name: " + name + ", version: " + std::to_string(version) +
                      ", watch: " + (outcome ? "failed" : "try") +
                      ", key: ip, metric: " + kMetrics[static_cast<int>(metric)];
    if (metric != Metric::in_flight) {
      const std::string length = std::to_string(window) + "ms";
      out += every ? ", window: {every: " + length + "}"
                   : ", window: {last: " + length + ", exact: true}";
    }
    if (shared) out += ", share: redis";
    if (shadow) out += ", mode: shadow";
    if (guards_other) out += ", guard: other";
    if (always) out += ", charge: always";
    if (reset) out += ", reset: ok";
    out += ",\n     then: [";
    for (const Rung& rung : rungs) {
      if (&rung != &rungs.front()) out += ", ";
      out += std::string(rung.at ? "{at: " : "{over: ") + std::to_string(rung.limit) +
             ", do: " + name_of(rung.action);
      if (rung.listed_for != 0) out += ", for: " + std::to_string(rung.listed_for) + "ms";
      if (rung.clear) out += ", clear: true";
      out += "}";
    }
    return out + "]}\n";
  }
};

struct Try {
  int id = 0;
  bool other = false;  ///< POST /other instead of POST /try
  unsigned user = 0;
  int amount = 1;
};

class Model {
 public:
  explicit Model(const std::vector<Drawn>& policies) {
    for (const Drawn& policy : policies) all_.push_back({policy, {}, {}, {}});
  }
  /// The order of the file after a reload.
  void order_as(const std::vector<Drawn>& policies) {
    std::stable_sort(all_.begin(), all_.end(), [&](const State& a, const State& b) {
      const auto at = [&](const State& of) {
        return std::find_if(policies.begin(), policies.end(),
                            [&](const Drawn& p) { return p.name == of.policy.name; });
      };
      return at(a) < at(b);
    });
  }

  struct Said {
    bool passes = true;
    std::map<std::string, double> values;  ///< what each policy reads
  };

  Said judge(const Try& request, TimePoint now) {
    Said out;
    struct Planned {
      State* state;
      bool applies, counts, reserves;
      double value, settled;
    };
    std::vector<Planned> plan;
    const Event event{to_ms(now), request.user, request.amount};
    bool refused = false;
    for (State& state : all_) {
      const Drawn& policy = state.policy;
      const bool watches = !request.other;
      const bool guards = request.other == policy.guards_other;
      if (!watches && !guards) continue;
      if (guards && lists_refuse(state, now)) {
        refused = refused || !policy.shadow;
        continue;  // whom its own list refuses is not counted
      }
      const Event* const itself = watches ? &event : nullptr;
      plan.push_back({&state, guards, watches, watches && policy.outcome,
                      value(state, now, itself, true), value(state, now, itself, false)});
      out.values[policy.name] = plan.back().value;
    }
    for (const Planned& planned : plan) {
      const Rung* const won = winner(planned.state->policy, planned.value);
      refused = refused || (!planned.state->policy.shadow && planned.applies && won != nullptr &&
                            refuses(won->action));
    }
    out.passes = !refused;
    for (const Planned& planned : plan) {
      State& state = *planned.state;
      const Drawn& policy = state.policy;
      const Rung* const crowded = winner(policy, planned.value);
      const bool would_refuse = policy.shadow && planned.applies && crowded != nullptr &&
                                refuses(crowded->action) && !policy.always;
      if (planned.counts && refused && policy.always) {
        state.events.push_back(event);
      } else if (planned.counts && !refused && !would_refuse) {
        if (policy.metric == Drawn::Metric::in_flight) {
          state.flying.insert(request.id);
        } else if (planned.reserves) {
          state.open[request.id] = event;
        } else {
          state.events.push_back(event);
        }
      }
      // What others have under way is no ground to remember anything.
      const Rung* const won = winner(policy, planned.settled);
      if (won == nullptr) continue;
      const bool counted = refused ? policy.always : !planned.reserves;
      const bool refuses_itself =
          planned.applies && refuses(won->action) && (refused || policy.shadow);
      if (counted || refuses_itself) remember(state, *won, now);
    }
    return out;
  }

  /// The request is over; what the policies that counted its answer read then.
  std::map<std::string, double> end(int id, How how, TimePoint now) {
    std::map<std::string, double> out;
    std::vector<State*> matched;
    for (State& state : all_) {
      const auto found = state.open.find(id);
      if (found == state.open.end()) continue;
      if (how == How::failed_401 || how == How::aborted) {
        state.events.push_back(found->second);
        matched.push_back(&state);
      }
      state.open.erase(found);
    }
    for (State* const state : matched) {
      const double settled = value(*state, now, nullptr, false);
      out[state->policy.name] = settled;
      if (const Rung* const won = winner(state->policy, settled)) remember(*state, *won, now);
    }
    for (State& state : all_) {
      if (how == How::ok_200 && state.policy.reset) state.events.clear();
    }
    forget(id);
    return out;
  }
  void forget(int id) {
    for (State& state : all_) state.flying.erase(id);
  }

  /// `list`: as the policy's own list is called.
  bool is_listed(const std::string& list, TimePoint now) const {
    for (const State& state : all_) {
      for (const auto& [action, until] : state.listed_until) {
        const std::string name =
            state.policy.name + ":" + name_of(action) + (state.policy.shadow ? ":shadow" : "");
        if (name == list) return to_ms(now) < until;
      }
    }
    return false;
  }

 private:
  struct Event {
    std::int64_t at;
    unsigned user;
    int amount;
  };
  struct State {
    Drawn policy;
    std::vector<Event> events;  // settled
    std::map<int, Event> open;  // reservations
    std::set<int> flying;       // in_flight
    std::map<Action, std::int64_t> listed_until{};
  };

  static const Rung* winner(const Drawn& policy, double value) {
    const Rung* best = nullptr;
    for (const Rung& rung : policy.rungs) {
      if (rung.holds(value) && (best == nullptr || rung.action >= best->action)) best = &rung;
    }
    return best;
  }

  static double value(const State& state, TimePoint now, const Event* itself, bool with_open) {
    const Drawn& policy = state.policy;
    if (policy.metric == Drawn::Metric::in_flight)
      return static_cast<double>(state.flying.size() + (itself != nullptr ? 1 : 0));
    std::vector<Event> in;
    const std::int64_t ms = to_ms(now);
    for (const Event& event : state.events) {
      const bool live = policy.every ? event.at / policy.window == ms / policy.window
                                     : ms - policy.window < event.at;
      if (live) in.push_back(event);
    }
    if (with_open) {
      for (const auto& [id, event] : state.open) in.push_back(event);
    }
    if (itself != nullptr) in.push_back(*itself);
    double sum = 0;
    std::set<unsigned> users;
    for (const Event& event : in) {
      sum += event.amount;
      users.insert(event.user);
    }
    return policy.metric == Drawn::Metric::count ? static_cast<double>(in.size())
           : policy.metric == Drawn::Metric::sum ? sum
                                                 : static_cast<double>(users.size());
  }

  static bool lists_refuse(const State& state, TimePoint now) {
    return std::any_of(
        state.listed_until.begin(), state.listed_until.end(),
        [&](const auto& entry) { return refuses(entry.first) && to_ms(now) < entry.second; });
  }

  static void remember(State& state, const Rung& rung, TimePoint now) {
    if (rung.clear) state.events.clear();
    if (rung.listed_for == 0) return;
    std::int64_t& until = state.listed_until[rung.action];
    until = std::max(until, to_ms(now) + rung.listed_for);
  }

  std::vector<State> all_;
};

}  // namespace weir::gate::pairs
