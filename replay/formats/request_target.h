#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/event.h"

namespace weir::replay {

/// What a log says of a request's URL and host, in the form in which the proxy would have it. Keeps
/// the memory that the results lie in: they are valid until the next call. Not thread-safe.
class RequestTarget {
 public:
  /// In lower case, without the port; empty: no host.
  std::string_view host_of(std::string_view authority);
  /// Splits `request.target` into path (normal form) and query; of a whole URL the host as well.
  /// False: the proxy refuses such a request.
  bool take(Request& request);

 private:
  std::string host_;
  std::vector<char> path_room_;
};

}  // namespace weir::replay
