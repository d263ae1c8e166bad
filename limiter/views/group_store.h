#pragma once

#include <cstdint>
#include <vector>

#include "limiter/view.h"
#include "limiter/views/index.h"

namespace weir::limiter {

/// What a view with one of limiter/views/metrics.h holds: groups with a Cell each, and in every
/// pane a log of (group, Part). An event costs the group's slot, its mark, its cell and its entry
/// in the pane's log; a group lives as long as some pane has an entry of it.
template <class Metric>
class GroupStore {
  using Part = typename Metric::Part;
  using Cell = typename Metric::Cell;

 public:
  struct Entry {
    std::uint32_t group;
    Part part;
  };
  struct Pane {
    std::int64_t start = 0;
    std::uint32_t serial = 0;  ///< never given twice
    std::int64_t events = 0;
    std::vector<Entry> log;
    Part whole;
  };

  explicit GroupStore(const ViewSpec&) {}

  /// False: no room for the key. The total has the event all the same.
  bool add(Pane& pane, const ViewEvent& event, bool inside, Budget& budget) {
    pane.whole.add(event);
    if (inside) whole_.add(pane.start, event);
    std::uint32_t group = groups_.find(event.key);
    if (group == Index::kNone) {
      const std::size_t cost = kGroupBytes + kEntryBytes + event.parts.size();
      if (!budget.has(cost)) return false;
      budget.used += cost - kEntryBytes;
      group = groups_.add(event.key, event.parts);
      if (group == marks_.size()) {
        marks_.emplace_back();
        cells_.emplace_back();
      }
      marks_[group] = {};
    }
    Mark& mark = marks_[group];
    if (mark.serial == pane.serial) {
      pane.log[mark.place].part.add(event);
    } else {
      if (!budget.has(kEntryBytes)) return false;
      budget.used += kEntryBytes;
      mark.serial = pane.serial;
      mark.place = static_cast<std::uint32_t>(pane.log.size());
      ++mark.entries;
      pane.log.push_back({group, {}});
      pane.log.back().part.add(event);
    }
    if (inside) cells_[group].add(pane.start, event);
    return true;
  }

  void enter(const Pane& pane) {
    for (const Entry& entry : pane.log) cells_[entry.group].enter(pane.start, entry.part);
    whole_.enter(pane.start, pane.whole);
  }
  /// The pane goes for good. inside: it had been entered.
  void leave(Pane& pane, bool inside, Budget& budget) {
    if (inside) whole_.leave(pane.start, pane.whole);
    for (const Entry& entry : pane.log) {
      if (inside) cells_[entry.group].leave(pane.start, entry.part);
      if (--marks_[entry.group].entries != 0) continue;
      cells_[entry.group] = {};
      budget.used -= kGroupBytes + groups_.parts(entry.group).size();
      groups_.remove(entry.group);
    }
    budget.used -= kEntryBytes * pane.log.size();
    pane.log.clear();
    pane.whole = {};
  }
  /// No pane is entered any more.
  void leave_all() {
    cells_.assign(cells_.size(), Cell{});
    whole_ = {};
  }

  template <class Each>
  void each(Each row) const {
    for (std::uint32_t group = 0; group < cells_.size(); ++group) {
      const Cell& cell = cells_[group];
      if (cell.present()) row(groups_.parts(group), cell.value());
    }
  }
  Number total() const noexcept { return whole_.value(); }
  std::size_t keys() const noexcept { return groups_.size(); }

 private:
  static constexpr std::size_t kGroupBytes =
      Groups::kBytes + 2 * (sizeof(Cell) + 3 * sizeof(std::uint32_t));
  static constexpr std::size_t kEntryBytes = 2 * sizeof(Entry);
  struct Mark {
    std::uint32_t serial = 0;  // of the pane that it is in, at
    std::uint32_t place = 0;
    std::uint32_t entries = 0;  // in all panes
  };

  Groups groups_;
  std::vector<Mark> marks_;
  std::vector<Cell> cells_;  // apart from the marks: a ranking reads all of them, and nothing else
  Cell whole_;
};

}  // namespace weir::limiter
