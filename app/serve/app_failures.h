#pragma once

#include <cstdint>
#include <optional>

#include "app/support/log.h"
#include "core/clock.h"
#include "telemetry/metrics.h"

namespace weir::app {

/// Requests that got no good answer from the app, and which of that is worth a line in the log: the
/// first at once, then one line a minute. Not thread-safe.
class AppFailures {
 public:
  static constexpr milliseconds kAgain{60'000};

  struct Counts {
    std::int64_t connect = 0;    ///< no connection: nothing listens there
    std::int64_t silent = 0;     ///< no answer in time
    std::int64_t malformed = 0;  ///< no HTTP/1.1 that weir takes
    std::int64_t cut = 0;        ///< the connection ended before the whole answer was there
    std::int64_t sum() const noexcept { return connect + silent + malformed + cut; }
  };
  /// `all`: since weir began. Returns the counts to log now; none: nothing is to be logged.
  std::optional<Counts> hear(const Counts& all, TimePoint now);
  /// Reads the metrics, and writes to the log.
  void tell(const telemetry::Metrics& metrics, TimePoint now, Log& log);

 private:
  Counts logged_;
  TimePoint again_{};
};

}  // namespace weir::app
