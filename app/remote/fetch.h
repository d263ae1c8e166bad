#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>

#include "app/support/webhook.h"
#include "core/clock.h"

namespace weir::app {

/// One GET. Empty texts are left out of the request.
struct FetchAsk {
  Url url;
  std::string etag, last_modified;  ///< of the text that is there already: the answer is 304 if it
                                    ///< has not changed
  std::string token;                ///< bearer
  std::size_t bytes_max = std::size_t{64} << 20;
  std::shared_ptr<boost::asio::ssl::context> tls;  ///< for https
};

struct Fetched {
  int status = 0;  ///< 0: no answer; then `error`
  std::string error;
  std::string body, etag, last_modified;
  std::string location;  ///< of a redirect
  std::string encoding;  ///< `gzip`; empty: the body is as it is
};

/// Fetches on a connection of its own and blocks until the deadline at the latest, or until `stop`
/// (null: never) is set. Follows no redirect, asks for no encoding. For threads that may wait.
Fetched fetch_now(FetchAsk ask, milliseconds deadline, const std::atomic<bool>* stop = nullptr);

/// TLS with the certificates of a file (PEM) instead of the system's. Null: `why` says why not.
std::shared_ptr<boost::asio::ssl::context> tls_with(const std::string& ca_file, std::string& why);

}  // namespace weir::app
