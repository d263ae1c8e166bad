#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/event.h"
#include "net/http/head.h"
#include "policies/set/policy_set.h"

namespace weir::replay {

/// The URL and host of a logged request, in the form that the proxy would have. Keeps the memory of
/// its results: they are valid until the next call. Not thread-safe.
class RequestTarget {
 public:
  explicit RequestTarget(const policies::PolicySet& set) : set_(set) {}

  enum class Taken : std::uint8_t {
    good,
    refused,  ///< the proxy refuses its method or the host of its URL, or under these policies its
              ///< path
    none,     ///< not a target, or one with a broken escape: the proxy always refuses it
  };
  /// Brings `request.target` into normal form, and takes path and query from it. The host is that
  /// of `authority`; if there is none, that of a whole URL.
  Taken take(std::string_view authority, Request& request);

 private:
  const policies::PolicySet& set_;
  std::array<char, net::kHostMax> host_room_;
  std::vector<char> path_room_;
  std::string target_;
};

}  // namespace weir::replay
