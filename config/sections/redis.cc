#include <algorithm>

#include "config/sections/sections.h"
#include "config/text/fields.h"
#include "config/text/shapes.h"
#include "config/text/yaml_text.h"
#include "core/redis_url.h"

/// `redis:`: how to reach the store of shared counters.
namespace weir::config {
namespace {

using Redis = Server::Redis;

template <std::optional<Text> Redis::*Field>
void read_text(Reader& r, const Member& m, Redis& out) {
  out.*Field = r.text(m);
}

template <std::uint16_t Port>
void read_nodes(Reader& r, const Member& m, std::vector<Located<RedisEndpoint>>& out) {
  out.clear();
  for (const Text& text : r.texts(m)) {
    if (const auto node = parse_redis_endpoint(text.value, Port)) {
      out.push_back({*node, text.where});
    } else {
      r.problems().error(text.where, quoted(text.value) + " is not a host with a port",
                         "write redis-0.redis:" + std::to_string(Port));
    }
  }
}

constexpr Row<Redis> kSentinel[] = {
    {{"name", shape::kText, "text", "required", "The name that the Sentinels know the master by."},
     read_text<&Redis::master>,
     same<&Redis::master>},
    {{"nodes", shape::kTexts, "list of `HOST:PORT`", "required", "Some of the Sentinels."},
     [](Reader& r, const Member& m, Redis& out) { read_nodes<26379>(r, m, out.sentinels); },
     same<&Redis::sentinels>},
    {{"user", shape::kText, "text", "", "User in the ACL of the Sentinels."},
     read_text<&Redis::sentinel_user>},
    {{"password_file", shape::kText, "path", "", "File of the Sentinels' password."},
     read_text<&Redis::sentinel_password_file>},
};

constexpr Row<Redis> kTls[] = {
    {{"ca", shape::kText, "path of a PEM file", "the system's",
      "CA certificates that weir trusts."},
     read_text<&Redis::ca>,
     same<&Redis::ca>},
    {{"cert", shape::kText, "path of a PEM file", "", "weir's certificate, with its chain."},
     read_text<&Redis::cert>,
     same<&Redis::cert>},
    {{"key", shape::kText, "path of a PEM file", "", "Its private key."},
     read_text<&Redis::key>,
     same<&Redis::key>},
    {{"server_name", shape::kText, "host name", "the host",
      "The name that the server's certificate must have."},
     read_text<&Redis::server_name>,
     same<&Redis::server_name>},
};

constexpr Row<Redis> kRedis[] = {
    {{"url", shape::kText, "`redis://HOST:PORT/DB`, `rediss://...` or `unix:///path`", "",
      "One server; `rediss` is TLS."},
     [](Reader& r, const Member& m, Redis& out) {
       out.url = r.text(m);
       if (!out.url) return;
       std::string why;
       const auto url = parse_redis_url(out.url->value, &why);
       // The text may hold a password: it is not repeated.
       if (!url)
         return r.error(*m.value, "this is not a URL of a Redis server: " + why,
                        "write redis://127.0.0.1:6379, or redis://HOST:PORT/DB");
       out.parsed_url = *url;
       if (!url->password.empty())
         r.problems().warning(m.value->where, "the configuration contains a password",
                              "write \"password_file\"");
     },
     [](const Redis& a, const Redis& b) {
       const RedisUrl &x = a.parsed_url, &y = b.parsed_url;
       return x.endpoint.to_string() == y.endpoint.to_string() && x.database == y.database;
     }},
    {{"sentinel", R"({"$ref":"#/$defs/sentinel"})", "map (below)", "",
      "The master that Sentinels name, instead of `url`."},
     [](Reader& r, const Member& m, Redis& out) {
       out.sentinel = m.key->where;
       r.walk(*m.value, "\"sentinel\"", kSentinel, out);
     },
     same_in<kSentinel>},
    {{"cluster", shape::kTexts, "list of `HOST:PORT`", "",
      "Some nodes of a Cluster, instead of `url`."},
     [](Reader& r, const Member& m, Redis& out) { read_nodes<6379>(r, m, out.cluster); },
     same<&Redis::cluster>},
    {{"user", shape::kText, "text", "that of `url`", "User in the ACL of Redis."},
     read_text<&Redis::user>},
    {{"password", shape::kText, "text", "that of `url`",
      "Password of the user; better from the environment, or a file."},
     read_text<&Redis::password>},
    {{"password_file", shape::kText, "path", "",
      "File of the password; read again with each reload."},
     read_text<&Redis::password_file>},
    {{"tls", R"({"$ref":"#/$defs/redis_tls"})", "map (below)", "as `url` says",
      "TLS and its certificates."},
     [](Reader& r, const Member& m, Redis& out) {
       out.tls = m.key->where;
       r.walk(*m.value, "\"tls\"", kTls, out);
       if (out.cert.has_value() != out.key.has_value())
         r.error(*m.key, "\"cert\" and \"key\" go together");
     },
     [](const Redis& a, const Redis& b) {
       const auto is_tls = [](const Redis& redis) { return redis.tls || redis.parsed_url.tls; };
       return is_tls(a) == is_tls(b) && same_in<kTls>(a, b);
     }},
    duration<&Redis::timeout, 5, 10'000>("timeout", "`50ms`",
                                         "A connection without an answer for this long is closed.",
                                         TakesEffect::at_start),
    duration<&Redis::budget, 1, 10'000>(
        "budget", "`5ms`",
        "How long a request waits for Redis at most; then `on_error` "
        "applies.",
        TakesEffect::at_start),
    {{"secret", shape::kText, "text", "",
      "Secret for the hashes of keys; the same on every replica. Better from the environment, or a "
      "file."},
     read_text<&Redis::secret>,
     same<&Redis::secret>},
    {{"secret_file", shape::kText, "path", "", "File of the secret."},
     read_text<&Redis::secret_file>,
     same<&Redis::secret_file>},
    {{"keys", R"({"enum":["hashed","readable"]})", "`hashed` or `readable`", "`hashed`",
      "How keys are written in Redis."},
     [](Reader& r, const Member& m, Redis& out) {
       set(r.choice<bool>(m, {{"hashed", false}, {"readable", true}}), out.readable_keys);
     },
     same<&Redis::readable_keys>},
    {{"functions", shape::kBoolean, "`true` or `false`", "`false`",
      "Run the scripts as a library of Redis Functions (Redis 7 or newer), instead of by EVALSHA."},
     [](Reader& r, const Member& m, Redis& out) { set(r.boolean(m), out.functions); },
     same<&Redis::functions>},
};

}  // namespace

