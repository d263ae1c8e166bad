#include "net/reactor.h"

#include <fcntl.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/system/system_error.hpp>
#include <cerrno>
#include <utility>

#include "core/assert.h"
#include "core/no_memory.h"

namespace weir::net {
namespace {

// Rounds of epoll_wait before other work of the io_context (posted tasks, Redis) gets its turn.
constexpr int kRounds = 16;
// A batch this small means that the loop is not saturated: waiting through Asio, which looks again
// when it is armed, is then one system call less than asking for a batch that would be empty.
constexpr int kSmallBatch = 4;

Fd checked(int fd, const char* what) {
  if (fd < 0) {
    throw boost::system::system_error(errno, boost::system::system_category(), what);
  }
  return Fd(fd);
}

}  // namespace

Reactor::Reactor(boost::asio::io_context& io)
    : io_(io),
      fine_now_(clock_.fine()),
      now_(std::chrono::floor<milliseconds>(fine_now_)),
      wheel_(now_),
      epoll_(checked(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1")),
      alarm_(
          checked(::timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC), "timerfd_create")),
      received_(std::make_unique_for_overwrite<std::array<Ahead, kBatch>>()),
      descriptor_(io) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  event.data.ptr = nullptr;  // the alarm
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, alarm_.get(), &event) != 0) {
    throw boost::system::system_error(errno, boost::system::system_category(), "epoll_ctl");
  }
  // Asio closes its descriptor, so Asio gets one of its own.
  descriptor_.assign(checked(::fcntl(epoll_.get(), F_DUPFD_CLOEXEC, 0), "dup").release());
}

void Reactor::start() {
  running_ = true;
  go_on_waiting();
}

void Reactor::go_on_waiting() {
  if (running_ && !waiting_) wait();
}

void Reactor::stop() {
  running_ = false;
  boost::system::error_code ignored;
  descriptor_.cancel(ignored);
}

Result<void> Reactor::add(int fd, std::uint32_t events, EventHandler& handler) noexcept {
  epoll_event event{};
  event.events = events;
  event.data.ptr = &handler;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return Error::unavailable;
  return {};
}

void Reactor::modify(int fd, std::uint32_t events, EventHandler& handler) noexcept {
  epoll_event event{};
  event.events = events;
  event.data.ptr = &handler;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void Reactor::remove(int fd) noexcept {
  epoll_event event{};
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, &event);
}

void Reactor::remove_hook(TurnHook& hook) { std::erase(hooks_, &hook); }

void Reactor::wait() {
  if (!running_) return;
  descriptor_.async_wait(boost::asio::posix::descriptor_base::wait_read,
                         [this](const boost::system::error_code& error) {
                           waiting_ = false;
                           if (!error) drain();
                         });
  waiting_ = true;
}

void Reactor::drain() {
  struct Round {
    explicit Round(bool& flag) noexcept : in_round(flag) { in_round = true; }
    ~Round() { in_round = false; }
    bool& in_round;
  };
  const Round round(in_round_);  // waiting through Asio may throw without memory
  run_rounds();
}

void Reactor::run_rounds() {
  for (int round = 0; round < kRounds && running_; ++round) {
    const int count = ::epoll_wait(epoll_.get(), events_.data(), kEvents, 0);
    if (count <= 0 && going_on_ == nullptr) return wait();
    begin_turn();
    const std::span<const epoll_event> all(events_.data(),
                                           static_cast<std::size_t>(std::max(0, count)));
    for (std::size_t i = 0; i < all.size(); i += kBatch) {
      deliver(all.subspan(i, std::min(kBatch, all.size() - i)));
    }
    go_on();
    end_turn();
    if (count < kSmallBatch && going_on_ == nullptr) return wait();
  }
  if (!running_) return;
  boost::asio::post(io_, [this] {
    waiting_ = false;
    drain();
  });
  waiting_ = true;
}

void Reactor::deliver(std::span<const epoll_event> batch) {
  received_size_ = batch.size();
  for (std::size_t i = 0; i < batch.size(); ++i) {
    Ahead& ahead = (*received_)[i];
    ahead.reader = nullptr;
    if (batch[i].data.ptr == nullptr || (batch[i].events & EPOLLIN) == 0) continue;
    const EventHandler& handler = *static_cast<EventHandler*>(batch[i].data.ptr);
    const int fd = handler.reads_ahead();
    if (fd < 0) continue;
    ahead.result = net::receive(fd, ahead.room());
    ahead.reader = &handler;
  }
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (batch[i].data.ptr == nullptr) {
      alarm_at_ = TimePoint::max();  // the alarm has fired; the timers run at the end of the turn
      continue;
    }
    ahead_ = &(*received_)[i];
    survives_no_memory(
        [&] { static_cast<EventHandler*>(batch[i].data.ptr)->on_events(batch[i].events); });
  }
  ahead_ = nullptr;
  received_size_ = 0;
  outbox_.flush();
}

bool Reactor::has_received(const EventHandler& reader) const noexcept {
  const std::span<const Ahead> all(received_->data(), received_size_);
  return std::any_of(all.begin(), all.end(), [&](const Ahead& ahead) {
    return ahead.reader == &reader && ahead.result.bytes != 0;
  });
}

void Reactor::go_on_later(EventHandler& handler) noexcept {
  handler.asked_in_ = static_cast<std::uint32_t>(turn_);
  if (handler.goes_on_) return;
  handler.goes_on_ = true;
  handler.next_ = nullptr;
  *going_on_end_ = &handler;
  going_on_end_ = &handler.next_;
}

// Gives an event to each handler that asked for one in an earlier turn. A handler that has asked in
// this turn, on an event of its own, has had its share of the turn: it waits for the next one.
void Reactor::go_on() {
  EventHandler* next = std::exchange(going_on_, nullptr);
  going_on_end_ = &going_on_;
  while (next != nullptr) {
    EventHandler& handler = *std::exchange(next, next->next_);
    handler.goes_on_ = false;
    if (handler.asked_in_ == static_cast<std::uint32_t>(turn_)) {
      go_on_later(handler);
    } else {
      survives_no_memory([&] { handler.on_events(0); });
    }
  }
  outbox_.flush();
}

IoResult Reactor::receive(const EventHandler& reader, int fd, std::span<char> into) noexcept {
  if (!is_ahead_of(reader)) return net::receive(fd, into);
  WEIR_ASSERT(into.data() == ahead_->bytes.data());
  ahead_->reader = nullptr;
  return ahead_->result;
}

void Reactor::begin_turn() noexcept {
  ++turn_;
  fine_now_ = clock_.fine();
  now_ = std::chrono::floor<milliseconds>(fine_now_);
}

void Reactor::end_turn() {
  wheel_.advance(now_);
  do {
    for (TurnHook* hook : hooks_) survives_no_memory([&] { hook->end_of_turn(now_); });
  } while (outbox_.flush());
  set_alarm();
}

void Reactor::set_alarm() noexcept {
  auto next = wheel_.next();
  // A handler has called go_on_later() outside a round: without this alarm, no other event may
  // start one.
  if (going_on_ != nullptr && !in_round_) next = now_;
  if (!next || *next >= alarm_at_) return;  // an alarm that rings too early is harmless
  alarm_at_ = *next;
  const std::int64_t ms = std::max<std::int64_t>(1, (*next - now_).count());
  itimerspec spec{};
  spec.it_value.tv_sec = ms / 1000;
  spec.it_value.tv_nsec = ms % 1000 * 1'000'000;
  ::timerfd_settime(alarm_.get(), 0, &spec, nullptr);
}

}  // namespace weir::net
