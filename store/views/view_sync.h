#pragma once

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "core/key.h"
#include "limiter/views/shared_view.h"
#include "limiter/views/spans.h"
#include "limiter/views/view_delta.h"
#include "store/resp/resp_reader.h"

namespace weir::store {

/// One replica's side of one shared view: the next call, and the meaning of its answer for the view
/// (view.lua says what the store keeps). No sockets, no clock: time is an argument. Not
/// thread-safe.
///
///    meet -> bases -> log ->  exchange, once a second  <-> old -> fold bases -> write -> cut
///      ^                          |
///      +--------------------------+  the log was folded beyond what this replica had read
///
/// A replica sends its counts in numbered *pieces*. The replica keeps a piece until the store
/// acknowledges its number, and sends it again after a failure: the store takes each number once.
/// Pieces of the last seconds are kept longer: a store that has lost its memory gets them again,
/// and replicas that have read them before skip them by their numbers. The replica that finds the
/// store empty first *fills* it: it sends its pieces, then writes bases of all its counts, and
/// names the pieces of others that the bases contain.
class ViewSync {
 public:
  static constexpr milliseconds kInterval{1'000};
  static constexpr std::size_t kPieceMax = std::size_t{256} << 10;  ///< bytes, about
  static constexpr std::size_t kPieceBytesOfCall = std::size_t{1} << 20;
  static constexpr std::size_t kPiecesMax = 16;  ///< in an answer
  /// Memory of a fold; the bytes that it leaves of a pane are much less. The difference is room
  /// for new keys, which stay if they are greater than others.
  static constexpr std::size_t kFoldMax = std::size_t{32} << 20;
  static constexpr std::size_t kPaneMax = std::size_t{24} << 20;
  static constexpr milliseconds kFoldAge{10'000};  ///< younger pieces stay in the log for readers
  /// So long sent pieces are kept, for readers of a store that loses its memory. Less than
  /// kFoldAge: a piece that a replica has read in a base never comes again.
  static constexpr milliseconds kRecent{4'000};
  /// After so long without an answer, the store may have forgotten the number of this replica's
  /// last piece (view.lua: an hour). It is asked for that number before it gets a piece again.
  static constexpr milliseconds kForgets = std::chrono::minutes{55};
  /// How long the store keeps data that no replica writes to any more: after the window, and for a
  /// view without an end.
  static constexpr milliseconds kAfterwards = std::chrono::minutes{10};
  static constexpr milliseconds kEndless = std::chrono::hours{24 * 400};

  /// `stem`: of its keys' names, with a hash tag. `origin`: random, of this process.
  ViewSync(limiter::SharedView& view, std::string stem, const HashSecret& secret,
           std::uint64_t origin, milliseconds fold_age = kFoldAge);

  /// When to call; TimePoint::max() while a call is on its way.
  TimePoint due() const noexcept {
    return flying_ ? TimePoint::max() : hurries_ ? std::min(due_, hurried_) : due_;
  }
  /// Begins a call: appends keys and arguments as bulk strings. `wall`: by which windows go;
  /// `may_fold`: there is memory for it.
  struct Question {
    unsigned keys = 0, words = 0;
  };
  Question ask(std::string& words, TimePoint now, TimePoint wall, bool may_fold = true);
  bool is_folding() const noexcept { return step_ >= Step::old; }
  /// False: these bytes are not a valid answer, and the call has failed.
  bool answered(const Reply& reply, TimePoint now);
  void failed(TimePoint now, std::string why);    ///< the call; it may have been executed
  void not_sent(TimePoint now, std::string why);  ///< the call; it has not been executed
  /// Sends all counts at once, because the process ends soon; idle() is true when the store has
  /// them.
  void hurry(TimePoint now) noexcept {
    hurries_ = true;
    hurried_ = now;
  }
  bool idle() const noexcept { return !flying_ && !hurries_ && queue_.empty(); }

  const limiter::ViewSharing& sharing() const noexcept { return sharing_; }

 private:
  enum class Step : std::uint8_t {
    meet,
    bases,
    log,
    exchange,
    fill,
    filled,
    old,
    fold,
    write,
    cut
  };
  struct Piece {
    std::uint64_t number = 0;
    std::string bytes;  // origin, number, chunk
    TimePoint sent{};
    bool in_doubt = false;  // the store may have it
  };
  class Words;
  class Heard;

  bool take(const Reply& reply, TimePoint now);
  bool take_exchange(Heard& heard, TimePoint now);
  bool take_bases(Heard& heard);
  bool take_old(Heard& heard);
  bool take_fold_base(Heard& heard);
  bool take_written(Heard& heard);
  void ask_exchange(Words& out, bool may_fold);
  void gather();
  void settle(std::int64_t number, TimePoint now);
  bool may_be_forgotten() const noexcept;
  bool take_pieces(Heard& heard, std::int64_t& count);
  void take_piece(std::int64_t sequence, std::string_view bytes);
  bool adopt(std::string_view epoch);
  void lost_memory(std::string_view epoch);
  void begin_loading();
  void next_fill();
  void next_fold();
  void end_fold(TimePoint now);
  void publish(bool complete, std::string why);
  std::vector<std::int64_t> open_panes(TimePoint wall) const;
  std::string base_key(std::int64_t pane) const;
  milliseconds lifetime() const;
  milliseconds base_lifetime(std::int64_t pane, TimePoint wall) const;

  limiter::SharedView& view_;
  const std::string stem_;
  const HashSecret secret_;
  const std::string origin_;  // 8 bytes
  std::string fresh_;         // an epoch, if the store has none
  std::uint64_t epochs_ = 0;  // that this replica has begun
  const milliseconds fold_age_;
  limiter::Spans spans_;
  limiter::ViewSharing sharing_;

  Step step_ = Step::meet;
  bool flying_ = false, hurries_ = false;
  TimePoint due_{};
  TimePoint wall_{}, asked_at_{}, hurried_{};
  TimePoint heard_at_{};  // when the last exchange was asked for that was answered

  std::string epoch_;  // of the store; empty: not met
  std::int64_t cursor_ = 0;
  std::int64_t last_ = 0;                                   // sequence of the store
  std::map<std::string, std::uint64_t, std::less<>> read_;  // origin -> its last number here
  std::uint64_t number_ = 0;                                // of the last piece
  std::deque<Piece> queue_;                                 // not known to be there
  std::deque<Piece> recent_;                                // known to be there
  std::size_t asked_ = 0;                                   // pieces of queue_ in the call

  // Loading: panes to ask for, and up to which sequence each base goes.
  std::vector<std::int64_t> panes_;
  std::size_t pane_ = 0;
  std::map<std::int64_t, std::int64_t> loaded_;

  // Filling a store that has lost its memory.
  bool fills_ = false;
  limiter::SharedView::Panes filling_;  // bases still to be written

  // Folding.
  limiter::ViewDelta fold_;
  std::int64_t fold_upto_ = 0;
  std::size_t fold_bytes_ = 0;                             // of the bases written
  std::int64_t fold_base_ = 0;                             // the base's 'u'
  std::vector<std::pair<std::int64_t, std::string>> old_;  // pieces: sequence, chunk
  std::vector<std::string> write_;                         // chunks of the base
};

}  // namespace weir::store
