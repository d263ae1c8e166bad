#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/clock.h"
#include "core/number.h"

/// The header lines that show readings, the same for every front door. All functions append to a
/// string that the caller reuses; all lines end with CRLF. Syntax of lists and items: RFC 9651
/// structured fields.
namespace weir::policies {

/// The reading of one policy or list, as headers show it.
struct ReadingText {
  std::string_view name;  ///< of the policy or list
  std::optional<Number> value;
  std::optional<Number> limit;
  milliseconds window{0};  ///< 0: none
  bool possible = false;   ///< policies::Standing::possible
};

/// An item of X-Weir-Policy: `login-per-ip;value=6;limit=5;window=600;possible`. Adds ", " before
/// all but the first.
void append_policy_item(std::string& list, const ReadingText& reading);

/// `Retry-After: 37`: whole seconds, rounded up, never 0.
void append_retry_after(std::string& lines, milliseconds wait);

/// An item of RateLimit-Policy (`"login-ip";q=5;w=60`) and of RateLimit (`"login-ip";r=0;t=37`), as
/// draft-ietf-httpapi-ratelimit-headers-10 spells them.
struct Quota {
  std::string_view name;
  std::int64_t allowed = 0;  ///< admitted per window
  std::int64_t remaining = 0;
  milliseconds window{0};
  milliseconds reset{0};
};
void append_quota(std::string& policy_list, std::string& limit_list, const Quota& quota);

/// Seconds, rounded up, at least 1.
std::int64_t whole_seconds(milliseconds time) noexcept;

}  // namespace weir::policies
