#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>

/// Numbers in texts. Pure, thread-safe.
namespace weir {

/// The number that is the whole of `text`. nullopt: it is empty, something else is before or
/// after the digits (also a blank or `+`), or the number does not fit into T. Leading zeros are
/// allowed. `base` is for integers alone. A floating T also takes `inf` and `nan`.
template <class T>
std::optional<T> parse_whole(std::string_view text, int base = 10) noexcept {
  T value{};
  const char* const end = text.data() + text.size();
  std::from_chars_result read;
  if constexpr (std::is_floating_point_v<T>) {
    static_cast<void>(base);
    read = std::from_chars(text.data(), end, value);
  } else {
    read = std::from_chars(text.data(), end, value, base);
  }
  return read.ec == std::errc{} && read.ptr == end ? std::optional(value) : std::nullopt;
}

}  // namespace weir
