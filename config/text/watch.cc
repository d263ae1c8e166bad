#include "config/text/watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace weir::config {
namespace {

// ATTRIB: a file that becomes readable by chmod. MOVED_FROM: a file renamed away is one less.
constexpr std::uint32_t kEvents = IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_CLOSE_WRITE |
                                  IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ATTRIB |
                                  IN_ONLYDIR;

}  // namespace

Watch::Watch() : fd_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {}

Watch::~Watch() {
  if (fd_ >= 0) ::close(fd_);
}

void Watch::add(const std::string& directory) {
  const int id = fd_ < 0 ? -1 : ::inotify_add_watch(fd_, directory.c_str(), kEvents);
  if (id < 0) {
    missing_.push_back(directory);
    return;
  }
  std::vector<std::string>& names = by_watch_[id];
  if (std::find(names.begin(), names.end(), directory) == names.end()) names.push_back(directory);
}

bool Watch::watch(const std::vector<std::string>& directories) {
  // Adding comes first: the kernel answers with the old number where a directory is already
  // watched, so that nothing that happens meanwhile is lost.
  std::map<int, std::vector<std::string>> before = std::move(by_watch_);
  by_watch_.clear();
  missing_.clear();
  wanted_ = directories;
  for (const std::string& directory : wanted_) add(directory);
  for (const auto& [id, names] : before) {
    if (!by_watch_.contains(id)) ::inotify_rm_watch(fd_, id);
  }
  return std::any_of(by_watch_.begin(), by_watch_.end(),
                     [&](const auto& now) { return !before.contains(now.first); });
}

bool Watch::drain() {
  bool changed = false;
  bool again = false;
  alignas(inotify_event) std::array<char, 16384> buffer;
  while (fd_ >= 0) {
    const ssize_t n = ::read(fd_, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    for (std::size_t at = 0; at < static_cast<std::size_t>(n);) {
      inotify_event event;
      std::memcpy(&event, buffer.data() + at, sizeof event);
      at += sizeof event + event.len;
      if ((event.mask & IN_Q_OVERFLOW) != 0) {
        changed = again = true;
      } else if (by_watch_.contains(event.wd)) {
        changed = true;
        if ((event.mask & (IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF)) != 0) again = true;
        if ((event.mask & IN_IGNORED) != 0) by_watch_.erase(event.wd);
      }  // else: the last words of a watch that was removed
    }
  }
  // A directory that was missing may exist now.
  if (again || (changed && !missing_.empty())) watch(std::vector<std::string>(wanted_));
  return changed;
}

}  // namespace weir::config
