#pragma once

#include <cstddef>
#include <vector>

#include "core/clock.h"
#include "limiter/counters/bank.h"
#include "limiter/counters/held.h"
#include "limiter/kinds/table.h"

namespace weir::limiter {

/// Drops closed counters: one scan removes the keys of all of them from the tables. Used under
/// Impl::control.
class Bank::Retirement {
 public:
  explicit Retirement(Impl& bank) noexcept : bank_(bank) {}
  Retirement(const Retirement&) = delete;
  Retirement& operator=(const Retirement&) = delete;

  /// From now on nothing reads it or writes there, and its identity is a new counter's. Its keys
  /// and its table go with the next scan.
  void give_up(Held& held);
  /// Whether there is an index for one more counter, be it that of a closed one.
  bool find_index();
  /// Withholds the bytes of a table of its own, be they those of closed counters' tables.
  bool find_memory(std::size_t bytes);
  /// Drops the counters whose windows have passed, and continues the scan, for some milliseconds at
  /// most.
  void maintain(TimePoint now, TimePoint wall);

 private:
  /// Where the scan for the keys of counters that leave has come to.
  struct Scan {
    std::vector<bool> leaves;  // by index
    std::vector<Table*> tables;
    std::size_t table = 0, region = 0, bucket = 0;
  };
  void begin_scan();
  bool scan_slice(std::size_t buckets);
  void scan_bucket(Table& table, std::size_t region, std::size_t bucket);
  void end_scan();
  std::vector<Held*> closed_first_to_last() const;
  void give_up_what_is_over(TimePoint now, TimePoint wall);
  void free_what_is_gone(TimePoint now);

  Impl& bank_;
  std::vector<Held*> leaving_, next_leaving_;  // given up: of this scan, of the next one
  Scan scan_;
  std::size_t gone_ = 0;  // of Impl::all
};

}  // namespace weir::limiter
