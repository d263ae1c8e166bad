#include "app/doors/listeners.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "core/chars/parse.h"

namespace weir::app {
namespace {

namespace fs = std::filesystem;

/// The inode of a listening socket, from /proc/net/tcp or tcp6; empty: there is none.
std::string inode_of(const char* table, std::uint16_t port) {
  std::ifstream file(table);
  std::string line;
  std::getline(file, line);  // the heading
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string number, local, remote, state, queues, timer, retransmits, uid, timeout, inode;
    words >> number >> local >> remote >> state >> queues >> timer >> retransmits >> uid >>
        timeout >> inode;
    const std::size_t colon = local.find(':');
    if (state != "0A" || colon == std::string::npos) continue;  // TCP_LISTEN
    const auto found = parse_whole<unsigned>(std::string_view(local).substr(colon + 1), 16);
    if (found == port) return inode;
  }
  return {};
}

/// The same of a Unix socket, from /proc/net/unix.
std::string inode_of(const std::string& path) {
  std::ifstream file("/proc/net/unix");
  std::string line;
  std::getline(file, line);  // the heading
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string number, references, protocol, flags, type, state, inode, name;
    words >> number >> references >> protocol >> flags >> type >> state >> inode >> std::ws;
    std::getline(words, name);
    if (flags == "00010000" && name == path) return inode;  // it listens
  }
  return {};
}

bool has_socket(const fs::path& process, const std::string& inode) {
  std::error_code failed;
  for (fs::directory_iterator it(process / "fd", failed), end; !failed && it != end;
       it.increment(failed)) {
    std::error_code gone;
    if (fs::read_symlink(it->path(), gone).string() == "socket:[" + inode + "]") return true;
  }
  return false;
}

std::optional<ListeningProcess> owner_of(const std::string& inode) {
  if (inode.empty()) return std::nullopt;
  ListeningProcess out;
  std::error_code failed;
  for (fs::directory_iterator it("/proc", failed), end; !failed && it != end;
       it.increment(failed)) {
    const std::string name = it->path().filename().string();
    const auto pid = parse_whole<std::int64_t>(name);
    if (!pid || !has_socket(it->path(), inode)) continue;
    out.pid = *pid;
    std::ifstream comm(it->path() / "comm");
    std::getline(comm, out.name);
    break;
  }
  return out;
}

}  // namespace

std::optional<ListeningProcess> listener_of(std::uint16_t port) {
  std::string inode = inode_of("/proc/net/tcp", port);
  if (inode.empty()) inode = inode_of("/proc/net/tcp6", port);
  return owner_of(inode);
}

std::optional<ListeningProcess> listener_of(const std::string& path) {
  return owner_of(inode_of(path));
}

std::string taken_text(std::string_view where) {
  constexpr std::string_view kUnix = "unix:";
  std::optional<ListeningProcess> listener;
  if (where.starts_with(kUnix)) {
    listener = listener_of(std::string(where.substr(kUnix.size())));
  } else {
    const std::size_t colon = std::min(where.rfind(':'), where.size() - 1);
    listener = listener_of(parse_whole<std::uint16_t>(where.substr(colon + 1)).value_or(0));
  }
  if (!listener || listener->pid == 0) return "another weir, or the app itself?";
  if (listener->pid == ::getpid()) return "another door of this weir has it";
  const std::string who = listener->name + " with pid " + std::to_string(listener->pid) + " has it";
  return listener->name == "weir" ? who + "; if it drains, a second Ctrl-C or SIGTERM ends it now"
                                  : who;
}

}  // namespace weir::app
