#include "telemetry/logged_key.h"

#include <algorithm>

namespace weir::telemetry {
namespace {

constexpr std::string_view kBetween = ", ";
constexpr std::string_view kCut = "\xe2\x80\xa6";  // …

}  // namespace

void LoggedKey::set(std::span<const std::string_view> parts) noexcept {
  std::array<char, kLoggedKeyBytes + 1> text;  // one more than is kept: then it is cut
  std::size_t size = 0;
  const auto add = [&](std::string_view piece) {
    const std::size_t room = std::min(piece.size(), text.size() - size);
    std::copy_n(piece.begin(), room, text.begin() + static_cast<std::ptrdiff_t>(size));
    size += room;
  };
  count_ = static_cast<std::uint8_t>(std::min(parts.size(), kPartsMax));
  for (std::size_t i = 0; i < count_; ++i) {
    if (i != 0) add(kBetween);
    add(parts[i]);
    ends_[i] = static_cast<std::uint8_t>(size);
  }
  cut_ = size > kLoggedKeyBytes;
  text_ = std::string_view(text.data(), size);
}

std::vector<std::string> LoggedKey::parts() const {
  std::vector<std::string> out;
  const std::string_view text = view();
  const std::size_t whole = text.size() - (cut_ ? kCut.size() : 0);
  std::size_t begin = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    if (begin > whole)
      out.emplace_back(kCut);
    else if (ends_[i] <= whole)
      out.emplace_back(text.substr(begin, ends_[i] - begin));
    else
      out.emplace_back(text.substr(begin));
    begin = ends_[i] + kBetween.size();
  }
  return out;
}

}  // namespace weir::telemetry
