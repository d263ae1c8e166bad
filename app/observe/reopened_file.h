#pragma once

#include <atomic>
#include <string>

#include "core/result.h"
#include "net/fd.h"

namespace weir::app {

/// A file that others move aside (logrotate): writes go to the end of the file that has
/// the name now. Mode 0600. The descriptor's number stays the same, so that a thread which is about
/// to write needs to know nothing. Thread-safe.
class ReopenedFile {
 public:
  explicit ReopenedFile(std::string path) : path_(std::move(path)) {}
  /// An error leaves a descriptor that takes nothing, until look_again() finds better.
  [[nodiscard]] Result<void> open();
  /// Opens the name again, if it is another file now or none at all, or if `anyway`. An error
  /// leaves the file that there was.
  [[nodiscard]] Result<void> look_again(bool anyway);
  bool is_open() const noexcept { return open_; }
  int fd() const noexcept { return file_.get(); }
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
  net::Fd file_;
  std::atomic<bool> open_{false};
};

}  // namespace weir::app
