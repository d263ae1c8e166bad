#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "app/support/log.h"
#include "core/clock.h"
#include "limiter/lists/lists.h"
#include "policies/set/policy_set.h"

namespace weir::app {

/// Finds lists that are full and so do not hold all of their keys, and decides which of that is
/// worth a line in the log: the first at once, then one line a minute. Not thread-safe.
class FullLists {
 public:
  static constexpr milliseconds kAgain{60'000};

  /// `refused`: the new entries that this list has refused since weir began. Returns how many of
  /// them to log now; 0: none.
  std::uint64_t hear(std::string_view list, std::uint64_t refused, TimePoint now);
  /// Reads all lists, and writes to the log.
  void tell(const policies::PolicySet& set, const limiter::ListBank& bank, TimePoint now, Log& log);

 private:
  struct Reported {
    std::uint64_t refused = 0;
    TimePoint again{};
  };
  std::map<std::string, Reported, std::less<>> reported_;
};

}  // namespace weir::app
