#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"

namespace weir::admin {

/// The admin doors of the other replicas, as `admin.replicas` names them. All are asked at once,
/// with this door's own token, and each has kLimit. On the control thread.
class Peers {
 public:
  static constexpr std::size_t kPeersMax = 64;
  static constexpr milliseconds kLimit{2'000};

  struct Answer {
    std::string address;  ///< 10.0.0.7:8481
    bool self = false;    ///< it was this very process
    int status = 0;       ///< 0: there was none
    std::string body;
    std::string why;  ///< why there was none, for people
  };

  Peers(boost::asio::io_context& io, std::vector<std::string> replicas,
        std::optional<std::string> token_file);

  bool configured() const noexcept { return !replicas_.empty(); }
  /// The value of `X-Weir-From` in requests of this process. A server that gets its own id answers
  /// 421.
  const std::string& id() const noexcept { return id_; }
  /// One request to each address that the names have now, in their order. A name that has none is
  /// an answer with a `why`.
  boost::asio::awaitable<std::vector<Answer>> ask(std::string method, std::string target,
                                                  std::string body);

 private:
  struct Round;
  boost::asio::awaitable<void> find(Round& round);
  std::string head_of(std::string_view method, std::string_view target, std::size_t size) const;

  boost::asio::io_context& io_;
  std::vector<std::string> replicas_;
  std::optional<std::string> token_file_;
  std::string id_;
  boost::asio::ip::tcp::resolver resolver_;
};

/// The host and port of `HOST`, `HOST:PORT`, `[V6]` or `[V6]:PORT`; a bare V6 address has no port.
std::pair<std::string, std::string> split_replica(std::string_view text);

}  // namespace weir::admin
