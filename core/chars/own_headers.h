#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "core/chars/header_name.h"

/// The headers by which weir informs the app about a request. A client could send one of them, in
/// any spelling, to imitate weir: every door removes the headers that `is_own_header()` names.
namespace weir {

inline constexpr std::string_view kVerdictHeader = "X-Weir-Verdict";
inline constexpr std::string_view kPolicyHeader = "X-Weir-Policy";
inline constexpr std::string_view kScoreHeader = "X-Weir-Score";
/// The id by which the app reports its answer; see gate::Unsettled.
inline constexpr std::string_view kRequestIdHeader = "X-Weir-Request-Id";

/// All of them, in the order in which doors write them.
inline constexpr std::array kHeadersForApp = {kVerdictHeader, kPolicyHeader, kScoreHeader,
                                              kRequestIdHeader};

/// Every header whose name begins so is weir's own.
inline constexpr std::string_view kOwnHeaderPrefix = "x-weir-";

/// Whether some app takes a header of this name for one of weir's own: the letter case does not
/// matter, and any mark may stand for a hyphen (`X_Weir.Verdict`, see folded_in_header_name).
constexpr bool is_own_header(std::string_view name) noexcept {
  if (name.size() < kOwnHeaderPrefix.size()) return false;
  for (std::size_t i = 0; i < kOwnHeaderPrefix.size(); ++i) {
    if (folded_in_header_name(name[i]) != kOwnHeaderPrefix[i]) return false;
  }
  return true;
}

}  // namespace weir
