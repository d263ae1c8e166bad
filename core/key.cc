#include "core/key.h"

#include <sodium.h>

#include <algorithm>
#include <cstring>

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
  crypto_hash_sha256(digest.data(), reinterpret_cast<const unsigned char*>(text.data()), text.size());
  HashSecret out;
  std::copy_n(digest.begin(), out.bytes_.size(), out.bytes_.begin());
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

void KeyBuilder::add_text(std::string_view part) {
  const auto size = static_cast<std::uint32_t>(part.size());
  bytes_.append(reinterpret_cast<const char*>(&size), sizeof size);
  bytes_.append(part);
}

void KeyBuilder::add_address(const Address& address) {
  add_text({reinterpret_cast<const char*>(address.bytes().data()), 16});
}

void KeyBuilder::add_missing() { bytes_.append(4, '\xff'); }

bool KeyBuilder::add(const Value& value) {
  if (value.is(Type::text)) {
    add_text(value.as_text());
    return true;
  }
  if (value.is(Type::address)) {
    add_address(value.as_address());
    return true;
  }
  const std::size_t at = bytes_.size();
  bytes_.append(4, '\0');
  if (!append_canonical(bytes_, value)) {
    bytes_.resize(at);
    return false;
  }
  const auto size = static_cast<std::uint32_t>(bytes_.size() - at - 4);
  std::memcpy(bytes_.data() + at, &size, sizeof size);
  return true;
}

bool append_canonical(std::string& out, const Value& value) {
  switch (value.type()) {
    case Type::text: out.append(value.as_text()); return true;
    case Type::boolean: out.append(value.as_boolean() ? "true" : "false"); return true;
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
    default: return false;
  }
}

}  // namespace weir
