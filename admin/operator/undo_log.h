#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "limiter/lists/lists.h"

namespace weir::admin {

/// One key of one list: its state before the change.
struct UndoStep {
  Hash128 key;
  std::optional<limiter::ListEntry> before;  ///< none: it was not listed
};
struct UndoChange {
  std::string token;  ///< 16 hex digits
  std::string what;   ///< for people: `removed 12 entries from banned`
  std::string list;   ///< the name of its entries in the ListBank
  std::string shown;  ///< the list's name for people
  TimePoint at{};
  milliseconds about{0};  ///< by how much later the entries may seem to be that it made
  std::vector<UndoStep> steps;
};

/// The recent changes of operators on lists, so that a mistake can be taken back with its token.
/// Bounded: the last kChangesMax changes, kEntriesMax entries of all together, for kKept. On the
/// control thread.
class UndoLog {
 public:
  static constexpr std::size_t kChangesMax = 256;
  static constexpr std::size_t kEntriesMax = 50'000;
  static constexpr milliseconds kKept{3'600'000};
  /// The possible error of times that replicas exchange.
  static constexpr milliseconds kClocks{1'000};

  using Step = UndoStep;
  using Change = UndoChange;
  struct Undone {
    std::string what;          ///< of the change: `removed 12 entries of banned`
    std::size_t restored = 0;  ///< entries that are back as they were
    std::size_t removed = 0;   ///< entries that the change had made and that are gone again
    std::size_t left = 0;      ///< entries that have ended, or were changed by others since
  };

  /// Keeps a change and returns its token. Changes with the same `token` (not empty) are one
  /// change, so that a change in pieces is undone at once. A change of more than kEntriesMax
  /// steps, or of none, is not kept: the token is empty.
  std::string keep(Change change, TimePoint now);
  /// Called for each change that is kept, and for each that is taken back.
  using Teller = std::function<void(const Change& change, bool undone)>;
  void tell_to(Teller teller) { teller_ = std::move(teller); }
  /// A change that was made on another replica, with its token and time.
  void learn(Change change, TimePoint now);
  /// It was taken back on another replica.
  void drop(std::string_view token);
  /// The name of the list that the change is about, as in Change::list; empty: there is no such.
  std::string list_of(std::string_view token) const;

  /// Takes the change back and forgets it. nullopt: there is no such token, or no longer.
  std::optional<Undone> undo(std::string_view token, limiter::ListBank& lists, TimePoint now);
  /// The changes that can still be undone, the newest first. Pieces of one change follow each
  /// other.
  std::vector<const Change*> changes(TimePoint now);

 private:
  void forget(TimePoint now, std::size_t room);

  std::deque<Change> changes_;  // the oldest first, by when they came
  Teller teller_;
  std::size_t entries_ = 0;  // of all
};

}  // namespace weir::admin
