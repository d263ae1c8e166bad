#include "limiter/views/view_delta.h"

#include <algorithm>
#include <utility>

#include "limiter/memory/make_room.h"
#include "limiter/views/hyperloglog.h"

namespace weir::limiter {
namespace {

// Tables at their emptiest and vectors at their fullest growth, as in Budget.
constexpr std::size_t kPaneBytes = 400;
constexpr std::size_t kGroupCost = Index::kBytes + 2 * (96 + 16 + sizeof(std::uint32_t));
constexpr std::size_t kMemberCost = Index::kBytes + 2 * 24;
constexpr std::size_t kMemberBytes = 16;  // in a chunk
// The most bytes that are taken of a pane as a base: an answer of the store has 8 MiB at most.
constexpr std::size_t kBaseMax = std::size_t{6} << 20;
constexpr std::uint64_t kOddNumber = 0x9e3779b97f4a7c15;

Hash128 within(const Hash128& owner, std::uint64_t lo, std::uint64_t hi) noexcept {
  return {owner.lo * kOddNumber + lo, owner.hi * kOddNumber + hi};
}

ViewPart part_of_event(ViewShape::Form form, const ViewEvent& event) noexcept {
  using Form = ViewShape::Form;
  ViewPart out;
  out.events = 1;
  if (form == Form::sum || form == Form::average) out.sum.add(event.amount);
  if (form == Form::minimum || form == Form::maximum) {
    out.best = event.amount;
    out.any = true;
  }
  return out;
}

}  // namespace

/// A chunk on its way into a delta.
class ViewDelta::Absorption final : public ChunkSink {
 public:
  Absorption(ViewDelta& to, const HashSecret& secret, std::optional<std::int64_t> only)
      : to_(to), secret_(secret), only_(only) {}

  bool on_pane(const ViewPane& pane) override {
    if (only_ && pane.start != *only_) return false;
    pane_ = &to_.pane_at(pane.start, pane.first);
    pane_->all.last = std::max(pane_->all.last, pane.last);
    pane_->all.events = std::min(ViewPart::kEventsMax, pane_->all.events + pane.events);
    to_.merge(pane_->all.whole, pane.whole);
    return true;
  }
  void on_key(std::string_view parts, const ViewPart& part) override {
    to_.add_part(*pane_, secret_.hash(parts), parts, part);
  }
  void on_member(std::string_view parts, const Hash128& member) override {
    to_.add_member(*pane_, secret_.hash(parts), parts, member, 0);
  }
  void on_register(std::string_view parts, std::uint32_t entry) override {
    to_.add_member(*pane_, secret_.hash(parts), parts, {}, entry);
  }

