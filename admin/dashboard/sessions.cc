#include "admin/dashboard/sessions.h"

#include <algorithm>
#include <utility>

#include "core/chars/ascii.h"
#include "core/chars/hex.h"

namespace weir::admin {
namespace {

std::string random_digits() {
  std::string out;
  append_hex(out, HashSecret::random().bytes());
  return out;
}

// Browsers keep cookies by host without the port: two replicas behind two forwarded ports would
// take each other's.
std::string cookie_name(std::string_view host) {
  std::string out = "weir_session_";
  const std::size_t colon = host.rfind(':');
  const std::string_view port =
      colon == std::string_view::npos ? std::string_view() : host.substr(colon + 1);
  const bool digits = !port.empty() && std::all_of(port.begin(), port.end(), ascii::is_digit);
  return out.append(digits ? port : "80");
}

}  // namespace

std::string Sessions::new_code(const Hash128& token, std::string person, TimePoint now) {
  std::string code = random_digits();
  if (links_.size() >= kLinksMax) links_.pop_front();
  links_.push_back({secret_.hash(code), token, now + kLinkFor, std::move(person)});
  return code;
}

std::optional<Sessions::Opened> Sessions::exchange(std::string_view code, std::string_view host,
                                                   const Hash128& token, TimePoint now) {
  const Hash128 wanted = secret_.hash(code);
  const auto link = std::find_if(links_.begin(), links_.end(),
                                 [&](const Link& each) { return each.code == wanted; });
  if (link == links_.end()) return std::nullopt;
  const bool good = link->until > now && link->token == token;
  std::string person = std::move(link->person);
  links_.erase(link);
  if (!good) return std::nullopt;
  std::erase_if(sessions_, [&](const Session& each) { return each.until <= now; });
  if (sessions_.size() >= kSessionsMax) sessions_.pop_front();
  const std::string value = random_digits();
  sessions_.push_back({secret_.hash(value), token, std::string(host), now + kSessionFor, person});
  return Opened{cookie_name(host) + "=" + value +
                    "; Max-Age=" + std::to_string(kSessionFor.count() / 1000) +
                    "; Path=/; HttpOnly; SameSite=Strict",
                std::move(person)};
}

std::optional<Hash128> Sessions::cookie_of(const net::HttpRequest& request) const {
  const std::string name = cookie_name(request.field("host")) + "=";
  for (const auto& [field, value] : request.fields) {
    if (field != "cookie") continue;
    for (std::string_view rest = value; !rest.empty();) {
      const std::size_t end = std::min(rest.find(';'), rest.size());
      std::string_view pair = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      while (pair.starts_with(' ')) pair.remove_prefix(1);
      if (pair.starts_with(name)) return secret_.hash(pair.substr(name.size()));
    }
  }
  return std::nullopt;
}

std::optional<Sessions::Found> Sessions::find(const net::HttpRequest& request, const Hash128& token,
                                              TimePoint now) const {
  const auto cookie = cookie_of(request);
  if (!cookie) return std::nullopt;
  for (const Session& each : sessions_) {
    if (each.cookie != *cookie) continue;
    const bool good = each.until > now && each.token == token && each.host == request.field("host");
    if (!good) return std::nullopt;
    return Found{each.until, each.person};
  }
  return std::nullopt;
}

std::string Sessions::end(const net::HttpRequest& request) {
  const auto cookie = cookie_of(request);
  if (cookie) std::erase_if(sessions_, [&](const Session& each) { return each.cookie == *cookie; });
  return cookie_name(request.field("host")) + "=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict";
}

}  // namespace weir::admin
