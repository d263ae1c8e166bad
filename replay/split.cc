#include "replay/split.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "core/words.h"

namespace weir::replay {
namespace {

using policies::KeySlot;
using policies::Policy;
using policies::PolicySet;

/// Smaller lists could be full with the entries of all threads together between two looks at them.
constexpr std::size_t kListMin = 100'000;

/// `ip` of `ip/24`.
std::string_view field_of(std::string_view part) { return part.substr(0, part.find('/')); }

std::optional<std::size_t> place_of(const std::vector<std::string>& names, std::string_view field) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (field_of(names[i]) == field) return i;
  }
  return std::nullopt;
}

bool asks_lists(const std::optional<policies::Expression>& expression) {
  return expression && expression->canonical().find("inList(") != std::string::npos;
}

bool asks_lists(const Policy& policy) {
  return std::any_of(policy.bindings.begin(), policy.bindings.end(), [](const auto& binding) {
    const bool amounts = std::any_of(
        binding.arguments.begin(), binding.arguments.end(),
        [](const auto& each) { return each.canonical().find("inList(") != std::string::npos; });
    const bool rungs =
        std::any_of(binding.rungs.begin(), binding.rungs.end(), [](const auto& rung) {
          const auto* limit = std::get_if<policies::Expression>(&rung.limit.source);
          return asks_lists(rung.condition) || (limit != nullptr && asks_lists(*limit));
        });
    return amounts || rungs || asks_lists(binding.when) || asks_lists(binding.reserve);
  });
}

/// Whether some expression asks a list about fields of its choice.
bool asks_lists(const PolicySet& set) {
  for (std::size_t id = 0; id < set.slots.size(); ++id) {
    if (set.slots[static_cast<policies::SlotId>(id)].text.find("inList(") != std::string::npos)
      return true;
  }
  return std::any_of(set.events.begin(), set.events.end(),
                     [](const auto& event) { return asks_lists(event.when); }) ||
         std::any_of(set.policies.begin(), set.policies.end(),
                     [](const Policy& policy) { return asks_lists(policy); });
}

/// Looks for a field that is in the key of everything that is remembered.
class RowSplit {
 public:
  RowSplit(const PolicySet& set, std::string_view field, bool gives_rows)
      : set_(set), field_(field), gives_rows_(gives_rows) {}

  bool holds() {
    if (!set_.views.empty()) return fails("views count the rows of all of them");
    return std::all_of(set_.policies.begin(), set_.policies.end(),
                       [&](const Policy& policy) { return has_field(policy); }) &&
           resets_have_field() && lists_have_field();
  }
  const std::map<std::string, KeySlot>& places() const noexcept { return places_; }
  const std::string& why() const noexcept { return why_; }

 private:
  bool fails(std::string why) {
    why_ = std::move(why);
    return false;
  }

  /// The same place for all events that one row may be.
  bool join(policies::EventIndex event, const KeySlot& part) {
    const policies::Slot& slot = set_.slots[part.slot];
    if (part.is_place || slot.side == policies::Side::answer || slot.names_event()) return false;
    const auto [at, fresh] = places_.try_emplace(set_.events[event].source, part);
    if (fresh) return true;
    at->second.v4_bits = std::min(at->second.v4_bits, part.v4_bits);
    at->second.v6_bits = std::min(at->second.v6_bits, part.v6_bits);
    return at->second.slot == part.slot;
  }

  bool has_field(const Policy& policy) {
    const std::string name = "policy " + policy.name;
    const bool lists = std::any_of(policy.rungs.begin(), policy.rungs.end(),
                                   [](const auto& rung) { return rung.list.has_value(); });
    const bool remembers =
        !policy.counters.empty() || policy.pattern || lists || !policy.own_lists.empty();
    if (!remembers) return true;
    if (policy.pattern && gives_rows_)
      return fails(name + " is a pattern, whose timers fire in one order for all rows");
    const auto at = place_of(policy.key_names, field_);
    if (!at) return fails(name + " counts without " + std::string(field_));
    for (const std::uint16_t index : policy.counters) {
      const policies::Counter& counter = set_.counters[index];
      if (counter.spec.late) return fails(name + " has a clock of its own for all keys");
    }
    for (const policies::Binding& binding : policy.bindings) {
      if (!join(binding.event, binding.key[*at]))
        return fails(name + " finds " + std::string(field_) + " at another place");
    }
    return true;
  }

