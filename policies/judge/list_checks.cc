#include "policies/judge/list_checks.h"

#include <algorithm>
#include <new>
#include <optional>

#include "policies/judgement/unread.h"

namespace weir::policies {

/// A caller that solves the captcha must be able to reach it.
bool ListChecks::may_release(const List& list) const noexcept {
  return list.kind != ListKind::allow && refuses(list.effect) &&
         std::any_of(list.releases.begin(), list.releases.end(), [&](const List::Binding& release) {
           return matching_.may_happen(release.event);
         });
}

bool ListChecks::ask_lists(Instant at, Trace* trace) {
  const auto find = [&](const PolicySet::ListUse& use) -> std::optional<TimePoint> {
    const List& list = work_.set->lists[use.list];
    if (!list.has_fixed() && work_.list_bank.size(list.id) == 0) return std::nullopt;
    const std::vector<KeySlot>& slots = list.bindings[use.binding].key;
    if (!keys_.hash_key(slots, list.bindings[use.binding].key_id)) {
      // It is unknown whether a list that refuses has an entry for this request.
      const SlotId slot = slots[keys_.bad_part()].slot;
      const MissReason why = why_no_text(work_.frame, *work_.set, slot);
      const bool acts = list.kind != ListKind::allow && refuses(list.effect);
      if (acts && is_unread(why) && !work_.plan().defect) {
        work_.plan().defect =
            Defect{{}, use.list, defect_status(why), work_.set->slots[slot].text, why, list.tell};
      }
      return std::nullopt;
    }
    const Hash128 key = keys_.hash().owned_by(list.identity);
    const Address* address = nullptr;  // entries of the configuration may be single addresses
    if (list.of_address && list.has_fixed()) {
      const Value whole = work_.frame.load(slots.front().slot);
      if (whole.is(Type::address)) address = &whole.as_address();
    }
    if (const auto* entry = list.fixed.find(key, address, at.now)) {
      if (trace != nullptr) trace->list(list, entry->until, entry->why);
      return entry->until;
    }
    if (const limiter::BulkList* const bulk = list.bulk ? list.bulk->get() : nullptr) {
      if (const auto entry = bulk->find(key, address, at.now)) {
        if (trace != nullptr) trace->list(list, entry->until, {});
        return entry->until;
      }
    }
    const limiter::Listed listed = work_.list_bank.find(list.id, key, at.now);
    if (!listed.listed) return std::nullopt;
    if (trace != nullptr) trace->list(list, listed.until, {});
    return listed.until;
  };
  // Allow lists first: an entry there ends judging, whatever is on other lists.
  for (const EventIndex event : work_.plan().events) {
    for (const auto& use : work_.set->list_uses[event]) {
      if (work_.set->lists[use.list].kind != ListKind::allow) continue;
      if (const auto until = find(use)) {
        work_.plan().allowed = ListHit{use.list, *until, 0};
        return false;
      }
    }
  }
  bool denied = false;
  for (const auto* events : {&work_.plan().events, &work_.plan().unread_events}) {
    for (const EventIndex event : *events) {
      for (const auto& use : work_.set->list_uses[event]) {
        const List& list = work_.set->lists[use.list];
        if (list.kind == ListKind::allow || may_release(list)) continue;
        if (const auto until = find(use)) {
          work_.plan().lists.push_back({use.list, *until, 0});
          denied = denied || list.kind == ListKind::deny;
        }
      }
    }
  }
  if (denied) work_.plan().defect.reset();  // certain now
  return !denied && !work_.plan().defect;
}

bool ListChecks::contains(std::size_t list_index, std::span<const Value> key) const noexcept {
  const List& list = work_.set->lists[list_index];
  if (!list.has_fixed() && work_.list_bank.size(list.id) == 0) return false;
  Address whole;  // a text of a request, such as body.ip, may be looked up among addresses
  const Address* address = nullptr;
  try {
    list_builder_.start();
    const KeySlot* slot = list.bindings.front().key.data();
    for (const Value& part : key) {
      Value value = part;
      if (slot->is_address && part.is(Type::text)) {
        const auto parsed = Address::parse(part.as_text());
        if (!parsed) return false;
        whole = *parsed;
        value = Value::address(&whole);
      }
      if (list.of_address && value.is(Type::address)) address = &value.as_address();
      Address masked;
      if (!list_builder_.add(key_part(*slot++, value, masked))) return false;
    }
  } catch (const std::bad_alloc&) {  // of a key that is longer than any before it
    return false;
  }
  const Hash128 hash = list_builder_.hash(work_.secret).owned_by(list.identity);
  const limiter::BulkList* const bulk = list.bulk ? list.bulk->get() : nullptr;
  return list.fixed.find(hash, address, work_.at.now) != nullptr ||
         (bulk != nullptr && bulk->find(hash, address, work_.at.now)) ||
         work_.list_bank.find(list.id, hash, work_.at.now).listed;
}

bool ListChecks::own_lists_refuse(const Policy& policy, std::uint16_t binding, Instant at) {
  bool refused = false;
  for (const ListIndex index : policy.own_lists) {
    const List& list = work_.set->lists[index];
    if (work_.list_bank.size(list.id) == 0) continue;
    const limiter::Listed listed =
        work_.list_bank.find(list.id, keys_.hash().owned_by(list.identity), at.now);
    if (!listed.listed) continue;
    work_.plan().lists.push_back({index, listed.until, binding});
    // A refusal by a shadow list does not stop the enforced rungs of the same policy.
    if (refuses(list.effect) && list.shadow == policy.shadow) refused = true;
  }
  return refused;
}

bool ListChecks::is_on_own_list(const Policy& policy, Instant at) const {
  return std::any_of(policy.own_lists.begin(), policy.own_lists.end(), [&](ListIndex index) {
    const List& list = work_.set->lists[index];
    return work_.list_bank.size(list.id) != 0 &&
           work_.list_bank.find(list.id, keys_.hash().owned_by(list.identity), at.now).listed;
  });
}

bool ListChecks::refused_by_list() const {
  return std::any_of(work_.plan().lists.begin(), work_.plan().lists.end(), [&](const ListHit& hit) {
    const List& list = work_.set->lists[hit.list];
    return !list.shadow && refuses(list.effect);
  });
}

}  // namespace weir::policies
