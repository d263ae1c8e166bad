#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.h"
#include "core/key.h"
#include "net/http/server.h"

namespace weir::admin {

/// The sessions of people who opened the page by a one-time link. A code is valid once, for a
/// minute. Its cookie is valid for twelve hours, under the Host for which it was issued, and as
/// long as the token stays the same. Bounded: the oldest session is dropped. On the control thread.
class Sessions {
 public:
  static constexpr std::size_t kLinksMax = 8, kSessionsMax = 32;
  static constexpr milliseconds kLinkFor{60'000};
  static constexpr milliseconds kSessionFor{12 * 3'600'000};

  Sessions() : secret_(HashSecret::random()) {}

  /// A new code: 32 hex digits. `token`: identifies the door's current token. `person`: the name of
  /// the session's user for its whole life; empty: no name is given.
  std::string new_code(const Hash128& token, std::string person, TimePoint now);
  struct Opened {
    std::string cookie;  ///< as a Set-Cookie field has it
    std::string person;
  };
  /// nullopt: the code is none, is over or was used.
  std::optional<Opened> exchange(std::string_view code, std::string_view host, const Hash128& token,
                                 TimePoint now);
  struct Found {
    TimePoint until;
    std::string person;  ///< empty: no name is given
  };
  /// The session of the request's cookie; nullopt: it has none that is good.
  std::optional<Found> find(const net::HttpRequest& request, const Hash128& token,
                            TimePoint now) const;
  /// Ends the session of the request; a Set-Cookie field that clears it.
  std::string end(const net::HttpRequest& request);

 private:
  struct Link {
    Hash128 code, token;
    TimePoint until;
    std::string person;
  };
  struct Session {
    Hash128 cookie, token;
    std::string host;
    TimePoint until;
    std::string person;
  };
  std::optional<Hash128> cookie_of(const net::HttpRequest& request) const;

  HashSecret secret_;  // keyed hashes are compared, so timing reveals nothing
  std::deque<Link> links_;
  std::deque<Session> sessions_;
};

}  // namespace weir::admin
