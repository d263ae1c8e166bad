#pragma once

#include <cstdint>
#include <string>

#include "core/clock.h"

namespace weir::app {

/// A progress bar on a terminal's last line (stderr), drawn at most ten times a second.
class Progress {
 public:
  explicit Progress(bool shown) : shown_(shown) {}
  void show(std::uint64_t rows, std::uint64_t bytes, std::uint64_t bytes_total);
  void clear();

  /// `[########            ]  40 %  1,200,000 rows  950,000/s  2s left`; total 0: not known. Pure.
  static std::string line(std::uint64_t rows, std::uint64_t bytes, std::uint64_t bytes_total,
                          milliseconds elapsed);

 private:
  bool shown_, drawn_ = false;
  Clock clock_;
  TimePoint start_ = clock_.now(), last_{};
};

}  // namespace weir::app
