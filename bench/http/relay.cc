// The least work of a proxy: it reads the bytes of a client and writes them to the app, and the
// other way round, and looks at none of them. One connection to the app for each client, one
// thread, edge-triggered epoll. No limits, no timeouts, no pool: each omission is in its favour.
// Usage: relay PORT ADDRESS:PORT | relay PORT unix:PATH

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

namespace {

/// One of two sockets whose bytes go to each other.
struct End {
  int fd = -1;
  End* other = nullptr;
  std::string waiting;  // for the other one, which took no more
  bool closed = false;
};

struct Pair {
  End client, app;
};

sockaddr_storage app_address{};
socklen_t app_size = 0;

bool parse_app(const std::string& text) {
  if (text.starts_with("unix:")) {
    auto* const to = reinterpret_cast<sockaddr_un*>(&app_address);
    to->sun_family = AF_UNIX;
    if (text.size() - 5 >= sizeof to->sun_path) return false;
    std::memcpy(to->sun_path, text.c_str() + 5, text.size() - 4);
    app_size = sizeof *to;
    return true;
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return false;
  auto* const to = reinterpret_cast<sockaddr_in*>(&app_address);
  to->sin_family = AF_INET;
  to->sin_port = htons(static_cast<std::uint16_t>(std::atoi(text.c_str() + colon + 1)));
  app_size = sizeof *to;
  return ::inet_pton(AF_INET, text.substr(0, colon).c_str(), &to->sin_addr) == 1;
}

void send_at_once(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // fails for Unix sockets: no harm
}

/// Writes what the other end took no more of. False: it still takes no more.
bool flush(End& from) {
  while (!from.waiting.empty()) {
    const ssize_t sent =
        ::send(from.other->fd, from.waiting.data(), from.waiting.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    from.waiting.erase(0, static_cast<std::size_t>(sent));
  }
  return true;
}

void move_bytes(End& from) {
  static char buffer[64 << 10];
  while (flush(from)) {
    const ssize_t got = ::recv(from.fd, buffer, sizeof buffer, 0);
    if (got == 0 || (got < 0 && errno != EAGAIN)) from.closed = true;
    if (got <= 0) return;
    const auto size = static_cast<std::size_t>(got);
    const ssize_t sent = ::send(from.other->fd, buffer, size, MSG_NOSIGNAL);
    const std::size_t taken = sent < 0 ? 0 : static_cast<std::size_t>(sent);
    from.waiting.assign(buffer + taken, size - taken);
    if (size < sizeof buffer && from.waiting.empty()) return;  // all that there was
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || !parse_app(argv[2])) return 2;
  const int door = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  const int on = 1;
  ::setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_port = htons(static_cast<std::uint16_t>(std::atoi(argv[1])));
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(door, reinterpret_cast<sockaddr*>(&here), sizeof here) != 0 ||
      ::listen(door, 4096) != 0) {
    std::perror("relay");
    return 1;
  }
  const int epoll = ::epoll_create1(0);
  const auto watch = [&](int fd, void* what, std::uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.ptr = what;
    ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
  };
  watch(door, nullptr, EPOLLIN);
  std::unordered_map<End*, std::unique_ptr<Pair>> pairs;  // by the client's end
  bool some_closed = false;
  epoll_event events[256];
  for (;;) {
    const int n = ::epoll_wait(epoll, events, 256, -1);
    for (int i = 0; i < n; ++i) {
      End* const end = static_cast<End*>(events[i].data.ptr);
      if (end != nullptr) {
        move_bytes(*end);
        if (!end->other->waiting.empty()) move_bytes(*end->other);  // for this end to take more
        some_closed = some_closed || end->closed || end->other->closed;
        continue;
      }
      for (int fd; (fd = ::accept4(door, nullptr, nullptr, SOCK_NONBLOCK)) >= 0;) {
        auto pair = std::make_unique<Pair>();
        pair->client = {fd, &pair->app, {}, false};
        pair->app = {::socket(app_address.ss_family, SOCK_STREAM, 0), &pair->client, {}, false};
        if (::connect(pair->app.fd, reinterpret_cast<sockaddr*>(&app_address), app_size) != 0) {
          ::close(fd);
          ::close(pair->app.fd);
          continue;
        }
        send_at_once(fd);
        send_at_once(pair->app.fd);
        ::fcntl(pair->app.fd, F_SETFL, O_NONBLOCK);
        constexpr std::uint32_t kBoth = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
        End* const key = &pair->client;
        watch(fd, key, kBoth);
        watch(pair->app.fd, &pair->app, kBoth);
        pairs.emplace(key, std::move(pair));
      }
    }
    if (!std::exchange(some_closed, false)) continue;
    std::erase_if(pairs, [](auto& item) {  // after the batch: no event points to them now
      Pair& pair = *item.second;
      if (!pair.client.closed && !pair.app.closed) return false;
      ::close(pair.client.fd);
      ::close(pair.app.fd);
      return true;
    });
  }
}
