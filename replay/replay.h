#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "replay/engine.h"
#include "replay/reorder.h"
#include "replay/rows.h"
#include "replay/stream.h"
#include "replay/tally.h"

namespace weir::replay {

/// What to replay, and how.
struct Plan {
  struct Source {
    std::string event, path;
  };
  std::vector<Source> sources;
  std::optional<milliseconds> lateness;  ///< none: order of arrival
  std::optional<TimePoint> from, to;     ///< rows outside [from, to) are passed over
  bool flush = false;                    ///< windows and timers beyond the watermark end too
  std::string log_format;                ///< of files that are HTTP requests; empty: as they come
  std::optional<Mapping> mapping;        ///< of files that are HTTP requests; none: access logs
};

/// Replays files through one policy set, or through two beside each other. Streams are merged by
/// time; in one file the order is that of its lines. Not thread-safe.
class Replay {
 public:
  /// Null: `problem` says why (no such event, no such file). `other` and `rows` may be null.
  static std::unique_ptr<Replay> make(Plan plan, Engine& engine, Engine* other, RowWriter* rows,
                                      std::string& problem);

  ~Replay();

  /// Goes on by up to `rows` rows. False: that was all, and the end has been dealt with.
  bool run(std::uint64_t rows);

  struct Progress {
    std::uint64_t rows = 0, bytes = 0, bytes_total = 0;  ///< total 0: not known
  };
  Progress progress() const;

  std::uint64_t rows() const noexcept { return rows_; }  ///< good ones, within [from, to)
  std::uint64_t bad() const noexcept;
  std::uint64_t late() const noexcept { return reorder_ ? reorder_->late() : 0; }
  /// Keys that lost their count for want of memory, partial matches that went.
  std::uint64_t dropped() const noexcept;
  std::optional<TimePoint> first() const noexcept { return first_; }
  std::optional<TimePoint> last() const noexcept { return last_; }
  const std::vector<std::unique_ptr<Stream>>& streams() const noexcept { return streams_; }
  const Engine& engine() const noexcept { return engine_; }
  const Tally& tally() const noexcept { return tally_; }
  /// What a view has shown.
  struct ViewTally {
    std::uint64_t windows = 0;  ///< handed out
    TimePoint start{}, end{};   ///< of the last one
    bool complete = false;
    Number total;
    std::size_t rows = 0;  ///< of it; the first kViewRows are kept
    std::vector<std::pair<std::vector<std::string>, Number>> shown;
  };
  static constexpr std::size_t kViewRows = 20;
  const std::vector<ViewTally>& views() const noexcept { return views_; }
  const Engine* other() const noexcept { return other_; }
  /// Keys that are known to be what the policies look for; alive as long as the replay.
  void use_labels(const Labels* labels) {
    tally_.use_labels(labels);
    if (other_tally_) other_tally_->use_labels(labels);
  }
  const Tally* other_tally() const noexcept { return other_tally_ ? &*other_tally_ : nullptr; }
  /// A file that could not be read to its end: `FILE: why`. Empty: none.
  std::string read_error() const;

  /// The last row of NDJSON.
  std::string summary_json() const;

 private:
  Replay(Plan plan, Engine& engine, Engine* other, RowWriter* rows);
  std::string open();
  Stream* next_stream(std::size_t& index);
  void take(std::size_t stream);
  void release(bool all);
  void advance(TimePoint to);
  void fire_due();
  void end();
  void write_timed();
  void show(std::size_t view, const limiter::ViewWindow& window);
  void judge(std::size_t stream, std::uint64_t line, const Row& row, std::string_view text);

  /// Gives each row to the tally and, if rows are wanted, to the writer.
  class Fan;

  Plan plan_;
  Engine& engine_;
  Engine* other_;
  RowWriter* writer_;
  Tally tally_;
  std::optional<Tally> other_tally_;
  std::unique_ptr<Fan> fan_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<Engine::Kind> kinds_, other_kinds_;
  /// Readers of texts that are judged later than they were read, or by the other set.
  std::vector<std::unique_ptr<Format>> again_, other_formats_;
  std::vector<bool> ended_;
  std::size_t current_ = 0;  // the stream whose row is in hand
  std::optional<Reorder> reorder_;
  TimePoint now_{};
  TimePoint watermark_{milliseconds{-1}};
  std::vector<ViewTally> views_;
  Engine::OnWindow on_window_;
  /// What no row but the watermark brings about, until it is in the order of time: a row of NDJSON.
  struct Timed {
    TimePoint time;
    std::string json;
  };
  std::vector<Timed> timed_;
  bool has_patterns_ = false;  // of either configuration
  bool between_rows_ = true;   // what fires now is a timer
  std::optional<TimePoint> first_, last_;
  std::uint64_t rows_ = 0;
  bool done_ = false;
};

}  // namespace weir::replay
