#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"

namespace weir::app {

/// Combines the reports of the workers about Redis, and decides which are worth a line in the log.
/// Not thread-safe.
class RedisOutage {
 public:
  enum class Line {
    none,
    away,        ///< unavailable for some worker
    still_away,  ///< and now for another reason; at most every kAgain
    back,        ///< all workers find it there again
  };
  static constexpr milliseconds kAgain{10'000};

  /// `why` Redis is unavailable for this worker; empty: it is available. The first report of a
  /// worker is about a connection that is still being made, and is not an outage yet.
  Line hear(std::size_t worker, std::string why, TimePoint now);

  std::size_t workers_up() const noexcept;
  /// The reason of some worker for which Redis is unavailable; empty if there is none.
  std::string why() const;
  /// A worker to which it is of help; else the first.
  std::size_t worker_up() const noexcept;

 private:
  std::vector<std::optional<std::string>> said_;  // by worker
  std::optional<std::string> logged_;             // by the log's last line, if it is away
  TimePoint logged_at_{};
};

}  // namespace weir::app
