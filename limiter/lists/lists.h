#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/key.h"
#include "core/number.h"
#include "core/result.h"

namespace weir::limiter {

/// Names an open list. A stale id (its list was closed, empty, and its place reused) is harmless:
/// no key is on that list, and it accepts none.
struct ListId {
  std::uint16_t index = 0xffff;
  std::uint16_t generation = 0;  ///< 0: no list
  friend bool operator==(ListId, ListId) = default;
};

inline constexpr TimePoint kForever{milliseconds{std::int64_t{1} << 46}};  ///< the year 4199

/// The answer of the hot path.
struct Listed {
  bool listed = false;
  std::uint16_t level = 0;  ///< as ListEntry::level
  TimePoint until{};
};

/// Why and how a key goes on a list. Views: copied where an entry is made.
struct Listing {
  Hash128 key;
  std::span<const std::string_view>
      parts;  ///< printable key parts; longer than 256 bytes each is cut
  std::span<const milliseconds> durations;  ///< `for`, one or an escalation; empty: forever
  /// After the end of an entry, how long its level is remembered. 0: of an escalation for as long
  /// as its last duration, else not at all.
  milliseconds forget{0};
  std::optional<TimePoint> until;  ///< instead of durations (operators, `for: window`)
  std::string_view policy;         ///< why: empty for an operator's entry
  Number value, limit;             ///< why
  std::string_view why;            ///< why, in an operator's words
  std::string_view by;             ///< the author: "policy", "admin", ...
};

/// The result of putting a key on a list.
struct ListOutcome {
  enum class Kind : std::uint8_t {
    created,   ///< a new entry (also: again after its end); worth a notification
    extended,  ///< was in force; holds longer now
    kept,      ///< was in force for longer already
    refused,   ///< the list is full; counted
  };
  Kind kind = Kind::refused;
  TimePoint until{};        ///< resulting; meaningless if refused
  std::uint16_t level = 0;  ///< of the listing's durations, from 0
  std::uint64_t times = 0;  ///< how often the key was listed, this time included
};

/// An entry with all that people may want to know.
struct ListEntry {
  Hash128 key;
  std::vector<std::string> parts;
  TimePoint since{}, until{}, forget_until{};
  TimePoint listed{};  ///< when it was listed last, newly, for longer or for less
  std::string policy, why, by;
  Number value, limit;
  std::uint64_t times = 0;
  std::uint16_t level = 0;  ///< how often it was listed again before it was forgotten
};

/// A change, for the state writer. entry.until <= now: it was removed.
struct ListChange {
  std::string list;
  bool removed = false;
  ListEntry entry;  ///< removed: only key is set
};

/// The local change of a key of a shared list since the last message to other replicas.
struct LocalListChange {
  Hash128 key;
  std::optional<TimePoint> removed;  ///< last, and before `listed` if that is there too
  std::optional<TimePoint> listed;   ///< last, newly or for longer
};

/// The dynamic entries of all lists, by name; they outlive reloads. A list that no policy set uses
/// keeps its entries until they end; then its name is free again. (Static entries: static_list.h,
/// they belong to a policy set.)
///
/// Thread-safe. find takes no lock and allocates nothing: a load and a branch for an empty list,
/// one or two cache lines else. All else takes a mutex per list and may allocate. An entry in force
/// is never evicted; a full list refuses new ones. The record of an ended entry (its level, until
/// forgotten) is evicted if room is needed.
class ListBank {
 public:
  ListBank();
  ~ListBank();
  ListBank(const ListBank&) = delete;
  ListBank& operator=(const ListBank&) = delete;

