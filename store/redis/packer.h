#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

#include "core/clock.h"

namespace weir::store {

static_assert(std::endian::native == std::endian::little, "the scripts read little-endian numbers");

/// Writes the format that the scripts unpack.
struct Packer {
  std::string& out;
  void byte(unsigned v) { out += static_cast<char>(v); }
  void real(double v) { bits(v); }
  void word(std::uint32_t v) { bits(v); }
  template <class T>
  void bits(T v) {
    char bytes[sizeof v];
    std::memcpy(bytes, &v, sizeof v);
    out.append(bytes, sizeof v);
  }
  /// Big-endian, so that events of one worker sort by their order.
  void high_first(std::uint64_t v, unsigned bytes) {
    for (unsigned i = bytes; i-- > 0;) out += static_cast<char>(v >> (8 * i) & 0xffU);
  }
  void ms(TimePoint t) { real(static_cast<double>(to_ms(t))); }
};

}  // namespace weir::store
