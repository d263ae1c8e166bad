#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/clock.h"

namespace weir::app {

/// Which lists are full and so do not hold whom they should, and what of it is worth a line in the
/// log: at once, then a minute's worth at a time. Not thread-safe.
class FullLists {
 public:
  static constexpr milliseconds kAgain{60'000};

  /// `refused`: the new entries that this list has refused since weir began. How many of them the
  /// log has to tell now; 0: it says nothing.
  std::uint64_t hear(std::string_view list, std::uint64_t refused, TimePoint now);

 private:
  struct Told {
    std::uint64_t refused = 0;
    TimePoint again{};
  };
  std::map<std::string, Told, std::less<>> told_;
};

}  // namespace weir::app
