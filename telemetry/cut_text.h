#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "telemetry/short_text.h"

namespace weir::telemetry {

/// How many bytes the log keeps of a key.
inline constexpr std::size_t kLoggedKeyBytes = 160;

/// A text of at most N bytes that shows by `…` at its end that it was cut. No UTF-8 character is
/// cut in two. Allocates nothing.
template <std::size_t N>
class CutText : public ShortText<N> {
 public:
  CutText& operator=(std::string_view text) noexcept {
    ShortText<N>::operator=(text);
    if (text.size() > N) [[unlikely]]
      mark(text);
    return *this;
  }

 private:
  static constexpr std::string_view kMark = "\xe2\x80\xa6";
  void mark(std::string_view text) noexcept {
    std::size_t size = N - kMark.size();
    const auto is_inside = [&] { return (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80; };
    for (int back = 0; back < 3 && is_inside(); ++back) --size;  // bytes may be no UTF-8 at all
    std::array<char, N> cut;
    std::copy_n(text.begin(), size, cut.begin());
    std::copy(kMark.begin(), kMark.end(), cut.begin() + static_cast<std::ptrdiff_t>(size));
    ShortText<N>::operator=(std::string_view(cut.data(), size + kMark.size()));
  }
};

}  // namespace weir::telemetry
