#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/number.h"

namespace weir::admin {

/// The number of keys by reading. Whole numbers below 1000 have a bar each; other readings are
/// grouped by their first three digits. So there are at most some 900 bars for each power of ten.
class Histogram {
 public:
  Histogram() = default;
  Histogram(const Histogram&) = delete;
  Histogram& operator=(const Histogram&) = delete;

  struct Bar {
    double from = 0, to = 0;  ///< readings from `from` on and below `to`
    std::int64_t keys = 0;
  };

  void add(const Number& reading);
  std::int64_t keys() const noexcept { return keys_; }
  /// From the smallest reading to the largest, without empty bars. With more than `most` bars,
  /// readings are grouped by two digits, then by one; widely different readings may still need more
  /// bars.
  std::vector<Bar> bars(std::size_t most) const;

 private:
  static constexpr std::int64_t kSteps = 1000;
  static constexpr std::size_t kPowersOfTen = 317;
  /// Keys by how often the step of the row goes into their readings, from -kSteps on.
  using Row = std::array<std::int64_t, 2 * kSteps + 1>;
  struct Edge {
    double from = 0, to = 0;
  };
  static Edge edge_of(double reading, int digits, bool whole);

  std::vector<std::int64_t> small_ = std::vector<std::int64_t>(kSteps);  // whole numbers from 0 on
  /// Other readings, by the power of ten that is their step, from the finest one on.
  std::array<std::unique_ptr<Row>, kPowersOfTen> rows_;
  std::int64_t keys_ = 0;
  bool whole_ = true;
};

}  // namespace weir::admin
