#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "limiter/view.h"
#include "limiter/views/index.h"

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

  bool add(Pane& pane, const ViewEvent& event, bool inside, Budget& budget) {
    // The total has members of its own: a member of two groups is one of the whole.
    if (grouped_) add_member(pane, whole_, {}, event.member, inside, budget);
    std::uint32_t group = groups_.find(event.key);
    if (group == Index::kNone) {
      const std::size_t cost = kGroupBytes + event.parts.size();
      if (!budget.has(cost + kMemberBytes + kEntryBytes)) return false;
      budget.used += cost;
      group = add_group(event.key, event.parts);
    }
    return add_member(pane, group, event.key, event.member, inside, budget);
  }
  void enter(const Pane& pane) {
    for (const std::uint32_t member : pane.log) touch(member, pane.start);
  }
  void leave(Pane& pane, bool inside, Budget& budget) {
    for (const std::uint32_t id : pane.log) {
      Member& member = members_[id];
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
      if (state_[group].value != 0) row(groups_.parts(group), Number{state_[group].value});
    }
  }
  Number total() const noexcept { return state_.empty() ? 0 : state_[0].value; }
  std::size_t keys() const noexcept { return groups_.size() - (grouped_ ? 1 : 0); }

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();
  struct Member {
    Hash128 key;                   // of (group, member)
    std::int64_t newest = kNever;  // the newest entered pane that has it, by its start
    std::uint32_t group = 0;
    std::uint32_t entries = 0;  // in all panes
    std::uint32_t serial = 0;   // of the pane that it was noted in last
  };
  struct Group {
    std::int64_t value = 0;
    std::size_t members = 0;
  };
  static constexpr std::size_t kGroupBytes = Groups::kBytes + 2 * sizeof(Group);
  static constexpr std::size_t kMemberBytes = Index::kBytes + 2 * sizeof(Member);
  static constexpr std::size_t kEntryBytes = 2 * sizeof(std::uint32_t);

  std::uint32_t add_group(const Hash128& key, std::string_view parts) {
    const std::uint32_t group = groups_.add(key, parts);
    if (group == state_.size()) state_.emplace_back();
    state_[group] = {};
    return group;
  }

  bool add_member(Pane& pane, std::uint32_t group, const Hash128& owner, const Hash128& member,
                  bool inside, Budget& budget) {
    // Both are keyed hashes, so any mixture that keeps both halves is as good as a hash of the two.
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
    const Hash128 key{owner.lo * kOdd + member.lo, owner.hi * kOdd + member.hi};
    std::uint32_t id = index_.find(key);
    if (id == Index::kNone) {
      if (!budget.has(kMemberBytes + kEntryBytes)) return false;
      budget.used += kMemberBytes;
      id = index_.add(key);
      if (id == members_.size()) members_.emplace_back();
      members_[id] = {key, kNever, group, 0, 0};
      ++state_[group].members;
    }
    if (members_[id].serial != pane.serial) {
      if (!budget.has(kEntryBytes)) return false;
      budget.used += kEntryBytes;
      members_[id].serial = pane.serial;
      ++members_[id].entries;
      pane.log.push_back(id);
    }
    if (inside) touch(id, pane.start);
    return true;
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
  std::vector<Member> members_;
};

}  // namespace weir::limiter
