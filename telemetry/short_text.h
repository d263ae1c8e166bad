#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace weir::telemetry {

/// Text cut to N bytes: a value that is copied, and allocates nothing.
template <std::size_t N>
class ShortText {
 public:
  ShortText& operator=(std::string_view text) noexcept {
    size_ = static_cast<std::uint16_t>(std::min(text.size(), N));
    if (size_ != 0) std::memcpy(bytes_.data(), text.data(), size_);  // an empty view may be null
    return *this;
  }
  void clear() noexcept { size_ = 0; }
  std::string_view view() const noexcept { return {bytes_.data(), size_}; }

 private:
  static_assert(N < 65536);
  std::uint16_t size_ = 0;
  std::array<char, N> bytes_;
};

}  // namespace weir::telemetry
