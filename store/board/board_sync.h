#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "store/resp/resp_reader.h"

namespace weir::store {

/// An item that one replica has set for all: a text under a name, until a time or without an end.
struct BoardItem {
  std::string name, value;
  TimePoint until{};       ///< epoch: it stays
  std::int64_t stamp = 0;  ///< when the store got it first, by the store's clock; 0: not yet
};

/// A replica as the store knows it.
struct BoardReplica {
  std::string name, words;  ///< `words`: its report about itself
  milliseconds silent{0};   ///< time since its last message
};

/// The answer of board.lua.
struct BoardAnswer {
  struct Item {
    std::string name, value;
    std::int64_t stamp = 0, until = 0;  ///< ms of the store's clock; 0: it stays
  };
  std::int64_t now = 0, sequence = 0, news_sequence = 0;  ///< ms, and the known news from now on
  std::string epoch;
  bool more = false;  ///< a next call would bring more at once
  std::optional<std::vector<BoardReplica>> replicas;
  std::vector<std::pair<std::string, std::int64_t>> versions;  ///< hash, since when (ms)
  std::vector<Item> items;
  std::vector<std::int64_t> told;  ///< of each item sent: its stamp; 0: refused, -1: no room
  std::vector<std::string> news;

  /// Reads the answer to a call that sent `told` items. nullopt: it is no such answer.
  static std::optional<BoardAnswer> read(const Reply& reply, std::size_t told);
};

/// One replica's side of the board that the replicas of a fleet share (board.lua): the next call,
/// and the meaning of its answer. No sockets, no clock: time is an argument. Not thread-safe.
///
/// The item that is sent last is in force, on whichever replica it was set. Items that are set
/// while the store is away are sent when the store is back. If the store has lost its memory, this
/// replica sends its items again, with their first stamps: newer items stay.
class BoardSync {
 public:
  static constexpr std::size_t kUnsentMax = 1'000;     ///< items; more are refused
  static constexpr std::size_t kNewsMax = 1'000;       ///< that wait; the oldest go
  static constexpr std::size_t kValueMax = 960 << 10;  ///< bytes of an item
  /// The most that is known of all replicas together: items, and bytes of their names and values.
  static constexpr std::size_t kKnownMax = 2'000, kKnownBytesMax = std::size_t{64} << 20;
  static constexpr std::size_t kNewsBytesMax = 8 << 10;
  static constexpr milliseconds kGone{5'000};  ///< a replica that is silent for this long is down

  /// `name`: of this replica, unlike all others. `fresh`: an epoch for an empty store.
  BoardSync(std::string name, std::string fresh);

  /// Sets the report of this replica about itself; `by_reload`: a reload has just changed the
  /// configuration.
  void say(std::string words, std::string version, bool by_reload);
  /// Sets an item here and, soon, everywhere. `guarded`: it replaces only the item that this
  /// replica has. If another replica was faster, this item is dropped, and the other one arrives.
  /// False: the item is too long, or too many wait.
  bool put(BoardItem item, bool guarded = false);
  /// False: too long.
  bool tell(std::string news);

  /// The words of the next call, after its keys. `leaves`: the last one.
  std::vector<std::string> ask(TimePoint now, bool leaves = false);
  std::size_t flying() const noexcept { return flying_.size(); }  ///< items in that call

  struct Heard {
    std::vector<BoardItem> items;  ///< of other replicas
    std::vector<std::string> news;
    std::vector<std::string>
        told;               ///< items of ours that the store has now, and no newer one waits
    bool full = false;      ///< there was no room for an item of ours: it holds here alone
    bool left_out = false;  ///< there was no room here for items of others
  };
  Heard answered(BoardAnswer answer, TimePoint now);
  void failed(std::string why);

  /// Items wait to be sent or received: call again at once.
  bool is_urgent() const noexcept { return more_ || !unsent_.empty() || !news_.empty(); }
  /// The item that is in force here, sent or not; nullopt: there is none, or it has ended.
  std::optional<BoardItem> item(std::string_view name, TimePoint now) const;
  /// All whose names begin so, by name.
  std::vector<BoardItem> items(std::string_view prefix, TimePoint now) const;

  const std::string& name() const noexcept { return name_; }
  /// With this one; empty before the first answer.
  const std::vector<BoardReplica>& replicas() const noexcept { return replicas_; }
  const std::vector<std::pair<std::string, std::int64_t>>& versions() const noexcept {
    return versions_;
  }
  /// Why the store is unavailable; empty: the last call succeeded.
  const std::string& why() const noexcept { return why_; }
  std::optional<TimePoint> last_answer() const noexcept { return last_answer_; }
  std::size_t unsent() const noexcept { return unsent_.size() + flying_.size(); }
  /// Times of the store's clock are ours plus this.
  milliseconds ahead() const noexcept { return ahead_; }

 private:
  struct Unsent {
    BoardItem item;
    bool guarded = false, again = false;  // again: with its stamp
    std::int64_t base = 0;                // of a guarded one; kAfterFlying
  };
  static constexpr std::int64_t kAfterFlying = -1;

  static bool is_over(const BoardItem& item, TimePoint now) noexcept {
    return item.until != TimePoint{} && item.until <= now;
  }
  const Unsent* newest(std::string_view name) const;
  void take_told(const std::vector<std::int64_t>& told, Heard& heard);
  void take_items(std::vector<BoardAnswer::Item> items, std::int64_t store_now, TimePoint now,
                  Heard& heard);
  void tell_again();
  bool wants_replicas();

  const std::string name_, fresh_;
  std::string words_, version_;
  bool by_reload_ = false, reload_flying_ = false;
  std::vector<Unsent> unsent_, flying_;
  std::vector<std::string> news_, news_flying_;
  std::map<std::string, BoardItem, std::less<>> known_;
  std::string epoch_;
  std::int64_t sequence_ = 0;
  std::optional<std::int64_t> news_sequence_;
  bool more_ = false;
  std::size_t beats_ = 0;
  std::vector<BoardReplica> replicas_;
  std::vector<std::pair<std::string, std::int64_t>> versions_;
  std::string why_ = "not connected yet";
  std::optional<TimePoint> last_answer_;
  milliseconds ahead_{0};
};

}  // namespace weir::store
