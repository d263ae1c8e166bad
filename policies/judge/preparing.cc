#include "policies/judge/preparing.h"

#include <algorithm>

namespace weir::policies {

Preparing::Preparing(const PolicySet& set, const HashSecret& secret)
    : set_(set), keys_of_(set.events.size()), hashing_(secret) {
  for (const Policy& policy : set.policies) {
    for (const Binding& binding : policy.bindings) {
      note(binding.event, binding.key, binding.key_id);
      note(binding.event, binding.member, binding.member_id);
    }
  }
  for (const List& list : set.lists) {
    for (const List::Binding& binding : list.bindings)
      note(binding.event, binding.key, binding.key_id);
  }
}

/// Fields of the request itself only: an expression may ask a list, which changes meanwhile.
void Preparing::note(EventIndex event, const std::vector<KeySlot>& parts, KeyId id) {
  if (id == kNoKey || parts.empty()) return;
  const bool of_request = std::all_of(parts.begin(), parts.end(), [&](const KeySlot& part) {
    const Slot& slot = set_.slots[part.slot];
    return slot.kind == Slot::Kind::attribute && slot.side == Side::request && !slot.needs_body;
  });
  std::vector<Key>& keys = keys_of_[set_.events[event].base];
  const bool known =
      std::any_of(keys.begin(), keys.end(), [&](const Key& key) { return key.id == id; });
  if (of_request && !known) keys.push_back({id, &parts});
}

void Preparing::prepare(const Request& request, Prepared& out) {
  out.key_count = 0;
  out.bases[0] = kRequestEvent;
  std::size_t bases = 1;
  set_.routes.match(request.method, request.path, [&](std::uint16_t base) {
    if (bases < Prepared::kBasesMax) out.bases[bases] = base;
    ++bases;
  });
  out.base_count = bases <= Prepared::kBasesMax ? static_cast<std::uint8_t>(bases) : 0;
  frame_.begin(set_.slots, request, nullptr);
  for (std::size_t i = 0; i < out.base_count; ++i) hash_keys(out.bases[i], out);
}

void Preparing::hash_keys(EventIndex base, Prepared& out) {
  for (const Key& key : keys_of_[base]) {
    if (out.key_count == Prepared::kKeysMax) return;
    auto* const end = out.ids.begin() + out.key_count;
    if (std::find(out.ids.begin(), end, key.id) != end) continue;  // of another base event
    std::size_t bad = 0;
    if (!hashing_.hash(frame_, *key.parts, out.hashes[out.key_count], bad)) continue;
    out.ids[out.key_count++] = key.id;
  }
}

}  // namespace weir::policies
