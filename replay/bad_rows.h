#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weir::replay {

/// How many rows of a file could not be read, and why the first ones could not. Neighbours with the
/// same fault form one entry, so that a column that the whole file lacks is reported once.
struct BadRows {
  static constexpr std::size_t kShown = 10;
  struct Fault {
    std::uint64_t line = 0;
    std::size_t column = 0;
    std::string why;
    std::uint64_t rows = 1;  ///< in lines one after the other
  };

  void add(std::uint64_t line, std::size_t column, std::string_view why) {
    if (is_next(line, column, why)) {
      ++first.back().rows;
    } else if (first.size() < kShown) {
      first.push_back({line, column, std::string(why)});
    }
    ++count;
  }
  /// Adds the bad rows of a later part of the file, which begins `lines` lines further on.
  void add(const BadRows& later, std::uint64_t lines) {
    std::uint64_t taken = 0;
    for (const Fault& fault : later.first) {
      if (is_next(fault.line + lines, fault.column, fault.why)) {
        first.back().rows += fault.rows;
      } else if (first.size() < kShown) {
        first.push_back({fault.line + lines, fault.column, fault.why, fault.rows});
      } else {
        break;
      }
      taken += fault.rows;
      count += fault.rows;
    }
    count += later.count - taken;
  }
  void clear() noexcept {
    count = 0;
    first.clear();
  }
  /// How many of them `first` describes.
  std::uint64_t shown() const noexcept {
    std::uint64_t out = 0;
    for (const Fault& fault : first) out += fault.rows;
    return out;
  }

  std::uint64_t count = 0;
  std::vector<Fault> first;  ///< the first kShown

 private:
  /// Whether this is one more of the last fault, and no row between them was left out.
  bool is_next(std::uint64_t line, std::size_t column, std::string_view why) const noexcept {
    if (first.empty() || shown() != count) return false;
    const Fault& last = first.back();
    return last.line + last.rows == line && last.column == column && last.why == why;
  }
};

}  // namespace weir::replay