  bool resets_have_field() {
    return std::all_of(set_.resets.begin(), set_.resets.end(), [&](const policies::Reset& reset) {
      const Policy& policy = set_.policies[reset.policy];
      const auto at = place_of(policy.key_names, field_);
      return (at && join(reset.event, reset.key[*at])) ||
             fails("the reset of policy " + policy.name + " finds " + std::string(field_) +
                   " at another place");
    });
  }

  /// Named lists that change; the others are the same for all threads.
  bool lists_have_field() {
    std::set<policies::ListIndex> written;
    for (const Policy& policy : set_.policies) {
      for (const policies::Rung& rung : policy.rungs) {
        if (rung.list && !set_.lists[*rung.list].owner) written.insert(*rung.list);
      }
    }
    if (!written.empty() && asks_lists(set_)) return fails("inList() asks about any key");
    return std::all_of(written.begin(), written.end(),
                       [&](policies::ListIndex index) { return has_field(index); });
  }

  bool has_field(policies::ListIndex index) {
    const policies::List& list = set_.lists[index];
    const auto at = place_of(list.of, field_);
    if (!at) return fails("list " + list.name + " is of other fields");
    if (list.max < kListMin) return fails("list " + list.name + " has little room");
    for (const auto* bindings : {&list.bindings, &list.releases}) {
      for (const policies::List::Binding& binding : *bindings) {
        if (!join(binding.event, binding.key[*at]))
          return fails("list " + list.name + " finds " + std::string(field_) + " at another place");
      }
    }
    for (const Policy& policy : set_.policies) {
      for (std::size_t b = 0; b < policy.list_keys.size(); ++b) {
        for (std::size_t r = 0; r < policy.list_keys[b].size(); ++r) {
          if (policy.rungs[r].list != index) continue;
          if (!join(policy.bindings[b].event, policy.list_keys[b][r][*at]))
            return fails("policy " + policy.name + " lists another " + std::string(field_));
        }
      }
    }
    return true;
  }

  const PolicySet& set_;
  std::string_view field_;
  bool gives_rows_;
  std::map<std::string, KeySlot> places_;
  std::string why_;
};

/// Rows of different sources that share something, a list for instance, must go to the same thread.
/// So all sources mask addresses alike: with the shortest prefix of any source.
void mask_alike(std::map<std::string, KeySlot>& places) {
  std::uint8_t v4_bits = 32, v6_bits = 128;
  for (const auto& [source, part] : places) {
    v4_bits = std::min(v4_bits, part.v4_bits);
    v6_bits = std::min(v6_bits, part.v6_bits);
  }
  for (auto& [source, part] : places) {
    part.v4_bits = v4_bits;
    part.v6_bits = v6_bits;
  }
}

/// Both sets look for the field at the same places.
bool merge_places(const PolicySet& set, std::map<std::string, KeySlot>& places,
                  const PolicySet& other, const std::map<std::string, KeySlot>& theirs) {
  for (const auto& [source, part] : theirs) {
    const auto slot = set.slots.find(other.slots[part.slot].text);
    if (!slot) return false;
    const auto [at, fresh] = places.try_emplace(source, part);
    KeySlot& ours = at->second;
    if (fresh) ours.slot = *slot;  // of rows that only the other one counts
    if (ours.slot != *slot) return false;
    ours.v4_bits = std::min(ours.v4_bits, part.v4_bits);
    ours.v6_bits = std::min(ours.v6_bits, part.v6_bits);
  }
  return true;
}

std::optional<Split> split_rows(const PolicySet& set, const PolicySet* other, unsigned threads,
                                bool gives_rows, std::string& why) {
  std::vector<std::string> fields;
  for (const Policy& policy : set.policies) {
    for (const std::string& part : policy.key_names) {
      const std::string field(field_of(part));
      if (std::find(fields.begin(), fields.end(), field) == fields.end()) fields.push_back(field);
    }
  }
  if (fields.empty()) why = "no policy has a key";
  for (const std::string& field : fields) {
    RowSplit ours(set, field, gives_rows);
    if (!ours.holds()) {
      if (why.empty()) why = ours.why();
      continue;
    }
    Split out;
    out.places = ours.places();
    if (other != nullptr) {
      RowSplit theirs(*other, field, gives_rows);
      if (!theirs.holds() || !merge_places(set, out.places, *other, theirs.places())) {
        if (why.empty())
          why = theirs.why().empty() ? "the configurations differ in " + field : theirs.why();
        continue;
      }
    }
    mask_alike(out.places);
    out.by = Split::By::rows;
    out.threads = threads;
    out.field = field;
    out.text = "rows by " + field;
    return out;
  }
  return std::nullopt;
}

