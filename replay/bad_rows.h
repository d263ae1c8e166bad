#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weir::replay {

/// How many rows of a file could not be read, and why the first ones could not.
struct BadRows {
  static constexpr std::size_t kShown = 10;
  struct Fault {
    std::uint64_t line = 0;
    std::size_t column = 0;
    std::string why;
  };

  void add(std::uint64_t line, std::size_t column, std::string_view why) {
    ++count;
    if (first.size() < kShown) first.push_back({line, column, std::string(why)});
  }
  /// Those of the part of the file that follows, `lines` lines further on.
  void add(const BadRows& later, std::uint64_t lines) {
    count += later.count;
    for (const Fault& fault : later.first) {
      if (first.size() < kShown) first.push_back({fault.line + lines, fault.column, fault.why});
    }
  }
  void clear() noexcept {
    count = 0;
    first.clear();
  }

  std::uint64_t count = 0;
  std::vector<Fault> first;  ///< the first kShown
};

}  // namespace weir::replay
