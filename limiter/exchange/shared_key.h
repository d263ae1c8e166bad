#pragma once

#include <string>
#include <string_view>

#include "core/key.h"

namespace weir::limiter {

/// The text between the braces of `weir:<counter>:{<key>}`. Both spellings are injective and never
/// empty, so that all parts of an operation lie in one slot of a cluster.

/// 22 letters of base64url: a hash keyed by the secret that all replicas share (`redis.secret`).
void append_hashed_key(std::string& out, const Hash128& hash);

/// Readable: parts joined by `,`, every byte percent-encoded but letters, digits and `-._:@/`.
/// A missing part is `!`, an empty one `%`, no part at all `~`.
class ReadableKey {
 public:
  explicit ReadableKey(std::string& out) noexcept : out_(out), begin_(out.size()) {}
  void add_text(std::string_view part);
  void add_missing();
  void end();  ///< after the last part

 private:
  void separate();
  std::string& out_;
  std::size_t begin_;
};

}  // namespace weir::limiter
