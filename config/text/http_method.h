#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace weir::config {

/// The methods of RFC 9110 and RFC 5789, in capitals, as they are compared.
inline constexpr std::array<std::string_view, 9> kHttpMethods = {
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"};

constexpr bool is_http_method(std::string_view text) noexcept {
  return std::find(kHttpMethods.begin(), kHttpMethods.end(), text) != kHttpMethods.end();
}

/// The method of kHttpMethods that this one in capitals most likely means: `POSTT`, `GTE`, `DELET`.
/// Empty: none, or the text is one of them. Apps may have methods of their own, so a short one with
/// another letter, such as `SET`, means itself.
std::string_view meant_http_method(std::string_view text);

}  // namespace weir::config
