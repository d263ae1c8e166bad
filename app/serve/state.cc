#include "app/serve/state.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "app/support/files.h"
#include "app/support/thread.h"
#include "core/no_memory.h"

namespace weir::app {
namespace {

using telemetry::Metric;

constexpr milliseconds kFlushEvery{500};
constexpr milliseconds kSnapshotEvery{30'000};
constexpr milliseconds kTryAgain{2'000};
constexpr std::size_t kFileMax = std::size_t{16} << 30;
constexpr std::size_t kSecretBytes = 16;

bool is_missing(const boost::system::error_code& error) {
  return error == boost::system::errc::no_such_file_or_directory;
}

Result<void> write_secret(const std::string& path, const HashSecret& secret) {
  auto file = FileReplacement::begin(path, 0600);
  if (!file) return file.error();
  const auto* text = reinterpret_cast<const char*>(secret.bytes().data());
  if (auto done = file->append({text, secret.bytes().size()}); !done) return done;
  return file->commit();
}

std::string not_aside(const std::string& path) { return path + " can't be read, nor kept aside"; }

/// Empty: there is none.
Result<std::optional<HashSecret>> read_secret(const std::string& path) {
  const auto found = read_file(path, kSecretBytes);
  if (found) {
    if (found->size() != kSecretBytes) return make_error_code(Error::malformed);
    std::array<std::uint8_t, kSecretBytes> bytes{};
    std::transform(found->begin(), found->end(), bytes.begin(),
                   [](char c) { return static_cast<std::uint8_t>(c); });
    return std::optional(HashSecret::from_bytes(bytes));
  }
  if (found.error() == make_error_code(Error::too_large)) return make_error_code(Error::malformed);
  if (!is_missing(found.error())) return found.error();
  return std::optional<HashSecret>();
}

}  // namespace

StateDirectory::Opened StateDirectory::open(const std::string& path) {
  std::unique_ptr<StateDirectory> directory(new StateDirectory(path));
  // Existing state counts, also if nothing can be written.
  const auto secret = read_secret(path + "/secret");
  if (!secret && secret.error() == make_error_code(Error::malformed)) {
    return {nullptr,
            path +
                "/secret is not 16 bytes long; remove it (and the counts and list entries that it "
                "protects) to start afresh",
            false};
  }
  if (secret && *secret) {
    directory->secret_ = **secret;
    directory->readable_ = true;
  }
  bool taken = false;
  std::string why = directory->take(&taken);
  if (taken) directory.reset();
  return {std::move(directory), std::move(why), taken};
}

std::string StateDirectory::claim() {
  bool taken = false;
  return take(&taken);
}

std::string StateDirectory::take(bool* taken) {
  if (ready_) return {};
  const auto problem = [&](const std::string& what, const boost::system::error_code& error) {
    return what + ": " + error.message();
  };
  if (auto made = make_directory(path_, 0700); !made)
    return problem("state.dir " + path_ + " can't be made", made.error());
  if (!lock_) {
    auto lock = lock_file(path_ + "/lock");
    if (!lock && lock.error() == make_error_code(Error::refused)) {
      *taken = true;
      return "state.dir " + path_ +
             " is in use by another weir; give each its own, or wait for the end of "
             "one that drains (a second Ctrl-C or SIGTERM ends it now)";
    }
    if (!lock) return problem("state.dir " + path_ + " can't be locked", lock.error());
    lock_ = std::move(*lock);
  }
  const auto secret = read_secret(path_ + "/secret");
  if (!secret && secret.error() != make_error_code(Error::malformed))
    return problem(path_ + "/secret", secret.error());
  const bool same = secret && *secret && (*secret)->bytes() == secret_.bytes();
  if (!same) {
    const auto kept = begin_with(secret_);
    if (!kept)
      return problem("state.dir " + path_ + " can't begin again without its secret", kept.error());
    orphans_ += *kept;
  }
  ready_ = readable_ = true;
  return {};
}

std::size_t StateDirectory::take_secret(const HashSecret& secret) {
  if (secret.bytes() == secret_.bytes()) return 0;
  secret_ = secret;
  readable_ = false;
  if (!std::exchange(ready_, false)) return 0;
  const std::size_t before = orphans_;
  claim();
  return std::exchange(orphans_, before) - before;
}

Result<std::size_t> StateDirectory::begin_with(const HashSecret& secret) {
  std::size_t kept = 0;
  for (const std::string& path : {journal(), snapshot(), patterns()}) {
    const auto moved = rename_file(path, path + ".bad");
    if (!moved && !is_missing(moved.error())) return moved.error();
    kept += moved ? 1 : 0;
  }
  if (auto done = write_secret(path_ + "/secret", secret); !done) return done.error();
  return kept;
}

std::string state_obstacle(const std::string& path) {
  const auto because = [](const std::string& what) {
    return what + " (" +
           boost::system::error_code(errno, boost::system::system_category()).message() + ")";
  };
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) {
    if (errno != ENOENT) return because("it can't be reached");
    if (::lstat(path.c_str(), &about) == 0) return "it is a link whose target does not exist";
    const std::size_t slash = path.find_last_of('/');
    const std::string parent = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    if (::access(parent.c_str(), W_OK | X_OK) == 0) return {};
    // Where the parent is not there either, this is not the machine that the configuration is for.
    return errno == ENOENT ? std::string() : because("it can't be made");
  }
  if (!S_ISDIR(about.st_mode)) return "it is not a directory";
  // As this user; the kernel also rejects a read-only or immutable one.
  if (::access(path.c_str(), W_OK | X_OK) != 0) return because("nothing can be written there");
  for (const char* const name : {"lock", "secret"}) {
    const std::string file = path + "/" + name;
    if (::stat(file.c_str(), &about) != 0) continue;
    if (!S_ISREG(about.st_mode)) return std::string(name) + " in it is not a file";
    if (::access(file.c_str(), R_OK | W_OK) != 0)
      return because(std::string(name) + " in it can't be written");
  }
  struct statvfs disk {};
  if (::statvfs(path.c_str(), &disk) == 0 && disk.f_blocks != 0 && disk.f_bavail == 0)
    return "its disk is full";
  return {};
}

State::State(StateDirectory& directory, limiter::Bank& counters, limiter::ListBank& lists, Log& log,
             telemetry::MetricCells& cells)
    : directory_(directory), counters_(counters), lists_(lists), log_(log), cells_(cells) {
  lists_.enable_journal();
  cells_.set(Metric::state_up, directory.is_ready() ? 1 : 0);
}

State::~State() { join(); }

void State::failed(const char* what, const std::string& path,
                   const boost::system::error_code& error) {
  log_.write_seldom(
      Level::error,
      LogLine(what)
          .add("file", path)
          .add("reason", error.message())
          .add("effect", "weir runs on; what is not written is lost with the process"),
      what);
}

/// Whether everything is written. With told_mutex_ held.
bool State::is_well() const noexcept {
  return entries_why_.empty() && counts_why_.empty() && patterns_why_.empty() &&
         tables_why_.empty();
}

/// Why a part is not written; empty: it is.
void State::tell(std::string& part, const std::string& why) {
  bool recovered = false;
  {
    const std::scoped_lock hold(told_mutex_);
    const bool was_well = is_well();
    part = why;
    recovered = is_well() && !was_well;
    // Two threads report; the metric must have the later state.
    cells_.set(Metric::state_up, is_well() ? 1 : 0);
  }
  if (recovered)
    log_.write(Level::info, LogLine("state.dir is written again").add("dir", directory_.path()));
}

void State::tell_of_tables(const std::string& why) {
  tell(tables_why_, why.empty() ? why : "what was set in tables can't be written: " + why);
}

std::string State::why_not() const {
  const std::scoped_lock hold(told_mutex_);
  for (const std::string* const why : {&entries_why_, &counts_why_, &patterns_why_}) {
    if (!why->empty()) return *why;
  }
  return tables_why_;
}

/// Takes the directory. If that fails, nothing is written; after a later success the journal begins
/// with all entries.
bool State::claim() {
  if (directory_.is_ready()) return true;
  const std::string why = directory_.claim();
  if (why.empty()) return true;
  cells_.add(Metric::state_failures);
  tell(entries_why_, why);
  log_.write_seldom(
      Level::error,
      LogLine("state.dir can't be used; weir runs on, and what it counts and lists is "
              "lost with the process")
          .add("why", why),
      "state.dir can't be used", milliseconds{60'000});
  return false;
}

void State::set_aside(const std::string& path, const std::string& why) {
  const auto moved = rename_file(path, path + ".bad");
  if (moved) {
    log_.write(Level::error, LogLine("state file can't be used; kept aside")
                                 .add("file", path)
                                 .add("reason", why)
                                 .add("kept_as", path + ".bad"));
    return;
  }
  left_.insert(path);
  log_.write(Level::error,
             LogLine("state file can't be used, nor kept aside: nothing is written in its place")
                 .add("file", path)
                 .add("reason", why)
                 .add("not_kept_as", path + ".bad (" + moved.error().message() + ")"));
}

/// Whether weir may replace the file: it may have been moved away since restore().
bool State::may_replace(const std::string& path) {
  if (!left_.contains(path)) return true;
  const auto moved = rename_file(path, path + ".bad");
  if (!moved && !is_missing(moved.error())) {
    cells_.add(Metric::state_failures);
    failed("state file can't be kept aside", path, moved.error());
    return false;
  }
  left_.erase(path);
  return true;
}

// The file itself stays until it is rewritten: its good records are all there is of the entries.
void State::keep_used_in_part(const limiter::ListBank::Imported& taken) {
  const std::string path = directory_.journal();
  const auto kept = link_file(path, path + ".bad");
  const std::string kept_as = kept ? path + ".bad" : "(" + kept.error().message() + ")";
  if (taken.spoilt != 0) {
    log_.write(Level::error, LogLine("state file is damaged; the readable part is used")
                                 .add("file", path)
                                 .add("bytes_lost", static_cast<std::int64_t>(taken.spoilt))
                                 .add("kept_as", kept_as));
  }
  if (taken.refused != 0) {
    log_.write(Level::error, LogLine("there is no room for some list entries of the state")
                                 .add("file", path)
                                 .add("records_lost", static_cast<std::int64_t>(taken.refused))
                                 .add("kept_as", kept_as));
  }
}

void State::restore(TimePoint now, TimePoint wall) {
  std::size_t entries = 0;
  std::size_t keys = 0;
  if (!directory_.is_readable()) return flush(now);
  if (directory_.orphans() != 0) {
    log_.write(
        Level::error,
        LogLine(
            "the secret that keyed the state is gone; weir starts with empty counters and lists")
            .add("kept_as_bad", static_cast<std::int64_t>(directory_.orphans())));
  }
  const auto journal = read_file(directory_.journal(), kFileMax);
  if (!journal && !is_missing(journal.error()))
    set_aside(directory_.journal(), journal.error().message());
  if (journal && !journal->empty()) {
    const auto taken = lists_.import(*journal, now);
    if (taken) {
      entries = taken->records;
      if (taken->spoilt + taken->refused != 0) keep_used_in_part(*taken);
    } else {
      set_aside(directory_.journal(), "torn or foreign");
    }
  }
  const auto snapshot = read_file(directory_.snapshot(), kFileMax);
  if (!snapshot && !is_missing(snapshot.error()))
    set_aside(directory_.snapshot(), snapshot.error().message());
  if (snapshot) {
    const auto taken = counters_.import(*snapshot, now, wall);
    if (taken) {
      keys = *taken;
    } else {
      set_aside(directory_.snapshot(), "torn or foreign");
    }
  }
  if (entries + keys != 0) {
    log_.write(Level::info, LogLine("state restored")
                                .add("list_records", static_cast<std::int64_t>(entries))
                                .add("counter_keys", static_cast<std::int64_t>(keys)));
  }
  restore_patterns(now);
  rewrite_ = true;  // so that a torn end, which nothing may follow, goes
  flush(now);
}

void State::restore_patterns(TimePoint now) {
  if (patterns_ == nullptr) return;
  const auto snapshot = read_file(directory_.patterns(), kFileMax);
  if (!snapshot) {
    if (!is_missing(snapshot.error())) set_aside(directory_.patterns(), snapshot.error().message());
    return;
  }
  const auto keys = patterns_->import(*snapshot, now);
  if (!keys) return set_aside(directory_.patterns(), "torn or foreign");
  if (*keys != 0) {
    log_.write(
        Level::info,
        LogLine("open matches of patterns restored").add("keys", static_cast<std::int64_t>(*keys)));
  }
}

void State::snapshot_patterns(TimePoint now) {
  if (!directory_.is_ready() || patterns_ == nullptr) return;
  if (!may_replace(directory_.patterns()))
    return tell(patterns_why_, not_aside(directory_.patterns()));
  std::string text;
  patterns_->export_all(now, text);
  const auto write = [&]() -> Result<void> {
    auto file = FileReplacement::begin(directory_.patterns(), 0600);
    if (!file) return file.error();
    if (auto done = file->append(text); !done) return done;
    return file->commit();
  };
  const auto done = write();
  if (done) return tell(patterns_why_, {});
  cells_.add(Metric::state_failures);
  tell(patterns_why_, "open matches of patterns can't be written: " + done.error().message());
  failed("open matches of patterns can't be written", directory_.patterns(), done.error());
}

bool State::open_journal() {
  if (journal_) return true;
  journal_ = net::Fd(::open(directory_.journal().c_str(),
                            O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  return static_cast<bool>(journal_);
}

void State::flush(TimePoint now) {
  bool lost = false;
  const auto changes = lists_.take_changes(&lost);
  if (!claim()) {
    rewrite_ = true;
    return;
  }
  if (lost || rewrite_) {
    rewrite_journal(now);
    return;
  }
  if (changes.empty()) return;
  records_.clear();
  for (const limiter::ListChange& change : changes) limiter::ListBank::encode(change, records_);
  const bool open = open_journal();
  const auto done =
      open ? write_all(journal_.get(), records_)
           : Result<void>(boost::system::error_code(errno, boost::system::system_category()));
  appended_ = true;
  if (done) return;
  // It may now end in half a record, and later records would be lost: write the whole file again.
  rewrite_ = true;
  cells_.add(Metric::state_failures);
  tell(entries_why_, "list entries can't be written: " + done.error().message());
  failed("list entries can't be written", directory_.journal(), done.error());
}

void State::rewrite_journal(TimePoint now) {
  rewrite_ = true;
  if (!may_replace(directory_.journal()))
    return tell(entries_why_, not_aside(directory_.journal()));
  // Taken before the export: later changes are written twice, and the later copy wins.
  records_.clear();
  lists_.export_all(now, records_);
  const auto write = [&]() -> Result<void> {
    auto file = FileReplacement::begin(directory_.journal(), 0600);
    if (!file) return file.error();
    if (auto done = file->append(records_); !done) return done;
    return file->commit();
  };
  const auto done = write();
  records_.clear();
  records_.shrink_to_fit();
  if (!done) {
    cells_.add(Metric::state_failures);
    tell(entries_why_, "list entries can't be written: " + done.error().message());
    failed("list entries can't be written", directory_.journal(), done.error());
    return;
  }
  tell(entries_why_, {});
  rewrite_ = false;
  appended_ = false;
  journal_.close();  // the old file's
}

void State::snapshot(TimePoint now, TimePoint wall, const std::atomic<bool>* cancelled) {
  if (appended_) rewrite_ = true;
  flush(now);
  const auto write = [&]() -> Result<void> {
    auto file = FileReplacement::begin(directory_.snapshot(), 0600);
    if (!file) return file.error();
    limiter::Bank::Snapshot pieces(counters_, now, wall);
    std::string piece;
    for (bool more = true; more;) {
      if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) {
        return make_error_code(Error::unavailable);
      }
      piece.clear();
      more = pieces.next(piece);
      if (auto done = file->append(piece); !done) return done;
    }
    return file->commit();
  };
  if (directory_.is_ready() && !may_replace(directory_.snapshot())) {
    tell(counts_why_, not_aside(directory_.snapshot()));
  } else if (directory_.is_ready()) {
    const auto done = write();
    if (done) {
      cells_.add(Metric::state_snapshots);
      tell(counts_why_, {});
    } else if (done.error() != make_error_code(Error::unavailable)) {
      cells_.add(Metric::state_failures);
      tell(counts_why_, "counters can't be written: " + done.error().message());
      failed("counters can't be written", directory_.snapshot(), done.error());
    }
  }
  const bool stopped = cancelled != nullptr && cancelled->load(std::memory_order_relaxed);
  if (!stopped) snapshot_patterns(now);
}

void State::start(const Clock& clock) {
  thread_ = start_thread("weir/state", [this, &clock] { run(clock); });
}

void State::run(const Clock& clock) {
  TimePoint next_snapshot = clock.now() + kSnapshotEvery;
  TimePoint next_try{};  // of a snapshot, while something could not be written
  // The process continues, and the next turn writes what could not be written.
  const auto lacks_memory = [this](std::string& part) {
    cells_.add(Metric::state_failures);
    static_cast<void>(survives_no_memory([&] { tell(part, "no memory"); }));
  };
  while (true) {
    {
      std::unique_lock hold(mutex_);
      if (wake_.wait_for(hold, kFlushEvery, [this] { return stopping_.load(); })) return;
    }
    const TimePoint now = clock.now();
    bool was_well = false;  // tables are written elsewhere, patterns below
    {
      const std::scoped_lock hold(told_mutex_);
      was_well = entries_why_.empty() && counts_why_.empty();
    }
    if (!survives_no_memory([&] { flush(now); })) {
      rewrite_ = true;  // the taken changes are in the lists alone
      lacks_memory(entries_why_);
    }
    bool entries_are_well = false, patterns_are_well = false;
    {
      const std::scoped_lock hold(told_mutex_);
      entries_are_well = entries_why_.empty();
      patterns_are_well = patterns_why_.empty();
    }
    // Unwritten changes do not wait longer than necessary.
    const bool heals = !was_well && entries_are_well && now >= next_try;
    if (now < next_snapshot && !heals) {
      if (patterns_are_well || now < next_try) continue;
      next_try = now + kTryAgain;
      if (!survives_no_memory([&] { snapshot_patterns(now); })) lacks_memory(patterns_why_);
      continue;
    }
    next_try = now + kTryAgain;
    if (!survives_no_memory([&] { snapshot(now, Clock::wall(), &stopping_); }))
      lacks_memory(counts_why_);
    next_snapshot = clock.now() + kSnapshotEvery;
  }
}

void State::join() {
  if (!thread_.joinable()) return;
  {
    const std::scoped_lock hold(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void State::stop(TimePoint now, TimePoint wall) {
  join();
  flush(now);
  snapshot(now, wall);
}

void State::stop_at_once(TimePoint now) {
  join();
  flush(now);
}

}  // namespace weir::app
