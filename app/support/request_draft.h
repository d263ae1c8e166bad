#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/address.h"
#include "core/event.h"
#include "net/http/target.h"
#include "policies/set/policy_set.h"

namespace weir::app {

/// Explains what is wrong with a URL that has neither a scheme nor a leading slash, and which URLs
/// may be meant. Empty: the URL has one of them. `shop/api` may be a path, or a host with its path.
std::string wrong_start(std::string_view url);

/// The description of a request by a person: flags of `weir explain`, a step of a case file.
struct RequestText {
  std::string method;  ///< empty: POST with a body, else GET
  std::string url;     ///< a URL, or a path
  std::string body;
  Address client;
  std::vector<std::pair<std::string, std::string>> headers;
};

/// A request as the proxy would have read it from such a text: path in normal form, host in lower
/// case, what a client adds by itself (Host, Content-Type, Content-Length). Owns what the Request
/// looks at. Not thread-safe.
class RequestDraft {
 public:
  RequestDraft() = default;
  RequestDraft(const RequestDraft&) = delete;
  RequestDraft& operator=(const RequestDraft&) = delete;

  /// Returns the error in the text; empty: none. `body_max`: limits.body; `set`: the policies for
  /// which the proxy would read the body. Called once.
  std::string fill(RequestText text, std::size_t body_max, const policies::PolicySet& set);
  const Request& request() const noexcept { return request_; }
  void set_time(TimePoint time) noexcept { request_.time = time; }

 private:
  using Headers = std::vector<std::pair<std::string, std::string>>;
  std::string take_url(const policies::PolicySet& set);
  std::string take_host();
  void take_body(std::size_t body_max);
  Headers::const_iterator find(std::string_view name) const;
  bool has(std::string_view name) const;

  RequestText text_;
  Request request_;
  std::string host_, target_;
  std::vector<HeaderField> fields_;
  std::vector<char> path_room_;
  net::NormalTarget normal_;
};

}  // namespace weir::app
