#include "tests/support/origin_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace weir::test {
namespace {

constexpr int kDeadlineMs = 20'000;

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

sockaddr_un unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) throw std::runtime_error("socket path too long");
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

template <class A>
const sockaddr* raw(const A& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

void wait_for(int fd, short events) {
  pollfd p{fd, events, 0};
  if (::poll(&p, 1, kDeadlineMs) == 0) throw std::runtime_error("deadline of a test stream passed");
}

}  // namespace

Stream::Stream(Stream&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), reset_(other.reset_), buffer_(std::move(other.buffer_)) {}

Stream& Stream::operator=(Stream&& other) noexcept {
  close();
  fd_ = std::exchange(other.fd_, -1);
  reset_ = other.reset_;
  buffer_ = std::move(other.buffer_);
  return *this;
}

Stream Stream::connect_tcp(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(port);
  if (::connect(fd, raw(address), sizeof(address)) != 0) {
    ::close(fd);
    return Stream(-1);
  }
  const int yes = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  return Stream(fd);
}

Stream Stream::connect_unix(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = unix_address(path);
  if (::connect(fd, raw(address), sizeof(address)) != 0) {
    ::close(fd);
    return Stream(-1);
  }
  return Stream(fd);
}

bool Stream::write(std::string_view bytes) {
  while (!bytes.empty()) {
    wait_for(fd_, POLLOUT);
    const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

bool Stream::fill() {
  if (fd_ < 0) return false;
  char bytes[65536];
  wait_for(fd_, POLLIN);
  ssize_t n;
  do {
    n = ::recv(fd_, bytes, sizeof(bytes), 0);
  } while (n < 0 && errno == EINTR);
  if (n < 0) reset_ = true;
  if (n <= 0) return false;
  buffer_.append(bytes, static_cast<std::size_t>(n));
  return true;
}

std::optional<std::string> Stream::read_head() {
  std::size_t end;
  while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
    if (!fill()) return std::nullopt;
  }
  std::string head = buffer_.substr(0, end + 4);
  buffer_.erase(0, end + 4);
  return head;
}

std::string Stream::read_exactly(std::size_t n) {
  while (buffer_.size() < n && fill()) {
  }
  n = std::min(n, buffer_.size());
  std::string out = buffer_.substr(0, n);
  buffer_.erase(0, n);
  return out;
}

std::string Stream::read_to_end() {
  while (fill()) {
  }
  return std::exchange(buffer_, {});
}

std::string Stream::read_chunked() {
  std::string out;
  for (;;) {
    std::size_t end;
    while ((end = buffer_.find("\r\n")) == std::string::npos) {
      if (!fill()) return out + "<cut>";
    }
    const std::size_t size = std::stoul(buffer_.substr(0, end), nullptr, 16);
    buffer_.erase(0, end + 2);
    if (size == 0) {
      if (read_exactly(2) != "\r\n") return out + "<bad end>";
      return out;
    }
    out += read_exactly(size);
    if (read_exactly(2) != "\r\n") return out + "<cut>";
  }
}

std::string Stream::read_body(std::string_view head, bool head_request) {
  const int status = head.starts_with("HTTP/1.1 ") ? std::stoi(std::string(head.substr(9, 3))) : 0;
  if (head_request || status == 204 || status == 304 || (status >= 100 && status < 200)) return {};
  if (field(head, "transfer-encoding")) return read_chunked();
  if (const auto length = field(head, "content-length")) return read_exactly(std::stoul(*length));
  return status == 0 ? std::string{} : read_to_end();
}

void Stream::shutdown_write() noexcept { ::shutdown(fd_, SHUT_WR); }

void Stream::reset() noexcept {
  const linger now{1, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  close();
}

void Stream::close() noexcept {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

void Stream::shrink_receive_buffer() noexcept {
  // Under the loopback's segment size of 64 KiB every segment would wait for the persist timer.
  const int bytes = 256 << 10;
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
}

std::optional<std::string> field(std::string_view head, std::string_view name) {
  std::size_t at = head.find("\r\n");
  while (at != std::string_view::npos && at + 2 < head.size()) {
    head.remove_prefix(at + 2);
    at = head.find("\r\n");
    const std::string_view line = head.substr(0, at);
    const std::size_t colon = line.find(':');
    if (colon != name.size() || ::strncasecmp(line.data(), name.data(), colon) != 0) continue;
    std::string_view value = line.substr(colon + 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    return std::string(value);
  }
  return std::nullopt;
}

OriginServer::OriginServer(Script script, std::string unix_path)
    : script_(std::move(script)), unix_path_(std::move(unix_path)) {
  listen();
}

OriginServer::~OriginServer() { stop(); }

void OriginServer::listen() {
  const bool is_unix = !unix_path_.empty();
  listen_fd_ = ::socket(is_unix ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int bound;
  if (is_unix) {
    ::unlink(unix_path_.c_str());
    const sockaddr_un address = unix_address(unix_path_);
    bound = ::bind(listen_fd_, raw(address), sizeof(address));
  } else {
    const int yes = 1;
    ::setsockopt(listen_fd_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    sockaddr_in address = loopback(port_);
    bound = ::bind(listen_fd_, raw(address), sizeof(address));
    socklen_t size = sizeof(address);
    ::getsockname(listen_fd_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }
  if (bound != 0 || ::listen(listen_fd_, 1024) != 0)
    throw std::runtime_error("origin cannot listen");
  acceptor_ = std::thread([this, fd = listen_fd_] { accept_loop(fd); });
}

void OriginServer::accept_loop(int fd) {
  for (;;) {
    const int connection = ::accept4(fd, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      return;
    }
    const int yes = 1;
    ::setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    const int number = ++connections_;
    const std::lock_guard lock(mutex_);
    fds_.push_back(connection);
    threads_.emplace_back([this, connection, number] {
      Stream stream(connection);
      try {
        script_(stream, number);
      } catch (const std::exception&) {
        // A deadline: the test that waits for the answer says so.
      }
      const std::lock_guard closing(mutex_);
      fds_.remove(connection);
      stream.close();
    });
  }
}

void OriginServer::stop() {
  if (listen_fd_ < 0) return;
  ::shutdown(listen_fd_, SHUT_RDWR);
  acceptor_.join();
  ::close(std::exchange(listen_fd_, -1));
  std::list<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    for (const int fd : fds_) ::shutdown(fd, SHUT_RDWR);
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
  if (!unix_path_.empty()) ::unlink(unix_path_.c_str());
}

void OriginServer::restart() { listen(); }

OriginServer::Script OriginServer::answering(
    std::function<std::string(std::string_view, std::string)> answer) {
  return [answer = std::move(answer)](Stream& stream, int) {
    while (const auto head = stream.read_head()) {
      if (field(*head, "expect")) stream.write("HTTP/1.1 100 Continue\r\n\r\n");
      std::string body;
      if (field(*head, "transfer-encoding")) {
        body = stream.read_chunked();
      } else if (const auto length = field(*head, "content-length")) {
        body = stream.read_exactly(std::stoul(*length));
      }
      if (!stream.write(answer(*head, std::move(body)))) return;
    }
  };
}

}  // namespace weir::test
