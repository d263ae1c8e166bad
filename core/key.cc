#include "core/key.h"

#include <sodium.h>

#include <algorithm>
#include <cstring>

#include "core/chars/hex.h"

namespace weir {

HashSecret HashSecret::random() {
  HashSecret out;
  randombytes_buf(out.bytes_.data(), out.bytes_.size());
  return out;
}

HashSecret HashSecret::from_bytes(const std::array<std::uint8_t, 16>& bytes) noexcept {
  HashSecret out;
  out.bytes_ = bytes;
  return out;
}

HashSecret HashSecret::from_text(std::string_view text) {
  std::array<unsigned char, crypto_hash_sha256_BYTES> digest;
  crypto_hash_sha256(digest.data(), reinterpret_cast<const unsigned char*>(text.data()),
                     text.size());
  HashSecret out;
  std::copy_n(digest.begin(), out.bytes_.size(), out.bytes_.begin());
  return out;
}

std::string key_mark(const HashSecret& secret, std::string_view key) {
  std::string out = "#";
  append_hex(out, secret.hash(key).lo, 16);
  return out;
}

std::string hex_of(const Hash128& hash) {
  std::string out;
  append_hex(out, hash.hi, 16);
  append_hex(out, hash.lo, 16);
  return out;
}

Hash128 HashSecret::hash(std::string_view bytes) const noexcept {
  static_assert(crypto_shorthash_siphashx24_KEYBYTES == 16);
  std::array<unsigned char, crypto_shorthash_siphashx24_BYTES> out;
  crypto_shorthash_siphashx24(out.data(), reinterpret_cast<const unsigned char*>(bytes.data()),
                              bytes.size(), bytes_.data());
  Hash128 hash;
  std::memcpy(&hash.lo, out.data(), 8);
  std::memcpy(&hash.hi, out.data() + 8, 8);
  return hash;
}

bool KeyBuilder::add_other(const Value& value) {
  char text[32];
  if (value.is(Type::boolean)) {
    add_text(value.as_boolean() ? "true" : "false");
  } else if (value.is_number()) {
    add_text({text, value.as_number().to_chars(text)});
  } else {
    return false;
  }
  return true;
}

bool append_canonical(std::string& out, const Value& value) {
  switch (value.type()) {
    case Type::text:
      out.append(value.as_text());
      return true;
    case Type::boolean:
      out.append(value.as_boolean() ? "true" : "false");
      return true;
    case Type::integer:
    case Type::real: {
      char buffer[32];
      out.append(buffer, value.as_number().to_chars(buffer));
      return true;
    }
    case Type::address: {
      char buffer[64];
      out.append(buffer, value.as_address().to_chars(buffer));
      return true;
    }
    default:
      return false;
  }
}

}  // namespace weir
