#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/redis_url.h"
#include "net/fd.h"
#include "net/tls.h"
#include "store/resp/resp_reader.h"

namespace weir::app::doctor {

/// A conversation with one Redis server, one command at a time. Blocks, each step until its
/// deadline.
class RedisTalk {
 public:
  static constexpr milliseconds kStep{2'000};

  /// `tls`: null: none; `name`: of the certificate, empty: the host.
  bool open(const RedisEndpoint& at, const std::shared_ptr<const net::TlsContext>& tls,
            const std::string& name);
  /// Null: there was none, and why() says so; an error of the server is a reply.
  const store::Reply* ask(std::initializer_list<std::string_view> words);
  const std::string& why() const noexcept { return why_; }

 private:
  bool wait(short events, TimePoint deadline);
  bool shake_hands(TimePoint deadline);
  bool send(std::string_view bytes, TimePoint deadline);
  net::IoResult receive(std::span<char> into);

  Clock clock_;
  net::Fd fd_;
  std::optional<net::TlsSession> tls_;
  std::optional<store::RespReader> reader_;
  std::string why_;
};

}  // namespace weir::app::doctor
