#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/clock.h"
#include "tests/gate/pairs_drawn.h"

/// A naive model of what the gates of replicas do with policies of one key: lists of events, and
/// the rules of docs/accuracy.md and docs/redis.md written down one after the other. It knows no
/// ceilings, plans, undo or batches.
namespace weir::gate::pairs {

enum class How : std::uint8_t { failed_401, ok_200, aborted, upstream_failed, not_sent };
inline const char* name_of(How how) {
  constexpr const char* kNames[] = {"401", "200", "aborted", "upstream failed", "not sent"};
  return kNames[static_cast<int>(how)];
}

struct Try {
  int id = 0;
  bool other = false;  ///< POST /other instead of POST /try
  unsigned user = 0;
  int amount = 1;
};

/// Where a request comes in: which replica, and whether it reaches Redis.
struct Here {
  std::size_t replica = 0;
  bool up = true;
};

class Model {
 public:
  explicit Model(const std::vector<Drawn>& policies) {
    for (const Drawn& policy : policies) all_.push_back({policy, {}, {}, {}});
  }

  struct Said {
    bool passes = true;
    std::map<std::string, double> values;  ///< what each policy reads
    std::set<std::string> approximate;     ///< of which the gate said the value
  };

  /// `rows`: the gate's readings. The reading of a window with buckets has only bounds, and within
  /// them the model takes it over.
  Said judge(const Try& request, TimePoint now, Here here,
             const std::map<std::string, double>& rows) {
    Said out;
    bool refused = false;
    std::vector<Planned> plan;
    const Event event{to_ms(now), request.user, request.amount};
    for (State& state : all_) {
      const Drawn& policy = state.policy;
      const bool watches = !request.other;
      const bool guards = request.other == policy.guards_other;
      if (!watches && !guards) continue;
      if (guards && lists_refuse(state, here, now)) {
        refused = refused || !policy.shadow;
        continue;  // whom its own list refuses is not counted
      }
      Planned planned{&state, guards, watches};
      planned.away = policy.shared && !here.up;
      planned.blind = planned.away && policy.on_error == Drawn::OnError::allow;
      refused = refused || (planned.away && policy.on_error == Drawn::OnError::deny && guards &&
                            !policy.shadow);
      planned.part = planned.away && policy.on_error == Drawn::OnError::part ? kPart : 1;
      if (policy.metric != Drawn::Metric::score) read(planned, event, now, here, rows, out);
      plan.push_back(planned);
    }
    // A request that a policy cannot judge (503) is refused before any rung is asked.
    const bool unjudged = std::any_of(plan.begin(), plan.end(), [](const Planned& p) {
      return p.away && p.applies && !p.state->policy.shadow &&
             p.state->policy.on_error == Drawn::OnError::deny;
    });
    add_scores(plan, out);
    for (const Planned& planned : plan) {
      const Rung* const won = winner(planned, planned.value);
      refused = refused || (!planned.state->policy.shadow && planned.applies && won != nullptr &&
                            refuses(won->action));
    }
    out.passes = !refused;
    for (const Planned& planned : plan) {
      count(planned, event, request.id, refused, here);
      if (!unjudged) remember_at_request(planned, refused, here, now);
    }
    return out;
  }

