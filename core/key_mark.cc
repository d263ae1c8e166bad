#include "core/key_mark.h"

namespace weir {

std::string key_mark(const HashSecret& secret, std::string_view key) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  const std::uint64_t hash = secret.hash(key).lo;
  std::string out = "#";
  for (int shift = 60; shift >= 0; shift -= 4) out += kHex[hash >> shift & 15];
  return out;
}

}  // namespace weir
