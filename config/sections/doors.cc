#include <algorithm>
#include <array>

#include "config/sections/sections.h"
#include "config/text/fields.h"
#include "config/text/shapes.h"
#include "config/text/yaml_text.h"
#include "core/chars/ascii.h"
#include "core/chars/parse.h"

/// Doors at which other proxies ask: `api.ext_authz`, `api.forward_auth` and `authz`.
namespace weir::config {
namespace {

constexpr std::array<std::string_view, 4> kCallers = {"nginx", "traefik", "caddy", "haproxy"};

constexpr Row<Text> kExtAuthz[] = {
    {{"prefix", shape::kText, "path", "`/ext_authz`",
      "What Envoy puts before the path of the request (`path_prefix`)."},
     [](Reader& r, const Member& m, Text& out) {
       const auto text = r.text(m);
       if (!text) return;
       const std::string_view path = text->value;
       const bool plain = std::all_of(path.begin(), path.end(), [](char c) {
         return ascii::is_letter_or_digit(c) ||
                std::string_view("/-_.~").find(c) != std::string_view::npos;
       });
       if (!plain || path.size() < 2 || path.size() > 128 || path.front() != '/' ||
           path.back() == '/' || path == "/v1" || path.starts_with("/v1/") ||
           path.starts_with("/forward_auth")) {
         return r.error(*m.value, quoted(path) + " can't be the prefix of the checks",
                        "write a path such as /ext_authz: no \"/\" at its end, not /v1 and not "
                        "/forward_auth, which others have");
       }
       out = *text;
     }},
};

/// A status written as a map's key.
std::optional<int> status_of(std::string_view text) {
  const auto status = parse_whole<int>(text);
  return status && *status >= 300 && *status <= 599 ? status : std::nullopt;
}

constexpr Row<Server::Api::ForwardAuth> kForwardAuth[] = {
    {{"deny_status_map",
      R"({"type":"object","additionalProperties":{"type":"integer","minimum":300,"maximum":599}})",
      "map of statuses, such as `{429: 403}`", "",
      "The status that this proxy gets instead of a refusal's status (nginx answers 500 for all "
      "but 401 and "
      "403)."},
     [](Reader& r, const Member& m, Server::Api::ForwardAuth& out) {
       if (!r.is_map(*m.value, "\"deny_status_map\"")) return;
       for (const Member& pair : m.value->items) {
         const auto from = status_of(pair.key->text);
         if (!from) {
           r.error(*pair.key, quoted(pair.key->text) + " is not a status of a refusal",
                   "write a number from 300 to 599, such as 429");
           continue;
         }
         if (const auto to = r.integer(pair, 300, 599))
           out.deny_status.emplace_back(*from, static_cast<int>(*to));
       }
     }},
};

/// `nginx`, or `nginx: {...}`: `name` is the node of the word.
void read_caller(Reader& r, const Node& name, const Node* settings,
                 std::vector<Server::Api::ForwardAuth>& out) {
  const auto known = std::find(kCallers.begin(), kCallers.end(), name.text);
  if (!name.is_scalar() || known == kCallers.end()) {
    std::vector<std::string_view> names(kCallers.begin(), kCallers.end());
    return r.error(name, "unknown proxy " + quoted(name.is_scalar() ? name.text : ""),
                   suggest(name.text, names));
  }
  const bool twice = std::any_of(out.begin(), out.end(),
                                 [&](const auto& other) { return other.caller.value == *known; });
  if (twice) return r.error(name, quoted(*known) + " is given twice");
  Server::Api::ForwardAuth caller{{std::string(*known), name.where}, {}};
  if (settings != nullptr && !settings->is_null())
    r.walk(*settings, "\"" + std::string(*known) + "\"", kForwardAuth, caller);
  out.push_back(std::move(caller));
}

constexpr Row<Server::Authz> kClientIp[] = {
    {{"trust", shape::kTexts, "list of addresses and CIDR blocks", "",
      "Proxies in front of the proxy that asks: the client is the last address that is not one of "
      "them."},
     [](Reader& r, const Member& m, Server::Authz& out) { read_trust(r, m, out.trust); },
     same<&Server::Authz::trust>},
    {{"header", shape::kText, "name of a header", "`x-forwarded-for`",
      "The header with the client's address; over gRPC also the name of a metadata entry."},
     [](Reader& r, const Member& m, Server::Authz& out) {
       read_header_name(r, m, out.client_header);
     },
     same<&Server::Authz::client_header>},
    number<&Server::Authz::hops, 0, 16>("hops", "0",
                                        "Number of trusted proxies in front of the proxy that "
                                        "asks, counted from the right; instead of "
                                        "`trust`.",
                                        TakesEffect::at_start),
};

constexpr Row<Server::Authz> kAuthz[] = {
    {{"client_ip", R"({"$ref":"#/$defs/authz_client_ip"})", "map (below)", "",
      "Proxies whose forwarding header is trusted."},
     [](Reader& r, const Member& m, Server::Authz& out) {
       const Seen seen = r.walk(*m.value, "\"client_ip\"", kClientIp, out);
       if (Reader::has(seen, kClientIp, "hops") && Reader::has(seen, kClientIp, "trust")) {
         r.error(*m.value, "\"hops\" and \"trust\" are two ways to say the same",
                 "name the proxies (trust), or count them (hops)");
       }
     },
     same_in<kClientIp>},
    {{"error_response", shape::kBoolean, "`true` or `false`", "`false`",
      "Over gRPC, tell Envoy of a failure with `error_response` (Envoy 1.37 or newer): older "
      "versions "
      "treat it as a refusal."},
     [](Reader& r, const Member& m, Server::Authz& out) { set(r.boolean(m), out.error_response); },
     same<&Server::Authz::error_response>},
    duration<&Server::Authz::settle, 100, 3'600'000>(
        "settle", "`1m`",
        "How long the app may take to report its answer (`POST /v1/events` with `request_id`). "
        "Answers that are "
        "not reported by then are not counted.",
        TakesEffect::at_start),
};

}  // namespace

bool same_authz(const Server::Authz& a, const Server::Authz& b) { return same_in<kAuthz>(a, b); }

void read_ext_authz(Reader& reader, const Member& m, std::optional<Text>& out) {
  out = Text{"/ext_authz", m.value->where};
  if (!m.value->is_null()) reader.walk(*m.value, "\"ext_authz\"", kExtAuthz, *out);
}

void read_forward_auth(Reader& reader, const Member& m,
                       std::vector<Server::Api::ForwardAuth>& out) {
  out.clear();
  const auto read_map = [&](const Node& node) {
    for (const Member& pair : node.items) read_caller(reader, *pair.key, pair.value, out);
  };
  if (m.value->is_map()) return read_map(*m.value);
  if (!m.value->is_list()) return read_caller(reader, *m.value, nullptr, out);
  for (const Member& item : m.value->items) {
    if (item.value->is_map()) {
      read_map(*item.value);
    } else {
      read_caller(reader, *item.value, nullptr, out);
    }
  }
}

void read_authz(Reader& reader, const Member& m, Server::Authz& out) {
  reader.walk(*m.value, "\"authz\"", kAuthz, out);
}

void add_door_tables(std::vector<TableDoc>& out) {
  out.push_back(doc_of<kExtAuthz>("ext_authz", "\"ext_authz\"", "api.ext_authz", ""));
  out.push_back(doc_of<kForwardAuth>(
      "forward_auth", "a proxy of \"forward_auth\"", "api.forward_auth",
      "`forward_auth: [nginx, traefik]`, or with settings `forward_auth: {nginx: {...}}`."));
  out.push_back(doc_of<kAuthz>("authz", "\"authz\"", "authz", ""));
  out.push_back(doc_of<kClientIp>("authz_client_ip", "\"client_ip\"", "authz.client_ip", ""));
}

}  // namespace weir::config
