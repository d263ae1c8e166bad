#pragma once

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include "core/prefetch.h"
#include "limiter/memory/make_room.h"
#include "limiter/views/index.h"
#include "limiter/views/view.h"
#include "limiter/views/view_delta.h"

namespace weir::limiter {

/// The state of a view with one of limiter/views/metrics.h: groups with a Cell each, and in every
/// pane a log of (group, Part). An event costs the group's slot, its cell and its entry in the
/// pane's log. A group lives as long as some pane has an entry of it. Without memory an event (a
/// pane that is entered) is not counted at all.
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

  explicit GroupStore(const ViewSpec& spec) : prunes_(spec.endless) {}

  /// dropped: no room for the key. The total has the event all the same.
  View::Seen add(Pane& pane, const ViewEvent& event, bool inside, Budget& budget) {
    if (inside) whole_.make_room();
    pane.whole.add(event);
    if (inside) whole_.add(pane.start, event);
    return add_to_group(pane, event, event, inside, budget);
  }
  /// Adds the counts of other replicas: for one key, and for all keys together.
  View::Seen absorb(Pane& pane, const ViewEvent& key, const ViewPart& part, bool inside,
                    Budget& budget) {
    return add_to_group(pane, key, part, inside, budget);
  }
  void absorb_whole(Pane& pane, const ViewPart& part, bool inside) {
    if (inside) whole_.make_room();
    pane.whole.add(part);
    if (inside) whole_.add(pane.start, part);
  }

  void tell(const Pane& pane, ViewDelta& out) const {
    for (const Entry& entry : pane.log) {
      out.add(pane.start, groups_.key(entry.group), groups_.parts(entry.group),
              entry.part.exchanged());
    }
  }
  ViewPart whole(const Pane& pane) const noexcept { return pane.whole.exchanged(); }

  void enter(const Pane& pane) {
    for (const Entry& entry : pane.log) held_[entry.group].cell.make_room();
    whole_.make_room();
    for (const Entry& entry : pane.log) held_[entry.group].cell.enter(pane.start, entry.part);
    whole_.enter(pane.start, pane.whole);
  }
  /// The pane is removed. inside: it had been entered.
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
  /// 0 if no pane has a total: a chunk of others may lack it.
  Number total() const noexcept { return whole_.present() ? whole_.value() : Number{0}; }
  std::size_t keys() const noexcept { return groups_.size(); }

 private:
  template <class Counted>
  View::Seen add_to_group(Pane& pane, const ViewEvent& key, const Counted& counted, bool inside,
                          Budget& budget) {
    Index::Slot* slot = groups_.find(key.key);
    // First all that may lack memory, so that an event is counted whole, or not at all.
    if (slot == nullptr || slot->serial != pane.serial) make_room(pane.log);
    if (slot == nullptr) {
      const std::size_t cost = kGroupBytes + kEntryBytes + key.parts.size();
      if (!budget.has(cost)) {
        if (prunes_) prune(pane, budget);
        if (!budget.has(cost)) return View::Seen::dropped;
      }
      slot = groups_.add(key.key, key.parts);
      try {
        if (slot->id == held_.size()) held_.emplace_back();
        if (inside) held_[slot->id].cell.make_room();
      } catch (const std::bad_alloc&) {  // a group lives by its entries
        groups_.remove(slot->id);
        throw;
      }
      budget.used += cost - kEntryBytes;
    } else if (inside) {
      held_[slot->id].cell.make_room();
    }
    Held& held = held_[slot->id];
    if (slot->serial == pane.serial) {
      pane.log[slot->place].part.add(counted);
    } else {
      if (!budget.has(kEntryBytes)) return View::Seen::dropped;
      budget.used += kEntryBytes;
      slot->serial = pane.serial;
      slot->place = static_cast<std::uint32_t>(pane.log.size());
      ++held.entries;
      pane.log.push_back({slot->id, {}});
      pane.log.back().part.add(counted);
    }
    if (inside) held.cell.add(pane.start, counted);
    return View::Seen::counted;
  }

  /// In a window without an end no key leaves by itself. Once in a fixed number of new keys, the
  /// eighth with the least values is removed, so that keys that become hot late are seen.
  void prune(Pane& pane, Budget& budget) {
    std::vector<std::pair<Number, std::uint32_t>> by_value;
    each([&](std::uint32_t group, Number value) { by_value.emplace_back(value, group); });
    const std::size_t goes = by_value.size() / 8;
    if (goes == 0) return;
    std::nth_element(by_value.begin(), by_value.begin() + static_cast<std::ptrdiff_t>(goes),
                     by_value.end(), [](const auto& a, const auto& b) {
                       return a.first != b.first ? a.first < b.first : a.second < b.second;
                     });
    for (std::size_t i = 0; i < goes; ++i) held_[by_value[i].second].cell = {};
    std::size_t kept = 0;
    for (const Entry& entry : pane.log) {
      Held& held = held_[entry.group];
      if (held.cell.present()) {
        Index::Slot& slot = groups_.slot(entry.group);
        if (slot.serial == pane.serial) slot.place = static_cast<std::uint32_t>(kept);
        pane.log[kept++] = entry;
        continue;
      }
      if constexpr (requires { entry.part.events; }) {
        budget.pruned += static_cast<std::uint64_t>(entry.part.events);
      } else {
        ++budget.pruned;
      }
      if (--held.entries != 0) continue;
      budget.used -= kGroupBytes + groups_.parts(entry.group).size();
      groups_.remove(entry.group);
    }
    budget.used -= kEntryBytes * (pane.log.size() - kept);
    pane.log.resize(kept);
  }

  struct Held {
    Cell cell;
    std::uint32_t entries = 0;  // in all panes
  };
  static constexpr std::size_t kGroupBytes = Groups::kBytes + 2 * sizeof(Held);
  static constexpr std::size_t kEntryBytes = 2 * sizeof(Entry);

  /// A pane's groups are anywhere in memory: prefetches the lines that later turns of leave() read.
  void load_ahead(const std::vector<Entry>& log, std::size_t i) const noexcept {
    if (i + 24 < log.size()) prefetch_line(&held_[log[i + 24].group]);
    if (i + 16 < log.size() && held_[log[i + 16].group].entries == 1) {
      groups_.prefetch(log[i + 16].group);
    }
    if (i + 8 < log.size() && held_[log[i + 8].group].entries == 1) {
      groups_.prefetch_slot(log[i + 8].group);
    }
  }

  bool prunes_;
  Groups groups_;
  HugeVector<Held> held_;  // apart from the names: a ranking reads all of them, and few names
  Cell whole_;
};

}  // namespace weir::limiter
