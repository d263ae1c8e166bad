#pragma once

#include <cstdint>
#include <vector>

#include "core/prefetch.h"
#include "limiter/views/index.h"
#include "limiter/views/view.h"

namespace weir::limiter {

/// The state of a view with one of limiter/views/metrics.h: groups with a Cell each, and in every
/// pane a log of (group, Part). An event costs the group's slot, its cell and its entry in the
/// pane's log. A group lives as long as some pane has an entry of it.
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
    Index::Slot* slot = groups_.find(event.key);
    if (slot == nullptr) {
      const std::size_t cost = kGroupBytes + kEntryBytes + event.parts.size();
      if (!budget.has(cost)) return false;
      budget.used += cost - kEntryBytes;
      slot = groups_.add(event.key, event.parts);
      if (slot->id == held_.size()) held_.emplace_back();
    }
    Held& held = held_[slot->id];
    if (slot->serial == pane.serial) {
      pane.log[slot->place].part.add(event);
    } else {
      if (!budget.has(kEntryBytes)) return false;
      budget.used += kEntryBytes;
      slot->serial = pane.serial;
      slot->place = static_cast<std::uint32_t>(pane.log.size());
      ++held.entries;
      pane.log.push_back({slot->id, {}});
      pane.log.back().part.add(event);
    }
    if (inside) held.cell.add(pane.start, event);
    return true;
  }

  void enter(const Pane& pane) {
    for (const Entry& entry : pane.log) held_[entry.group].cell.enter(pane.start, entry.part);
    whole_.enter(pane.start, pane.whole);
  }
  /// The pane goes for good. inside: it had been entered.
  void leave(Pane& pane, bool inside, Budget& budget) {
    if (inside) whole_.leave(pane.start, pane.whole);
    for (std::size_t i = 0; i < pane.log.size(); ++i) {
      load_ahead(pane.log, i);
      const Entry& entry = pane.log[i];
      Held& held = held_[entry.group];
      if (inside) held.cell.leave(pane.start, entry.part);
      if (--held.entries != 0) continue;
      held.cell = {};
      budget.used -= kGroupBytes + groups_.parts(entry.group).size();
      groups_.remove(entry.group);
    }
    budget.used -= kEntryBytes * pane.log.size();
    pane.log.clear();
    pane.whole = {};
  }
  /// No pane is entered any more.
  void leave_all() {
    for (Held& held : held_) held.cell = {};
    whole_ = {};
  }

  template <class Each>
  void each(Each row) const {
    for (std::uint32_t group = 0; group < held_.size(); ++group) {
      const Cell& cell = held_[group].cell;
      if (cell.present()) row(group, cell.value());
    }
  }
  std::string_view parts(std::uint32_t group) const noexcept { return groups_.parts(group); }
  Number total() const noexcept { return whole_.value(); }
  std::size_t keys() const noexcept { return groups_.size(); }

 private:
  struct Held {
    Cell cell;
    std::uint32_t entries = 0;  // in all panes
  };
  static constexpr std::size_t kGroupBytes = Groups::kBytes + 2 * sizeof(Held);
  static constexpr std::size_t kEntryBytes = 2 * sizeof(Entry);

  /// A pane's groups lie anywhere: what a later turn of leave() reads is on its way by then.
  void load_ahead(const std::vector<Entry>& log, std::size_t i) const noexcept {
    if (i + 24 < log.size()) prefetch_line(&held_[log[i + 24].group]);
    if (i + 16 < log.size() && held_[log[i + 16].group].entries == 1) {
      groups_.prefetch(log[i + 16].group);
    }
    if (i + 8 < log.size() && held_[log[i + 8].group].entries == 1) {
      groups_.prefetch_slot(log[i + 8].group);
    }
  }

  Groups groups_;
  HugeVector<Held> held_;  // apart from the names: a ranking reads all of them, and few names
  Cell whole_;
};

}  // namespace weir::limiter
