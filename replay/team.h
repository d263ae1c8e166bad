#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "replay/replay.h"
#include "replay/split.h"

namespace weir::replay {

/// The rows of a replay, and the configurations that judge them.
struct Task {
  /// A configuration. `set`: compiled of the model, not attached; the replay takes it.
  struct Side {
    const config::Model* model = nullptr;
    std::shared_ptr<policies::PolicySet> set;
  };
  struct Rows {
    RowWriter::Out out;
    std::vector<bool> readings;
    RowWriter::Form form = RowWriter::Form::ndjson;
  };
  Plan plan;
  Side side;
  std::optional<Side> other;
  std::optional<Rows> rows;
  const Labels* labels = nullptr;
  unsigned threads = 1;  ///< at most
  std::size_t block =
      ParallelReader::kBlock;  ///< bytes that one of several threads reads at a time
  /// Called with each engine before it is used; may be empty. Only with one thread.
  std::function<void(Engine&)> prepare;
};

/// A replay by one thread or by several, with one result. They read the files together
/// (ParallelReader). Each judge moves all clocks, and judges by its part of the policies, or its
/// part of the rows (Split); threads that have nothing to judge only read. Judges go slice by
/// slice; after each their rows are put in order. Where the counts of all judges together might
/// not have found room in the tables of one, the replay begins again with one judge. For the
/// caller's thread; models and labels must outlive it.
class Team {
 public:
  enum class Failure : std::uint8_t { none, configuration, input };
  /// Null: `problem` says why.
  static std::unique_ptr<Team> make(Task task, Failure& failure, std::string& problem);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Goes on by a slice of up to `rows` rows. False: that was all.
  bool run(std::uint64_t rows);
  /// Once run() has returned false: the last row of NDJSON, if rows are wanted.
  void finish_rows();

  /// The results of all threads, once run() has returned false; before that only the progress.
  const Replay& replay() const noexcept { return *members_.front()->replay; }
  const Split& split() const noexcept { return split_; }
  /// Why it began again with one judge; empty: it did not.
  const std::string& restarted() const noexcept { return restarted_; }
  /// Why it could not: a file that has gone meanwhile. Then there is no result.
  const std::string& failed() const noexcept { return failed_; }

 private:
  struct Member {
    std::unique_ptr<Engine> engine, other;
    RowPieces pieces;
    std::optional<RowWriter> rows;
    std::unique_ptr<Replay> replay;
    std::thread thread;
    bool more = true;
  };

  explicit Team(Task task);
  void share_out();
  void begin_reading();
  void share_out_rows();
  void prepare_requests();
  bool start(Failure& failure, std::string& problem);
  bool add_member(unsigned index, Failure& failure, std::string& problem);
  std::shared_ptr<policies::PolicySet> part_of(const Task::Side& side,
                                               const std::vector<unsigned>& policies,
                                               const std::vector<unsigned>& views, unsigned index);
  std::unique_ptr<Engine> engine_of(const Task::Side& side, const std::vector<unsigned>& policies,
                                    const std::vector<unsigned>& views, unsigned index,
                                    std::string& problem);
  void stop();
  void run_slices(Member& member);
  void run_all(std::uint64_t rows);
  std::string lack_of_room() const;
  std::string lack_of_room(bool of_other) const;
  bool start_again(const std::string& why);
  void merge_rows();
  void give(std::string_view text);

  Task task_;
  Split split_;
  std::vector<std::unique_ptr<Member>> members_;  // the first runs on the caller's thread
  std::unique_ptr<ParallelReader> reader_;        // null: one thread does all
  std::optional<RowWriter> rows_;                 // of all
  std::uint64_t given_ = 0, again_ = 0;           // bytes of rows; of them, those given before
  std::string restarted_, failed_;

  std::mutex mutex_;
  std::condition_variable begins_, ends_;
  std::uint64_t slice_ = 0, slice_rows_ = 0;  // which one is under way, 0: none yet
  std::size_t running_ = 0;
  bool stopping_ = false;
};

}  // namespace weir::replay
