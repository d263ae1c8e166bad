#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"

namespace weir::authz {

/// Which counters of limitador's limits are in use, for `GET /counters/NAMESPACE`: counters
/// themselves are kept by a hash of their key. Thread-safe.
class LimitadorCounters {
 public:
  static constexpr std::size_t kMost = 10'000;
  static constexpr std::size_t kTextMax = 1'024;  ///< bytes of one call's values

  using Values = std::vector<std::pair<std::string, std::string>>;  ///< sorted by name

  struct Counter {
    std::string space;
    std::string limit;  ///< LimitadorLimit::identity, which a reload does not change
    Values set;         ///< the limit's variables, as the limit spells them
    Values values;      ///< of a call that was counted there
    TimePoint end{};
  };

  /// A call was counted there. With too many, or too long values, it is not listed.
  void note(Counter counter, TimePoint now);
  /// The counters of a namespace whose window has not ended.
  std::vector<Counter> of(std::string_view space, TimePoint now) const;
  /// When the window of that counter ends; none: it is not listed, or has ended.
  std::optional<TimePoint> end_of(const Counter& counter, TimePoint now) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Counter> counters_;
};

}  // namespace weir::authz
