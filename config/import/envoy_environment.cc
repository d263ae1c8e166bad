#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "config/import/yaml_writer.h"
#include "config/load.h"
#include "core/chars/ascii.h"

/// The environment of envoyproxy/ratelimit as weir's settings, which read its files where they lie.
namespace weir::config {
namespace {

enum class Fate : std::uint8_t {
  setting,   ///< becomes a setting of weir
  unneeded,  ///< nothing is to be set: weir has no such mechanism
  missing,   ///< weir has no such thing, and a user should know
};

/// A variable of envoyproxy/ratelimit, at the commit that docs/migrating.md names.
struct EnvoyVariable {
  std::string_view name;
  Fate fate;
  std::string_view why = {};  ///< missing: for people
};

constexpr std::string_view kEnvoyOneRedis =
    "weir has one Redis: limits per second count there too, and not together with those in the "
    "second Redis of the old service; docs/migrating.md says how to reduce its load";
constexpr std::string_view kEnvoyMemcache =
    "weir shares counts only through Redis; without Redis each replica counts for itself";
constexpr std::string_view kEnvoyXds =
    "weir reads files: write the limits to files (`ratelimit: {files: ...}`), or fetch whole "
    "configurations by `include:`";
constexpr std::string_view kEnvoyTraces =
    "`tracing: {endpoint: http://HOST:4318}` exports spans over OTLP; see docs/observability.md";

constexpr auto kEnvoyVariables = std::to_array<EnvoyVariable>({
    {"BACKEND_TYPE", Fate::setting},
    {"CACHE_KEY_PREFIX", Fate::setting},
    {"CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS", Fate::unneeded},
    {"CONFIG_GRPC_XDS_CLIENT_TLS_CERT", Fate::unneeded},
    {"CONFIG_GRPC_XDS_CLIENT_TLS_KEY", Fate::unneeded},
    {"CONFIG_GRPC_XDS_NODE_ID", Fate::unneeded},
    {"CONFIG_GRPC_XDS_NODE_METADATA", Fate::unneeded},
    {"CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL", Fate::unneeded},
    {"CONFIG_GRPC_XDS_SERVER_TLS_CACERT", Fate::unneeded},
    {"CONFIG_GRPC_XDS_SERVER_TLS_SAN", Fate::unneeded},
    {"CONFIG_GRPC_XDS_SERVER_URL", Fate::unneeded},
    {"CONFIG_GRPC_XDS_SERVER_USE_TLS", Fate::unneeded},
    {"CONFIG_TYPE", Fate::setting},
    {"DEBUG_HOST", Fate::unneeded},
    {"DEBUG_PORT", Fate::unneeded},
    {"DISABLE_STATS", Fate::unneeded},
    {"EXPIRATION_JITTER_MAX_SECONDS", Fate::unneeded},
    {"EXTRA_TAGS", Fate::missing, "add labels in the scrape configuration of Prometheus"},
    {"FORCE_START_WITHOUT_INITIAL_CONFIG", Fate::unneeded},
    {"GRPC_CLIENT_TLS_CACERT", Fate::setting},
    {"GRPC_CLIENT_TLS_SAN", Fate::missing,
     "weir serves every client with a certificate of `client_ca`: let that authority sign Envoys "
     "only"},
    {"GRPC_HOST", Fate::setting},
    {"GRPC_MAX_CONNECTION_AGE", Fate::setting},
    {"GRPC_MAX_CONNECTION_AGE_GRACE", Fate::unneeded},
    {"GRPC_PORT", Fate::setting},
    {"GRPC_SERVER_TLS_CERT", Fate::setting},
    {"GRPC_SERVER_TLS_KEY", Fate::setting},
    {"GRPC_SERVER_USE_TLS", Fate::setting},
    {"GRPC_UDS", Fate::setting},
    {"HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED", Fate::unneeded},
    {"HOST", Fate::setting},
    {"LIMIT_LIMIT_HEADER", Fate::setting},
    {"LIMIT_REMAINING_HEADER", Fate::setting},
    {"LIMIT_RESET_HEADER", Fate::setting},
    {"LIMIT_RESPONSE_HEADERS_ENABLED", Fate::setting},
    {"LOCAL_CACHE_SIZE_IN_BYTES", Fate::unneeded},
    {"LOG_FORMAT", Fate::setting},
    {"LOG_LEVEL", Fate::setting},
    {"MEMCACHE_HOST_PORT", Fate::missing, kEnvoyMemcache},
    {"MEMCACHE_MAX_IDLE_CONNS", Fate::unneeded},
    {"MEMCACHE_SRV", Fate::missing, kEnvoyMemcache},
    {"MEMCACHE_SRV_REFRESH", Fate::unneeded},
    {"MEMCACHE_TLS", Fate::unneeded},
    {"MEMCACHE_TLS_CACERT", Fate::unneeded},
    {"MEMCACHE_TLS_CLIENT_CERT", Fate::unneeded},
    {"MEMCACHE_TLS_CLIENT_KEY", Fate::unneeded},
    {"MEMCACHE_TLS_SKIP_HOSTNAME_VERIFICATION", Fate::unneeded},
    {"MERGE_DOMAIN_CONFIG", Fate::setting},
    {"NEAR_LIMIT_RATIO", Fate::setting},
    {"PORT", Fate::setting},
    {"PROMETHEUS_ADDR", Fate::unneeded},
    {"PROMETHEUS_MAPPER_YAML", Fate::missing,
     "weir names its metrics as the old exporter does without a mapper"},
    {"PROMETHEUS_PATH", Fate::unneeded},
    {"PROMETHEUS_RESPONSE_TIME_AS_MILLISECONDS", Fate::unneeded},
    {"QUOTA_MODE", Fate::setting},
    {"REDIS_AUTH", Fate::setting},
    {"REDIS_CLUSTER_PIPELINE_PARALLELISM", Fate::unneeded},
    {"REDIS_HEALTH_CHECK_ACTIVE_CONNECTION", Fate::missing,
     "weir stays healthy while Redis is away and counts for itself; /readyz?verbose shows it"},
    {"REDIS_PERSECOND", Fate::setting},
    {"REDIS_PERSECOND_AUTH", Fate::unneeded},
    {"REDIS_PERSECOND_CLUSTER_PIPELINE_PARALLELISM", Fate::unneeded},
    {"REDIS_PERSECOND_PIPELINE_LIMIT", Fate::unneeded},
    {"REDIS_PERSECOND_PIPELINE_WINDOW", Fate::unneeded},
    {"REDIS_PERSECOND_POOL_ON_EMPTY_BEHAVIOR", Fate::unneeded},
    {"REDIS_PERSECOND_POOL_SIZE", Fate::unneeded},
    {"REDIS_PERSECOND_SENTINEL_AUTH", Fate::unneeded},
    {"REDIS_PERSECOND_SOCKET_TYPE", Fate::unneeded},
    {"REDIS_PERSECOND_TIMEOUT", Fate::unneeded},
    {"REDIS_PERSECOND_TLS", Fate::unneeded},
    {"REDIS_PERSECOND_TYPE", Fate::unneeded},
    {"REDIS_PERSECOND_URL", Fate::unneeded},
    {"REDIS_PIPELINE_LIMIT", Fate::unneeded},
    {"REDIS_PIPELINE_WINDOW", Fate::unneeded},
    {"REDIS_POOL_ON_EMPTY_BEHAVIOR", Fate::unneeded},
    {"REDIS_POOL_SIZE", Fate::unneeded},
    {"REDIS_SENTINEL_AUTH", Fate::missing, "write it to a file: `sentinel: {password_file: FILE}`"},
    {"REDIS_SOCKET_TYPE", Fate::setting},
    {"REDIS_STARTUP_INITIAL_INTERVAL", Fate::unneeded},
    {"REDIS_STARTUP_MAX_ELAPSED_TIME", Fate::unneeded},
    {"REDIS_STARTUP_MAX_INTERVAL", Fate::unneeded},
    {"REDIS_TIMEOUT", Fate::unneeded},
    {"REDIS_TLS", Fate::setting},
    {"REDIS_TLS_CACERT", Fate::setting},
    {"REDIS_TLS_CLIENT_CERT", Fate::setting},
    {"REDIS_TLS_CLIENT_KEY", Fate::setting},
    {"REDIS_TLS_SKIP_HOSTNAME_VERIFICATION", Fate::missing,
     "weir always looks at the name: `redis: {tls: {server_name: NAME}}` says which"},
    {"REDIS_TYPE", Fate::setting},
    {"REDIS_URL", Fate::setting},
    {"RESPONSE_DYNAMIC_METADATA", Fate::setting},
    {"RUNTIME_APPDIRECTORY", Fate::setting},
    {"RUNTIME_IGNOREDOTFILES", Fate::unneeded},
    {"RUNTIME_ROOT", Fate::setting},
    {"RUNTIME_SUBDIRECTORY", Fate::setting},
    {"RUNTIME_WATCH_ROOT", Fate::unneeded},
    {"SHADOW_MODE", Fate::setting},
    {"STATSD_HOST", Fate::unneeded},
    {"STATSD_PORT", Fate::unneeded},
    {"STATSD_PROTOCOL", Fate::unneeded},
    {"STATS_FLUSH_INTERVAL", Fate::unneeded},
    {"STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT", Fate::unneeded},
    {"TRACING_ENABLED", Fate::setting},
    {"TRACING_EXPORTER_PROTOCOL", Fate::unneeded},
    {"TRACING_SAMPLING_RATE", Fate::unneeded},
    {"TRACING_SERVICE_INSTANCE_ID", Fate::unneeded},
    {"TRACING_SERVICE_NAME", Fate::unneeded},
    {"TRACING_SERVICE_NAMESPACE", Fate::unneeded},
    {"USE_DOG_STATSD", Fate::unneeded},
    {"USE_DOG_STATSD_MOGRIFIERS", Fate::unneeded},
    {"USE_PROMETHEUS", Fate::unneeded},
    {"USE_STATSD", Fate::unneeded},
    {"XDS_CLIENT_BACKOFF_INITIAL_INTERVAL", Fate::unneeded},
    {"XDS_CLIENT_BACKOFF_JITTER", Fate::unneeded},
    {"XDS_CLIENT_BACKOFF_MAX_INTERVAL", Fate::unneeded},
    {"XDS_CLIENT_BACKOFF_RANDOM_FACTOR", Fate::unneeded},
    {"XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES", Fate::unneeded},
});

/// Text and line of each variable that envoyproxy/ratelimit knows.
struct EnvoyValue {
  std::string text;
  std::size_t line = 0;
};
using EnvoyValues = std::map<std::string_view, EnvoyValue>;

std::string_view without_space(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

/// `NAME=VALUE` a line, perhaps after `export`, the value perhaps in quotes; or as the kernel has
/// the environment of a process, with zero bytes between.
EnvoyValues envoy_values(std::string_view text) {
  EnvoyValues out;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find_first_of(std::string_view("\n\0", 2)), text.size());
    std::string_view one = without_space(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (one.starts_with("export ")) one = without_space(one.substr(7));
    const std::size_t equals = one.find('=');
    if (equals == std::string_view::npos) continue;
    const auto found = std::find_if(
        kEnvoyVariables.begin(), kEnvoyVariables.end(),
        [&](const EnvoyVariable& v) { return v.name == without_space(one.substr(0, equals)); });
    if (found == kEnvoyVariables.end()) continue;
    std::string_view value = without_space(one.substr(equals + 1));
    const bool quoted = value.size() >= 2 && (value.front() == '"' || value.front() == '\'') &&
                        value.front() == value.back();
    if (quoted) value = value.substr(1, value.size() - 2);
    out[found->name] = {std::string(value), line};
  }
  return out;
}

std::string joined_path(std::string_view a, std::string_view b) {
  if (b.empty()) return std::string(a);
  return std::string(a) + (a.ends_with('/') || b.starts_with('/') ? "" : "/") + std::string(b);
}

/// HOST:PORT, IPv6 in brackets.
std::string address_of(const std::string& host, const std::string& port) {
  const bool bare = host.find(':') != std::string::npos && !host.starts_with('[');
  return (bare ? "[" + host + "]" : host) + ":" + port;
}

class EnvironmentWriter {
 public:
  EnvironmentWriter(const EnvoyValues& values, Imported& out) : values_(values), out_(out) {}

