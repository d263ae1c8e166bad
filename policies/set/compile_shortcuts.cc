#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "core/words.h"
#include "policies/set/compiler.h"

/// Finds facts that follow from the set alone, once, and not in every judgement.
namespace weir::policies {
namespace {

/// Gives equal keys one index.
class KeyIndex {
 public:
  explicit KeyIndex(const SlotTable& slots) : slots_(slots) {}

  KeyId id_of(const std::vector<KeySlot>& key) {
    const bool same_for_all = std::none_of(key.begin(), key.end(), [&](const KeySlot& part) {
      return part.is_place || slots_[part.slot].names_event();
    });
    if (!same_for_all) return kNoKey;
    std::vector<Part> parts;
    for (const KeySlot& part : key) {
      const Type type = slots_[part.slot].type;
      const bool masked = type == Type::address || type == Type::dyn;
      parts.emplace_back(part.slot, masked ? part.v4_bits : 0, masked ? part.v6_bits : 0);
    }
    if (ids_.size() == kNoKey && !ids_.contains(parts)) return kNoKey;
    return ids_.try_emplace(std::move(parts), static_cast<KeyId>(ids_.size())).first->second;
  }
  std::size_t size() const noexcept { return ids_.size(); }

 private:
  // A slot, and how an address is masked.
  using Part = std::tuple<SlotId, unsigned, unsigned>;
  const SlotTable& slots_;
  std::map<std::vector<Part>, KeyId> ids_;
};

/// The fields of a member are often the key of another policy: then both share one hash.
void note_member(const SlotTable& slots, const Policy& policy, KeyIndex& keys, Binding& binding) {
  if (!takes_members(policy.metric)) return;
  std::vector<KeySlot> member;
  for (const Expression& argument : binding.arguments) {
    const auto slot = argument.slot();
    if (!slot) return;
    KeySlot& part = member.emplace_back();  // an address is masked as in keys: IPv6 by /64
    part.slot = *slot;
    part.reads_header = slots[*slot].reads_header;
  }
  binding.member_id = keys.id_of(member);
  if (binding.member_id != kNoKey) binding.member = std::move(member);
}

void note_limits(Binding& binding) {
  for (const Binding::RungPart& rung : binding.rungs) {
    if (const auto* number = std::get_if<Number>(&rung.limit.source)) {
      binding.limits.emplace_back(*number);
    } else if (std::holds_alternative<std::monostate>(rung.limit.source)) {
      binding.limits.emplace_back(std::nullopt);
    } else {
      binding.limits.clear();
      return;
    }
  }
}

/// The highest reading that comes under no rung, if there is one.
std::optional<std::int64_t> calm_of(const Policy& policy, const Binding& binding) {
  // The limits of a shared policy are lower while the store is away.
  if (!policy.has_metric || policy.shared) return std::nullopt;
  if (binding.limits.size() != policy.rungs.size()) return std::nullopt;
  std::int64_t calm = std::numeric_limits<std::int64_t>::max();
  for (std::size_t r = 0; r < policy.rungs.size(); ++r) {
    const Compare compare = policy.rungs[r].compare;
    const auto& limit = binding.limits[r];
    if (!limit || limit->is_real() || (compare != Compare::over && compare != Compare::at)) {
      return std::nullopt;
    }
    const bool least = limit->integer() == std::numeric_limits<std::int64_t>::min();
    if (compare == Compare::at && least) return std::nullopt;
    calm = std::min(calm, limit->integer() - (compare == Compare::at ? 1 : 0));
  }
  return calm;
}

/// Whether the policy counts events, or their different members, with one counter under a key, and
/// compares with numbers.
bool is_by_key(const Policy& policy, const Binding& binding, const PolicySet& set) {
  if (!policy.has_metric || policy.pattern || policy.is_meter || !policy.meters.empty())
    return false;
  if (policy.counters.size() != 1 || policy.guarded_only) return false;
  if (policy.own_time || binding.when || binding.late_amount) return false;
  const bool members = policy.metric == Metric::distinct && binding.member_id != kNoKey;
  if (policy.reads_amount && !members) return false;
  const Counter& counter = set.counters[policy.counters.front()];
  return binding.key_id != kNoKey && !counter.common && counter.shared == nullptr &&
         binding.limits.size() == policy.rungs.size();
}

bool caps(const Policy& policy, const Rung& rung) {
  return !rung.disabled && rung.shadow == policy.shadow && refuses(rung.effect) &&
         (rung.compare == Compare::over || rung.compare == Compare::at);
}

bool reads_amount(const Policy& policy) {
  if (policy.metric != Metric::count && policy.metric != Metric::in_flight) return true;
  return std::any_of(policy.bindings.begin(), policy.bindings.end(),
                     [](const Binding& binding) { return binding.late_amount; });
}

/// Whether a value may hold more than a request keeps until its answer (Frame::capture).
bool may_hold_more(Type type) {
  return type == Type::dyn || type == Type::json || type == Type::list;
}

void note_common_counters(PolicySet& set) {
  std::vector<bool> seen(set.counters.size());
  for (const Policy& policy : set.policies) {
    for (const std::uint16_t index : policy.counters) {
      if (seen[index]) set.counters[index].common = true;
      seen[index] = true;
    }
  }
}

/// Policies that share a counter count the same events. The one that refuses decides for all: else
/// a policy that only flags could take an event away from it.
void note_unclear(PolicySet& set) {
  std::vector<bool> counts(set.counters.size());
  for (Policy& policy : set.policies)
    policy.counts_unclear = policy.shadow ? policy.strict_in_shadow : policy.strict;
  for (bool changed = true; changed;) {
    changed = false;
    for (Policy& policy : set.policies) {
      for (const std::uint16_t index : policy.counters) {
        policy.counts_unclear = policy.counts_unclear || counts[index];
      }
      for (const std::uint16_t index : policy.counters) {
        if (!policy.counts_unclear || counts[index]) continue;
        counts[index] = true;
        changed = true;
      }
    }
  }
}

}  // namespace

void note_shortcuts(PolicySet& set) {
  note_strict_paths(set);
  KeyIndex keys(set.slots);
  for (Policy& policy : set.policies) {
    for (Binding& binding : policy.bindings) {
      binding.key_id = keys.id_of(binding.key);
      note_member(set.slots, policy, keys, binding);
      note_limits(binding);
      binding.calm = calm_of(policy, binding);
    }
    for (Rung& rung : policy.rungs) {
      rung.caps = caps(policy, rung);
      policy.caps = policy.caps || rung.caps;
    }
    policy.own_time =
        !policy.counters.empty() && set.counters[policy.counters.front()].spec.late.has_value();
    policy.reads_amount = reads_amount(policy);
    set.any_announced = set.any_announced || policy.announce;
  }
  for (List& list : set.lists) {
    for (List::Binding& binding : list.bindings) binding.key_id = keys.id_of(binding.key);
  }
  set.keys = keys.size();
  note_common_counters(set);
  note_unclear(set);
  for (Policy& policy : set.policies) {
    for (Binding& binding : policy.bindings) {
      binding.by_key = is_by_key(policy, binding, set);
      binding.plain = binding.by_key && policy.own_lists.empty();
    }
  }
  for (const Counter& counter : set.counters) {
    set.any_shadow = set.any_shadow || counter.shadow;
    set.any_in_flight = set.any_in_flight || counter.spec.window == limiter::Window::none;
  }
  const auto any = [](const auto& by_event) {
    return std::any_of(by_event.begin(), by_event.end(),
                       [](const auto& of) { return !of.empty(); });
  };
  set.any_lists = any(set.list_uses);
  const auto& readable = set.wants_readable_answer;
  set.any_readable_answer = std::find(readable.begin(), readable.end(), true) != readable.end();
  set.any_answer_work = any(set.resets_of) || any(set.releases_of);
  for (std::size_t id = 0; id < set.slots.size(); ++id) {
    const Slot& slot = set.slots[static_cast<SlotId>(id)];
    if (slot.side == Side::answer) {
      set.of_answers.push_back(static_cast<SlotId>(id));
    } else if (!slot.varies && may_hold_more(slot.type)) {
      set.not_kept.push_back(static_cast<SlotId>(id));
    }
  }
}

}  // namespace weir::policies
