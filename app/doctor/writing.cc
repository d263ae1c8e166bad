#include "app/doctor/writing.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "net/fd.h"

namespace weir::app::doctor {

int try_to_write_in(const std::string& directory) {
  std::string path = directory + "/.weir-doctor-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return errno;
  return ::rmdir(path.c_str()) == 0 ? 0 : errno;
}

int try_to_append(const std::string& path) {
  constexpr int kHow = O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK;  // as ReopenedFile
  // O_EXCL shows who makes the file: a log that a weir makes meanwhile is not removed.
  if (const net::Fd made(::open(path.c_str(), kHow | O_CREAT | O_EXCL, 0600)); made)
    return ::unlink(path.c_str()) == 0 ? 0 : errno;
  if (errno != EEXIST) return errno;
  if (const net::Fd there(::open(path.c_str(), kHow)); there) return 0;
  if (errno != ENOENT) return errno;
  // A link to a file that does not exist yet.
  const net::Fd made(::open(path.c_str(), kHow | O_CREAT, 0600));
  if (!made) return errno;
  std::error_code failed;
  std::filesystem::remove(std::filesystem::canonical(path, failed), failed);
  return failed.value();
}

}  // namespace weir::app::doctor
