#include "app/doctor/redis_talk.h"

#include <poll.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "app/support/http_client.h"
#include "net/socket.h"

namespace weir::app::doctor {
namespace {

std::string error_text(int number) { return std::generic_category().message(number); }

}  // namespace

bool RedisTalk::wait(short events, TimePoint deadline) {
  const auto left = deadline - clock_.now();
  pollfd one{fd_.get(), events, 0};
  if (left.count() > 0 && ::poll(&one, 1, static_cast<int>(left.count())) > 0) return true;
  why_ = "it does not answer in time";
  return false;
}

bool RedisTalk::open(const RedisEndpoint& at, const std::shared_ptr<const net::TlsContext>& tls,
                     const std::string& name) {
  why_.clear();
  reader_.emplace();
  tls_.reset();
  const TimePoint deadline = clock_.now() + kStep;
  std::string unresolved;
  const auto address = at.is_unix() ? net::SocketAddress::unix_path(at.path)
                                    : resolve(at.host, at.port, &unresolved);
  if (!address) {
    why_ = unresolved.empty() ? address.error().message() : unresolved;
    return false;
  }
  auto fd = net::start_connect(*address);
  if (!fd) {
    why_ = fd.error().message();
    return false;
  }
  fd_ = std::move(*fd);
  if (!wait(POLLOUT, deadline)) return false;
  if (const int error = net::socket_error(fd_.get()); error != 0) {
    why_ = error_text(error);
    return false;
  }
  if (tls == nullptr) return true;
  tls_.emplace(*tls, fd_.get(), name.empty() ? at.host : name);
  return shake_hands(deadline);
}

bool RedisTalk::shake_hands(TimePoint deadline) {
  for (;;) {
    switch (tls_->handshake()) {
      case net::TlsSession::Step::done:
        return true;
      case net::TlsSession::Step::failed:
        why_ = "TLS: " + tls_->why();
        return false;
      case net::TlsSession::Step::wait:
        if (!wait(POLLIN, deadline)) return false;
        break;
    }
  }
}

bool RedisTalk::send(std::string_view bytes, TimePoint deadline) {
  while (!bytes.empty()) {
    const net::IoResult sent = tls_ ? tls_->transmit(bytes) : net::transmit(fd_.get(), bytes);
    if (sent.error != 0) {
      why_ = error_text(sent.error);
      return false;
    }
    bytes.remove_prefix(sent.bytes);
    if (sent.would_block && !wait(POLLOUT, deadline)) return false;
  }
  return true;
}

net::IoResult RedisTalk::receive(std::span<char> into) {
  return tls_ ? tls_->receive(into) : net::receive(fd_.get(), into);
}

const store::Reply* RedisTalk::ask(std::initializer_list<std::string_view> words) {
  const TimePoint deadline = clock_.now() + kStep;
  std::string command = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string_view word : words) {
    command += "$" + std::to_string(word.size()) + "\r\n";
    command.append(word).append("\r\n");
  }
  if (!send(command, deadline)) return nullptr;
  std::array<char, 16 << 10> piece;
  for (;;) {
    switch (reader_->next()) {
      case store::RespReader::Step::reply:
        return &reader_->reply();
      case store::RespReader::Step::broken:
        why_ = "it does not speak RESP: is it a Redis?";
        return nullptr;
      case store::RespReader::Step::more:
        break;
    }
    const net::IoResult got = receive(piece);
    if (got.error != 0 || got.ended) {
      why_ = got.ended ? "it ended the connection" : error_text(got.error);
      return nullptr;
    }
    if (got.would_block) {
      if (!wait(POLLIN, deadline)) return nullptr;
      continue;
    }
    if (!reader_->feed({piece.data(), got.bytes})) {
      why_ = "it does not speak RESP: is it a Redis?";
      return nullptr;
    }
  }
}

}  // namespace weir::app::doctor
