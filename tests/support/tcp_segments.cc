#include "tests/support/tcp_segments.h"

#include <dirent.h>
#include <linux/tcp.h>  // the one of glibc knows less
#include <netinet/in.h>
#include <sys/socket.h>

#include <charconv>
#include <cstring>

namespace weir::test {
namespace {

bool leads_to(int fd, int port) {
  sockaddr_in peer{};
  socklen_t size = sizeof peer;
  return ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0 &&
         peer.sin_family == AF_INET && ntohs(peer.sin_port) == port;
}

}  // namespace

std::optional<std::uint32_t> segments_sent_to(int port) {
  std::optional<std::uint32_t> sent;
  unsigned connections = 0;
  DIR* const dir = ::opendir("/proc/self/fd");
  if (dir == nullptr) return {};
  while (const dirent* const entry = ::readdir(dir)) {
    int fd = -1;
    std::from_chars(entry->d_name, entry->d_name + std::strlen(entry->d_name), fd);
    if (fd < 0 || !leads_to(fd, port)) continue;
    ++connections;
    tcp_info info{};
    socklen_t size = sizeof info;
    if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0) sent = info.tcpi_data_segs_out;
  }
  ::closedir(dir);
  return connections == 1 ? sent : std::nullopt;
}

}  // namespace weir::test
