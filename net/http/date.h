#pragma once

#include <cstdint>
#include <string_view>

#include "core/clock.h"

namespace weir::net {

/// The value of a Date field (RFC 9110 section 5.6.7), made once a second. No allocation. Not
/// thread-safe.
class HttpDate {
 public:
  /// `wall`: by the wall clock, 1970 to 9999. A view until the next call.
  std::string_view at(TimePoint wall) noexcept;

 private:
  std::int64_t second_ = -1;
  char text_[30];
};

}  // namespace weir::net
