#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "app/support/log.h"
#include "core/clock.h"
#include "core/key.h"
#include "core/result.h"
#include "limiter/counters/bank.h"
#include "limiter/lists/lists.h"
#include "limiter/patterns/pattern_bank.h"
#include "net/fd.h"
#include "telemetry/metrics.h"

/// The data that survives a restart, in `state.dir`:
///
///   lock               taken while weir runs: one directory, one process
///   secret             the 16 bytes that key every hash, mode 0600; without it the files below
///                      are worth nothing
///   lists.journal      list entries: first all of them, then every change as it came
///   counters.snapshot  all settled counts at some instant
///   patterns.snapshot  the patterns' open matches and their timers, written with it
///   tables.json        limits that operators have set: TableChanges writes it and reports to State
///
/// The journal is appended to at least every 500 ms and rewritten whole with each snapshot; so what
/// is older than a second survives SIGKILL. Both are rewritten beside themselves and renamed. A
/// file that can't be read is kept as *.bad and weir starts without it; where it can't be kept so,
/// it stays as it is and nothing is written in its place. Of a journal that is spoilt in the middle
/// the good records count, and it is kept so, too; its torn end, which was being written when the
/// process died, is left out.
namespace weir::app {

/// The directory: created if necessary, locked, with its secret read or made. Files of another
/// secret are kept as *.bad.
///
/// A directory that cannot be used now (a read-only or full disk, missing rights) does not stop
/// weir: readable files count, and claim() tries again. Not thread-safe.
class StateDirectory {
 public:
  /// The message is the error, for people.
  struct Opened;
  static Opened open(const std::string& path);

  /// Tries to take the directory, unless it has been taken. Empty: the directory is taken and
  /// writable; otherwise the reason. Files that another secret has keyed there meanwhile are kept
  /// as *.bad.
  std::string claim();
  bool is_ready() const noexcept { return ready_; }
  /// Whether the files that are there were keyed by secret().
  bool is_readable() const noexcept { return readable_; }
  const HashSecret& secret() const noexcept { return secret_; }
  /// How many files were there without the secret that keyed them.
  std::size_t orphans() const noexcept { return orphans_; }
  /// From now on it is this secret, which replicas share. The hashes in files of another secret
  /// mean nothing any more: those files are kept as *.bad, now or by claim(). Returns their number.
  /// Call it before anything is restored.
  std::size_t take_secret(const HashSecret& secret);
  const std::string& path() const noexcept { return path_; }
  std::string journal() const { return path_ + "/lists.journal"; }
  std::string snapshot() const { return path_ + "/counters.snapshot"; }
  std::string patterns() const { return path_ + "/patterns.snapshot"; }

 private:
  explicit StateDirectory(std::string path)
      : path_(std::move(path)), secret_(HashSecret::random()) {}
  std::string take(bool* taken);
  Result<std::size_t> begin_with(const HashSecret& secret);

  std::string path_;
  net::Fd lock_;
  HashSecret secret_;
  std::size_t orphans_ = 0;
  bool ready_ = false, readable_ = false;
};
struct StateDirectory::Opened {
  std::unique_ptr<StateDirectory> directory;  ///< null: weir must not run with it
  std::string message;  ///< why it can't be used (now, if there is a directory); empty: it can
  bool taken = false;   ///< by another process
};

/// Why weir could not write into this directory now; empty: it could, or it would make it. Looks,
/// and changes nothing.
std::string state_obstacle(const std::string& path);

/// Keeps the banks' contents in a state directory. A thread of its own writes, so that a slow disk
/// holds up neither requests nor health checks. Its errors are logged (seldom) and counted; weir
/// runs on, tries again twice a second, and writes everything once it can.
class State {
 public:
  State(StateDirectory& directory, limiter::Bank& counters, limiter::ListBank& lists, Log& log,
        telemetry::MetricCells& cells);
  ~State();  ///< ends the thread; writes nothing

  /// Keeps the open matches of patterns as well. Before restore().
  void keep_patterns(limiter::PatternBank& patterns) noexcept { patterns_ = &patterns; }

  /// Imports the state of an earlier process. Once, after the counters have been opened and before
  /// any request.
  void restore(TimePoint now, TimePoint wall);

  /// The thread: flush() every 500 ms, snapshot() every 30 s.
  void start(const Clock& clock);
  /// Ends the thread; then writes everything a last time.
  void stop(TimePoint now, TimePoint wall);
  /// Ends the thread and appends what has changed in the lists: for an end in a hurry.
  void stop_at_once(TimePoint now);
  /// Why changes are not written now; empty: they are. Thread-safe.
  std::string why_not() const;
  /// Why tables.json is not written; empty: it is. Thread-safe.
  void tell_of_tables(const std::string& why);

  // The work of the thread; for the thread and for tests.
  /// Appends what has changed in the lists since the last call.
  void flush(TimePoint now);
  /// Rewrites all files. `cancelled` ends it early (the old files stay).
  void snapshot(TimePoint now, TimePoint wall, const std::atomic<bool>* cancelled = nullptr);

 private:
  void run(const Clock& clock);
  void join();
  bool claim();
  bool is_well() const noexcept;
  void tell(std::string& part, const std::string& why);
  bool open_journal();
  void rewrite_journal(TimePoint now);
  void restore_patterns(TimePoint now);
  void snapshot_patterns(TimePoint now);
  void failed(const char* what, const std::string& path, const boost::system::error_code& error);
  void set_aside(const std::string& path, const std::string& why);
  bool may_replace(const std::string& path);
  void keep_used_in_part(const limiter::ListBank::Imported& taken);

  StateDirectory& directory_;
  limiter::Bank& counters_;
  limiter::ListBank& lists_;
  limiter::PatternBank* patterns_ = nullptr;
  Log& log_;
  telemetry::MetricCells& cells_;
  net::Fd journal_;
  bool rewrite_ = true;    // the journal on the disk does not hold everything
  bool appended_ = false;  // since it was rewritten
  std::string records_;
  std::set<std::string> left_;  // files that could neither be read nor set aside

  mutable std::mutex told_mutex_;  // guards what follows: why something is not written
  std::string entries_why_, counts_why_, patterns_why_, tables_why_;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace weir::app