/// Whether the result of the policy may change what others count, or what becomes of the event
/// beyond a flag.
bool decides_for_others(const PolicySet& set, const Policy& policy) {
  if (policy.can_refuse || policy.strict || policy.reads_score) return true;
  if (policy.missing == Missing::deny && !policy.shadow) return true;
  const auto acts = [&](policies::ListIndex list) {
    return set.lists[list].owner != policy.index || !set.lists[list].shadow;
  };
  if (std::any_of(policy.own_lists.begin(), policy.own_lists.end(), acts)) return true;
  return std::any_of(policy.rungs.begin(), policy.rungs.end(), [&](const policies::Rung& rung) {
    if (rung.score || (rung.list && acts(*rung.list))) return true;
    const auto severe = std::max(severity(rung.action), severity(rung.effect));
    return !rung.shadow && severe > severity(Action::flag);
  });
}

/// Policies that must be judged by the same thread: each names one of its group.
class Groups {
 public:
  explicit Groups(std::size_t size) : of_(size) { std::iota(of_.begin(), of_.end(), 0); }
  std::size_t find(std::size_t i) {
    while (of_[i] != i) i = of_[i] = of_[of_[i]];
    return i;
  }
  void join(std::size_t a, std::size_t b) { of_[find(b)] = find(a); }

 private:
  std::vector<std::size_t> of_;
};

/// About how much a policy or view costs, where counting one event of every row is 4.
template <class Bindings>
double cost_of(const PolicySet& set, const Bindings& bindings, bool simple) {
  double cost = 0;
  for (const auto& binding : bindings) {
    const policies::Event& event = set.events[binding.event];
    const bool every = event.base == policies::kRequestEvent || !event.source.empty();
    cost += (every ? 4.0 : 1.0) * (1.0 + (binding.outcome ? 1.5 : 0) + (simple ? 0 : 0.5));
  }
  return cost;
}

/// Policies and views that one thread must judge together.
struct Load {
  double cost = 0;
  bool every = false;  // all threads judge by it
  std::vector<std::size_t> policies, views;
};

std::vector<Load> loads_of(const PolicySet& set) {
  Groups groups(set.policies.size());
  std::map<std::uint16_t, std::size_t> by_counter;
  std::optional<std::size_t> pattern;
  for (const Policy& policy : set.policies) {
    for (const std::uint16_t counter : policy.counters)
      groups.join(by_counter.try_emplace(counter, policy.index).first->second, policy.index);
    for (const policies::PolicyIndex meter : policy.meters) groups.join(policy.index, meter);
    // Matches of all patterns are in the order in which their events came.
    if (policy.pattern) groups.join(pattern.value_or(policy.index), policy.index);
    if (policy.pattern) pattern = policy.index;
  }
  std::map<std::size_t, Load> by_group;
  for (const Policy& policy : set.policies) {
    Load& load = by_group[groups.find(policy.index)];
    load.every = load.every || decides_for_others(set, policy);
    load.policies.push_back(policy.index);
    const bool simple = policy.metric == Metric::count && !policy.pattern;
    load.cost += cost_of(set, policy.bindings, simple);
  }
  std::vector<Load> out;
  for (auto& [group, load] : by_group) out.push_back(std::move(load));
  for (std::size_t i = 0; i < set.views.size(); ++i) {
    Load& load = out.emplace_back();
    load.views.push_back(i);
    load.cost = cost_of(set, set.views[i].bindings, false);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Load& a, const Load& b) { return a.cost > b.cost; });
  return out;
}

struct Shares {
  std::vector<unsigned> policies, views;
  double common = 0;  // the work of every thread
  std::vector<double> costs;
};

