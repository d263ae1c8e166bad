#include "tests/support/door_client.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <cerrno>

#include "core/clock.h"

namespace weir::test {

std::string Reply::field(std::string_view name) const {
  const std::size_t at = head.find("\r\n" + std::string(name) + ": ");
  if (at == std::string::npos) return {};
  const std::size_t begin = at + name.size() + 4;
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

Client::Client(boost::asio::io_context& io, const net::SocketAddress& address) : io_(io) {
  fd_ = ::socket(address.raw()->sa_family, SOCK_STREAM, 0);
  EXPECT_EQ(::connect(fd_, address.raw(), address.size()), 0) << errno;
}

Client::~Client() {
  if (fd_ >= 0) ::close(fd_);
}

Client::Client(Client&& other) noexcept
    : io_(other.io_), fd_(std::exchange(other.fd_, -1)), buffer_(std::move(other.buffer_)) {}

void Client::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      io_.poll();
    } else {
      return;  // the door has closed: receive() will tell
    }
  }
}

// Lets the door work until bytes come; false: it closed.
bool Client::read_some() {
  for (int turns = 0; turns < 200'000; ++turns) {
    char bytes[4096];
    const ssize_t n = ::recv(fd_, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n > 0) {
      buffer_.append(bytes, static_cast<std::size_t>(n));
      return true;
    }
    if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) return false;
    io_.restart();
    io_.run_one_for(milliseconds{20});
  }
  ADD_FAILURE() << "no answer";
  return false;
}

Reply Client::receive(bool head_only) {
  Reply reply;
  std::size_t end = std::string::npos;
  while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
    if (!read_some()) return reply;
  }
  reply.head = buffer_.substr(0, end + 2);
  buffer_.erase(0, end + 4);
  reply.status = std::atoi(reply.head.c_str() + 9);
  const std::string length = reply.field("Content-Length");
  const std::size_t size = head_only || length.empty() ? 0 : std::stoul(length);
  while (buffer_.size() < size && read_some()) {
  }
  reply.body = buffer_.substr(0, size);
  buffer_.erase(0, size);
  return reply;
}

Reply Client::call(std::string_view method, std::string_view target, std::string_view fields,
                   std::string_view body) {
  std::string bytes = std::string(method) + " " + std::string(target) + " HTTP/1.1\r\n";
  if (fields.find("Host: ") == std::string_view::npos) bytes += "Host: localhost\r\n";
  bytes += fields;
  if (!body.empty()) bytes += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  send(bytes + "\r\n" + std::string(body));
  return receive(method == "HEAD");
}

std::size_t Client::take(std::size_t most) {
  std::size_t taken = std::min(most, buffer_.size());
  buffer_.erase(0, taken);
  while (taken == 0 && read_some()) {
    taken = std::min(most, buffer_.size());
    buffer_.erase(0, taken);
  }
  std::string bytes(std::size_t{1} << 20, '\0');
  while (taken < most) {
    const ssize_t n = ::recv(fd_, bytes.data(), std::min(bytes.size(), most - taken), MSG_DONTWAIT);
    if (n <= 0) break;
    taken += static_cast<std::size_t>(n);
  }
  return taken;
}

bool Client::closed_by_peer() { return buffer_.empty() && !read_some(); }

void run(boost::asio::io_context& io, boost::asio::awaitable<void> task) {
  bool done = false;
  boost::asio::co_spawn(io, std::move(task), [&done](std::exception_ptr failure) {
    done = true;
    if (failure) std::rethrow_exception(failure);
  });
  io.restart();
  while (!done && io.run_one_for(std::chrono::seconds{30}) > 0) {
  }
  EXPECT_TRUE(done);
}

}  // namespace weir::test
