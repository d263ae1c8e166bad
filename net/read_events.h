#pragma once

#include <sys/epoll.h>

#include <cstdint>

namespace weir::net {

/// The events that the owner of a connection watches. Writability comes beside them while
/// connecting and after a short write only: a Unix socket would report it each time that its peer
/// has read something.
inline constexpr std::uint32_t kReadEvents = EPOLLIN | EPOLLRDHUP | EPOLLET;

}  // namespace weir::net
