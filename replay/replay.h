#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "replay/engine.h"
#include "replay/event_verdicts.h"
#include "replay/parallel_reader.h"
#include "replay/reorder.h"
#include "replay/rows.h"
#include "replay/stream.h"
#include "replay/tally.h"

namespace weir::replay {

/// The sources and options of a replay.
struct Plan {
  struct Source {
    std::string event, path;
  };
  std::vector<Source> sources;
  std::optional<milliseconds> lateness;  ///< none: order of arrival
  std::optional<TimePoint> from, to;     ///< rows outside [from, to) are skipped
  bool flush = false;                    ///< windows and timers beyond the watermark end too
  std::string log_format;                ///< of files that are HTTP requests; empty: as they come
  std::optional<Mapping> mapping;        ///< of files that are HTTP requests; none: access logs
};

/// The share of one of several threads in a replay; all threads run through the same rows (team.h).
struct Part {
  std::vector<bool> shown_policies,
      other_shown_policies;          ///< the policies whose rows it shown_policies; empty: all
  ParallelReader* reader = nullptr;  ///< null: it reads the files itself
  bool by_rows = false;              ///< it judges its own rows only, else all
  unsigned index = 0;
  EventVerdicts::Keep verdicts = EventVerdicts::Keep::nothing;
};

/// Replays files through one policy set, or through two beside each other. Streams are merged by
/// time; in one file the order is that of its lines. Not thread-safe.
class Replay {
 public:
  /// Null: `problem` says why (no such event, no such file). `other` and `rows` may be null.
  static std::unique_ptr<Replay> make(Plan plan, Engine& engine, Engine* other, RowWriter* rows,
                                      std::string& problem, Part part = {});

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
  /// Keys that lost their count because there was no memory, partial matches that went.
  std::uint64_t dropped() const noexcept;
  /// How often a policy, or a view, did not judge an event, and why.
  struct Misses {
    std::uint64_t missing = 0, late = 0, amounts_refused = 0;
  };
  Misses misses(const policies::Policy& policy) const;
  Misses view_misses(std::size_t view) const;
  /// Takes in the verdicts of another part on the events since the last slice began. The other part
  /// has judged as many events.
  void merge_verdicts(const Replay& other);
  void begin_slice();
  /// Takes in all that another part has found. Both are done.
  void merge(Replay& other);
  std::optional<TimePoint> first() const noexcept { return first_; }
  std::optional<TimePoint> last() const noexcept { return last_; }
  const std::vector<std::unique_ptr<Stream>>& streams() const noexcept { return streams_; }
  const Engine& engine() const noexcept { return engine_; }
  const Tally& tally() const noexcept { return tally_; }
  /// The windows that a view has handed out.
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
  Replay(Plan plan, Engine& engine, Engine* other, RowWriter* rows, Part part);
  std::string open();
  std::string open_stream(std::size_t index, const Plan::Source& source, Engine::Kind kind);
  Stream* next_stream(std::size_t& index);
  void take(std::size_t stream);
  bool release(bool all, std::uint64_t most);
  void advance(TimePoint watermark, TimePoint timers);
  void fire_due();
  void end();
  void write_timed();
  void show(std::size_t view, const limiter::ViewWindow& window);
  /// The position of an event, and whether it is ours.
  struct At {
    std::size_t stream = 0;
    std::uint64_t line = 0;
    TimePoint time{};
    bool ours = true;
  };
  bool is_ours(unsigned owner) const noexcept { return !part_.by_rows || owner == part_.index; }
  void judge(const At& at, const Row& row, std::string_view text);
  void judge_by_other(std::size_t stream, std::uint64_t line, std::string_view text);
  void begin_step();

  /// Gives each row to the tally and, if rows are wanted, to the writer.
  class Fan;
  /// Lets through what a part shown_policies of.
  class PolicyFilter;

  Plan plan_;
  Engine& engine_;
  Engine* other_;
  RowWriter* writer_;
  Tally tally_;
  std::optional<Tally> other_tally_;
  Part part_;
  std::unique_ptr<Fan> fan_;
  std::unique_ptr<PolicyFilter> filter_, other_filter_;
  policies::RowSink* sink_ = nullptr;
  policies::RowSink* other_sink_ = nullptr;
  EventVerdicts verdicts_, other_verdicts_;
  std::vector<Misses> other_misses_;       // of other parts, by policy
  std::vector<Misses> other_view_misses_;  // likewise, by view
  std::uint64_t other_dropped_ = 0, step_ = 0;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<Engine::Kind> kinds_, other_kinds_;
  /// Readers of texts that are judged later than they were read, or by the other set.
  std::vector<std::unique_ptr<Format>> again_, other_formats_;
  std::vector<bool> ended_;
  std::size_t current_ = 0;  // the stream whose row is in hand
  std::optional<Reorder> reorder_;
  TimePoint now_{};
  TimePoint watermark_{milliseconds{-1}};
  TimePoint timers_{milliseconds{-1}};  // not before the watermark
  std::vector<ViewTally> views_;
  Engine::OnWindow on_window_;
  /// A row of NDJSON that the watermark causes and no input row, kept until the rows are put in the
  /// order of time.
  struct Timed {
    TimePoint time;
    std::uint32_t rank;  // patterns before views, these in the order of the file
    std::string json;
  };
  std::vector<Timed> timed_;
  bool has_patterns_ = false;  // of either configuration
  bool between_rows_ = true;   // a pattern that fires now is fired by a timer
  std::optional<TimePoint> first_, last_;
  std::uint64_t rows_ = 0;
  bool begun_ = false, all_read_ = false, done_ = false;
};

}  // namespace weir::replay
