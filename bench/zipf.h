#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace weir::bench {

/// Zipf's law over `values` values: the k-th of them comes in proportion to k^-skew. 0: all alike.
class Zipf {
 public:
  Zipf(std::size_t values, double skew) {
    upto_.reserve(values);
    double sum = 0;
    for (std::size_t k = 1; k <= values; ++k)
      upto_.push_back(sum += std::pow(static_cast<double>(k), -skew));
  }
  /// `at`: 0 .. 1, uniform. Values count from 0, the most frequent one.
  std::size_t draw(double at) const noexcept {
    const auto found = std::lower_bound(upto_.begin(), upto_.end(), at * upto_.back());
    return std::min(static_cast<std::size_t>(found - upto_.begin()), upto_.size() - 1);
  }

 private:
  std::vector<double> upto_;
};

}  // namespace weir::bench
