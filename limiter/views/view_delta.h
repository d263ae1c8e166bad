#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/views/index.h"
#include "limiter/views/spans.h"
#include "limiter/views/view.h"
#include "limiter/views/view_part.h"
#include "limiter/views/view_wire.h"

namespace weir::limiter {

/// Counts that this replica has not sent yet, summed by key and pane. So a hot key is sent once,
/// however often it came. Also adds up chunks into one. Bounded; not thread-safe. Allocates for new
/// keys only.
class ViewDelta {
 public:
  /// A longer key is counted on this replica only.
  static constexpr std::size_t kKeyMax = std::size_t{16} << 10;

  explicit ViewDelta(const ViewSpec& spec);

  /// `bytes` of memory at most, about. A key or member that finds no room is counted in the pane as
  /// a whole, and in lost().
  void limit(std::size_t bytes) noexcept { limit_ = bytes; }
  void add(const ViewEvent& event);
  /// An event whose member others know already: only the pane as a whole has it.
  void add_known(const ViewEvent& event) { note(to_ms(event.at)); }
  /// A pane as a whole; of one of its keys what it has, a member, or a register.
  void add(const ViewPane& pane);
  void add(std::int64_t pane, const Hash128& key, std::string_view parts, const ViewPart& part);
  void add(std::int64_t pane, const Hash128& key, std::string_view parts, const Hash128& member);
  void add(std::int64_t pane, const Hash128& key, std::string_view parts, std::uint32_t entry);
  /// Adds a chunk's panes: all, or the one that begins at `only`. Keys are hashed with `secret`.
  /// False: it is no chunk of this view.
  bool absorb(std::string_view chunk, const HashSecret& secret,
              std::optional<std::int64_t> only = std::nullopt);

  bool empty() const noexcept { return panes_.empty(); }
  /// Appends all of it as chunks of about `most` bytes each, and is empty then. `pane_most`: the
  /// keys of a pane with the greatest values first, and only those that take so much memory and
  /// have 6 MiB in chunks.
  void take(std::size_t most, std::vector<std::string>& out,
            std::optional<std::size_t> pane_most = std::nullopt);
  void clear() noexcept;
  /// Takes out the chunks of each pane apart, by its start.
  void take_apart(std::size_t most, std::size_t pane_most,
                  std::map<std::int64_t, std::vector<std::string>>& out);

  std::size_t bytes() const noexcept { return bytes_; }
  std::uint64_t lost() const noexcept { return lost_; }  ///< keys' counts so far

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  struct Group {
    std::size_t text_at = 0, text_size = 0;
    ViewPart part;
    std::uint32_t first = kNone;  // of its members, the latest one
    std::uint32_t members = 0;
  };
  struct Member {
    Hash128 member;
    std::uint32_t entry = 0;  // registers
    std::uint32_t next = kNone;
  };
  struct Slice {
    const Group* group;
    std::uint32_t first, members;
    std::size_t size;
  };
  struct Pane {
    ViewPane all;
    std::uint64_t salt = 0;
    std::vector<std::uint32_t> groups;
  };
  class Absorption;

  Pane& pane_at(std::int64_t start, std::int64_t at);
  Pane& note(std::int64_t at);
  std::string_view text(const Group& group) const noexcept {
    return std::string_view(text_).substr(group.text_at, group.text_size);
  }
  Group* group_of(Pane& pane, const Hash128& key, std::string_view parts);
  void add_part(Pane& pane, const Hash128& key, std::string_view parts, const ViewPart& part);
  void add_member(Pane& pane, const Hash128& key, std::string_view parts, const Hash128& member,
                  std::uint32_t entry);
  void merge(ViewPart& into, const ViewPart& part) noexcept;
  Number value(const Group& group) const noexcept;
  std::size_t size_of(const Group& group) const noexcept;
  std::size_t cost_of(const Group& group) const noexcept;
  void keep_greatest(Pane& pane, std::size_t most);
  void slice(const Pane& pane, std::size_t most, std::vector<Slice>& out) const;
  void write(ChunkWriter& out, const Slice& slice) const;
  void write_pane(const Pane& pane, std::size_t most, ChunkWriter& chunk,
                  std::vector<std::string>& out) const;
  bool has_room(std::size_t bytes) noexcept;

  ViewShape shape_;
  Spans spans_;
  std::size_t limit_ = 0;  // 0: none
  std::size_t bytes_ = 0;
  std::uint64_t lost_ = 0;
  std::map<std::int64_t, Pane> panes_;
  Pane* hot_ = nullptr;  // where the last event went
  Span hot_span_;
  Index group_index_, member_index_;
  std::vector<Group> groups_;
  std::vector<Member> members_;
  std::string text_;
};

}  // namespace weir::limiter
