#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/log.h"
#include "gate/recorder.h"
#include "net/fd.h"

namespace weir::app {

/// A file that grows to a size and is then moved aside: FILE.1 is the one before it, FILE.N the
/// oldest. Mode 0600. Rows stay whole. Not thread-safe.
class RotatedFile {
 public:
  static constexpr std::uint64_t kSizeLeast = std::uint64_t{1} << 20;

  RotatedFile(std::string path, std::uint64_t size, unsigned kept)
      : path_(std::move(path)), size_(size), kept_(kept) {}
  /// Goes on at the end of what is there.
  Result<void> open();
  /// Whole lines. An error loses what had not been written yet.
  Result<void> write(std::string_view lines);

 private:
  Result<void> rotate();

  std::string path_;
  std::uint64_t size_;
  unsigned kept_;
  std::uint64_t written_ = 0;
  net::Fd file_;
};

/// `weir serve --record FILE`: a recorder for each worker, and the control thread that writes what
/// they have to say every kEvery.
class Recording {
 public:
  static constexpr milliseconds kEvery{100};

  struct Options {
    std::string path;  ///< empty: nothing is recorded
    double sample = 1;
    std::string subject = "ip";
    std::uint64_t size = std::uint64_t{100} << 20;
    unsigned files = 10;  ///< moved aside at most
  };
  /// The secret of the state directory: hashes are the same after a restart.
  Recording(boost::asio::io_context& io, const Options& options, const HashSecret& secret, Log& log,
            telemetry::MetricCells& cells);

  Result<void> open() { return file_.open(); }
  /// The recorder of one more worker.
  gate::Recorder& add(telemetry::MetricCells& cells);
  /// Says in the log what of these policies' events is written plainly, and what hashed.
  void tell(const policies::PolicySet& set);
  void start();
  /// After the workers have ended: writes the rest.
  void stop();

 private:
  void flush();

  Options options_;
  HashSecret secret_;
  Log& log_;
  telemetry::MetricCells& cells_;
  RotatedFile file_;
  boost::asio::steady_timer timer_;
  std::vector<std::unique_ptr<gate::Recorder>> recorders_;
  std::string taken_;
};

}  // namespace weir::app
