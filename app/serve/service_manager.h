#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "core/clock.h"
#include "net/fd.h"

/// Messages to the service manager that started weir: systemd with `Type=notify`.
namespace weir::app {

/// The settings of a service manager in the environment of its processes.
struct ServiceSettings {
  std::string socket;  ///< NOTIFY_SOCKET: a path, or `@name`; empty: no service manager
  std::optional<milliseconds> watchdog;  ///< WATCHDOG_USEC, if it is meant for this process
};
/// `getenv` finds a variable or gives null; `self`: this process.
ServiceSettings service_settings(const char* (*getenv)(const char*), pid_t self);

/// Speaks the protocol of sd_notify(3) by itself: one datagram of `NAME=value` lines each. Nothing
/// that goes wrong here matters to requests: a message that can't be sent is dropped. One thread.
class ServiceManager {
 public:
  explicit ServiceManager(const ServiceSettings& settings);

  bool listens() const noexcept { return static_cast<bool>(socket_); }
  /// Without alive() for this long, weir is restarted; nullopt: there is no watchdog.
  std::optional<milliseconds> watchdog() const noexcept { return watchdog_; }

  void ready(std::string_view status) noexcept;  ///< also after a reload, good or not
  void reloading() noexcept;
  /// `within`: the time that the stop may take, regardless of the unit's limit.
  void stopping(std::string_view status, milliseconds within) noexcept;
  void status(std::string_view status) noexcept;
  void alive() noexcept;

 private:
  void send(const std::string& message) noexcept;

  std::string address_;
  net::Fd socket_;
  std::optional<milliseconds> watchdog_;
};

}  // namespace weir::app
