#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/words.h"

namespace weir::policies {

/// Counters of one policy or list on one worker. One writer; any thread may read.
struct StatsCells {
  static constexpr std::size_t kFields = 8;
  using Cell = std::atomic<std::uint64_t>;
  ByAction<Cell> verdicts{};  ///< by action: how often it was the policy's standing
  ByAction<Cell> shadows{};
  std::array<Cell, kFields>
      missing{};  ///< by key part, then argument; the last cell takes the rest
  Cell events{};  ///< that it has judged: watched events with its key
  Cell amounts_refused{};
  Cell late{};    ///< events that came later than `late` allows
  Cell listed{};  ///< entries made or extended

  static void add(Cell& cell) noexcept {
    cell.store(cell.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
};

/// The statistics of all policies and lists by name; they outlive reloads, so that a counter never
/// falls. open() takes a mutex and may allocate; it is called when a policy set is put into use.
class StatsBank {
 public:
  explicit StatsBank(std::size_t workers) : workers_(workers) {}
  /// `fields`: names of key parts and arguments, for weir_missing_field_total.
  StatsCells* open(std::string_view kind, std::string_view name, std::size_t worker,
                   const std::vector<std::string>& fields = {});
  /// Prometheus text, at most some 1,500 series for any configuration.
  /// `dropped`: how many series of others were left out already.
  void write(std::string& out, std::size_t dropped = 0) const;
  /// The sums over all workers for one policy or list.
  struct Totals {
    ByAction<std::uint64_t> verdicts{}, shadows{};
    std::uint64_t events = 0, missing = 0, amounts_refused = 0, late = 0, listed = 0;
  };
  Totals totals(std::string_view kind, std::string_view name) const;
  /// Calls told(name, totals) for each item of a kind, under the mutex.
  void each(std::string_view kind,
            const std::function<void(const std::string&, const Totals&)>& told) const;

 private:
  using Name = std::pair<std::string, std::string>;  // "policy" or "list", and its name
  struct Entry {
    std::vector<std::unique_ptr<StatsCells>> cells;  // per worker
    std::vector<std::string> fields;
  };
  static Totals sum(const Entry& entry);
  std::size_t workers_;
  mutable std::mutex mutex_;
  std::map<Name, Entry, std::less<>> entries_;
};

}  // namespace weir::policies
