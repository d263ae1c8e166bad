#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/event.h"
#include "policies/set/policy_set.h"

namespace weir::replay {

/// The URL and host of a logged request, in the form that the proxy would have. Keeps the memory of
/// its results: they are valid until the next call. Not thread-safe.
class RequestTarget {
 public:
  explicit RequestTarget(const policies::PolicySet& set) : set_(set) {}

  enum class Taken : std::uint8_t {
    good,
    refused,  ///< the proxy refuses its method, or under these policies its path (proxy.path)
    none,     ///< not a target, or one with a broken escape: the proxy always refuses it
  };
  /// Brings `request.target` into normal form, and takes path and query from it; of a whole URL the
  /// host as well.
  Taken take(Request& request);
  /// In lower case, without the port; empty: no host.
  std::string_view host_of(std::string_view authority);

 private:
  const policies::PolicySet& set_;
  std::string host_;
  std::vector<char> path_room_;
};

}  // namespace weir::replay
