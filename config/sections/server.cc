#include <algorithm>

#include "config/load.h"
#include "config/sections/sections.h"
#include "config/text/fields.h"
#include "config/text/shapes.h"
#include "config/text/yaml_text.h"
#include "core/chars/ascii.h"
#include "core/chars/network_text.h"

namespace weir::config {
namespace {

constexpr std::int64_t kKiB = 1 << 10, kMiB = 1 << 20, kGiB = 1 << 30;
constexpr TakesEffect kAtStart = TakesEffect::at_start;

void read_listen(Reader& r, const Member& m, Located<Endpoint>& out) {
  const auto word = r.text(m);
  if (word) set(m, r.take(*m.value, parse_listen(word->value)), out);
}

/// Names as a Host field has them, without port: a page in a browser that uses none of them gets no
/// access to the door.
void read_hosts(Reader& r, const Member& m, std::vector<std::string>& out) {
  out.clear();
  for (const Text& text : r.texts(m)) {
    std::string name = ascii::lowered(text.value);
    const bool good =
        !name.empty() && name.size() <= 255 && std::all_of(name.begin(), name.end(), [](char c) {
          return ascii::is_lower(c) || ascii::is_digit(c) || c == '-' || c == '.' || c == '_';
        });
    if (good) {
      out.push_back(std::move(name));
    } else {
      r.problems().error(text.where, quoted(text.value) + " is not a host name",
                         "write weir.example or weir, without a port");
    }
  }
}

/// The places of other processes of weir: names or addresses, each with or without a port.
void read_replicas(Reader& r, const Member& m, std::vector<std::string>& out) {
  constexpr std::size_t kMost = 64;
  out.clear();
  for (const Text& text : r.texts(m)) {
    const std::string& value = text.value;
    const bool good = !value.empty() && value.size() <= 255 && value.front() != ':' &&
                      value.back() != ':' && std::all_of(value.begin(), value.end(), [](char c) {
                        return ascii::is_letter_or_digit(c) ||
                               std::string_view("-._:[]").find(c) != std::string_view::npos;
                      });
    if (!good) {
      r.problems().error(text.where, quoted(value) + " is neither HOST nor HOST:PORT",
                         "write weir-admin.shop.svc or 10.0.0.7:8481");
    } else if (out.size() == kMost) {
      r.problems().error(text.where, "there are more than 64 replicas",
                         "a name may stand for many addresses");
      return;
    } else {
      out.push_back(value);
    }
  }
}

/// No network of one's own is wider than 10.0.0.0/8 or fc00::/7.
void warn_of_wide_trust(Reader& r, const Text& text, const Cidr& block) {
  const unsigned widest = block.base.is_v4() ? 8 : 7;
  if (block.bits >= widest) return;
  r.problems().warning(
      text.where,
      quoted(text.value) + " trusts the whole internet: any client can choose its address",
      "name the networks of your load balancers, such as 10.0.0.0/8");
}

constexpr Row<Server::Proxy> kClientIp[] = {
    {{"trust", shape::kTexts, "list of addresses and CIDR blocks", "nobody",
      "Hops whose forwarding header is trusted."},
     [](Reader& r, const Member& m, Server::Proxy& out) { read_trust(r, m, out.trust); },
     same<&Server::Proxy::trust>},
    {{"header", shape::kText, "name of a header", "`x-forwarded-for`",
      "The header that the trusted hops set."},
     [](Reader& r, const Member& m, Server::Proxy& out) {
       read_header_name(r, m, out.client_header);
     },
     same<&Server::Proxy::client_header>},
};

constexpr Row<Server::Proxy> kTimeouts[] = {
    duration<&Server::Proxy::connect, 1, kHour>(
        "connect", "`5s`", "To connect to one address of the upstream.", kAtStart),
    duration<&Server::Proxy::head, 1, kHour>("head", "`10s`", "To receive a request's head.",
                                             kAtStart),
    duration<&Server::Proxy::body, 1, kHour>("body", "`30s`", "Between two reads of a body.",
                                             kAtStart),
    duration<&Server::Proxy::answer, 1, kHour>("answer", "`1m`",
                                               "Until the upstream's answer begins.", kAtStart),
    duration<&Server::Proxy::idle, 1, kHour>("idle", "`1m15s`",
                                             "How long an unused connection stays open.", kAtStart),
};

template <bool PathRules::*Field>
void read_escapes(Reader& r, const Member& m, PathRules& out) {
  set(r.choice<bool>(m, {{"refuse", false}, {"keep", true}}), out.*Field);
}
constexpr Row<PathRules> kPath[] = {
    {{"case", R"({"enum":["keep","fold"]})", "`keep` or `fold`", "`keep`",
      "`fold`: routes and `path` ignore the case of ASCII letters, as the app does. The app, and "
      "the "
      "parameters of routes, get the letters unchanged."},
     [](Reader& r, const Member& m, PathRules& out) {
       set(r.choice<bool>(m, {{"keep", false}, {"fold", true}}), out.fold_case);
     }},
    {{"encoded_slash", R"({"enum":["refuse","keep"]})", "`refuse` or `keep`", "`refuse`",
      "Paths with `%2F`, `%5C` or `\\`: `refuse` answers 400 where a policy can refuse; `keep` "
      "matches them unchanged."},
     read_escapes<&PathRules::keep_encoded_slash>},
    {{"other_escapes", R"({"enum":["refuse","keep"]})", "`refuse` or `keep`", "`refuse`",
      "Paths with escapes of control characters, or of bytes that are not UTF-8: the same choice."},
     read_escapes<&PathRules::keep_other_escapes>},
};

constexpr Row<Server::Proxy> kProxy[] = {
    {{"listen", shape::kEndpoint, "`HOST:PORT`, `:PORT` or `unix:/path`", "`0.0.0.0:8480`",
      "Where requests come in."},
     [](Reader& r, const Member& m, Server::Proxy& out) { read_listen(r, m, out.listen); },
     same<&Server::Proxy::listen>},
    {{"upstream", shape::kText, "`http://HOST:PORT` or `unix:/path`", "", "The application."},
     [](Reader& r, const Member& m, Server::Proxy& out) {
       const auto word = r.text(m);
       if (!word) return;
       const auto endpoint = r.take(*m.value, parse_upstream(word->value));
       if (!endpoint) return;
       out.upstream = located(m, *endpoint);
       std::string_view authority =
           endpoint->is_unix() ? "" : std::string_view(word->value).substr(7);
       if (authority.ends_with('/')) authority.remove_suffix(1);
       out.upstream_authority = authority;
     },
     same<&Server::Proxy::upstream>},
    {{"client_ip", R"({"$ref":"#/$defs/client_ip"})", "map (below)", "",
      "Proxies whose forwarding header is trusted."},
     [](Reader& r, const Member& m, Server::Proxy& out) {
       r.walk(*m.value, "\"client_ip\"", kClientIp, out);
     },
     same_in<kClientIp>},
    {{"path", R"({"$ref":"#/$defs/path"})", "map (below)", "", "How ambiguous paths are handled."},
     [](Reader& r, const Member& m, Server::Proxy& out) {
       r.walk(*m.value, "\"path\"", kPath, out.path);
     }},
    {{"timeouts", R"({"$ref":"#/$defs/timeouts"})", "map (below)", "", "Deadlines."},
     [](Reader& r, const Member& m, Server::Proxy& out) {
       r.walk(*m.value, "\"timeouts\"", kTimeouts, out);
     },
     same_in<kTimeouts>},
};

constexpr Row<Server::Admin> kAdmin[] = {
    {{"listen", shape::kEndpoint, "`HOST:PORT` or `unix:/path`", "`127.0.0.1:8481`",
      "Where the admin API listens."},
     [](Reader& r, const Member& m, Server::Admin& out) { read_listen(r, m, out.listen); },
     same<&Server::Admin::listen>},
    {{"token_file", shape::kText, "path", "",
      "File of the bearer token; required unless the door is on loopback."},
     [](Reader& r, const Member& m, Server::Admin& out) { out.token_file = r.text(m); },
     same<&Server::Admin::token_file>},
    {{"hosts", shape::kTexts, "list of names, without port", "",
      "Host names that requests without a token may use, besides `localhost` and the door's "
      "address. "
      "With "
      "the token any name is allowed."},
     [](Reader& r, const Member& m, Server::Admin& out) { read_hosts(r, m, out.hosts); },
     same<&Server::Admin::hosts>},
    {{"replicas", shape::kTexts, "list of `HOST` or `HOST:PORT`", "",
      "The admin doors of all replicas, such as the name of a headless Service: `GET /v1/replicas` "
      "asks them, and without Redis an override with `replicas=all` goes to all of them. They have "
      "the same "
      "token. The default port is 8481."},
     [](Reader& r, const Member& m, Server::Admin& out) { read_replicas(r, m, out.replicas); },
     same<&Server::Admin::replicas>},
    {{"approval", shape::kBoolean, "`true` or `false`", "`false`",
      "A change of a table by one person waits until another person has approved it."},
     [](Reader& r, const Member& m, Server::Admin& out) { set(r.boolean(m), out.approval); }},
};

constexpr Row<Server::Health> kHealth[] = {
    {{"listen", shape::kEndpoint, "`HOST:PORT` or `unix:/path`", "`0.0.0.0:8482`",
      "Where probes and metrics are answered."},
     [](Reader& r, const Member& m, Server::Health& out) { read_listen(r, m, out.listen); },
     same<&Server::Health::listen>},
};

/// A door that need not be: `listen` of api and grpc.
template <class Door>
constexpr Row<Door> listen_or_none(std::string_view name, std::string_view fallback,
                                   std::string_view help) {
  return {{name, R"({"anyOf":[{"$ref":"#/$defs/endpoint"},{"const":"none"}]})",
           "`HOST:PORT`, `unix:/path` or `none`", fallback, help},
          [](Reader& r, const Member& m, Door& out) {
            const auto word = r.text(m);
            out.none = word && word->value == "none";
            if (!word || out.none) return;
            if (const auto endpoint = r.take(*m.value, parse_listen(word->value)))
              out.listen = located(m, *endpoint);
          },
          same<&Door::listen, &Door::none>};
}

constexpr Row<Server::Api> kApi[] = {
    listen_or_none<Server::Api>("listen", "`127.0.0.1:8484`, if it is free",
                                "Where `POST /v1/events` and `POST /v1/query` listen."),
    {{"token_file", shape::kText, "path", "",
      "File of the bearer token; required unless the door is on loopback."},
     [](Reader& r, const Member& m, Server::Api& out) { out.token_file = r.text(m); },
     same<&Server::Api::token_file>},
    {{"hosts", shape::kTexts, "list of names, without port", "",
      "Host names that requests without a token may use, besides `localhost` and the door's "
      "address. "
      "With "
      "the token any name is allowed."},
     [](Reader& r, const Member& m, Server::Api& out) { read_hosts(r, m, out.hosts); },
     same<&Server::Api::hosts>},
    {{"ext_authz", R"({"$ref":"#/$defs/ext_authz"})", "map (below)", "no such door",
      "Envoy's external authorization over HTTP."},
     [](Reader& r, const Member& m, Server::Api& out) { read_ext_authz(r, m, out.ext_authz); },
     same<&Server::Api::ext_authz>},
    {{"forward_auth",
      R"({"anyOf":[{"$ref":"#/$defs/texts"},{"type":"array"},{"type":"object","additionalProperties":{"$ref":"#/$defs/forward_auth"}}]})",
      "list of `nginx`, `traefik`, `caddy`, `haproxy`", "no such door",
      "Proxies that ask at `/forward_auth/NAME`, each with a path of its own."},
     [](Reader& r, const Member& m, Server::Api& out) {
       read_forward_auth(r, m, out.forward_auth);
     },
     same<&Server::Api::forward_auth>},
};

constexpr Row<Server::Grpc::Tls> kGrpcTls[] = {
    {{"cert", shape::kText, "path", "", "weir's certificate with its chain; PEM. `tls` needs it."},
     [](Reader& r, const Member& m, Server::Grpc::Tls& out) {
       if (const auto text = r.text(m)) out.cert = *text;
     }},
    {{"key", shape::kText, "path", "", "Its key; PEM. `tls` needs it."},
     [](Reader& r, const Member& m, Server::Grpc::Tls& out) {
       if (const auto text = r.text(m)) out.key = *text;
     }},
    {{"client_ca", shape::kText, "path", "everybody is served",
      "CA certificates; PEM. Only clients with a certificate from one of these CAs are "
      "served."},
     [](Reader& r, const Member& m, Server::Grpc::Tls& out) { out.client_ca = r.text(m); }},
};

void read_grpc_tls(Reader& r, const Member& m, Server::Grpc& out) {
  if (!out.tls) {  // else the settings of a file and of the environment add up
    out.tls = Server::Grpc::Tls{};
    out.tls->where = m.key->where;
  }
  r.walk(*m.value, "\"tls\"", kGrpcTls, *out.tls);
}

constexpr Row<Server::Grpc> kGrpc[] = {
    listen_or_none<Server::Grpc>(
        "listen", "`127.0.0.1:8483`, if it is free",
        "Where Envoy and others ask by gRPC, over HTTP/2: external authorization, the rate limit "
        "service, health."),
    {{"tls", R"({"$ref":"#/$defs/grpc_tls"})", "map (below)", "in the clear",
      "TLS and its certificates; a reload reads them again."},
     read_grpc_tls,
     [](const Server::Grpc& a, const Server::Grpc& b) {
       return a.tls.has_value() == b.tls.has_value();
     }},
    size<&Server::Grpc::message, 16 * kKiB, 64 * kMiB>(
        "message", "`4MiB`, a quarter of a worker's buffers at most",
        "Largest message that weir accepts. It must be larger than Envoy's `max_request_bytes` and "
        "the head "
        "together.",
        kAtStart),
    duration<&Server::Grpc::connection_age, kSecond, 24 * kHour>(
        "connection_age", "connections are not ended",
        "After this time, plus or minus a tenth, weir drains a connection, so that the peer "
        "connects "
        "again "
        "and finds new replicas.",
        kAtStart),
};

constexpr Row<Server::State> kState[] = {
    {{"dir", shape::kText, "path of a directory", "",
      "Where list entries and counters survive a restart."},
     [](Reader& r, const Member& m, Server::State& out) { out.dir = r.text(m); },
     same<&Server::State::dir>},
};

constexpr Row<Server::Drain> kDrain[] = {
    duration<&Server::Drain::delay, 0, kHour>(
        "delay", "`5s`",
        "How long weir still accepts requests after SIGTERM, while readiness is already 503."),
    duration<&Server::Drain::timeout, 0, kHour>(
        "timeout", "`30s`", "How long weir waits for requests in flight to end."),
};

constexpr Row<Server::Limits> kLimits[] = {
    {{"memory", shape::kSize, "size, 1MiB to 1024GiB", "`256MiB`, less in a small cgroup",
      "Memory (arena) of all counters and lists."},
     [](Reader& r, const Member& m, Server::Limits& out) {
       out.memory_given = true;
       set(r.size(m, kMiB, 1024 * kGiB), out.memory);
     },
     // Unless the user sets it, the running size is the machine's room.
     [](const Server::Limits& a, const Server::Limits& b) {
       return a.memory_given == b.memory_given && (!a.memory_given || a.memory == b.memory);
     }},
    number<&Server::Limits::keys, 1, 1'000'000'000>(
        "keys", "1000000", "Keys per counter, unless the policy has `keys`.", kAtStart),
    size<&Server::Limits::body, kKiB, 16 * kMiB>("body", "`64KiB`",
                                                 "Largest body that policies can read.", kAtStart),
    size<&Server::Limits::head, kKiB, kMiB>("head", "`32KiB`",
                                            "Largest head of a request or answer.", kAtStart),
    number<&Server::Limits::connections, 1, 1'000'000>("connections", "10000",
                                                       "Downstream connections.", kAtStart),
    number<&Server::Limits::connections_per_ip, 1, 1'000'000>(
        "connections_per_ip", "three quarters of `connections`",
        "Downstream connections of one address; of IPv6, of one /64. The default does not apply to "
        "the hops of `client_ip.trust`, a configured number does.",
        kAtStart),
    size<&Server::Limits::buffers, kMiB, 64 * kGiB>(
        "buffers", "`64MiB`, less in a small cgroup",
        "Memory for the requests and answers of all connections; beyond it the oldest unfinished "
        "requests get 503. Each worker has an equal share, but at least four times `head` and "
        "`body` together.",
        kAtStart),
    number<&Server::Limits::held, 0, 1'000'000>(
        "held", "1000", "Requests that `delay` holds at once, per worker.", kAtStart),
    size<&Server::Limits::views, kMiB, 64 * kGiB>(
        "views", "`64MiB`",
        "Memory of all views, in equal shares; keys beyond it are dropped, and counted."),
    number<&Server::Limits::waiting, 0, 1'000'000>(
        "waiting", "1024", "Requests that wait for reservations at once, per worker.", kAtStart),
};

constexpr Row<Server> kReserve[] = {
    duration<&Server::reserve_wait, 0, kMinute>(
        "wait", "`1s`",
        "How long a request waits for the reservations of other requests to settle.", kAtStart),
    {{"sums", "", "", "", "Reservations of sums."}, nullptr},
};

struct ChallengeDraft {
  Server::Challenge* challenge;
  const Node* status = nullptr;
};
constexpr Row<ChallengeDraft> kChallenge[] = {
    {{"status", R"({"type":"integer","minimum":300,"maximum":599})",
      "400 to 599; with `redirect` 300 to 399", "403; with `redirect` 302",
      "Status of a challenge."},
     [](Reader& r, const Member& m, ChallengeDraft& d) {
       d.status = m.value;
       if (const auto n = r.integer(m, 300, 599)) d.challenge->status = static_cast<int>(*n);
     }},
    {{"body", R"({"type":"string"})", kBodyRange, "a line of text", "Body of a challenge."},
     [](Reader& r, const Member& m, ChallengeDraft& d) {
       read_refusal_body(r, m, d.challenge->body);
     }},
    {{"content_type", shape::kText, "media type", "`text/plain; charset=utf-8`", "Of the body."},
     [](Reader& r, const Member& m, ChallengeDraft& d) {
       set(read_media_type(r, m), d.challenge->content_type);
     }},
    {{"redirect", shape::kText, "URL or path", "", "Location to send the caller to."},
     [](Reader& r, const Member& m, ChallengeDraft& d) {
       set(read_header_text(r, m), d.challenge->redirect);
     }},
};
void read_challenge(Reader& r, const Member& m, Server& out) {
  ChallengeDraft draft{&out.challenge};
  r.walk(*m.value, "\"challenge\"", kChallenge, draft);
  const bool redirects = !out.challenge.redirect.empty();
  if (draft.status == nullptr) {
    if (redirects) out.challenge.status = 302;
  } else if (redirects != (out.challenge.status < 400)) {
    r.error(*draft.status, redirects ? "with \"redirect\" the status is between 300 and 399"
                                     : "without \"redirect\" the status is between 400 and 599");
  }
}

constexpr Row<Server::Log> kLog[] = {
    {{"level", R"({"enum":["trace","debug","info","warn","error"]})",
      "`trace`, `debug`, `info`, `warn` or `error`", "`info`", "Lowest level that is written."},
     [](Reader& r, const Member& m, Server::Log& out) {
       set(r.choice<std::string>(m, {{"trace", "trace"},
                                     {"debug", "debug"},
                                     {"info", "info"},
                                     {"warn", "warn"},
                                     {"error", "error"}}),
           out.level);
     }},
    {{"format", R"({"enum":["json","text"]})", "`json` or `text`", "`json`",
      "Lines for machines or people."},
     [](Reader& r, const Member& m, Server::Log& out) {
       set(r.choice<bool>(m, {{"json", true}, {"text", false}}), out.json);
     }},
    {{"keys", R"({"enum":["hashed","readable"]})", "`hashed` or `readable`", "`hashed`",
      "How keys are written in the log."},
     [](Reader& r, const Member& m, Server::Log& out) {
       set(r.choice<bool>(m, {{"hashed", false}, {"readable", true}}), out.readable_keys);
     }},
    number<&Server::Log::verdicts_per_second, 0, 10'000>(
        "verdicts_per_second", "50",
        "Maximum of verdicts in the log, and of new list entries; a line says how many more "
        "there were."),
};

void read_proxy(Reader& r, const Member& m, Server& out) {
  if (!m.value->is_list()) {
    r.walk(*m.value, "\"proxy\"", kProxy, out.proxy);
    return;
  }
  if (m.value->items.size() != 1)
    return r.error(*m.value, "a list of several proxies is not supported yet");
  r.walk(*m.value->items[0].value, "\"proxy\"", kProxy, out.proxy);
}

constexpr Row<Server> kServer[] = {
    {{"proxy", R"({"$ref":"#/$defs/proxy"})", "map (below)", "", "The reverse proxy."}, read_proxy},
    {{"admin", R"({"$ref":"#/$defs/admin"})", "map (below)", "", "The admin API."},
     [](Reader& r, const Member& m, Server& out) {
       r.walk(*m.value, "\"admin\"", kAdmin, out.admin);
     }},
    {{"health", R"({"$ref":"#/$defs/health"})", "map (below)", "", "Probes and metrics."},
     [](Reader& r, const Member& m, Server& out) {
       r.walk(*m.value, "\"health\"", kHealth, out.health);
     }},
    {{"api", R"({"$ref":"#/$defs/api"})", "map (below)", "", "Events that the app reports."},
     [](Reader& r, const Member& m, Server& out) { r.walk(*m.value, "\"api\"", kApi, out.api); }},
    {{"authz", R"({"$ref":"#/$defs/authz"})", "map (below)", "",
      "Settings for proxies that ask about requests."},
     [](Reader& r, const Member& m, Server& out) { read_authz(r, m, out.authz); },
     [](const Server& a, const Server& b) { return same_authz(a.authz, b.authz); }},
    {{"grpc", R"({"$ref":"#/$defs/grpc"})", "map (below)", "",
      "The gRPC door, for Envoy and other proxies."},
     [](Reader& r, const Member& m, Server& out) {
       r.walk(*m.value, "\"grpc\"", kGrpc, out.grpc);
     }},
    {{"state", R"({"$ref":"#/$defs/state"})", "map (below)", "", "What survives a restart."},
     [](Reader& r, const Member& m, Server& out) {
       r.walk(*m.value, "\"state\"", kState, out.state);
     }},
    {{"drain", R"({"$ref":"#/$defs/drain"})", "map (below)", "", "The graceful stop."},
     [](Reader& r, const Member& m, Server& out) {
       r.walk(*m.value, "\"drain\"", kDrain, out.drain);
     }},
    {{"limits", R"({"$ref":"#/$defs/limits"})", "map (below)", "", "Bounds."},
     [](Reader& r, const Member& m, Server& out) {
       r.walk(*m.value, "\"limits\"", kLimits, out.limits);
     }},
    {{"reserve", R"({"$ref":"#/$defs/reserve"})", "map (below)", "",
      "Reservations of policies that watch answers."},
     [](Reader& r, const Member& m, Server& out) {
       r.walk(*m.value, "\"reserve\"", kReserve, out);
     }},
    {{"challenge", R"({"$ref":"#/$defs/challenge"})", "map (below)", "",
      "What a challenged caller gets."},
     read_challenge},
    {{"log", R"({"$ref":"#/$defs/log"})", "map (below)", "", "The log on stderr."},
     [](Reader& r, const Member& m, Server& out) { r.walk(*m.value, "\"log\"", kLog, out.log); }},
    {{"access_log", R"({"$ref":"#/$defs/access_log"})", "map (below)", "",
      "A line for each request, or for some."},
     read_access_log},
    {{"audit", R"({"$ref":"#/$defs/audit"})", "map (below)", "",
      "A line for each change that an operator makes."},
     read_audit,
     same_audit},
    {{"tracing", R"({"$ref":"#/$defs/tracing"})", "map (below)", "", "Spans for a collector."},
     read_tracing,
     same_tracing},
    {{"threads", shape::kCount, "1 to 1024", "as the CPU quota says", "Workers."},
     [](Reader& r, const Member& m, Server& out) {
       if (const auto n = r.integer(m, 1, 1024))
         out.threads = located(m, static_cast<unsigned>(*n));
     },
     same<&Server::threads>},
    {{"ratelimit", R"({"$ref":"#/$defs/ratelimit"})", "map (below)", "",
      "Files of envoyproxy/ratelimit, and the rate limit service."},
     [](Reader& r, const Member& m, Server& out) { read_rate_limit(r, m, out.ratelimit); }},
    {{"redis", R"({"$ref":"#/$defs/redis"})", "map (below)", "", "The store of shared counters."},
     [](Reader& r, const Member& m, Server& out) { read_redis(r, m, out.redis); },
     [](const Server& a, const Server& b) { return same_redis(a.redis, b.redis); }},
    {{"clock", "", "", "", "Event time."}, nullptr},
};

}  // namespace

void read_trust(Reader& r, const Member& m, std::vector<Cidr>& out) {
  out.clear();
  for (const Text& text : r.texts(m)) {
    if (const auto block = Cidr::parse(text.value)) {
      out.push_back(*block);
      warn_of_wide_trust(r, text, *block);
    } else {
      std::string hint = network_fault(text.value);
      if (hint.empty()) hint = "write 10.0.0.0/8; bits after the prefix are zero";
      r.problems().error(text.where, quoted(text.value) + " is not an address or CIDR block",
                         std::move(hint));
    }
  }
}

void read_header_name(Reader& r, const Member& m, std::string& out) {
  const auto text = r.text(m);
  if (!text) return;
  std::string name = ascii::lowered(text->value);
  const bool token = name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
                       return ascii::is_lower(c) || ascii::is_digit(c) || c == '-';
                     });
  if (!token) return r.error(*m.value, quoted(text->value) + " is not a header name");
  out = std::move(name);
}

std::vector<std::string> needs_restart(const Server& a, const Server& b) {
  std::vector<std::string> out;
  add_changes<kProxy>("proxy", a.proxy, b.proxy, out);
  add_changes<kAdmin>("admin", a.admin, b.admin, out);
  add_changes<kHealth>("health", a.health, b.health, out);
  add_changes<kApi>("api", a.api, b.api, out);
  add_changes<kGrpc>("grpc", a.grpc, b.grpc, out);
  add_changes<kState>("state", a.state, b.state, out);
  add_access_log_changes(a.access_log, b.access_log, out);
  add_changes<kDrain>("drain", a.drain, b.drain, out);
  add_changes<kLimits>("limits", a.limits, b.limits, out);
  add_changes<kReserve>("reserve", a, b, out);
  add_changes<kLog>("log", a.log, b.log, out);
  add_changes<kServer>("", a, b, out);
  return out;
}

bool read_server(Reader& reader, const Member& section, Server& out) {
  for (const auto& row : kServer) {
    if (row.doc.name != section.key->text) continue;
    if (row.read == nullptr) {
      reader.later(*section.key, row.doc.name);
    } else {
      row.read(reader, section, out);
    }
    return true;
  }
  return false;
}

void add_server_tables(std::vector<TableDoc>& out) {
  out.push_back(doc_of<kServer>("server", "the file", "Server", "Only in the main file."));
  out.push_back(doc_of<kProxy>("proxy", "\"proxy\"", "proxy", ""));
  out.push_back(doc_of<kClientIp>("client_ip", "\"client_ip\"", "proxy.client_ip", ""));
  out.push_back(doc_of<kPath>("path", "\"path\"", "proxy.path", ""));
  out.push_back(doc_of<kTimeouts>("timeouts", "\"timeouts\"", "proxy.timeouts", ""));
  out.push_back(doc_of<kAdmin>("admin", "\"admin\"", "admin", ""));
  out.push_back(doc_of<kHealth>("health", "\"health\"", "health", ""));
  out.push_back(doc_of<kApi>("api", "\"api\"", "api", ""));
  add_door_tables(out);
  out.push_back(doc_of<kGrpc>("grpc", "\"grpc\"", "grpc", ""));
  out.push_back(doc_of<kGrpcTls>("grpc_tls", "\"tls\"", "grpc.tls", ""));
  out.push_back(doc_of<kState>("state", "\"state\"", "state", ""));
  out.push_back(doc_of<kDrain>("drain", "\"drain\"", "drain", ""));
  out.push_back(doc_of<kLimits>("limits", "\"limits\"", "limits", ""));
  out.push_back(doc_of<kReserve>("reserve", "\"reserve\"", "reserve", ""));
  out.push_back(doc_of<kChallenge>("challenge", "\"challenge\"", "challenge", ""));
  add_rate_limit_tables(out);
  add_redis_tables(out);
  out.push_back(doc_of<kLog>("log", "\"log\"", "log", ""));
  add_observe_tables(out);
}

}  // namespace weir::config
