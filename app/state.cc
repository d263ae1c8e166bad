#include "app/state.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "app/files.h"
#include "app/thread.h"

namespace weir::app {
namespace {

using telemetry::Metric;

constexpr milliseconds kFlushEvery{500};
constexpr milliseconds kSnapshotEvery{30'000};
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
  const auto problem = [&](const std::string& what, const boost::system::error_code& error) {
    return Opened{nullptr, what + ": " + error.message(), false};
  };
  if (auto made = make_directory(path, 0700); !made) {
    return problem("state.dir " + path + " can't be made", made.error());
  }
  auto lock = lock_file(path + "/lock");
  if (!lock) {
    if (lock.error() == make_error_code(Error::refused)) {
      return {nullptr, "state.dir " + path + " is in use by another weir; give each its own", true};
    }
    return problem("state.dir " + path + " can't be locked", lock.error());
  }
  const auto secret = read_secret(path + "/secret");
  if (!secret) {
    if (secret.error() == make_error_code(Error::malformed)) {
      return {
          nullptr,
          path +
              "/secret is not 16 bytes long; remove it (and the counts and list entries that it "
              "protects) to start afresh",
          false};
    }
    return problem(path + "/secret", secret.error());
  }
  std::unique_ptr<StateDirectory> directory(
      new StateDirectory(path, std::move(*lock), secret->value_or(HashSecret::random())));
  if (!*secret) {
    const auto kept = directory->begin_with(directory->secret());
    if (!kept) {
      return problem("state.dir " + path + " can't begin afresh without its secret", kept.error());
    }
    directory->orphans_ = *kept;
  }
  return {std::move(directory), {}, false};
}

Result<std::size_t> StateDirectory::take_secret(const HashSecret& secret) {
  if (secret.bytes() == secret_.bytes()) return std::size_t{0};
  return begin_with(secret);
}

Result<std::size_t> StateDirectory::begin_with(const HashSecret& secret) {
  std::size_t kept = 0;
  for (const std::string& path : {journal(), snapshot(), patterns()}) {
    const auto moved = rename_file(path, path + ".bad");
    if (!moved && !is_missing(moved.error())) return moved.error();
    kept += moved ? 1 : 0;
  }
  if (auto done = write_secret(path_ + "/secret", secret); !done) return done.error();
  secret_ = secret;
  return kept;
}

State::State(StateDirectory& directory, limiter::Bank& counters, limiter::ListBank& lists, Log& log,
             telemetry::MetricCells& cells)
    : directory_(directory), counters_(counters), lists_(lists), log_(log), cells_(cells) {
  lists_.enable_journal();
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

/// Whether the file is ours to write: somebody may have cleared the way since restore().
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
    log_.write(Level::error, LogLine("state file is spoilt; what can be read of it is used")
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
  if (directory_.orphans() != 0) {
    log_.write(Level::error,
               LogLine("the secret that keyed the state is gone; weir begins afresh")
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
  if (patterns_ == nullptr || !may_replace(directory_.patterns())) return;
  std::string text;
  patterns_->export_all(now, text);
  const auto write = [&]() -> Result<void> {
    auto file = FileReplacement::begin(directory_.patterns(), 0600);
    if (!file) return file.error();
    if (auto done = file->append(text); !done) return done;
    return file->commit();
  };
  if (const auto done = write(); !done) {
    cells_.add(Metric::state_failures);
    failed("open matches of patterns can't be written", directory_.patterns(), done.error());
  }
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
  // Half a record may stand there now, and whatever followed it would be lost: write anew.
  rewrite_ = true;
  cells_.add(Metric::state_failures);
  failed("list entries can't be written", directory_.journal(), done.error());
}

void State::rewrite_journal(TimePoint now) {
  rewrite_ = true;
  if (!may_replace(directory_.journal())) return;
  // Taken before the export: what changes meanwhile is written twice, and the later one wins.
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
    failed("list entries can't be written", directory_.journal(), done.error());
    return;
  }
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
  if (may_replace(directory_.snapshot())) {
    const auto done = write();
    if (done) {
      cells_.add(Metric::state_snapshots);
    } else if (done.error() != make_error_code(Error::unavailable)) {
      cells_.add(Metric::state_failures);
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
  while (true) {
    {
      std::unique_lock hold(mutex_);
      if (wake_.wait_for(hold, kFlushEvery, [this] { return stopping_.load(); })) return;
    }
    const TimePoint now = clock.now();
    flush(now);
    if (now < next_snapshot) continue;
    snapshot(now, Clock::wall(), &stopping_);
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
