#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"

namespace weir::app {

/// What the workers say of Redis, and which of it is worth a line in the log. Not thread-safe.
class RedisOutage {
 public:
  enum class Line {
    none,
    away,        ///< somebody finds it no help
    still_away,  ///< and now for another reason; at most every kAgain
    back,        ///< all workers find it there again
  };
  static constexpr milliseconds kAgain{10'000};

  /// `why` it is no help to this worker; empty: it is. A worker's first word is of a connection
  /// that is only being made, and is no outage yet.
  Line hear(std::size_t worker, std::string why, TimePoint now);

  std::size_t workers_up() const noexcept;
  /// Of some worker to which it is no help; empty if there is none.
  std::string why() const;
  /// A worker to which it is of help; else the first.
  std::size_t worker_up() const noexcept;

 private:
  std::vector<std::optional<std::string>> said_;  // by worker
  std::optional<std::string> told_;               // by the log's last line, if it is away
  TimePoint told_at_{};
};

}  // namespace weir::app
