#include "app/support/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>

namespace weir::app {
namespace {

boost::system::error_code last_error() noexcept {
  return {errno, boost::system::system_category()};
}

/// A path on the stack: a file is committed, or dropped, without memory too. One that is too long
/// is empty, and no file has it.
class ShortPath {
 public:
  ShortPath(std::string_view head, std::string_view tail) noexcept {
    if (head.size() + tail.size() >= text_.size()) return;
    std::copy(tail.begin(), tail.end(), std::copy(head.begin(), head.end(), text_.begin()));
  }
  const char* c_str() const noexcept { return text_.data(); }

 private:
  std::array<char, PATH_MAX> text_{};
};

ShortPath draft_of(const std::string& path) noexcept { return {path, ".new"}; }

// A rename is on the disk when its directory is.
Result<void> sync_directory_of(const std::string& path) noexcept {
  const std::size_t slash = path.rfind('/');
  const auto directory = slash == std::string::npos
                             ? ShortPath(".", {})
                             : ShortPath(std::string_view(path).substr(0, slash + 1), {});
  const net::Fd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return last_error();
  if (::fsync(fd.get()) != 0 && errno != EINVAL) return last_error();  // EINVAL: not on this kind
  return {};
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::size_t bytes_max) {
  const net::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return last_error();
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return last_error();
  if (S_ISDIR(status.st_mode))
    return boost::system::error_code(EISDIR, boost::system::system_category());
  const auto said = static_cast<std::size_t>(std::max<off_t>(status.st_size, 0));
  if (S_ISREG(status.st_mode) && said > bytes_max) return make_error_code(Error::too_large);
  std::string out;
  std::size_t used = 0;
  out.resize((said > 0 ? std::min(said, bytes_max) : std::size_t{4096}) + 1);
  while (true) {
    const ssize_t n = ::read(fd.get(), out.data() + used, out.size() - used);
    if (n < 0) {
      if (errno == EINTR) continue;
      return last_error();
    }
    if (n == 0) break;
    used += static_cast<std::size_t>(n);
    if (used > bytes_max) return make_error_code(Error::too_large);
    if (used == out.size()) out.resize(out.size() * 2);
  }
  out.resize(used);
  return out;
}

Result<void> write_all(int fd, std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return last_error();
    }
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Result<void> rename_file(const std::string& from, const std::string& to) noexcept {
  if (::rename(from.c_str(), to.c_str()) != 0) return last_error();
  return {};
}

Result<void> link_file(const std::string& path, const std::string& name) noexcept {
  if (::unlink(name.c_str()) != 0 && errno != ENOENT) return last_error();
  if (::link(path.c_str(), name.c_str()) != 0) return last_error();
  return {};
}

Result<void> make_directory(const std::string& path, mode_t mode) noexcept {
  if (::mkdir(path.c_str(), mode) == 0) return {};
  const auto error = last_error();
  struct stat status {};
  if (error.value() == EEXIST && ::stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) return {};
    return boost::system::error_code(ENOTDIR, boost::system::system_category());
  }
  return error;
}

Result<FileReplacement> FileReplacement::begin(std::string path, mode_t mode) {
  net::Fd fd(
      ::open(draft_of(path).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!fd) return last_error();
  if (::fchmod(fd.get(), mode) != 0) return last_error();  // regardless of umask and leftovers
  return FileReplacement(std::move(path), std::move(fd));
}

FileReplacement::FileReplacement(FileReplacement&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::move(other.fd_)) {}

FileReplacement::~FileReplacement() {
  if (fd_) ::unlink(draft_of(path_).c_str());
}

Result<void> FileReplacement::commit() noexcept {
  if (::fsync(fd_.get()) != 0) return last_error();
  if (::rename(draft_of(path_).c_str(), path_.c_str()) != 0) return last_error();
  fd_.close();
  return sync_directory_of(path_);
}

Result<void> write_file(const std::string& path, std::string_view bytes, mode_t mode) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    const net::Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd) return last_error();
    return write_all(fd.get(), bytes);
  }
  auto file = FileReplacement::begin(path, mode);
  if (!file) return file.error();
  if (const auto written = file->append(bytes); !written) return written;
  return file->commit();
}

Result<net::Fd> lock_file(const std::string& path) {
  net::Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return last_error();
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return make_error_code(Error::refused);
    return last_error();
  }
  return fd;
}

}  // namespace weir::app
