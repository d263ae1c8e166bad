#include "app/observe/reopened_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace weir::app {
namespace {

boost::system::error_code errno_now() { return {errno, boost::system::system_category()}; }

// O_NONBLOCK: a pipe without a reader is an error, and one that is full does not hold up its thread
// forever. It means nothing for files.
net::Fd open_to_append(const std::string& path) {
  return net::Fd(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600));
}

}  // namespace

Result<void> ReopenedFile::open() {
  file_ = open_to_append(path_);
  if (file_) {
    open_ = true;
    return {};
  }
  const auto error = errno_now();
  // Its number stays the same from here on; writes to a directory fail, everywhere.
  file_ = net::Fd(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return error;
}

Result<void> ReopenedFile::look_again(bool anyway) {
  struct stat named {};
  struct stat held {};
  const bool same = ::stat(path_.c_str(), &named) == 0 && ::fstat(file_.get(), &held) == 0 &&
                    named.st_ino == held.st_ino && named.st_dev == held.st_dev;
  if (same && !anyway) return {};
  const net::Fd next = open_to_append(path_);
  if (!next) return errno_now();
  if (::dup3(next.get(), file_.get(), O_CLOEXEC) < 0) return errno_now();
  open_ = true;
  return {};
}

}  // namespace weir::app