  void write() {
    for (const EnvoyVariable& variable : kEnvoyVariables) {
      if (variable.fate == Fate::missing && !text(variable.name).empty())
        note(variable.name, variable.why);
      if (variable.fate == Fate::unneeded && values_.contains(variable.name))
        unneeded_ += (unneeded_.empty() ? "" : ", ") + std::string(variable.name);
    }
    write_grpc();
    write_api();
    write_log();
    const bool has_redis = write_redis();
    write_limits(has_redis);
    if (text("CONFIG_TYPE", "FILE") != "FILE") note("CONFIG_TYPE", kEnvoyXds);
    if (is_on("TRACING_ENABLED")) note("TRACING_ENABLED", kEnvoyTraces);
    std::stable_sort(out_.left_out.begin(), out_.left_out.end(),
                     [](const ImportNote& a, const ImportNote& b) { return a.line < b.line; });
    const std::string comment =
        unneeded_.empty() ? "" : as_comment("Not needed here: " + unneeded_ + ".") + "\n";
    out_.yaml = written_file("the environment of envoyproxy/ratelimit", out_.left_out,
                             comment + sections_ + "policies: []\n");
  }

 private:
  std::string text(std::string_view name, std::string_view otherwise = {}) const {
    const auto found = values_.find(name);
    return found == values_.end() || found->second.text.empty() ? std::string(otherwise)
                                                                : found->second.text;
  }
  void note(std::string_view name, std::string_view why) {
    const auto found = values_.find(name);
    out_.left_out.push_back(
        {found == values_.end() ? 0 : found->second.line, std::string(name), std::string(why)});
  }
  /// As Go reads booleans.
  bool is_on(std::string_view name) {
    const std::string value = text(name, "false");
    for (const std::string_view yes : {"1", "t", "T", "true", "TRUE", "True"}) {
      if (value == yes) return true;
    }
    for (const std::string_view no : {"0", "f", "F", "false", "FALSE", "False"}) {
      if (value == no) return false;
    }
    note(name, "it is neither true nor false");
    return false;
  }

