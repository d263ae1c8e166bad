#pragma once

#include <cstdint>
#include <vector>

#include "limiter/counters/bank.h"
#include "limiter/counters/held.h"
#include "limiter/kinds/counter.h"
#include "limiter/kinds/kinds.h"
#include "limiter/kinds/table.h"

namespace weir::limiter {

/// Copies events from other counters of the same `what` to a counter that is opened. A new counter
/// starts with the history of the existing ones (history_facts.cc) or with their level
/// (joining.cc). A reopened counter gets the events that came while it was closed (catch_up.cc,
/// joining.cc). Used under Impl::control.
class Bank::HistoryCopier {
 public:
  explicit HistoryCopier(Impl& bank) noexcept : bank_(bank) {}
  HistoryCopier(const HistoryCopier&) = delete;
  HistoryCopier& operator=(const HistoryCopier&) = delete;

  /// Queues a new counter for its initial events.
  void add_receiver(Held& held);
  /// Queues a reopened counter for the events that came while it was closed.
  void add_reopened(Held& held);
  /// Gives all queued counters their events, in one pass through the tables.
  void run();
  /// Notes that a key of this counter may lack its oldest entries if it holds `held` entries or
  /// more.
  void note_cut(Counter& to, std::uint32_t held) const noexcept;

 private:
  struct CopyJob;
  void take_cut(Counter& to, const Counter& from) const noexcept;
  std::vector<const Held*> sources_of(const Held& receiver) const;
  void copy_all(const std::vector<CopyJob>& bequests) const;
  void copy_key(const CopyJob& bequest, Table::Region& region, Slot& slot,
                std::vector<PlainEntry>& entries) const;
  bool waits(const Held& held) const noexcept;
  // catch_up.cc
  void catch_up(Held& again);
  std::vector<Held*> open_meanwhile(const Held& again) const;
  /// ms: the least span in which all counters of the same events place every copy.
  std::int64_t common_span(const Held& again) const;
  // joining.cc
  void join(Held& to);
  std::vector<const Held*> to_join(const Held& to) const;
  void join_from(Held& to, const Held& source);
  void join_key(Held& to, const Held& source, Table::Region& region, Slot& slot,
                std::vector<PlainEntry>& entries);

  Impl& bank_;
  std::vector<Held*> receivers_;
  std::vector<Held*> reopened_;
};

}  // namespace weir::limiter
