#include "app/serve/recording.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "app/support/thread.h"
#include "core/no_memory.h"

namespace weir::app {
namespace {

boost::system::error_code last_error() { return {errno, boost::system::system_category()}; }

/// Differs from the key of the counters, so that a recording reveals nothing about them.
HashSecret secret_of_recordings(const HashSecret& secret) {
  const Hash128 hash = secret.hash("weir recording");
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[i] = static_cast<std::uint8_t>(hash.lo >> (8 * i));
    bytes[8 + i] = static_cast<std::uint8_t>(hash.hi >> (8 * i));
  }
  return HashSecret::from_bytes(bytes);
}

}  // namespace

Result<void> RotatedFile::open() {
  file_ = net::Fd(::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file_) return last_error();
  struct stat about {};
  if (::fstat(file_.get(), &about) != 0) return last_error();
  written_ = static_cast<std::uint64_t>(about.st_size);
  char last = '\n';
  in_row_ =
      about.st_size > 0 && ::pread(file_.get(), &last, 1, about.st_size - 1) == 1 && last != '\n';
  return {};
}

Result<void> RotatedFile::rotate() {
  file_.close();
  for (unsigned n = kept_; n > 0; --n) {
    const std::string from = n == 1 ? path_ : path_ + "." + std::to_string(n - 1);
    if (::rename(from.c_str(), (path_ + "." + std::to_string(n)).c_str()) != 0 && errno != ENOENT) {
      return last_error();
    }
  }
  if (kept_ == 0 && ::unlink(path_.c_str()) != 0 && errno != ENOENT) return last_error();
  return open();
}

Result<void> RotatedFile::write(std::string_view lines) {
  if (lines.empty()) return {};
  if (!file_) {
    if (auto opened = open(); !opened) return opened;
  }
  if (in_row_) {
    if (::write(file_.get(), "\n", 1) != 1) return last_error();
    in_row_ = false;
    ++written_;
  }
  while (!lines.empty()) {
    std::string_view piece = lines;
    if (written_ + piece.size() > size_) {
      // The rows that still fit; a single row may be longer than a file, and has one of its own.
      const std::uint64_t room = size_ > written_ ? size_ - written_ : 0;
      const std::size_t end = room == 0 ? std::string_view::npos : lines.rfind('\n', room - 1);
      if (end != std::string_view::npos) {
        piece = lines.substr(0, end + 1);
      } else if (written_ != 0) {
        if (auto rotated = rotate(); !rotated) return rotated;
        continue;
      } else {
        piece = lines.substr(0, lines.find('\n') + 1);
      }
    }
    const ssize_t n = ::write(file_.get(), piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return last_error();
    written_ += static_cast<std::uint64_t>(n);
    in_row_ = n > 0 && piece[static_cast<std::size_t>(n) - 1] != '\n';
    lines.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Recording::Recording(const Options& options, const HashSecret& secret, Log& log,
                     telemetry::MetricCells& cells)
    : options_(options),
      secret_(secret_of_recordings(secret)),
      log_(log),
      cells_(cells),
      file_(options.path, options.size, options.files) {}

gate::Recorder& Recording::add(telemetry::MetricCells& cells) {
  gate::Recorder::Settings settings{secret_};
  settings.sample = options_.sample;
  settings.subject = options_.subject;
  return *recorders_.emplace_back(std::make_unique<gate::Recorder>(settings, cells));
}

void Recording::tell(const policies::PolicySet& set) {
  const policies::RecordedFields fields = policies::recorded_fields(set, options_.subject);
  log_.write(Level::info, LogLine("recording events for weir replay")
                              .add("file", options_.path)
                              .add("plain", fields.text(set, false))
                              .add("hashed", fields.text(set, true)));
  if (!fields.subject_known) {
    log_.write(Level::warn, LogLine("no event has the field of --record-by: the caller's address "
                                    "draws the sample")
                                .add("field", options_.subject));
  }
}

void Recording::start() {
  thread_ = start_thread("weir/record", [this] { run(); });
}

void Recording::run() {
  std::unique_lock hold(mutex_);
  while (!wake_.wait_for(hold, kEvery, [this] { return stopping_; })) {
    hold.unlock();
    if (!survives_no_memory([this] { flush(); })) cells_.add(telemetry::Metric::record_failed);
    hold.lock();
  }
}

void Recording::stop() {
  if (!thread_.joinable()) return;
  {
    const std::scoped_lock hold(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
  flush();
}

void Recording::flush() {
  for (const auto& recorder : recorders_) {
    taken_.clear();
    recorder->take(taken_);
    if (taken_.empty()) continue;
    const auto written = file_.write(taken_);
    if (written) continue;
    cells_.add(telemetry::Metric::record_failed);
    log_.write_seldom(Level::error,
                      LogLine("can't write the recording; rows are lost")
                          .add("file", options_.path)
                          .add("error", written.error().message()),
                      "recording");
  }
}

}  // namespace weir::app