  void begin(std::string_view section) {
    section_ = std::string(section) + ":\n";
    has_entries_ = false;
  }
  /// A line of the section; if weir does not take it, its error becomes a note.
  bool entry(std::string_view of, const std::string& line) {
    const std::string with = section_ + "  " + line + "\n";
    const Loaded loaded =
        load_text("imported.yaml", "weir: 1\n" + sections_ + with + "policies: []\n");
    if (loaded.model) {
      section_ = with;
      has_entries_ = true;
      return true;
    }
    std::string why = "weir does not take it";
    for (const Problem& problem : loaded.problems.all()) {
      if (problem.severity != Problem::Severity::error) continue;
      why = problem.message;
      break;
    }
    note(of, why);
    return false;
  }
  void end() {
    if (has_entries_) sections_ += section_ + "\n";
  }

  void write_grpc() {
    begin("grpc");
    const std::string socket = text("GRPC_UDS");
    const std::string host = text("GRPC_HOST", "0.0.0.0");
    const std::string at =
        socket.empty() ? address_of(host, text("GRPC_PORT", "8081")) : "unix:" + socket;
    entry(socket.empty() ? "GRPC_PORT" : "GRPC_UDS", "listen: " + yaml_text(at));
    if (const std::string age = text("GRPC_MAX_CONNECTION_AGE"); !age.empty())
      entry("GRPC_MAX_CONNECTION_AGE", "connection_age: " + yaml_text(age));
    if (is_on("GRPC_SERVER_USE_TLS")) {
      std::string tls = "cert: " + yaml_text(text("GRPC_SERVER_TLS_CERT")) +
                        ", key: " + yaml_text(text("GRPC_SERVER_TLS_KEY"));
      if (const std::string ca = text("GRPC_CLIENT_TLS_CACERT"); !ca.empty())
        tls += ", client_ca: " + yaml_text(ca);
      entry("GRPC_SERVER_USE_TLS", "tls: {" + tls + "}");
    }
    end();
  }

