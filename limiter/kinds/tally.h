#pragma once

#include <cstdint>

#include "limiter/kinds/amounts.h"
#include "limiter/kinds/journal.h"

namespace weir::limiter {

/// An amount as a journal remembers it: the bits of a double (real) or of a 64-bit integer.
std::uint64_t bits_of(const CounterSpec& spec, const Amount& event) noexcept;

/// Two amounts as a journal remembers them, added up; integers saturate.
std::uint64_t sum_of(const CounterSpec& spec, std::uint64_t a, std::uint64_t b) noexcept;

/// Adds amounts up to the value of a metric: count, sum, average, minimum or maximum. Integers are
/// added in 128 bits.
class Tally {
 public:
  explicit Tally(const CounterSpec& spec) noexcept : spec_(&spec) {}
  void add(std::uint64_t bits) noexcept;
  /// Another tally's totals; `extreme` counts only for minimum and maximum, and only if n > 0.
  void add_totals(std::uint64_t n, Wide wide, double real, std::uint64_t extreme) noexcept;

  bool has_value() const noexcept { return n_ != 0 || is_sum(); }
  Number value() const noexcept;
  std::uint64_t extreme() const noexcept { return extreme_; }
  /// Whether the value follows from the number of events and the total of their amounts.
  static bool adds_up(Metric metric) noexcept {
    return metric == Metric::count || metric == Metric::sum || metric == Metric::average;
  }
  static bool is_extreme(Metric metric) noexcept {
    return metric == Metric::minimum || metric == Metric::maximum;
  }
  /// Whether `a` lies beyond `b`: below for a minimum, above for a maximum.
  static bool beyond(const CounterSpec& spec, std::uint64_t a, std::uint64_t b) noexcept;

 private:
  bool is_sum() const noexcept {
    return spec_->metric == Metric::count || spec_->metric == Metric::sum;
  }

  const CounterSpec* spec_;
  std::uint64_t n_ = 0;
  Wide wide_ = 0;
  double real_ = 0;
  std::uint64_t extreme_ = 0;
};

/// average, minimum and maximum over fixed windows: a few numbers a key, however many events.
extern const KindOps kTallyOps;
/// The leaky bucket.
extern const KindOps kLeakyOps;
/// The datum of the previous event.
extern const KindOps kLastOps;

}  // namespace weir::limiter
