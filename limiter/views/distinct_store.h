#pragma once

#include <cstdint>
#include <limits>
#include <new>
#include <vector>

#include "core/prefetch.h"
#include "limiter/memory/make_room.h"
#include "limiter/views/index.h"
#include "limiter/views/view.h"
#include "limiter/views/view_delta.h"
#include "limiter/views/view_part.h"

namespace weir::limiter {

/// Exact distinct: of every (group, member) the newest pane of the window that has it. A pane's log
/// names the members seen in it; when the pane is left, those whose newest it was are gone.
class DistinctStore {
 public:
  struct Pane {
    std::int64_t start = 0;
    std::uint32_t serial = 0;  ///< never given twice
    std::int64_t events = 0;
    std::vector<std::uint32_t> log;  ///< members
  };

  explicit DistinctStore(const ViewSpec& spec) : grouped_(spec.grouped) {
    if (grouped_) whole_ = add_group({}, {});
  }

  /// dropped: no room for the key or the member. known: the pane has it already.
  View::Seen add(Pane& pane, const ViewEvent& event, bool inside, Budget& budget) {
    // The total has members of its own: a member of two groups is one of the whole.
    if (grouped_) add_member(pane, whole_, {}, event.member, inside, budget);
    const Index::Slot* slot = groups_.find(event.key);
    if (slot != nullptr) return add_member(pane, slot->id, event.key, event.member, inside, budget);
    const std::size_t cost = kGroupBytes + event.parts.size();
    if (!budget.has(cost + kMemberBytes + kEntryBytes)) return View::Seen::dropped;
    const std::uint32_t group = add_group(event.key, event.parts);
    budget.used += cost;
    try {
      return add_member(pane, group, event.key, event.member, inside, budget);
    } catch (const std::bad_alloc&) {  // a group lives by its members
      groups_.remove(group);
      budget.used -= cost;
      throw;
    }
  }
  View::Seen absorb(Pane& pane, const ViewEvent& member, const ViewPart&, bool inside,
                    Budget& budget) {
    return add(pane, member, inside, budget);
  }
  void absorb_whole(Pane&, const ViewPart&, bool) {}
  void tell(const Pane& pane, ViewDelta& out) const {
    for (const std::uint32_t id : pane.log) {
      const Member& member = members_[id];
      if (grouped_ && member.group == whole_) continue;  // it follows from the others
      const Hash128& owner = groups_.key(member.group);
      const Hash128 itself{member.key.lo - owner.lo * kOdd, member.key.hi - owner.hi * kOdd};
      out.add(pane.start, owner, groups_.parts(member.group), itself);
    }
  }
  ViewPart whole(const Pane&) const noexcept { return {}; }
  void enter(const Pane& pane) {
    for (const std::uint32_t member : pane.log) touch(member, pane.start);
  }
  void leave(Pane& pane, bool inside, Budget& budget) {
    for (std::size_t i = 0; i < pane.log.size(); ++i) {
      // The members of a pane are spread over memory: the prefetch fetches members of later turns
      // in time.
      if (i + 16 < pane.log.size()) prefetch_line(&members_[pane.log[i + 16]]);
      if (i + 8 < pane.log.size() && members_[pane.log[i + 8]].entries == 1) {
        index_.prefetch(members_[pane.log[i + 8]].key);
      }
      Member& member = members_[pane.log[i]];
      Group& group = state_[member.group];
      if (inside && member.newest == pane.start) {
        member.newest = kNever;
        --group.value;
      }
      if (--member.entries != 0) continue;
      index_.remove(member.key);
      budget.used -= kMemberBytes;
      if (--group.members != 0 || (grouped_ && member.group == whole_)) continue;
      budget.used -= kGroupBytes + groups_.parts(member.group).size();
      groups_.remove(member.group);
    }
    budget.used -= kEntryBytes * pane.log.size();
    pane.log.clear();
  }
  void leave_all() {
    for (Member& member : members_) member.newest = kNever;
    for (Group& group : state_) group.value = 0;
  }

  template <class Each>
  void each(Each row) const {
    for (std::uint32_t group = grouped_ ? 1 : 0; group < state_.size(); ++group) {
      if (state_[group].value != 0) row(group, Number{state_[group].value});
    }
  }
  std::string_view parts(std::uint32_t group) const noexcept { return groups_.parts(group); }
  Number total() const noexcept { return state_.empty() ? 0 : state_[0].value; }
  std::size_t keys() const noexcept { return groups_.size() - (grouped_ ? 1 : 0); }

 private:
  static constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();
  struct Member {
    Hash128 key;                   // of (group, member)
    std::int64_t newest = kNever;  // the newest entered pane that has it, by its start
    std::uint32_t group = 0;
    std::uint32_t entries = 0;  // in all panes
  };
  struct Group {
    std::int64_t value = 0;
    std::size_t members = 0;
  };
  static constexpr std::size_t kGroupBytes = Groups::kBytes + 2 * sizeof(Group);
  static constexpr std::size_t kMemberBytes = Index::kBytes + 2 * sizeof(Member);
  static constexpr std::size_t kEntryBytes = 2 * sizeof(std::uint32_t);

  std::uint32_t add_group(const Hash128& key, std::string_view parts) {
    make_room(state_);
    const std::uint32_t group = groups_.add(key, parts)->id;
    if (group == state_.size()) state_.emplace_back();
    state_[group] = {};
    return group;
  }

  View::Seen add_member(Pane& pane, std::uint32_t group, const Hash128& owner,
                        const Hash128& member, bool inside, Budget& budget) {
    // Both are keyed hashes, so any mixture that keeps both halves is as good as a hash of the two.
    const Hash128 key{owner.lo * kOdd + member.lo, owner.hi * kOdd + member.hi};
    Index::Slot* slot = index_.find(key);
    // First all that may lack memory: a member is noted whole, or not at all.
    if (slot == nullptr || slot->serial != pane.serial) make_room(pane.log);
    if (slot == nullptr) {
      if (!budget.has(kMemberBytes + kEntryBytes)) return View::Seen::dropped;
      make_room(members_);
      slot = index_.add(key);
      if (slot->id == members_.size()) members_.emplace_back();
      budget.used += kMemberBytes;
      members_[slot->id] = {key, kNever, group, 0};
      ++state_[group].members;
    }
    // Noted, and counted if the pane is inside.
    if (slot->serial == pane.serial) return View::Seen::known;
    if (!budget.has(kEntryBytes)) return View::Seen::dropped;
    budget.used += kEntryBytes;
    slot->serial = pane.serial;
    ++members_[slot->id].entries;
    pane.log.push_back(slot->id);
    if (inside) touch(slot->id, pane.start);
    return View::Seen::counted;
  }
  void touch(std::uint32_t id, std::int64_t pane) noexcept {
    Member& member = members_[id];
    if (member.newest == kNever) ++state_[member.group].value;
    if (pane > member.newest) member.newest = pane;
  }

  bool grouped_;
  std::uint32_t whole_ = 0;  // grouped: the group of all, number 0
  Groups groups_;
  std::vector<Group> state_;
  Index index_;
  HugeVector<Member> members_;
};

}  // namespace weir::limiter