  void write_api() {
    begin("api");
    const std::string host = text("HOST", "0.0.0.0");
    const bool here = host == "localhost" || host == "::1" || host.starts_with("127.");
    const std::string shown_host = here ? host : "127.0.0.1";
    entry("PORT", "listen: " + yaml_text(address_of(shown_host, text("PORT", "8080"))));
    if (!here) {
      note("HOST",
           "/json is served to this machine alone, since its callers use up limits of others; "
           "elsewhere: `api: {listen: HOST:PORT, token_file: FILE}`; probes: `health.listen`");
    }
    end();
  }

  void write_log() {
    std::string level = ascii::lowered(text("LOG_LEVEL", "warn"));
    if (level == "warning") level = "warn";
    if (level == "fatal" || level == "panic") level = "error";
    begin("log");
    entry("LOG_LEVEL", "level: " + yaml_text(level));
    entry("LOG_FORMAT", "format: " + yaml_text(text("LOG_FORMAT", "text")));
    end();
  }

  /// False: each replica counts for itself.
  bool write_redis() {
    if (is_on("REDIS_PERSECOND")) note("REDIS_PERSECOND", kEnvoyOneRedis);
    if (const std::string backend = text("BACKEND_TYPE", "redis"); backend != "redis") {
      note("BACKEND_TYPE", kEnvoyMemcache);
      return false;
    }
    begin("redis");
    const bool tls = is_on("REDIS_TLS");
    const std::string kind = ascii::uppered(text("REDIS_TYPE", "SINGLE"));
    const bool there = kind == "SENTINEL"  ? write_sentinel()
                       : kind == "CLUSTER" ? write_cluster()
                                           : write_server(tls);
    if (!there) return false;
    if (tls) write_redis_tls();
    if (const std::string auth = text("REDIS_AUTH"); !auth.empty()) {
      if (const std::size_t colon = auth.find(':'); colon != std::string::npos && colon != 0)
        entry("REDIS_AUTH", "user: " + yaml_text(auth.substr(0, colon)));
      note("REDIS_AUTH",
           "do not write a password into this file: use `password_file: FILE`, or "
           "WEIR_REDIS_PASSWORD in weir's environment");
    }
    end();
    return true;
  }
  bool write_server(bool tls) {
    std::string url = text("REDIS_URL", "/var/run/nutcracker/ratelimit.sock");
    if (text("REDIS_SOCKET_TYPE", "unix") == "unix") {
      url = "unix://" + url;
    } else {
      if (const std::size_t scheme = url.find("://"); scheme != std::string::npos)
        url.erase(0, scheme + 3);
      if (const std::size_t secret = url.rfind('@'); secret != std::string::npos) {
        url.erase(0, secret + 1);
        note("REDIS_URL", "its user and password: `user: NAME` and `password_file: FILE`");
      }
      url.insert(0, tls ? "rediss://" : "redis://");
    }
    return entry("REDIS_URL", "url: " + yaml_text(url));
  }
  /// The items of a list with commas, each in the form of YAML.
  static std::string list_of(std::string_view text) {
    std::string out;
    while (!text.empty()) {
      const std::size_t comma = std::min(text.find(','), text.size());
      out += (out.empty() ? "" : ", ") + yaml_text(without_space(text.substr(0, comma)));
      text.remove_prefix(std::min(comma + 1, text.size()));
    }
    return "[" + out + "]";
  }
  bool write_cluster() { return entry("REDIS_URL", "cluster: " + list_of(text("REDIS_URL"))); }
  bool write_sentinel() {
    const std::string url = text("REDIS_URL");
    const std::size_t comma = std::min(url.find(','), url.size());
    const std::string nodes = comma == url.size() ? "[]" : list_of(url.substr(comma + 1));
    return entry("REDIS_URL",
                 "sentinel: {name: " + yaml_text(url.substr(0, comma)) + ", nodes: " + nodes + "}");
  }
  void write_redis_tls() {
    std::string tls;
    for (const auto& [name, key] : {std::pair{"REDIS_TLS_CACERT", "ca"},
                                    {"REDIS_TLS_CLIENT_CERT", "cert"},
                                    {"REDIS_TLS_CLIENT_KEY", "key"}}) {
      const std::string file = text(name);
      if (!file.empty())
        tls += (tls.empty() ? "" : ", ") + std::string(key) + ": " + yaml_text(file);
    }
    entry("REDIS_TLS", "tls: {" + tls + "}");
  }

