#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace weir::telemetry {

/// Texts are copied in steps of so many bytes.
inline constexpr std::size_t kTextStep = 16;

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
  /// Returns the end of the copy. Up to kTextStep - 1 bytes after it are overwritten: a short text
  /// is one step, where a call of memcpy would first look how long it is.
  char* copy_to(char* out) const noexcept {
    for (std::size_t at = 0; at < size_; at += kTextStep)
      std::memcpy(out + at, bytes_.data() + at, kTextStep);
    return out + size_;
  }

 private:
  static_assert(N < 65536 && N % kTextStep == 0);
  std::uint16_t size_ = 0;
  std::array<char, N> bytes_;
};

}  // namespace weir::telemetry
