#include "tests/support/free_port.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <random>
#include <set>

namespace weir::test {

int free_port() {
  // Below the range from which the kernel takes ports for connections: one of ours could get it
  // before weir does. Test programs run beside each other, so each begins somewhere else.
  constexpr unsigned kFirst = 12'000, kLast = 32'000;
  static std::mt19937 random{std::random_device{}()};
  static std::set<int> given;
  for (;;) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port =
        htons(static_cast<std::uint16_t>(std::uniform_int_distribution(kFirst, kLast - 1)(random)));
    const bool is_free =
        ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
    ::close(fd);
    if (is_free && given.insert(ntohs(address.sin_port)).second) return ntohs(address.sin_port);
  }
}

}  // namespace weir::test
