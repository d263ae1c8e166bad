#pragma once

#include <vector>

#include "core/key.h"
#include "policies/judge/address_hashes.h"
#include "policies/lang/frame.h"
#include "policies/lang/key_slot.h"

namespace weir::policies {

/// Hashes keys of an event's fields. One per thread; no allocation after warm-up.
class KeyHashing final {
 public:
  explicit KeyHashing(const HashSecret& secret) noexcept : secret_(secret) {}

  /// The hash of a key that has parts, none of which is a place. False: `bad` is the first part
  /// that is missing.
  bool hash(Frame& frame, const std::vector<KeySlot>& key, Hash128& out, std::size_t& bad) {
    if (key.size() == 1) [[likely]] {  // mostly the caller's address
      const KeySlot& part = key.front();
      const Value value = frame.load(part.slot);
      builder_.start();
      if (value.is(Type::address)) {
        const Address masked = value.as_address().masked(part.v4_bits, part.v6_bits);
        out = addresses_.get(masked, [&] {
          builder_.add_address(masked);
          return builder_.hash(secret_);
        });
        return true;
      }
      bad = 0;
      if (is_odd_header(part, value) || !builder_.add(value)) return false;
      out = builder_.hash(secret_);
      return true;
    }
    builder_.start();
    for (std::size_t i = 0; i < key.size(); ++i) {
      Address masked;
      if (!builder_.add(key_part(key[i], frame.load(key[i].slot), masked))) {
        bad = i;
        return false;
      }
    }
    out = builder_.hash(secret_);
    return true;
  }
  /// For keys that the caller builds part by part.
  KeyBuilder& builder() noexcept { return builder_; }

 private:
  const HashSecret& secret_;
  AddressHashes addresses_;  // of keys that are an address alone
  KeyBuilder builder_;
};

}  // namespace weir::policies