  /// The request is over: the readings of the policies that counted its answer.
  std::map<std::string, double> end(const Try& request, How how, TimePoint now, Here here) {
    std::map<std::string, double> out;
    std::vector<std::pair<State*, Reservation>> matched;
    for (State& state : all_) {
      Known& local = state.local[here.replica];
      const auto found = local.open.find(request.id);
      if (found == local.open.end()) continue;
      const Reservation kept = found->second;
      local.open.erase(found);
      // A settlement that does not reach Redis stays reserved there, for its lifetime.
      const bool in_store = kept.in_store && here.up;
      if (in_store) state.store.open.erase(request.id);
      if (how != How::failed_401 && how != How::aborted) continue;
      local.events.push_back(kept.event);
      if (in_store) state.store.events.push_back(kept.event);
      matched.emplace_back(&state, kept);
    }
    for (const auto& [state, kept] : matched) {
      const bool asks = kept.in_store && here.up;
      const Known& known = asks ? state->store : state->local[here.replica];
      const double settled = value(state->policy, known, now, nullptr, false);
      out[state->policy.name] = settled;
      if (kept.blind) continue;
      Planned planned{state, true, true};
      planned.part = kept.part;
      // A count of this replica alone is emptied in this replica alone.
      const Here read_at{here.replica, asks};
      if (const Rung* const won = winner(planned, settled)) remember(*state, *won, read_at, now);
    }
    for (State& state : all_) {
      if (how == How::ok_200 && !request.other && state.policy.reset)
        for_all(state, here, [](Known& known) { known.events.clear(); });
    }
    forget(request.id, here);
    return out;
  }
  void forget(int id, Here here) {
    for (State& state : all_) for_all(state, here, [&](Known& known) { known.flying.erase(id); });
  }