/// The dearest first, each to the thread that has the least. The first one counts whole events, and
/// the findings of all policies.
Shares share_out(const PolicySet& set, unsigned threads) {
  constexpr double kTelling = 3;
  Shares out;
  out.policies.resize(set.policies.size());
  out.views.resize(set.views.size());
  out.costs.resize(threads);
  if (threads > 1) out.costs.front() = kTelling;
  for (const Load& load : loads_of(set)) {
    const auto least = std::min_element(out.costs.begin(), out.costs.end());
    const unsigned to =
        load.every ? Split::kEvery : static_cast<unsigned>(least - out.costs.begin());
    (load.every ? out.common : *least) += load.cost;
    for (const std::size_t policy : load.policies) out.policies[policy] = to;
    for (const std::size_t view : load.views) out.views[view] = to;
  }
  return out;
}

/// A policy whose keys have a table of their own: its free room is not checked.
const Policy* with_own_table(const PolicySet& set) {
  const auto found =
      std::find_if(set.policies.begin(), set.policies.end(), [&](const Policy& policy) {
        return std::any_of(
            policy.counters.begin(), policy.counters.end(),
            [&](const std::uint16_t index) { return set.counters[index].keys != 0; });
      });
  return found == set.policies.end() ? nullptr : &*found;
}

std::optional<Split> split_policies(const PolicySet& set, const PolicySet* other,
                                    unsigned threads) {
  constexpr double kReading = 24;  // a row with its routes and keys: any free thread does it
  constexpr double kJudging = 16;  // the work of every judge on a row, beside its policies
  constexpr double kWorth = 0.9;
  // The threads end together, unless a judge has more to do than its share.
  const auto longest = [&](unsigned judges, Shares& ours, Shares& theirs) {
    ours = share_out(set, judges);
    if (other != nullptr) theirs = share_out(*other, judges);
    const double each = kJudging + ours.common + theirs.common;
    double most = 0, all = kReading;
    for (unsigned i = 0; i < judges; ++i) {
      const double cost = each + ours.costs[i] + (other != nullptr ? theirs.costs[i] : 0);
      most = std::max(most, cost);
      all += cost;
    }
    return std::max(most, all / threads);
  };
  Shares ours, theirs;
  unsigned used = 1;
  double before = longest(1, ours, theirs);
  for (unsigned n = 2; n <= threads; ++n) {  // another judge must be worth the repeated work
    const double now = longest(n, ours, theirs);
    if (now > before * kWorth) continue;
    before = now;
    used = n;
  }
  if (used == 1) return std::nullopt;
  static_cast<void>(longest(used, ours, theirs));
  Split out;
  out.by = Split::By::policies;
  out.threads = used;
  out.policies = std::move(ours.policies);
  out.views = std::move(ours.views);
  out.other_policies = std::move(theirs.policies);
  out.text = set.views.empty() ? "policies" : "policies and views";
  return out;
}

}  // namespace

Split make_split(const PolicySet& set, const PolicySet* other, unsigned threads, bool gives_rows) {
  const Policy* own = with_own_table(set);
  if (own == nullptr && other != nullptr) own = with_own_table(*other);
  if (own != nullptr) {
    Split one;
    one.text = "policy " + own->name + " has a table of its own (keys)";
    return one;
  }
  std::string why;
  if (auto rows = split_rows(set, other, threads, gives_rows, why)) return *rows;
  if (auto policies = split_policies(set, other, threads)) return *policies;
  Split out;
  out.text = set.policies.empty() && set.views.size() < 2
                 ? "there is nothing to share out"
                 : "not by rows (" + why + "), and a second judge would cost more than it gains";
  return out;
}

void keep_part(PolicySet& set, const std::vector<unsigned>& policies,
               const std::vector<unsigned>& views, unsigned index) {
  const auto is_ours = [&](const std::vector<unsigned>& owners, std::size_t at) {
    return owners[at] == index || owners[at] == Split::kEvery;
  };
  for (auto& watchers : set.watchers)
    std::erase_if(watchers, [&](const auto& of) { return !is_ours(policies, of.policy); });
  for (auto& watchers : set.view_watchers)
    std::erase_if(watchers, [&](const auto& of) { return !is_ours(views, of.policy); });
  for (auto& resets : set.resets_of) {
    std::erase_if(resets, [&](const std::uint16_t reset) {
      return !is_ours(policies, set.resets[reset].policy);
    });
  }
}

}  // namespace weir::replay