bool same_redis(const std::optional<Redis>& a, const std::optional<Redis>& b) {
  return a.has_value() == b.has_value() && (!a || same_in<kRedis>(*a, *b));
}

void read_redis(Reader& r, const Member& m, std::optional<Redis>& out) {
  if (!m.value->is_map()) {
    Redis none;
    r.walk(*m.value, "\"redis\"", kRedis, none);
    return;
  }
  if (!out) {       // else the settings of a file and of the environment add up
    out = Redis{};  // (emplace: clang 16 does not see, inside of Server, that it can be made)
    out->where = m.key->where;
  }
  r.walk(*m.value, "\"redis\"", kRedis, *out);
}

void check_redis(const Redis& redis, Problems& problems) {
  const int ways = (redis.url ? 1 : 0) + (redis.sentinel ? 1 : 0) + (redis.cluster.empty() ? 0 : 1);
  if (ways != 1) {
    problems.error(redis.where,
                   ways == 0 ? "\"redis\" does not say where it is"
                             : "\"redis\" says in several ways where it is",
                   "write one of \"url\", \"sentinel\" and \"cluster\"");
  }
  if (redis.budget > redis.timeout) {
    problems.error(redis.where, "\"budget\" is longer than \"timeout\"",
                   "a request cannot wait longer than the connection");
  }
}

void add_redis_tables(std::vector<TableDoc>& out) {
  out.push_back(doc_of<kRedis>("redis", "\"redis\"", "redis", ""));
  out.push_back(doc_of<kSentinel>("sentinel", "\"sentinel\"", "redis.sentinel", ""));
  out.push_back(doc_of<kTls>("redis_tls", "\"tls\"", "redis.tls", ""));
}

}  // namespace weir::config