 private:
  ViewDelta& to_;
  const HashSecret& secret_;
  std::optional<std::int64_t> only_;
  Pane* pane_ = nullptr;
};

ViewDelta::ViewDelta(const ViewSpec& spec) : shape_(ViewShape::of(spec)), spans_(spec) {}

bool ViewDelta::has_room(std::size_t bytes) noexcept {
  if (limit_ != 0 && bytes_ + bytes > limit_) return false;
  bytes_ += bytes;
  return true;
}

ViewDelta::Pane& ViewDelta::pane_at(std::int64_t start, std::int64_t at) {
  const auto [found, fresh] = panes_.try_emplace(start);
  Pane& pane = found->second;
  if (fresh) {
    bytes_ += kPaneBytes;
    pane.all.start = start;
    pane.all.first = pane.all.last = at;
    pane.salt = static_cast<std::uint64_t>(start) * kOddNumber;
  }
  pane.all.first = std::min(pane.all.first, at);
  pane.all.last = std::max(pane.all.last, at);
  return pane;
}

void ViewDelta::merge(ViewPart& into, const ViewPart& part) noexcept {
  if (into.events > ViewPart::kEventsMax - part.events) {  // no chunk could hold it
    ++lost_;
    return;
  }
  into.events += part.events;
  into.sum.add(part.sum);
  if (!part.any) return;
  const bool better =
      !into.any ||
      (shape_.form == ViewShape::Form::maximum ? part.best > into.best : part.best < into.best);
  if (better) into.best = part.best;
  into.any = true;
}

/// An event of any key.
ViewDelta::Pane& ViewDelta::note(std::int64_t at) {
  if (hot_ == nullptr || at < hot_span_.start || at >= hot_span_.end) {
    const Span span = spans_.pane(at);
    hot_ = &pane_at(span.start, at);
    hot_span_ = span;
  }
  hot_->all.first = std::min(hot_->all.first, at);
  hot_->all.last = std::max(hot_->all.last, at);
  ++hot_->all.events;
  return *hot_;
}

void ViewDelta::add(const ViewEvent& event) {
  Pane& pane = note(to_ms(event.at));
  if (shape_.has_parts()) {
    const ViewPart part = part_of_event(shape_.form, event);
    merge(pane.all.whole, part);
    add_part(pane, event.key, event.parts, part);
  } else if (shape_.form == ViewShape::Form::members) {
    add_member(pane, event.key, event.parts, event.member, 0);
  } else {
    add_member(pane, event.key, event.parts, {},
               HyperLogLog::entry_of(event.member.lo, shape_.precision));
  }
}

void ViewDelta::add(const ViewPane& all) {
  Pane& pane = pane_at(all.start, all.first);
  pane.all.last = std::max(pane.all.last, all.last);
  pane.all.events = std::min(ViewPart::kEventsMax, pane.all.events + all.events);
  merge(pane.all.whole, all.whole);
}

void ViewDelta::add(std::int64_t pane, const Hash128& key, std::string_view parts,
                    const ViewPart& part) {
  add_part(panes_.at(pane), key, parts, part);
}

void ViewDelta::add(std::int64_t pane, const Hash128& key, std::string_view parts,
                    const Hash128& member) {
  add_member(panes_.at(pane), key, parts, member, 0);
}

void ViewDelta::add(std::int64_t pane, const Hash128& key, std::string_view parts,
                    std::uint32_t entry) {
  add_member(panes_.at(pane), key, parts, {}, entry);
}

bool ViewDelta::absorb(std::string_view chunk, const HashSecret& secret,
                       std::optional<std::int64_t> only) {
  Absorption absorption(*this, secret, only);
  return read_chunk(chunk, shape_, absorption);
}

ViewDelta::Group* ViewDelta::group_of(Pane& pane, const Hash128& key, std::string_view parts) {
  const Hash128 name = within(key, pane.salt, pane.salt);
  if (const Index::Slot* slot = group_index_.find(name)) return &groups_[slot->id];
  if (parts.size() > kKeyMax || !has_room(kGroupCost + 2 * parts.size())) {
    ++lost_;
    return nullptr;
  }
  // First all that may lack memory: a group is there whole, or not at all.
  make_room(groups_);
  make_room(pane.groups);
  if (text_.capacity() - text_.size() < parts.size())
    text_.reserve(text_.size() + std::max(text_.size(), parts.size()));
  const std::uint32_t id = group_index_.add(name)->id;  // dense: nothing is ever removed
  groups_.push_back({text_.size(), parts.size(), {}, kNone, 0});
  text_ += parts;
  pane.groups.push_back(id);
  return &groups_[id];
}

void ViewDelta::add_part(Pane& pane, const Hash128& key, std::string_view parts,
                         const ViewPart& part) {
  if (Group* group = group_of(pane, key, parts)) merge(group->part, part);
}

void ViewDelta::add_member(Pane& pane, const Hash128& key, std::string_view parts,
                           const Hash128& member, std::uint32_t entry) {
  Group* group = group_of(pane, key, parts);
  if (group == nullptr) return;
  const bool registers = shape_.form == ViewShape::Form::registers;
  const Hash128 owner = within(key, pane.salt, pane.salt);
  // A register is known by its number alone: a greater rank replaces a smaller one.
  const Hash128 name = registers ? within(owner, (entry >> 6) * kOddNumber, entry >> 6)
                                 : within(owner, member.lo, member.hi);
  if (const Index::Slot* slot = member_index_.find(name)) {
    members_[slot->id].entry = std::max(members_[slot->id].entry, entry);
    return;
  }
  if (!has_room(kMemberCost)) {
    ++lost_;
    return;
  }
  make_room(members_);
  const std::uint32_t id = member_index_.add(name)->id;
  members_.push_back({member, entry, std::exchange(group->first, id)});
  ++group->members;
}

Number ViewDelta::value(const Group& group) const noexcept {
  using Form = ViewShape::Form;
  switch (shape_.form) {
    case Form::count:
      return group.part.events;
    case Form::sum:
      return group.part.sum.value();
    case Form::average:
      return Number::real(group.part.sum.as_real() /
                          static_cast<double>(std::max<std::int64_t>(1, group.part.events)));
    case Form::minimum:
    case Form::maximum:
      return group.part.best;
    case Form::members:
    case Form::registers:
      return static_cast<std::int64_t>(group.members);
  }
  return 0;
}

/// About, in a chunk.
std::size_t ViewDelta::size_of(const Group& group) const noexcept {
  switch (shape_.form) {
    case ViewShape::Form::count:
      return group.text_size + 4;
    case ViewShape::Form::members:
      return group.text_size + 4 + kMemberBytes * group.members;
    case ViewShape::Form::registers:
      return group.text_size + 4 + 4 * std::size_t{group.members};
    default:
      return group.text_size + 16;
  }
}

std::size_t ViewDelta::cost_of(const Group& group) const noexcept {
  return kGroupCost + 2 * group.text_size + kMemberCost * group.members;
}

/// Keeps the greatest groups, the greatest first: a reader with little room takes only the first
/// ones.
void ViewDelta::keep_greatest(Pane& pane, std::size_t most) {
  std::sort(pane.groups.begin(), pane.groups.end(), [this](std::uint32_t a, std::uint32_t b) {
    const Number x = value(groups_[a]), y = value(groups_[b]);
    return x != y ? x > y : text(groups_[a]) < text(groups_[b]);
  });
  std::size_t kept = 0, size = 0, bytes = 0;
  for (; kept < pane.groups.size(); ++kept) {
    const Group& group = groups_[pane.groups[kept]];
    size += cost_of(group);
    bytes += size_of(group);
    if (size > most || bytes > kBaseMax) break;
  }
  if (kept == pane.groups.size()) return;
  if (kept == 0 && !shape_.has_parts()) {  // one key has more members than that: some of them
    Group& group = groups_[pane.groups[kept++]];
    const std::size_t room = std::min(most / kMemberCost, kBaseMax / kMemberBytes);
    const auto members = static_cast<std::uint32_t>(std::max<std::size_t>(1, room));
    lost_ += group.members - std::min(group.members, members);
    group.members = std::min(group.members, members);
  }
  lost_ += pane.groups.size() - kept;
  pane.groups.resize(kept);
}

/// The pane's keys; one with many members in several slices, so that no chunk becomes too large.
void ViewDelta::slice(const Pane& pane, std::size_t most, std::vector<Slice>& out) const {
  out.clear();
  const std::size_t each = shape_.form == ViewShape::Form::registers ? 4 : kMemberBytes;
  const auto members_most = static_cast<std::uint32_t>(std::max<std::size_t>(1, most / 2 / each));
  for (const std::uint32_t id : pane.groups) {
    const Group& group = groups_[id];
    Slice slice{&group, group.first, group.members, size_of(group)};
    while (slice.members > members_most) {
      out.push_back({&group, slice.first, members_most, group.text_size + each * members_most});
      for (std::uint32_t i = 0; i < members_most; ++i) slice.first = members_[slice.first].next;
      slice.members -= members_most;
      slice.size -= each * members_most;
    }
    out.push_back(slice);
  }
}

void ViewDelta::write(ChunkWriter& out, const Slice& slice) const {
  if (shape_.has_parts()) return out.key(text(*slice.group), slice.group->part);
  out.key(text(*slice.group), slice.members);
  std::uint32_t id = slice.first;
  for (std::uint32_t i = 0; i < slice.members; ++i, id = members_[id].next) {
    if (shape_.form == ViewShape::Form::members) {
      out.member(members_[id].member);
    } else {
      out.member(members_[id].entry);
    }
  }
}

/// Appends to `chunk`, and full chunks to `out`.
void ViewDelta::write_pane(const Pane& pane, std::size_t most, ChunkWriter& chunk,
                           std::vector<std::string>& out) const {
  std::vector<Slice> slices;
  slice(pane, most, slices);
  ViewPane all = pane.all;
  std::size_t next = 0;
  do {
    if (chunk.size() > most) {
      out.push_back(chunk.take());
      chunk = ChunkWriter(shape_);
    }
    std::size_t size = chunk.size(), end = next;
    while (end < slices.size() && (size <= most || end == next)) size += slices[end++].size;
    chunk.pane(all, end - next);
    for (; next < end; ++next) write(chunk, slices[next]);
    all.events = 0;  // the pane as a whole goes out once
    all.whole = {};
  } while (next < slices.size());
}

void ViewDelta::take(std::size_t most, std::vector<std::string>& out,
                     std::optional<std::size_t> pane_most) {
  ChunkWriter chunk(shape_);
  for (auto& [start, pane] : panes_) {
    if (pane_most) keep_greatest(pane, *pane_most);
    write_pane(pane, most, chunk, out);
  }
  if (!panes_.empty()) out.push_back(chunk.take());
  clear();
}

void ViewDelta::take_apart(std::size_t most, std::size_t pane_most,
                           std::map<std::int64_t, std::vector<std::string>>& out) {
  for (auto& [start, pane] : panes_) {
    ChunkWriter chunk(shape_);
    keep_greatest(pane, pane_most);
    write_pane(pane, most, chunk, out[start]);
    out[start].push_back(chunk.take());
  }
  clear();
}

void ViewDelta::clear() noexcept {
  panes_.clear();
  hot_ = nullptr;
  hot_span_ = {};
  group_index_.clear();
  member_index_.clear();
  groups_.clear();
  members_.clear();
  text_.clear();
  bytes_ = 0;
}

}  // namespace weir::limiter
