#include "bench/load/backend.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "bench/load/answer_scan.h"

namespace weir::load {
namespace {

std::array<char, 64 * 1024> scratch;  // one thread: every connection reads here first

std::string make_answer(const Backend::Options& options) {
  const bool bodiless = options.status == 204 || options.status == 304;
  std::string text = "HTTP/1.1 " + std::to_string(options.status) + " Answer\r\n";
  if (bodiless) return text + "\r\n";
  text += "Content-Type: application/octet-stream\r\nContent-Length: " +
          std::to_string(options.body_bytes) + "\r\n\r\n";
  return text.append(options.body_bytes, 'x');
}

}  // namespace

Backend::Backend(Reactor& reactor, const Endpoint& endpoint, const Options& options)
    : reactor_(reactor),
      options_(options),
      answer_(make_answer(options)),
      listener_(listen_at(endpoint)) {
  reactor_.add(listener_, acceptor_, EPOLLIN);
}

Backend::~Backend() {
  ::close(listener_);
  for (const auto& connection : connections_) {
    if (connection->fd >= 0) ::close(connection->fd);
  }
}

void Backend::accept_all() {
  for (;;) {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    const int one = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one,
                 sizeof one);  // harmless failure on a Unix socket
    if (free_.empty()) {
      connections_.push_back(std::make_unique<Connection>(*this));
      free_.push_back(connections_.back().get());
    }
    Connection& connection = *free_.back();
    free_.pop_back();
    connection.fd = fd;
    ++accepted_;
    reactor_.add(fd, connection, EPOLLIN);
  }
}

void Backend::Connection::on_ready(std::uint32_t events) {
  if ((events & EPOLLOUT) != 0) flush();
  if (fd >= 0 && (events & ~std::uint32_t{EPOLLOUT}) != 0) read();
}

void Backend::Connection::read() {
  const ssize_t got = ::recv(fd, scratch.data(), scratch.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return close();
  std::string_view bytes(scratch.data(), static_cast<std::size_t>(got));
  if (!in.empty()) bytes = in.append(bytes);
  const std::size_t used = consume(bytes);
  if (used == std::string_view::npos) {
    ++backend.malformed_;
    return close();
  }
  if (fd < 0) return;
  if (in.empty()) {
    in.assign(bytes.substr(used));
  } else {
    in.erase(0, used);
  }
}

std::size_t Backend::Connection::consume(std::string_view bytes) {
  std::size_t used = 0, complete = 0;
  while (used < bytes.size()) {
    if (body_left == 0) {
      const HeadScan head = scan_head(bytes.substr(used), false);
      if (head.status == HeadScan::Status::malformed) return std::string_view::npos;
      if (head.status == HeadScan::Status::incomplete) break;
      used += head.head_bytes;
      body_left = head.body_bytes;
    }
    const std::size_t part = std::min<std::uint64_t>(body_left, bytes.size() - used);
    body_left -= part;
    used += part;
    if (body_left != 0) break;
    ++complete;
  }
  backend.requests_ += complete;
  if (backend.options_.delay == 0) {
    answer(complete);
  } else {
    const Nanos due = now_nanos() + backend.options_.delay;
    for (; complete > 0; --complete) backend.reactor_.at(due, *this, generation);
  }
  return used;
}

void Backend::Connection::on_timer(std::uint64_t token) {
  if (token == generation && fd >= 0) answer(1);
}

void Backend::Connection::answer(std::size_t times) {
  for (; times > 0 && fd >= 0; --times) {
    std::size_t sent = 0;
    if (out.empty()) {  // the common case: nothing is copied
      const ssize_t n = ::send(fd, backend.answer_.data(), backend.answer_.size(), MSG_NOSIGNAL);
      if (n < 0 && errno != EAGAIN) return close();
      sent = n < 0 ? 0 : static_cast<std::size_t>(n);
      if (sent < backend.answer_.size()) backend.reactor_.modify(fd, *this, EPOLLIN | EPOLLOUT);
    }
    out.append(backend.answer_, sent);
  }
}

void Backend::Connection::flush() {
  while (out_sent < out.size()) {
    const ssize_t n = ::send(fd, out.data() + out_sent, out.size() - out_sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EAGAIN) return;
    if (n < 0) return close();
    out_sent += static_cast<std::size_t>(n);
  }
  out.clear();
  out_sent = 0;
  backend.reactor_.modify(fd, *this, EPOLLIN);
}

void Backend::Connection::close() {
  ::close(fd);
  fd = -1;
  ++generation;
  body_left = 0;
  in.clear();
  out.clear();
  out_sent = 0;
  backend.free_.push_back(this);
}

}  // namespace weir::load