  /// The list of this name, made if need be, for at most `max` entries (1 .. 10 million). A larger
  /// `max` than before makes room for more; a smaller one binds new entries only. Where there are
  /// 16,384 the empty lists that were closed first give way; Error::full: there are none.
  Result<ListId> open(std::string_view name, std::size_t max = 100'000);
  std::optional<ListId> by_name(std::string_view name) const;
  /// Closes every list not in `used`, also those that import() has made. They keep their entries.
  void close_unused(std::span<const ListId> used);
  /// Housekeeping, every second or so, bounded: expired entries of closed lists go, and after ten
  /// minutes the empty ones.
  void maintain(TimePoint now);

  Listed find(ListId list, const Hash128& key, TimePoint now) const noexcept;
  void prefetch(ListId list, const Hash128& key) const noexcept;

  /// Lists the key or extends its entry; never shortens. If the former entry has ended but is not
  /// forgotten, the level rises by one; past the last duration that one is taken. The level is the
  /// key's, whichever rung lists it, so that one with fewer durations does not lower it.
  ListOutcome add(ListId list, const Listing& listing, TimePoint now);
  /// Ends an entry; its level is forgotten too. False: there was none in force.
  bool remove(ListId list, const Hash128& key, TimePoint now);
  /// Puts back an entry that remove() took, unchanged; other replicas get it as they get add().
  /// False: the entry has ended, the key is listed for as long or longer, or the list is full.
  bool restore(ListId list, ListEntry entry, TimePoint now);
  std::optional<ListEntry> get(ListId list, const Hash128& key, TimePoint now) const;

  /// Entries in force, in a stable order (by key hash), from the first after `after`; at most
  /// `limit`.
  std::vector<ListEntry> page(ListId list, TimePoint now, std::optional<Hash128> after,
                              std::size_t limit) const;
  std::size_t size(ListId list) const noexcept;  ///< entries held (upper bound of those in force)
  std::uint64_t refused(ListId list) const noexcept;  ///< new entries refused because of max

  /// From now on changes are kept for take_changes. Without this call, changes are not kept.
  void enable_journal();
  /// Changes since the last call, one per key (its latest). `lost`: there were more than a million;
  /// write everything.
  std::vector<ListChange> take_changes(bool* lost);

  // Lists that other replicas share (store/lists).
  /// `ring` is called when the first changes are there to take: from any thread, with a lock held.
  /// It must be quick and must not call back. Call this once, before any list is shared.
  void on_shared_change(std::function<void()> ring);
  /// From now on, changes by add() and remove() are kept for take_shared_changes, or are not kept
  /// any more.
  void share(ListId list, bool shared);
  /// Changes since the last call, one per key. `lost`: there were more than a million.
  std::vector<LocalListChange> take_shared_changes(ListId list, bool* lost);
  /// The entry of a key, be it in force or only remembered for its level.
  std::optional<ListEntry> held(ListId list, const Hash128& key, TimePoint now) const;
  /// page() with the entries that are only remembered.
  std::vector<ListEntry> page_held(ListId list, TimePoint now, std::optional<Hash128> after,
                                   std::size_t limit) const;
  /// Merges a listing of another replica: the later end wins, as in add(), except over an entry
  /// that was listed at `removed` or before. Sends nothing to replicas.
  /// False: there is no room for it.
  bool merge(ListId list, ListEntry entry, TimePoint now,
             std::optional<TimePoint> removed = std::nullopt);
  /// Whether a new key would find room. Removes entries that have ended.
  bool has_room(ListId list, TimePoint now);
  /// Merges a removal of another replica. Sends nothing to replicas.
  void merge_removal(ListId list, const Hash128& key);

  /// A checksummed record of each change; records may be written one after the other.
  static void encode(const ListChange& change, std::string& out);
  /// All entries of all lists, in force or not yet forgotten, as records.
  void export_all(TimePoint now, std::string& out) const;
  /// Imports records in order, the later record of a key winning; opens lists that are not open.
  /// Entries in force stay in force, also beyond the `max` of a list: up to 10 million entries a
  /// list. Skips entries that have ended and are forgotten, and bytes that are not a record: at the
  /// end, where a write was torn, and before good records, where the file is damaged.
  /// Error::malformed if no record is good.
  struct Imported {
    std::size_t records = 0;
    std::size_t spoilt = 0;   ///< bytes before good records
    std::size_t refused = 0;  ///< good records of entries that no list could hold
  };
  Result<Imported> import(std::string_view records, TimePoint now);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::limiter
