#include "replay/formats/request_target.h"

#include <algorithm>

#include "core/chars/ascii.h"
#include "core/chars/method.h"
#include "net/http/head.h"
#include "net/http/target.h"
#include "net/http/uri.h"

namespace weir::replay {

RequestTarget::Taken RequestTarget::take(std::string_view authority, Request& request) {
  request.cased_path = {};
  const bool is_origin = request.target.starts_with('/');
  const std::size_t scheme = is_origin ? std::string_view::npos : request.target.find("://");
  bool is_of_target = false;
  // The log of a proxy has whole URLs; the app would have seen their path.
  if (scheme != std::string_view::npos) {
    const std::size_t path =
        std::min(request.target.find_first_of("/?", scheme + 3), request.target.size());
    if (authority.empty()) {
      authority = request.target.substr(scheme + 3, path - scheme - 3);
      is_of_target = true;
    }
    request.target.remove_prefix(path);
    if (!request.target.starts_with('/')) {  // `http://shop.example?a=b` asks for `/?a=b`
      target_.assign("/").append(request.target);
      request.target = target_;
    }
  }
  request.host = authority.empty() ? authority : net::host_of(authority, host_room_);
  // A column for the host may have something else: the name of a server, `*.shop.example`.
  const bool bad_host = is_of_target && request.host.empty() && !authority.empty();
  const bool refused = !is_method(request.method) || bad_host;
  if (!is_origin && scheme == std::string_view::npos) {
    request.path = request.target;  // `*`, or CONNECT's authority
    if (request.target != "*") return Taken::none;
    return refused || request.method != "OPTIONS" ? Taken::refused : Taken::good;
  }
  if (path_room_.size() < net::normal_path_room(request.target.size())) {
    path_room_.resize(2 * net::normal_path_room(request.target.size()));
  }
  net::NormalTarget normal;
  if (net::normalise_target(request.target, set_.path_rules, path_room_, normal) !=
      net::HttpRefusal::none) {
    return Taken::none;
  }
  if (refused || set_.refuses_path(request.method, normal)) return Taken::refused;
  normal.describe(request);
  request.readings = nullptr;  // decided above
  return Taken::good;
}

}  // namespace weir::replay
