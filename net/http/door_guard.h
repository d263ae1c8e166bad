#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/key.h"
#include "core/result.h"
#include "net/http/server.h"

/// Access rules of the doors for operators and for the app itself: admin and api.
namespace weir::net {

/// The token in a file, without the blanks around it; nullopt: it is no regular file, or has no
/// token of at most 4 KiB. Never blocks. Any thread.
std::optional<std::string> read_token(const std::string& path);

/// The bearer token in a file, read again whenever the file has changed (a mounted Secret rotates
/// by renaming a link). Blanks around the token do not count. Not thread-safe.
class TokenFile {
 public:
  explicit TokenFile(std::string path);
  /// Succeeds if `offered` is the token. The time does not depend on the token's bytes.
  /// Error::refused: a different token. Error::unavailable: there is no readable, non-empty token
  /// of at most 4 KiB, so all requests are refused.
  Result<void> check(std::string_view offered);
  /// A keyed hash of the token, of this process alone; nullopt: it cannot be read.
  std::optional<Hash128> mark() { return refresh() ? token_ : std::nullopt; }
  const std::string& path() const noexcept { return path_; }

 private:
  bool refresh();
  std::string path_;
  HashSecret secret_;  // random: comparing keyed hashes leaks nothing of the token
  std::optional<Hash128> token_;
  std::int64_t seen_ns_ = -1, seen_size_ = -1;
  std::uint64_t seen_inode_ = 0;
};

/// The rules of such a door: token, Host (against DNS rebinding), Origin (against pages of other
/// sites). A request with the token may have any Host: no page of another site knows the token.
class DoorGuard {
 public:
  /// `bound`: the address of the door. `token` may be null. `hosts`: names (lower case, no port)
  /// that a door without a token accepts besides localhost and its address.
  DoorGuard(const SocketAddress& bound, TokenFile* token, std::vector<std::string> hosts = {})
      : bound_(bound), token_(token), hosts_(std::move(hosts)) {}

  struct Refusal {
    int status;
    std::string detail;
  };
  /// `known`: the token is not asked of it, for it has a session, or asks for nothing secret.
  std::optional<Refusal> check(const HttpRequest& request, bool known = false);
  /// A mark of the current token; nullopt: there is none, or it cannot be read.
  std::optional<Hash128> token_mark();
  bool has_token() const noexcept { return token_ != nullptr; }
  /// Whether a door on this address needs a token: everything but loopback and Unix sockets.
  static bool needs_token(const SocketAddress& bound) noexcept;

 private:
  bool host_allowed(std::string_view authority) const;
  std::optional<Refusal> check_token(const HttpRequest& request);
  SocketAddress bound_;
  TokenFile* token_;
  std::vector<std::string> hosts_;
};

}  // namespace weir::net
