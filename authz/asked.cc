#include "authz/asked.h"

#include <algorithm>

#include "core/chars/ascii.h"
#include "core/chars/method.h"
#include "net/http/scan.h"

namespace weir::authz {
namespace {

/// The value of a field that must occur exactly once.
std::string_view only_field(std::span<const HeaderField> fields, std::string_view name) noexcept {
  std::string_view found;
  for (const HeaderField& field : fields) {
    if (!net::same_ignoring_case(field.name, name)) continue;
    if (found.data() != nullptr) return {};
    found = field.value;
  }
  return found;
}

}  // namespace

std::string_view read_target(std::string_view target, const PathRules& rules, std::span<char> room,
                             net::NormalTarget& read, Request& out) noexcept {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!net::same_ignoring_case(target.substr(0, scheme.size()), scheme)) continue;
    const std::size_t path = target.find_first_of("/?", scheme.size());
    if (path == std::string_view::npos || target[path] == '?')
      return "the target of the request has no path";
    target.remove_prefix(path);
  }
  if (target.empty() || target.front() != '/') return "the target of the request is not a path";
  if (net::normal_path_room(target.size()) > room.size())
    return "the target of the request is too long";
  if (!std::all_of(target.begin(), target.end(), net::scan::is_target))
    return "the target of the request has a byte that must be escaped";
  if (net::normalise_target(target, rules, room, read) != net::HttpRefusal::none)
    return "the path has a broken escape";
  read.describe(out);
  return {};
}

std::string_view read_host(std::string_view authority, std::span<char, net::kHostMax> room,
                           Request& out) noexcept {
  out.host = {};
  if (authority.empty()) return {};                          // of HTTP/1.0
  if (authority.ends_with(':')) authority.remove_suffix(1);  // an empty port is the default one
  out.host = net::host_of(authority, room);
  return out.host.empty() ? "the host of the request is neither HOST nor HOST:PORT" : "";
}

Asked to_request(const net::RequestHead& check, const Door& door, const ClientRules& rules,
                 const PathRules& path_rules, const Address& peer, TimePoint time, AskedRoom& room,
                 Request& out) noexcept {
  const CallerRow& caller = *door.caller;
  Asked asked;
  out.time = time;
  out.headers = check.fields.span();
  out.body_state = BodyState::not_read;
  out.body = {};
  std::string_view target;
  if (caller.target.empty()) {
    out.method = check.method;
    target = check.target.substr(door.prefix.size());
    out.host = check.host;
    if (target.empty()) {
      asked.trouble =
          "the prefix is followed by no path of the request: Envoy must have path_prefix, and no "
          "path_override";
      return asked;
    }
  } else {
    out.method = only_field(out.headers, caller.method);
    if (!is_method(out.method)) {
      asked.trouble =
          "the field that says the method of the request is missing, given twice or none";
      return asked;
    }
    target = only_field(out.headers, caller.target);
    if (target.empty()) {
      asked.trouble = "the field that says the target of the request is missing or given twice";
      return asked;
    }
    if (caller.host.empty()) {
      out.host = check.host;
    } else {
      asked.trouble = read_host(only_field(out.headers, caller.host), room.host, out);
      if (!asked.trouble.empty()) return asked;
    }
  }
  out.scheme =
      net::same_ignoring_case(only_field(out.headers, caller.scheme), "https") ? "https" : "http";
  asked.trouble = read_target(target, path_rules, room.path, room.target, out);
  const std::optional<Address> client = rules.client(std::nullopt, out.headers);
  asked.client_unknown = !client;
  out.client = client.value_or(peer);
  return asked;
}

}  // namespace weir::authz
