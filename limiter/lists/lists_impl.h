#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <set>

#include "limiter/lists/hot_list.h"
#include "limiter/lists/lists.h"

/// The implementation of ListBank; only lists*.cc include it.
namespace weir::limiter {

inline constexpr std::size_t kListsMax = 16'384;
inline constexpr std::size_t kJournalMax = 1'000'000;

/// A list's entries. `terms` orders them by the end of their term: the first are those that may go.
struct List {
  List(std::string_view n, std::size_t m, ListId i)
      : name(n), id(i), max(m), room(m), hot(new HotList(m)) {}
  ~List() { delete hot.load(); }
  List(const List&) = delete;
  List& operator=(const List&) = delete;

  static TimePoint end_of(const ListEntry& e) { return std::max(e.until, e.forget_until); }
  void take_out(std::map<Hash128, ListEntry>::iterator it) {
    terms.erase({it->second.until, it->first});
    hot.load(std::memory_order_relaxed)->erase(it->first);
    entries.erase(it);
    count.store(entries.size(), std::memory_order_relaxed);
  }
  bool make_room(TimePoint now);
  bool put(ListEntry entry, TimePoint now);
  bool put_back(ListEntry entry, TimePoint now);
  void widen(std::size_t wanted);

  const std::string name;
  const ListId id;
  // The bank's, guarded by its mutex:
  bool closed = false;
  std::uint64_t closing = 0;             // a running number: which was closed first
  TimePoint closed_at{}, given_up_at{};  // 0: since the next maintain

  std::size_t max;   // of entries, for new ones
  std::size_t room;  // in hot: more than max where the list held more when max was lowered
  std::atomic<std::size_t> count{0};
  std::atomic<std::uint64_t> refused{0};
  std::atomic<HotList*> hot;
  std::vector<std::unique_ptr<HotList>> outgrown;  // readers may still be in them
  mutable std::mutex mutex;                        // guards all below, and writes to hot
  std::map<Hash128, ListEntry> entries;            // ordered: pages are stable
  std::set<std::pair<TimePoint, Hash128>> terms;
  std::set<Hash128> changed;  // journal; a key without an entry was removed
  bool shared = false, shared_lost = false;
  std::map<Hash128, LocalListChange> to_share;  // changes for other replicas
};

struct ListBank::Impl {
  List* list(ListId id) const noexcept {
    if (id.index >= kListsMax) return nullptr;
    List* const list = by_index[id.index].load(std::memory_order_acquire);
    return list != nullptr && list->id == id ? list : nullptr;
  }
  bool find_index();
  void give_up(std::list<List>::iterator list);

  void changed(List& list, const Hash128& key) {  // with the list's mutex held
    if (!journal.load(std::memory_order_relaxed)) return;
    if (list.changed.size() >= kJournalMax) {
      lost.store(true, std::memory_order_relaxed);
    } else {
      list.changed.insert(key);
    }
  }

  /// A shared list's change, for take_shared_changes; with the list's mutex held.
  void share(List& list, const Hash128& key, bool removed, TimePoint now);

  std::atomic<bool> rung{false};  // the sharer has been notified of changes
  std::function<void()> ring;
  std::array<std::atomic<List*>, kListsMax> by_index{};
  std::atomic<bool> journal{false}, lost{false};
  mutable std::mutex mutex;  // guards the members below
  std::map<std::string, ListId, std::less<>> by_name;
  std::list<List> all;
  std::list<List> given_up;  // kept while a reader may still use one
  std::vector<std::uint16_t> free_indices;
  std::array<std::uint16_t, kListsMax> generations{};  // the last one of each index
  std::uint16_t next_index = 0;
  std::uint64_t closings = 0;
  TimePoint maintained{};  // when maintain() was called last
};

}  // namespace weir::limiter
