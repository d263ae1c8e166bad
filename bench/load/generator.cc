#include "bench/load/generator.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "bench/load/answer_scan.h"

namespace weir::load {
namespace {

std::array<char, 64 * 1024> received;
constexpr Nanos kReconnectPause =
    10'000'000;  // after a refused connect: no spinning on a dead target

}  // namespace

Generator::Generator(Reactor& reactor, const Endpoint& target, const Options& options,
                     Requests& requests)
    : reactor_(reactor), target_(target), options_(options), requests_(requests) {
  for (std::size_t i = 0; i < options_.connections; ++i) {
    connections_.push_back(std::make_unique<Connection>(*this));
  }
}

Generator::~Generator() {
  for (const auto& c : connections_) {
    if (c->fd >= 0) ::close(c->fd);
  }
}

void Generator::start() {
  for (const auto& c : connections_) connect(*c);
  if (options_.rate > 0) {
    next_due_ = now_nanos();
    due_exact_ = static_cast<double>(next_due_);
    reactor_.at(next_due_, schedule_, 0);
  }
}

void Generator::forget() {
  counts_ = Counts{};
  counts_.sent = outstanding_;  // their answers fall into the measured span
  latency_.clear();
}

bool Generator::may_send() const noexcept {
  return !stopped_ && (options_.requests == 0 || started_ < options_.requests);
}

bool Generator::exhausted() const noexcept {
  return options_.requests != 0 && started_ >= options_.requests && outstanding_ == 0;
}

void Generator::connect(Connection& c) {
  if (!may_send() && late_.empty()) return;
  c.fd = begin_connect(target_);
  if (c.fd < 0) {
    c.fd = -1;
    ++counts_.connect_failed;
    return reactor_.at(now_nanos() + kReconnectPause, c, 0);
  }
  c.state = State::connecting;
  reactor_.add(c.fd, c, EPOLLIN | EPOLLOUT);
}

void Generator::ready(Connection& c, std::uint32_t events) {
  if (c.state == State::connecting) {
    int error = 0;
    socklen_t length = sizeof error;
    ::getsockopt(c.fd, SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) {
      ++counts_.connect_failed;
      return shut(c, kReconnectPause);
    }
    if ((events & EPOLLOUT) == 0) return;
    c.state = State::idle;
    reactor_.modify(c.fd, c, EPOLLIN);
    return next(c);
  }
  if ((events & EPOLLOUT) != 0) flush(c);
  if (c.fd >= 0 && (events & ~std::uint32_t{EPOLLOUT}) != 0) read(c);
}

void Generator::read(Connection& c) {
  const ssize_t got = ::recv(c.fd, received.data(), received.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    if (c.state == State::waiting) return lose(c, &Counts::closed);
    ++counts_.reconnects;
    return shut(c, 0);
  }
  std::string_view bytes(received.data(), static_cast<std::size_t>(got));
  if (c.state != State::waiting) return lose(c, &Counts::malformed);  // bytes without a request
  if (!c.in.empty()) bytes = c.in.append(bytes);
  if (!take(c, bytes)) lose(c, &Counts::malformed);
}

// Reads what there is of an answer; false when it is not one.
bool Generator::take(Connection& c, std::string_view bytes) {
  while (c.code == 0) {
    const HeadScan head = scan_head(bytes, true);
    if (head.status == HeadScan::Status::malformed) return false;
    if (head.status == HeadScan::Status::incomplete) {
      if (bytes.data() == received.data() || bytes.size() != c.in.size()) c.in = std::string(bytes);
      return c.in.size() <= received.size();
    }
    bytes.remove_prefix(head.head_bytes);
    if (head.code / 100 == 1) continue;
    c.code = head.code;
    c.body_left = head.body_bytes;
    c.closes = head.closes;
    const bool expected = options_.expect_code != 0    ? c.code == options_.expect_code
                          : options_.expect_class != 0 ? c.code / 100 == options_.expect_class
                                                       : true;
    if (!expected) {
      ++counts_.wrong_status;
    } else if (options_.expect_bytes >= 0 &&
               head.body_bytes != static_cast<std::uint64_t>(options_.expect_bytes)) {
      ++counts_.wrong_length;
    }
  }
  const std::uint64_t part = std::min<std::uint64_t>(c.body_left, bytes.size());
  c.body_left -= part;
  const bool surplus = part < bytes.size();
  c.in.clear();
  if (c.body_left == 0) {
    if (surplus) return false;
    answered(c);
  }
  return true;
}

void Generator::answered(Connection& c) {
  latency_.add(now_nanos() - c.due);
  ++counts_.answered;
  ++counts_.by_class[static_cast<std::size_t>(std::clamp(c.code / 100, 0, 5))];
  --outstanding_;
  c.code = 0;
  c.state = State::idle;
  if (c.closes) {
    ++counts_.reconnects;
    return shut(c, 0);
  }
  next(c);
}

void Generator::next(Connection& c) {
  if (options_.rate <= 0) {
    if (may_send()) send(c, now_nanos());
    return;
  }
  if (late_.empty()) return idle_.push_back(&c);
  const Nanos due = late_.front();
  late_.pop_front();
  --outstanding_;  // ... and send() counts it from here
  send(c, due);
}

void Generator::send(Connection& c, Nanos due) {
  const std::string_view request = requests_.next();
  c.state = State::waiting;
  c.due = due;
  ++counts_.sent;
  ++outstanding_;
  if (options_.rate <= 0) ++started_;
  const ssize_t n = ::send(c.fd, request.data(), request.size(), MSG_NOSIGNAL);
  if (n < 0 && errno != EAGAIN) return lose(c, &Counts::closed);
  const std::size_t sent = n < 0 ? 0 : static_cast<std::size_t>(n);
  if (sent < request.size()) {
    c.out.assign(request.substr(sent));
    reactor_.modify(c.fd, c, EPOLLIN | EPOLLOUT);
  }
}

void Generator::flush(Connection& c) {
  const ssize_t n = ::send(c.fd, c.out.data(), c.out.size(), MSG_NOSIGNAL);
  if (n < 0 && errno == EAGAIN) return;
  if (n < 0) return lose(c, &Counts::closed);
  c.out.erase(0, static_cast<std::size_t>(n));
  if (c.out.empty()) reactor_.modify(c.fd, c, EPOLLIN);
}

void Generator::lose(Connection& c, std::uint64_t Counts::*why) {
  ++(counts_.*why);
  if (c.state == State::waiting) --outstanding_;
  shut(c, 0);
}

void Generator::shut(Connection& c, Nanos pause) {
  if (c.state == State::idle) std::erase(idle_, &c);
  ::close(c.fd);
  c.fd = -1;
  c.state = State::closed;
  c.in.clear();
  c.out.clear();
  c.code = 0;
  c.body_left = 0;
  // By timer even without a pause: a target that closes at once must not recurse into us.
  reactor_.at(now_nanos() + pause, c, 0);
}

void Generator::send_due() {
  const Nanos now = now_nanos();
  while (next_due_ <= now && may_send()) {
    ++started_;
    if (idle_.empty()) {
      late_.push_back(next_due_);
      ++outstanding_;  // it is owed from the moment it was due ...
    } else {
      Connection& c = *idle_.front();  // in turn: no connection stays without a request
      idle_.pop_front();
      send(c, next_due_);
    }
    due_exact_ += 1e9 / options_.rate;
    next_due_ = static_cast<Nanos>(due_exact_);
  }
  if (may_send()) reactor_.at(next_due_, schedule_, 0);
}

}  // namespace weir::load
