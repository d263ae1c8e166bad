#include <algorithm>
#include <map>
#include <tuple>

#include "policies/actions.h"
#include "policies/compiler.h"

/// What follows from the set alone is found out here, once, and not by every judgement.
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
      parts.emplace_back(part.slot, part.is_address, part.reads_address, part.v4_bits,
                         part.v6_bits);
    }
    if (ids_.size() == kNoKey && !ids_.contains(parts)) return kNoKey;
    return ids_.try_emplace(std::move(parts), static_cast<KeyId>(ids_.size())).first->second;
  }
  std::size_t size() const noexcept { return ids_.size(); }

 private:
  using Part = std::tuple<SlotId, bool, bool, std::uint8_t, std::uint8_t>;
  const SlotTable& slots_;
  std::map<std::vector<Part>, KeyId> ids_;
};

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

bool caps(const Policy& policy, const Rung& rung) {
  using Compare = config::Rung::Compare;
  return !rung.disabled && rung.shadow == policy.shadow && refuses(rung.effect) &&
         (rung.compare == Compare::over || rung.compare == Compare::at);
}

bool reads_amount(const Policy& policy) {
  using Kind = config::MetricDef::Kind;
  if (policy.metric != Kind::count && policy.metric != Kind::in_flight) return true;
  return std::any_of(policy.bindings.begin(), policy.bindings.end(),
                     [](const Binding& binding) { return binding.late_amount; });
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

}  // namespace

void Compiler::note_shortcuts() {
  KeyIndex keys(set_.slots);
  for (Policy& policy : set_.policies) {
    for (Binding& binding : policy.bindings) {
      binding.key_id = keys.id_of(binding.key);
      note_limits(binding);
    }
    for (Rung& rung : policy.rungs) {
      rung.caps = caps(policy, rung);
      policy.caps = policy.caps || rung.caps;
    }
    policy.own_time =
        !policy.counters.empty() && set_.counters[policy.counters.front()].spec.late.has_value();
    policy.reads_amount = reads_amount(policy);
  }
  for (List& list : set_.lists) {
    for (List::Binding& binding : list.bindings) binding.key_id = keys.id_of(binding.key);
  }
  set_.keys = keys.size();
  note_common_counters(set_);
  for (const Counter& counter : set_.counters) {
    set_.any_shadow = set_.any_shadow || counter.shadow;
    set_.any_in_flight = set_.any_in_flight || counter.spec.window == limiter::Window::none;
  }
  const auto any = [](const auto& by_event) {
    return std::any_of(by_event.begin(), by_event.end(),
                       [](const auto& of) { return !of.empty(); });
  };
  set_.any_answer_work = any(set_.resets_of) || any(set_.releases_of);
}

}  // namespace weir::policies
