#include "bench/load/reactor.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <system_error>

namespace weir::load {

Nanos now_nanos() noexcept {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return Nanos{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

Reactor::Reactor() : fd_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
}

Reactor::~Reactor() { ::close(fd_); }

void Reactor::add(int fd, Handler& handler, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = &handler;
  if (::epoll_ctl(fd_, EPOLL_CTL_ADD, fd, &event) != 0) {
    throw std::system_error(errno, std::generic_category(), "epoll_ctl");
  }
}

void Reactor::modify(int fd, Handler& handler, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = &handler;
  ::epoll_ctl(fd_, EPOLL_CTL_MOD, fd, &event);
}

void Reactor::at(Nanos when, Handler& handler, std::uint64_t token) {
  timers_.push({when, order_++, &handler, token});
}

void Reactor::turn(Nanos until) {
  if (!timers_.empty()) until = std::min(until, timers_.top().when);
  const Nanos left = std::max<Nanos>(0, until - now_nanos());
  const timespec timeout{left / 1'000'000'000, left % 1'000'000'000};
  epoll_event events[256];
  const int ready = ::epoll_pwait2(fd_, events, 256, &timeout, nullptr);
  if (ready < 0 && errno != EINTR) {
    throw std::system_error(errno, std::generic_category(), "epoll_pwait2");
  }
  for (int i = 0; i < ready; ++i) {
    static_cast<Handler*>(events[i].data.ptr)->on_ready(events[i].events);
  }
  if (timers_.empty()) return;
  const Nanos now = now_nanos();
  while (!timers_.empty() && timers_.top().when <= now) {
    const Timer timer = timers_.top();
    timers_.pop();
    timer.handler->on_timer(timer.token);
  }
}

}  // namespace weir::load
