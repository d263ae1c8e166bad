#include "app/support/line_writer.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "app/support/thread.h"
#include "core/assert.h"

namespace weir::app {
namespace {

// A pipe that poll() calls writable takes so many bytes without waiting for its reader, and others
// that write there get in between lines only.
constexpr std::size_t kPiece = 4'096;
// How soon the thread notices that it need not wait any more.
constexpr int kLookMs = 50;
constexpr milliseconds kThreadEnds{500};

std::uint64_t lines_in(std::string_view text) noexcept {
  return static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

/// Whole lines where they fit into a piece.
std::string_view next_piece(std::string_view text) noexcept {
  if (text.size() <= kPiece) return text;
  const std::size_t end = text.rfind('\n', kPiece - 1);
  return text.substr(0, end == std::string_view::npos ? kPiece : end + 1);
}

}  // namespace

struct LineWriter::State {
  State(int fd, Notice said, std::size_t most)
      : descriptor(fd), notice(std::move(said)), bytes(most) {}

  const int descriptor;
  const Notice notice;
  const std::size_t bytes;

  std::mutex mutex;
  std::condition_variable work, idle;
  std::string waiting;           // guarded by `mutex`, as all below
  std::uint64_t unreported = 0;  // lost after the waiting lines; the notice is still to be written
  bool writing = false;
  bool stopping = false;
  bool ended = false;
  std::atomic<bool> hurry{false};  // the thread must not wait for the reader any more
  std::atomic<std::uint64_t> lost{0};
  std::thread thread;

  void run();
  std::uint64_t write(std::string_view text);
};

void LineWriter::State::run() {
  std::string batch;
  batch.reserve(bytes);
  std::uint64_t missing = 0;  // lost, and no notice of it has been written
  std::unique_lock hold(mutex);
  while (true) {
    work.wait(hold, [this] { return stopping || !waiting.empty() || unreported != 0; });
    if (waiting.empty() && unreported == 0) break;
    batch.clear();
    std::swap(batch, waiting);
    missing += std::exchange(unreported, 0);
    writing = true;
    hold.unlock();
    const std::uint64_t unwritten = write(batch);
    lost.fetch_add(unwritten, std::memory_order_relaxed);
    missing += unwritten;
    if (missing != 0 && write(notice(missing)) == 0) missing = 0;
    hold.lock();
    writing = false;
    if (waiting.empty() && unreported == 0) idle.notify_all();
  }
  ended = true;
  idle.notify_all();
}

/// How many lines have not been written, or not whole.
std::uint64_t LineWriter::State::write(std::string_view text) {
  while (!text.empty()) {
    if (hurry.load(std::memory_order_relaxed)) break;
    pollfd one{descriptor, POLLOUT, 0};
    if (::poll(&one, 1, kLookMs) <= 0) continue;
    const std::string_view piece = next_piece(text);
    const ssize_t n = ::write(descriptor, piece.data(), piece.size());
    if (n > 0) {
      text.remove_prefix(static_cast<std::size_t>(n));
    } else if (n < 0 && errno == EAGAIN) {
      ::poll(nullptr, 0,
             kLookMs);  // writable, but not for a whole piece: no event announces that
    } else if (n == 0 || errno != EINTR) {
      break;  // closed, or a full disk: later lines try again
    }
  }
  return lines_in(text);
}

LineWriter::LineWriter(int descriptor, Notice notice, std::size_t bytes)
    : state_(std::make_shared<State>(descriptor, std::move(notice), bytes)) {
  WEIR_ASSERT(bytes >= 4);
  state_->waiting.reserve(bytes);
  state_->thread = start_thread("weir/log", [state = state_] { state->run(); });
}

LineWriter::~LineWriter() {
  flush(kLastWords);
  State& state = *state_;
  std::unique_lock hold(state.mutex);
  state.stopping = true;
  state.hurry = true;
  state.work.notify_all();
  // poll() promised that a write would not wait, but another process may have filled the pipe
  // since.
  const bool ended = state.idle.wait_for(hold, kThreadEnds, [&] { return state.ended; });
  hold.unlock();
  ended ? state.thread.join() : state.thread.detach();
}

bool LineWriter::push(std::string_view line, bool important) {
  State& state = *state_;
  const std::size_t room = important ? state.bytes : state.bytes / 4 * 3;
  {
    const std::scoped_lock hold(state.mutex);
    if (state.waiting.size() + line.size() > room) {
      ++state.unreported;
      state.lost.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
    state.waiting.append(line);
  }
  state.work.notify_one();
  return true;
}

bool LineWriter::flush(milliseconds limit) const {
  State& state = *state_;
  std::unique_lock hold(state.mutex);
  return state.idle.wait_for(hold, limit, [&] {
    return state.ended || (state.waiting.empty() && state.unreported == 0 && !state.writing);
  });
}

std::uint64_t LineWriter::lost() const noexcept {
  return state_->lost.load(std::memory_order_relaxed);
}

}  // namespace weir::app
