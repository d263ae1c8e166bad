#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/geo.h"
#include "core/key.h"
#include "policies/judge/judging.h"
#include "policies/judge/key_hashing.h"
#include "policies/judgement/prepared.h"

namespace weir::policies {

/// Makes keys of an event's fields: their values, their hash, and their text for people. parts()
/// are the values loaded last, hash() is the hash made last.
/// Part of a Driver: one for each worker, used on the worker's thread.
class EventKeys final {
 public:
  explicit EventKeys(Judging& work) noexcept : work_(work), hashing_(work.secret) {}

  /// Another policy set is in use.
  void use_keys();
  /// Another event: forgets the hashes of the last one. `prepared`: hashes of this one; may be
  /// null.
  void begin_event(const Prepared* prepared) noexcept {
    ++round_;
    for (std::size_t i = 0; prepared != nullptr && i < prepared->key_count; ++i)
      hashed_.data()[prepared->ids[i]] = {round_, prepared->hashes[i]};
  }
  void hash_loaded_key() { hash_ = key_hash(); }
  void set_hash(const Hash128& hash) noexcept { hash_ = hash; }
  const std::vector<Value>& parts() const noexcept { return parts_; }
  const Hash128& hash() const noexcept { return hash_; }
  /// Which part the last load or hash lacked.
  std::size_t bad_part() const noexcept { return bad_part_; }
  /// For keys that the caller builds part by part.
  KeyBuilder& builder() noexcept { return hashing_.builder(); }
  /// The parts as text for people: those that load_texts() made, or those of an earlier event.
  std::vector<std::string_view>& printable() noexcept { return views_; }
  void load_texts();
  // Loads the parts of a key into parts(), with addresses masked. False at the first missing part,
  // which bad_part() names.
  bool load_key(const std::vector<KeySlot>& key);
  void load_key_with_gaps(const std::vector<KeySlot>& key);  ///< missing parts are null
  Hash128 key_hash();                                        ///< of parts(), without an owner
  /// Makes hash() the hash of this key while a request is planned; false as load_key. Policies,
  /// lists and patterns that share a key hash it once; parts() is unspecified then.
  bool hash_key(const std::vector<KeySlot>& key, KeyId id) {
    if (id == kNoKey) return hash_new_key(key, id);
    if (hashed_.data()[id].round != round_) return hash_new_key(key, id);
    hash_ = hashed_.data()[id].hash;
    return true;
  }
  /// `hash`: of parts(). A key that counts within a radius has the place in addition.
  limiter::CounterKey counter_key(const Counter& counter, const Hash128& hash) {
    return counter.near() ? place_key(counter) : limiter::CounterKey(hash.owned_by(counter.what));
  }
  Hash128 hash_without_place();  ///< of parts()

 private:
  struct HashedKey {
    std::uint64_t round = 0;
    Hash128 hash;
  };
  bool hash_new_key(const std::vector<KeySlot>& key, KeyId id);
  limiter::CounterKey place_key(const Counter& counter);  ///< of parts_

  Judging& work_;
  std::vector<Value> parts_;
  std::vector<Address> masked_;
  std::size_t bad_part_ = 0;
  std::size_t place_part_ = kNoPart;  // which of parts_ is a place, if one is
  static constexpr std::size_t kNoPart = ~std::size_t{0};
  Place place_;
  std::vector<HashedKey> hashed_;  // by KeyId
  std::uint64_t round_ = 0;        // of planning: another number marks a former event
  Hash128 no_parts_;               // the hash of a key without parts: one counter for all
  Hash128 hash_;
  KeyHashing hashing_;
  std::vector<std::string> texts_;  // canonical texts of table dimensions and printable keys
  std::vector<std::string_view> views_;
};

}  // namespace weir::policies
