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

}  // namespace weir::config