  /// `list`: as the policy's own list is called.
  bool is_listed(const std::string& list, std::size_t replica, TimePoint now) const {
    for (const State& state : all_) {
      for (const auto& [action, until] : state.listed_until[replica]) {
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
  struct Reservation {
    Event event;
    bool in_store = false, blind = false;
    double part = 1;
  };
  /// The state of the key in one place: Redis, or a replica.
  struct Known {
    std::vector<Event> events;        // settled
    std::map<int, Reservation> open;  // by the request
    std::set<int> flying;             // in_flight
  };
  struct State {
    Drawn policy;
    Known store;
    std::array<Known, kReplicas> local;
    std::array<std::map<Action, std::int64_t>, kReplicas> listed_until;
  };
  struct Planned {
    State* state;
    bool applies, counts;
    bool away = false, blind = false;
    double part = 1;  ///< of its limits
    double value = 0, settled = 0;
    const Drawn& policy() const { return state->policy; }
    bool reserves() const { return counts && state->policy.outcome; }
  };

  /// Changes what is known wherever the change gets to.
  template <class Change>
  static void for_all(State& state, Here here, Change change) {
    change(state.local[here.replica]);
    if (state.policy.shared && here.up) change(state.store);
  }

  static void read(Planned& planned, const Event& event, TimePoint now, Here here,
                   const std::map<std::string, double>& rows, Said& out) {
    const Drawn& policy = planned.policy();
    const Known& known =
        policy.shared && here.up ? planned.state->store : planned.state->local[here.replica];
    const Event* const itself = planned.counts ? &event : nullptr;
    planned.value = value(policy, known, now, itself, true);
    planned.settled = value(policy, known, now, itself, false);
    if (planned.blind) return;
    const auto row = rows.find(policy.name);
    if (policy.form == Drawn::Form::buckets && row != rows.end()) {
      Drawn longer = policy;
      longer.window += policy.window / kBuckets;
      const double most = value(longer, known, now, itself, true);
      if (planned.value <= row->second && row->second <= most) {
        planned.value = planned.settled = row->second;
        out.approximate.insert(policy.name);
      }
    }
    out.values[policy.name] = planned.value;
  }

  /// The scores that the rungs of all policies give this request, for those that compare it.
  static void add_scores(std::vector<Planned>& plan, Said& out) {
    for (Planned& of : plan) {
      if (of.policy().metric != Drawn::Metric::score) continue;
      for (const Planned& planned : plan) {
        const bool adds = planned.applies && (of.policy().shadow || !planned.policy().shadow);
        if (!adds || planned.policy().metric == Drawn::Metric::score) continue;
        if (const Rung* const won = winner(planned, planned.value)) of.value += won->score;
        if (const Rung* const won = winner(planned, planned.settled)) of.settled += won->score;
      }
      out.values[of.policy().name] = of.value;
    }
  }

  static void count(const Planned& planned, const Event& event, int id, bool refused, Here here) {
    State& state = *planned.state;
    const Drawn& policy = state.policy;
    if (!planned.counts || policy.metric == Drawn::Metric::score) return;
    const Rung* const crowded = winner(planned, planned.value);
    const bool would_refuse = policy.shadow && planned.applies && crowded != nullptr &&
                              refuses(crowded->action) && !policy.always;
    if (refused ? !policy.always : would_refuse) return;
    for_all(state, here, [&](Known& known) {
      if (policy.metric == Drawn::Metric::in_flight) {
        known.flying.insert(id);
      } else if (planned.reserves() && !refused) {
        known.open[id] = {event, policy.shared && here.up, planned.blind, planned.part};
      } else {
        known.events.push_back(event);
      }
    });
  }

  /// Requests in flight elsewhere are no reason to remember anything.
  static void remember_at_request(const Planned& planned, bool refused, Here here, TimePoint now) {
    const Drawn& policy = planned.policy();
    const Rung* const won = winner(planned, planned.settled);
    if (won == nullptr) return;
    const bool counted = refused ? policy.always : !planned.reserves();
    const bool refuses_itself =
        planned.applies && refuses(won->action) && (refused || policy.shadow);
    if (counted || refuses_itself) remember(*planned.state, *won, here, now);
  }

  static const Rung* winner(const Planned& planned, double value) {
    const Rung* best = nullptr;
    if (planned.blind) return best;
    for (const Rung& rung : planned.policy().rungs) {
      const bool holds = rung.holds(value, planned.part);
      if (holds && (best == nullptr || rung.action >= best->action)) best = &rung;
    }
    return best;
  }

  static double value(const Drawn& policy, const Known& known, TimePoint now, const Event* itself,
                      bool with_open) {
    if (policy.metric == Drawn::Metric::in_flight)
      return static_cast<double>(known.flying.size() + (itself != nullptr ? 1 : 0));
    if (policy.form == Drawn::Form::rate) return level(policy, known, now, itself);
    std::vector<Event> in;
    const std::int64_t ms = to_ms(now);
    for (const Event& event : known.events) {
      const bool live = policy.form == Drawn::Form::every
                            ? event.at / policy.window == ms / policy.window
                            : ms - policy.window < event.at;
      if (live) in.push_back(event);
    }
    if (with_open) {
      for (const auto& [id, kept] : known.open) in.push_back(kept.event);
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

  /// Of a bucket that one leaves every `window`: after adding, before capping.
  static double level(const Drawn& policy, const Known& known, TimePoint now, const Event* itself) {
    std::vector<Event> events = known.events;
    std::stable_sort(events.begin(), events.end(),
                     [](const Event& a, const Event& b) { return a.at < b.at; });
    events.push_back(itself != nullptr ? *itself : Event{to_ms(now), 0, 0});
    const std::int64_t burst = policy.rungs.back().limit * policy.window;
    std::int64_t full = 0, at = events.front().at;
    for (const Event& event : events) {
      const bool only_looks = &event == &events.back() && itself == nullptr;
      const int amount = policy.metric == Drawn::Metric::sum ? event.amount : 1;
      full = std::max<std::int64_t>(0, std::min(full, burst) - (event.at - at));
      at = event.at;
      if (!only_looks) full += amount * policy.window;
    }
    return static_cast<double>(full) / static_cast<double>(policy.window);
  }

  static bool lists_refuse(const State& state, Here here, TimePoint now) {
    const auto& listed = state.listed_until[here.replica];
    return std::any_of(listed.begin(), listed.end(), [&](const auto& entry) {
      return refuses(entry.first) && to_ms(now) < entry.second;
    });
  }

  static void remember(State& state, const Rung& rung, Here here, TimePoint now) {
    if (rung.clear) for_all(state, here, [](Known& known) { known.events.clear(); });
    if (rung.listed_for == 0) return;
    std::int64_t& until = state.listed_until[here.replica][rung.action];
    until = std::max(until, to_ms(now) + rung.listed_for);
  }

  std::vector<State> all_;
};

}  // namespace weir::gate::pairs
