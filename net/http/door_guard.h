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

/// Who may speak to a door that is for the operators or the app itself: admin and api.
namespace weir::net {

/// The bearer token in a file, read again whenever the file has changed (a mounted Secret rotates
/// by renaming a link). Blanks around the token do not count. Not thread-safe.
class TokenFile {
 public:
  explicit TokenFile(std::string path);
  /// Succeeds if `offered` is the token, in time that tells nothing of it. Error::refused: it is
  /// not; Error::unavailable: there is no readable, non-empty token of at most 4 KiB: nobody gets
  /// in.
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

/// The rules of such a door: token, Host (against DNS rebinding), Origin (against other sites'
/// pages). Who has the token may come by any Host: no page of another site knows it.
class DoorGuard {
 public:
  /// `bound`: what the door listens on. `token` may be null. `hosts`: names (lower case, no port)
  /// by which a door without a token may be asked besides localhost and its address.
  DoorGuard(const SocketAddress& bound, TokenFile* token, std::vector<std::string> hosts = {})
      : bound_(bound), token_(token), hosts_(std::move(hosts)) {}

  struct Refusal {
    int status;
    std::string detail;
  };
  /// `known`: the token is not asked of it, for it has a session, or asks for nothing secret.
  std::optional<Refusal> check(const HttpRequest& request, bool known = false);
  /// What stands for the token as it is now; nullopt: there is none, or it cannot be read.
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
