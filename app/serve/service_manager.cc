#include "app/serve/service_manager.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "core/chars/parse.h"
#include "core/monotonic.h"
#include "core/no_memory.h"

namespace weir::app {
namespace {

// The manager reads at once, or is in trouble itself: then the control thread continues without it.
constexpr suseconds_t kPatienceUs = 200'000;

std::optional<std::int64_t> number(const char* text) noexcept {
  if (text == nullptr) return std::nullopt;
  return parse_whole<std::int64_t>(text);
}

/// A line ends the value: the next line would be another word of the protocol.
std::string one_line(std::string_view text) {
  std::string out(text);
  std::replace(out.begin(), out.end(), '\n', ' ');
  return out;
}

}  // namespace

ServiceSettings service_settings(const char* (*getenv)(const char*), pid_t self) {
  ServiceSettings out;
  const char* const socket = getenv("NOTIFY_SOCKET");
  if (socket == nullptr || (socket[0] != '/' && socket[0] != '@')) return out;
  out.socket = socket;
  const char* const pid = getenv("WATCHDOG_PID");
  const auto us = number(getenv("WATCHDOG_USEC"));
  // Below this limit, a stuck loop cannot be distinguished from a busy one.
  if (us && *us >= 100'000 && (pid == nullptr || number(pid) == self))
    out.watchdog = milliseconds{*us / 1'000};
  return out;
}

ServiceManager::ServiceManager(const ServiceSettings& settings) : address_(settings.socket) {
  if (address_.size() < 2 || address_.size() >= sizeof(sockaddr_un::sun_path)) return;
  socket_ = net::Fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket_) return;
  const timeval patience{0, kPatienceUs};
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  watchdog_ = settings.watchdog;
}

void ServiceManager::send(const std::string& message) noexcept {
  if (!socket_) return;
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, address_.data(), address_.size());
  // An abstract name has no closing zero: its length is part of it.
  const bool is_abstract = address_.front() == '@';
  if (is_abstract) to.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size() +
                                           (is_abstract ? 0 : 1));
  static_cast<void>(::sendto(socket_.get(), message.data(), message.size(), MSG_NOSIGNAL,
                             reinterpret_cast<const sockaddr*>(&to), size));
}

// Without memory for a message, the manager gets none; the next message says more.

void ServiceManager::ready(std::string_view status) noexcept {
  static_cast<void>(survives_no_memory([&] { send("READY=1\nSTATUS=" + one_line(status)); }));
}

// Newer managers use the time to see whether this is the reload that they requested.
void ServiceManager::reloading() noexcept {
  static_cast<void>(survives_no_memory([&] {
    send("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(monotonic_us()) + "\nSTATUS=reloading");
  }));
}

void ServiceManager::stopping(std::string_view status, milliseconds within) noexcept {
  static_cast<void>(survives_no_memory([&] {
    send("STOPPING=1\nEXTEND_TIMEOUT_USEC=" + std::to_string(within.count() * 1'000) +
         "\nSTATUS=" + one_line(status));
  }));
}

void ServiceManager::status(std::string_view status) noexcept {
  static_cast<void>(survives_no_memory([&] { send("STATUS=" + one_line(status)); }));
}

void ServiceManager::alive() noexcept { send("WATCHDOG=1"); }

}  // namespace weir::app