  void write_limits(bool has_redis) {
    begin("ratelimit");
    const std::string root =
        joined_path(joined_path(text("RUNTIME_ROOT", "/srv/runtime_data/current"),
                                text("RUNTIME_SUBDIRECTORY")),
                    text("RUNTIME_APPDIRECTORY", "config"));
    // The old service reads each file below the folder, whatever its name.
    entry("RUNTIME_ROOT", "files: [" + yaml_text(joined_path(root, "*")) +
                              "]  # folders in it need patterns of their own: " +
                              yaml_text(joined_path(root, "*/*")));
    if (has_redis) {
      entry("REDIS_URL",
            "redis_keys: envoyproxy  # the counts of the old service go on; see docs/migrating.md");
      if (const std::string prefix = text("CACHE_KEY_PREFIX"); !prefix.empty())
        entry("CACHE_KEY_PREFIX", "redis_prefix: " + yaml_text(prefix));
    }
    write_headers();
    for (const auto& [name, key] : {std::pair{"SHADOW_MODE", "shadow"},
                                    {"QUOTA_MODE", "quota"},
                                    {"RESPONSE_DYNAMIC_METADATA", "metadata"},
                                    {"MERGE_DOMAIN_CONFIG", "merge_domains"}}) {
      if (is_on(name)) entry(name, std::string(key) + ": true");
    }
    if (const std::string near = text("NEAR_LIMIT_RATIO"); !near.empty())
      entry("NEAR_LIMIT_RATIO", "near: " + yaml_text(near));
    end();
  }
  void write_headers() {
    if (!is_on("LIMIT_RESPONSE_HEADERS_ENABLED")) return;
    std::string names;
    for (const auto& [name, key] : {std::pair{"LIMIT_LIMIT_HEADER", "limit"},
                                    {"LIMIT_REMAINING_HEADER", "remaining"},
                                    {"LIMIT_RESET_HEADER", "reset"}}) {
      const std::string its = text(name);
      if (!its.empty())
        names += (names.empty() ? "" : ", ") + std::string(key) + ": " + yaml_text(its);
    }
    entry("LIMIT_RESPONSE_HEADERS_ENABLED",
          names.empty() ? "headers: true" : "headers: {" + names + "}");
  }

  const EnvoyValues& values_;
  Imported& out_;
  std::string sections_, section_, unneeded_;
  bool has_entries_ = false;
};

}  // namespace

Imported import_envoy_environment(std::string_view text) {
  Imported out;
  const EnvoyValues values = envoy_values(text);
  if (values.empty()) {
    out.error = "no line of it sets a variable of envoyproxy/ratelimit (NAME=VALUE)";
    return out;
  }
  EnvironmentWriter(values, out).write();
  return out;
}

}  // namespace weir::config
