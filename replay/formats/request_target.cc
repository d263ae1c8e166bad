#include "replay/formats/request_target.h"

#include <algorithm>

#include "core/chars/ascii.h"
#include "core/chars/method.h"
#include "net/http/head.h"
#include "net/http/target.h"
#include "net/http/uri.h"

namespace weir::replay {

std::string_view RequestTarget::host_of(std::string_view authority) {
  // Mostly it is so already.
  const bool is_plain =
      !authority.ends_with('.') && std::none_of(authority.begin(), authority.end(), [](char c) {
        return c == ':' || c == '[' || ascii::is_upper(c);
      });
  if (is_plain) return authority;
  auto host = net::host_word_of(authority);
  if (!host) return {};
  host_ = std::move(*host);
  return host_;
}

RequestTarget::Taken RequestTarget::take(Request& request) {
  request.cased_path = {};
  // The log of a proxy has whole URLs; the app would have seen their path.
  if (!request.target.starts_with('/')) {
    const std::size_t scheme = request.target.find("://");
    if (scheme == std::string_view::npos) {
      request.path = request.target;  // `*`, or CONNECT's authority
      return request.target == "*" ? Taken::good : Taken::none;
    }
    const std::size_t path = request.target.find('/', scheme + 3);
    if (path == std::string_view::npos) return Taken::none;
    if (request.host.empty())
      request.host = host_of(request.target.substr(scheme + 3, path - scheme - 3));
    request.target.remove_prefix(path);
  }
  if (path_room_.size() < net::normal_path_room(request.target.size())) {
    path_room_.resize(2 * net::normal_path_room(request.target.size()));
  }
  net::NormalTarget normal;
  if (net::normalise_target(request.target, set_.path_rules, path_room_, normal) !=
      net::HttpRefusal::none) {
    return Taken::none;
  }
  if (!is_method(request.method) || set_.refuses_path(request.method, normal))
    return Taken::refused;
  normal.describe(request);
  request.readings = nullptr;  // decided above
  return Taken::good;
}

}  // namespace weir::replay
