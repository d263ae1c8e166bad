#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "core/address.h"
#include "core/result.h"
#include "core/value.h"

namespace weir {

/// A 128-bit keyed hash. Tables take the bucket from one half and a 64-bit tag from the other.
struct Hash128 {
  std::uint64_t lo = 0;
  std::uint64_t hi = 0;
  friend auto operator<=>(const Hash128&, const Hash128&) = default;
  /// The hash of a key inside `owner` (the identity of a counter, list or pattern). The result is a
  /// keyed hash: keys of two owners are equal only if 128 secret bits are equal. A key that several
  /// owners use is hashed once.
  constexpr Hash128 owned_by(const Hash128& owner) const noexcept {
    return {lo ^ owner.lo, hi ^ owner.hi};
  }
};

/// The secret that keys every hash, kept in `state.dir`. Without the secret, an attacker cannot
/// choose colliding keys.
class HashSecret {
 public:
  static HashSecret random();
  static HashSecret from_bytes(const std::array<std::uint8_t, 16>& bytes) noexcept;
  /// The secret made of a text that several processes agree on: the first half of its SHA-256.
  static HashSecret from_text(std::string_view text);
  const std::array<std::uint8_t, 16>& bytes() const noexcept { return bytes_; }
  /// SipHash-2-4 with 128-bit result (Aumasson and Bernstein, 2012), by libsodium.
  Hash128 hash(std::string_view bytes) const noexcept;

 private:
  std::array<std::uint8_t, 16> bytes_{};
};

/// Replaces a key where its text must not appear: `#` and 16 hex digits. Under one secret, equal
/// keys have equal marks. Without the secret, a mark reveals nothing.
std::string key_mark(const HashSecret& secret, std::string_view key);
/// 32 hex digits, `hi` first.
std::string hex_of(const Hash128& hash);

/// Builds the bytes of a key: length-prefixed parts, so that `a_b`+`c` is never `a`+`b_c`. Reused
/// from request to request: keeps its memory.
class KeyBuilder {
 public:
  void start() noexcept { size_ = 0; }  ///< begins another key
  void add_text(std::string_view part) {
    const auto size = static_cast<std::uint32_t>(part.size());
    char* const at = extend(sizeof size + part.size());
    std::memcpy(at, &size, sizeof size);
    if (!part.empty()) std::memcpy(at + sizeof size, part.data(), part.size());
  }
  /// Already masked.
  void add_address(const Address& address) {
    constexpr std::uint32_t kSize = 16;
    char* const at = extend(sizeof kSize + kSize);
    std::memcpy(at, &kSize, sizeof kSize);
    std::memcpy(at + sizeof kSize, address.bytes().data(), kSize);
  }
  /// Adds a missing part, which equals no text that a client can send.
  void add_missing() { std::memset(extend(4), 0xff, 4); }
  /// Adds the canonical text of any scalar (1 and "1" are one part; doubles shortest). Returns
  /// false for null, errors, lists and JSON objects: these cannot be key parts.
  bool add(const Value& value) {
    if (value.is(Type::text)) {
      add_text(value.as_text());
      return true;
    }
    if (value.is(Type::address)) {
      add_address(value.as_address());
      return true;
    }
    return add_other(value);
  }
  std::string_view bytes() const noexcept { return {bytes_.data(), size_}; }
  Hash128 hash(const HashSecret& secret) const noexcept { return secret.hash(bytes()); }

 private:
  bool add_other(const Value& value);
  char* extend(std::size_t n) {
    if (bytes_.size() - size_ < n) [[unlikely]]
      bytes_.resize(2 * (size_ + n));
    char* const at = bytes_.data() + size_;
    size_ += n;
    return at;
  }

  std::vector<char> bytes_ = std::vector<char>(64);
  std::size_t size_ = 0;  // of bytes_, in use
};

/// Canonical text of a scalar, for keys and for people. False as KeyBuilder::add.
bool append_canonical(std::string& out, const Value& value);

}  // namespace weir
