#include "app/observe/access_log.h"

#include <poll.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <utility>

#include "app/support/thread.h"
#include "core/no_memory.h"

namespace weir::app {
namespace {

using telemetry::Metric;

// As LineWriter: a pipe that poll() calls writable takes so many bytes without waiting.
constexpr std::size_t kPipePiece = 4'096;
constexpr std::size_t kFilePiece = 64 << 10;
constexpr int kPollMs = 50;
// Whether the file's name is another file now is looked at so often.
constexpr std::int64_t kLooksPerSecond = 1'000 / AccessLog::kEvery.count();

std::int64_t lines_of(std::string_view text) noexcept {
  return std::count(text.begin(), text.end(), '\n');
}

/// A regular file without a byte: the one before it has been moved aside.
bool is_new_file(int descriptor) {
  struct stat about {};
  return ::fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode) && about.st_size == 0;
}

}  // namespace

struct AccessLog::State {
  State(Log& l, telemetry::MetricCells& c) : log(&l), cells(&c) {}

  // Not touched once `hurry` is set: then they may be gone.
  Log* log;
  telemetry::MetricCells* cells;

  telemetry::SinkBell bell;
  std::vector<std::unique_ptr<telemetry::RequestSink>> sinks;
  std::unique_ptr<ReopenedFile> file;  // null: stdout or stderr
  int descriptor = -1;
  bool in_line = false;  // there was no room for the rest of it
  std::atomic<bool> reopens{false}, hurry{false};
  bool stopping = false, ended = false;  // guarded by bell.mutex
  std::condition_variable over;
  std::thread thread;

  void run();
  void look_at_name(bool anyway);
  void write_all(std::string& batch);
  std::string_view write(std::string_view text, int& error);
};

void AccessLog::State::run() {
  std::string batch;
  std::unique_lock hold(bell.mutex);
  for (std::int64_t round = 0;; ++round) {
    bell.rung.wait_for(hold, kEvery);
    const bool last = stopping;
    hold.unlock();
    const bool anyway = reopens.exchange(false);
    static_cast<void>(survives_no_memory([&] {  // without memory, the next round writes
      if (anyway || round % kLooksPerSecond == 0) look_at_name(anyway);
      write_all(batch);
    }));
    hold.lock();
    if (last) break;
  }
  ended = true;
  over.notify_all();
}

void AccessLog::State::look_at_name(bool anyway) {
  if (file == nullptr) return;
  if (const auto opened = file->look_again(anyway); !opened && !hurry) {
    log->write_seldom(
        Level::error,
        LogLine(file->is_open() ? "can't open the access log again; lines go on into the file "
                                  "before"
                                : "can't open the access log; its lines are lost")
            .add("file", file->path())
            .add("error", opened.error().message()),
        "access log opened");
  }
}

void AccessLog::State::write_all(std::string& batch) {
  for (const auto& sink : sinks) {
    batch.clear();
    sink->take(batch);
    int error = 0;
    const std::string_view left = write(batch, error);
    if (left.empty() || hurry) continue;
    cells->add(Metric::access_lost, lines_of(left));
    cells->add(Metric::access_failed);
    if (file != nullptr && !file->is_open()) continue;  // already logged
    log->write_seldom(Level::error,
                      LogLine("can't write the access log; lines are lost")
                          .add("error", boost::system::system_category().message(error)),
                      "access log written");
  }
}

/// Returns the part of the text that could not be written.
std::string_view AccessLog::State::write(std::string_view text, int& error) {
  if (!text.empty() && std::exchange(in_line, false) && !is_new_file(descriptor) &&
      !write("\n", error).empty()) {
    in_line = true;
    return text;
  }
  const std::size_t most = file != nullptr ? kFilePiece : kPipePiece;
  while (!text.empty() && !hurry.load(std::memory_order_relaxed)) {
    if (file == nullptr) {
      pollfd one{descriptor, POLLOUT, 0};
      if (::poll(&one, 1, kPollMs) <= 0) continue;
    }
    std::string_view piece = text.substr(0, most);
    if (piece.size() < text.size()) piece = piece.substr(0, piece.rfind('\n') + 1);
    if (piece.empty()) piece = text.substr(0, most);
    const ssize_t n = ::write(descriptor, piece.data(), piece.size());
    if (n > 0) {
      in_line = piece[static_cast<std::size_t>(n) - 1] != '\n';
      text.remove_prefix(static_cast<std::size_t>(n));
    } else if (n < 0 && errno == EAGAIN) {
      ::poll(nullptr, 0, kPollMs);
    } else if (n == 0 || errno != EINTR) {
      error = errno;
      break;
    }
  }
  return text;
}

AccessLog::AccessLog(Log& log, telemetry::MetricCells& cells)
    : state_(std::make_shared<State>(log, cells)) {}

AccessLog::~AccessLog() { stop(); }

Result<void> AccessLog::open(const std::string& path) {
  if (path == "stdout" || path == "stderr") {
    state_->descriptor = path == "stdout" ? STDOUT_FILENO : STDERR_FILENO;
    return {};
  }
  state_->file = std::make_unique<ReopenedFile>(path);
  const auto opened = state_->file->open();
  state_->descriptor = state_->file->fd();  // also after an error: see ReopenedFile
  return opened;
}

telemetry::RequestSink& AccessLog::add(telemetry::MetricCells& cells, std::size_t facts_most) {
  std::uint64_t seed = 0;
  ::randombytes_buf(&seed, sizeof seed);
  return *state_->sinks.emplace_back(
      std::make_unique<telemetry::RequestSink>(cells, state_->bell, seed, facts_most));
}

void AccessLog::start() {
  if (state_->descriptor < 0) return;  // traces alone
  state_->thread = start_thread("weir/access", [state = state_] { state->run(); });
}

void AccessLog::reopen() noexcept {
  state_->reopens = true;
  state_->bell.rung.notify_all();
}

void AccessLog::stop() {
  State& state = *state_;
  if (!state.thread.joinable()) return;
  std::unique_lock hold(state.bell.mutex);
  state.stopping = true;
  state.bell.rung.notify_all();
  const auto is_over = [&] { return state.ended; };
  if (!state.over.wait_for(hold, kLastWords, is_over)) {
    state.hurry = true;  // a reader that has stalled: poll() comes back soon
    state.over.wait_for(hold, kLastWords, is_over);
  }
  const bool ended = state.ended;
  hold.unlock();
  ended ? state.thread.join() : state.thread.detach();
}

}  // namespace weir::app
