#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "core/result.h"
#include "net/fd.h"

/// The few file operations that weir needs, each with the system's error. Files are opened with
/// O_NOFOLLOW where weir writes: the state directory may be shared with others of the same group.
namespace weir::app {

/// The whole file; Error::too_large above `bytes_max`.
[[nodiscard]] Result<std::string> read_file(const std::string& path, std::size_t bytes_max);
/// Writes everything, however many calls it takes; EINTR is not an error.
[[nodiscard]] Result<void> write_all(int fd, std::string_view bytes) noexcept;
[[nodiscard]] Result<void> rename_file(const std::string& from, const std::string& to) noexcept;
/// Another name for the file, taken from its former owner.
[[nodiscard]] Result<void> link_file(const std::string& path, const std::string& name) noexcept;
/// Creates the directory (its parent must be there) unless it is there.
[[nodiscard]] Result<void> make_directory(const std::string& path, mode_t mode) noexcept;

/// A file that takes the place of another as a whole or not at all: written beside it, synced, then
/// renamed over it. Dropped without commit(), it leaves the old one alone.
class FileReplacement {
 public:
  /// Truncates the rest of an earlier attempt that crashed.
  [[nodiscard]] static Result<FileReplacement> begin(std::string path, mode_t mode);
  FileReplacement(FileReplacement&& other) noexcept;
  FileReplacement& operator=(FileReplacement&&) = delete;
  ~FileReplacement();

  [[nodiscard]] Result<void> append(std::string_view bytes) noexcept {
    return write_all(fd_.get(), bytes);
  }
  [[nodiscard]] Result<void> commit() noexcept;

 private:
  FileReplacement(std::string path, net::Fd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  std::string path_;
  net::Fd fd_;
};

/// Replaces the whole file, as FileReplacement does; an existing path that is not a regular file (a
/// pipe, /dev/stdout) is written to.
[[nodiscard]] Result<void> write_file(const std::string& path, std::string_view bytes,
                                      mode_t mode = 0644);

/// Takes `path` for this process, for as long as the descriptor is open. Error::refused: another
/// process has it. (flock: gone with the process, however it ends.)
[[nodiscard]] Result<net::Fd> lock_file(const std::string& path);

}  // namespace weir::app
