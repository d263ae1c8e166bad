#include "app/support/request_draft.h"

#include <algorithm>

#include "core/chars/ascii.h"
#include "core/chars/method.h"
#include "net/http/head.h"
#include "net/http/scan.h"
#include "net/http/target.h"
#include "net/http/uri.h"

namespace weir::app {

std::string wrong_start(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (url.empty() || url.starts_with('/') || url.starts_with('?') || url == "*" ||
      (scheme != std::string_view::npos && scheme < url.find('/')))
    return {};
  const std::string text(url);
  return "\"" + text + "\" is neither a path nor a URL: write /" + text + ", or http://" + text +
         " if it begins with a host";
}

std::string RequestDraft::take_url(const policies::PolicySet& set) {
  if (std::string wrong = wrong_start(text_.url); !wrong.empty()) return wrong;
  request_.scheme = "http";
  std::string_view rest = text_.url;
  if (const std::size_t scheme = rest.find("://");
      scheme != std::string_view::npos && scheme < rest.find('/')) {
    const std::string_view name = rest.substr(0, scheme);
    if (name != "http" && name != "https")
      return "the URL must begin with http:// or https://, or be a path";
    if (name == "https") request_.scheme = "https";
    rest.remove_prefix(scheme + 3);
    const std::size_t path = std::min(rest.find_first_of("/?"), rest.size());
    host_ = rest.substr(0, path);
    rest.remove_prefix(path);
  }
  target_ = rest.starts_with('/') ? std::string(rest) : "/" + std::string(rest);
  if (net::lacks_escapes(target_)) {
    return "the URL holds a blank, a control character or a fragment; escape it, as a browser does";
  }
  path_room_.resize(net::normal_path_room(target_.size()));
  if (net::normalise_target(target_, set.path_rules, path_room_, normal_) !=
      net::HttpRefusal::none) {
    return "weir answers such a path with 400: it has a broken escape, or %00";
  }
  normal_.describe(request_);
  return {};
}

RequestDraft::Headers::const_iterator RequestDraft::find(std::string_view name) const {
  return std::find_if(text_.headers.begin(), text_.headers.end(), [&](const auto& line) {
    return ascii::equals_ignoring_case(line.first, name);
  });
}

bool RequestDraft::has(std::string_view name) const { return find(name) != text_.headers.end(); }

/// The URL's host, as of a request line with a whole URL; else that of the Host field.
std::string RequestDraft::take_host() {
  Headers& headers = text_.headers;
  const auto field = find("host");
  if (host_.empty()) host_ = field != headers.end() ? field->second : "localhost";
  if (field == headers.end()) headers.emplace(headers.begin(), "Host", host_);
  auto host = net::host_word_of(host_);
  if (!host) return "weir answers such a host with 400: \"" + host_ + "\"";
  host_ = std::move(*host);
  request_.host = host_;
  return {};
}

void RequestDraft::take_body(std::size_t body_max) {
  std::string& body = text_.body;
  auto& headers = text_.headers;
  if (!body.empty()) {
    const bool json = body.starts_with('{') || body.starts_with('[');
    if (!has("content-type")) {
      headers.emplace_back("Content-Type",
                           json ? "application/json" : "application/x-www-form-urlencoded");
    }
    if (!has("content-length")) headers.emplace_back("Content-Length", std::to_string(body.size()));
  }
  request_.body = body;
  request_.body_state = has("content-encoding")  ? BodyState::encoded
                        : body.size() > body_max ? BodyState::too_large
                                                 : BodyState::complete;
  if (request_.body_state != BodyState::complete) request_.body = {};
}

std::string RequestDraft::fill(RequestText text, std::size_t body_max,
                               const policies::PolicySet& set) {
  text_ = std::move(text);
  if (text_.method.empty()) text_.method = text_.body.empty() ? "GET" : "POST";
  if (std::string wrong = take_url(set); !wrong.empty()) return wrong;
  if (std::string wrong = take_host(); !wrong.empty()) return wrong;
  take_body(body_max);
  if (!is_method(text_.method))
    return "\"" + text_.method + "\" is not a method: a word in capitals, such as GET";
  request_.method = text_.method;
  request_.client = text_.client;
  for (const auto& [name, value] : text_.headers) fields_.push_back({name, value});
  request_.headers = fields_;
  return {};
}

}  // namespace weir::app
