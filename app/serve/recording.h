#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "app/support/log.h"
#include "gate/recorder.h"
#include "net/fd.h"

namespace weir::app {

/// A file that grows to a size and is then moved aside: FILE.1 is the one before it, FILE.N the
/// oldest. Mode 0600. Rows stay whole. Not thread-safe.
class RotatedFile {
 public:
  static constexpr std::uint64_t kSizeMin = std::uint64_t{1} << 20;

  RotatedFile(std::string path, std::uint64_t size, unsigned kept)
      : path_(std::move(path)), size_(size), kept_(kept) {}
  /// Continues at the end of the file.
  [[nodiscard]] Result<void> open();
  /// Whole lines. An error loses what had not been written yet.
  [[nodiscard]] Result<void> write(std::string_view lines);

 private:
  [[nodiscard]] Result<void> rotate();

  std::string path_;
  std::uint64_t size_;
  unsigned kept_;
  std::uint64_t written_ = 0;
  bool in_row_ = false;  // there was no room for the rest of it
  net::Fd file_;
};

/// `weir serve --record FILE`: a recorder for each worker, and a thread that writes their rows
/// every kEvery, so that a slow disk delays neither requests nor health checks. The functions are
/// for one thread, the control thread.
class Recording {
 public:
  static constexpr milliseconds kEvery{100};

  struct Options {
    std::string path;  ///< empty: recording is off
    double sample = 1;
    std::string subject = "ip";
    std::uint64_t size = std::uint64_t{100} << 20;
    unsigned files = 10;  ///< moved aside at most
  };
  /// The secret of the state directory: hashes are the same after a restart.
  /// `cells`: of the thread.
  Recording(const Options& options, const HashSecret& secret, Log& log,
            telemetry::MetricCells& cells);
  ~Recording() { stop(); }

  [[nodiscard]] Result<void> open() { return file_.open(); }
  /// The recorder of one more worker.
  gate::Recorder& add(telemetry::MetricCells& cells);
  /// Logs which fields of these policies' events are written plainly, and which hashed.
  void tell(const policies::PolicySet& set);
  void start();
  /// After the workers have ended: writes the rest. Also the second time.
  void stop();

 private:
  void run();
  void flush();

  Options options_;
  HashSecret secret_;
  Log& log_;
  telemetry::MetricCells& cells_;
  RotatedFile file_;
  std::vector<std::unique_ptr<gate::Recorder>> recorders_;
  std::string taken_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace weir::app
