#include "policies/judge/event_keys.h"

#include "policies/lang/place_text.h"

namespace weir::policies {

void EventKeys::use_keys() {
  if (hashed_.size() < work_.set->keys) hashed_.resize(work_.set->keys);
  parts_.clear();
  no_parts_ = key_hash();
}

bool EventKeys::load_key(const std::vector<KeySlot>& key) {
  parts_.clear();
  place_part_ = kNoPart;
  if (masked_.size() < key.size()) masked_.resize(key.size());
  for (std::size_t i = 0; i < key.size(); ++i) {
    const KeySlot& part = key[i];
    const Value value = work_.frame.load(part.slot);
    if (part.is_place) {
      const auto place = value.is(Type::text) ? parse_place(value.as_text()) : std::nullopt;
      if (!place) {
        bad_part_ = i;
        return false;
      }
      place_part_ = i;
      place_ = *place;
    }
    parts_.push_back(key_part(part, value, masked_[i]));
    if (parts_.back().is_null()) {
      bad_part_ = i;
      return false;
    }
  }
  return true;
}

Hash128 EventKeys::key_hash() {
  KeyBuilder& made = builder();
  made.start();
  for (const Value& part : parts_) {
    if (part.is_null()) {
      made.add_missing();
    } else {
      made.add(part);
    }
  }
  return made.hash(work_.secret);
}

Hash128 EventKeys::hash_without_place() {
  KeyBuilder& made = builder();
  made.start();
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (i == place_part_) continue;
    if (parts_[i].is_null()) {
      made.add_missing();
    } else {
      made.add(parts_[i]);
    }
  }
  return made.hash(work_.secret);
}

limiter::CounterKey EventKeys::place_key(const Counter& counter) {
  return {hash_without_place().owned_by(counter.what), place_part_ == kNoPart ? Place{} : place_};
}

bool EventKeys::hash_new_key(const std::vector<KeySlot>& key, KeyId id) {
  if (key.empty()) {
    hash_ = no_parts_;
  } else if (id == kNoKey) {  // a place may be among its parts
    if (!load_key(key)) return false;
    hash_ = key_hash();
  } else if (!hashing_.hash(work_.frame, key, hash_, bad_part_)) {
    return false;
  }
  if (id != kNoKey) hashed_[id] = {round_, hash_};
  return true;
}

void EventKeys::load_key_with_gaps(const std::vector<KeySlot>& key) {
  parts_.clear();
  if (masked_.size() < key.size()) masked_.resize(key.size());
  place_part_ = kNoPart;
  for (std::size_t i = 0; i < key.size(); ++i) {
    Value value = work_.frame.load(key[i].slot);
    if (key[i].is_place) {
      const auto place = value.is(Type::text) ? parse_place(value.as_text()) : std::nullopt;
      if (place) {
        place_part_ = i;
        place_ = *place;
      } else {
        value = Value::null();
      }
    }
    parts_.push_back(key_part(key[i], value, masked_[i]));
  }
}

/// The key's parts as people read them, into views_.
void EventKeys::load_texts() {
  if (texts_.size() < parts_.size()) texts_.resize(parts_.size());
  views_.clear();
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    texts_[i].clear();
    append_canonical(texts_[i], parts_[i]);
    views_.push_back(texts_[i]);
  }
}

}  // namespace weir::policies
