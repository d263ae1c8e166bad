#include "config/text/foreign_words.h"

#include <algorithm>
#include <string>

namespace weir::config {
namespace {

struct ForeignRow {
  std::string_view place;
  std::string_view words;  ///< separated by blanks, in small letters
  std::string_view hint;
  std::string_view means;
};

constexpr ForeignRow kForeign[] = {
    {"a policy", "rate requests_per_unit requests_per_second average rps",
     "a rate is a threshold over a window: window: 1s, then: [{over: 10, do: deny}]", "window"},
    {"a policy", "limit limits threshold thresholds max maximum quota",
     "a limit is a rung: then: [{over: 100, do: deny}]", "then"},
    {"a policy", "burst burst_size max_burst",
     "write window: {rate: 10/s, burst: 20}, then: [{do: deny}]; or a rung with a short window "
     "beside "
     "a long one: [{over: 20, in: 1s, do: deny}, {over: 100, do: deny}]",
     "window"},
    {"a policy", "capacity leakspeed drain leaky", "write window: {leaky: 5, drain: 10s}",
     "window"},
    {"a policy", "domain",
     "write watch: {domain: api, descriptors: {remote_address: \"*\"}}; docs/migrating.md has all "
     "words of envoyproxy/ratelimit",
     "watch"},
    {"a policy", "descriptors descriptor entries",
     "write watch: {domain: api, descriptors: {remote_address: \"*\"}}, and key: "
     "descriptor.remote_address",
     "watch"},
    {"a policy", "namespace conditions variables max_value",
     "weir import limitador FILE writes such limits as policies; docs/migrating.md", ""},
    {"a policy", "limit_req limit_conn limit_req_zone limit_conn_zone nodelay",
     "weir import nginx FILE writes such limits as policies; docs/migrating.md", ""},
    {"a policy",
     "stick_table track_sc0 track_sc1 track_sc2 http_req_rate sc_http_req_rate conn_cur",
     "weir import haproxy FILE writes such rules as policies; docs/migrating.md", ""},
    {"a policy", "per period interval unit duration timespan time_window window_size",
     "the time is the window: window: 1m", "window"},
    {"a policy", "block ban deny reject drop throttle challenge flag action actions",
     "what follows is a rung: then: [{over: 100, do: deny, for: 10m}]", "then"},
    {"a policy", "rules rungs steps stages", "the thresholds stand under then: [...]", "then"},
    {"a policy", "match route path url endpoint",
     "define an event, events: {login: {match: POST /api/login}}, and write watch: login", "watch"},
    {"a policy", "event events on_event", "write watch: login", "watch"},
    {"a policy", "filter condition if expression", "write when: 'status == 401'", "when"},
    {"a policy", "group_by groupby by track_by identifier selector zone", "write key: ip", "key"},
    {"a policy", "dry_run dryrun shadow shadow_mode log_only enabled disabled",
     "write mode: shadow (or enforce, disabled)", "mode"},
    {"a policy", "count counter aggregate aggregation", "write metric: count", "metric"},
    {"a policy", "distinct unique cardinality", "write metric: distinct(user)", "metric"},
    {"a policy", "blackhole ttl expire cooldown",
     "how long a key is remembered stands in the rung: {over: 100, do: deny, for: 10m}", ""},
    {"a policy", "score_over total_score",
     "it stands in a rung: then: [{score_over: 70, do: challenge}]", "then"},
    {"a policy", "id title", "write name: my-policy", "name"},

    {"a rung", "action actions then", "write do: deny", "do"},
    {"a rung", "gt above greater_than more_than exceeds limit limits threshold max requests",
     "write over: 100", "over"},
    {"a rung", "rate requests_per_unit",
     "a rate is a window: window: {rate: 10/s, burst: 20}, then: [{do: deny}]", "over"},
    {"a rung", "unit", "a rung's own window is in: 1m", "in"},
    {"a rung", "domain descriptors descriptor",
     "what is counted stands in the policy: watch: {domain: api, descriptors: {remote_address: "
     "\"*\"}}",
     ""},
    {"a rung", "total_score", "write score_over: 70", "score_over"},
    {"a rung", "gte ge at_least min_count", "write at: 100", "at"},
    {"a rung", "lt below less_than fewer_than", "write under: 5", "under"},
    {"a rung", "duration ttl expire timeout ban_time block_duration cooldown", "write for: 10m",
     "for"},
    {"a rung", "when condition filter", "write if: 'value > 5'", "if"},
    {"a rung", "window period per interval", "a rung's own window is in: 1m", "in"},
    {"a rung", "code status_code http_status", "write status: 429", "status"},
    {"a rung", "burst", "a burst is a rung with a short window: {over: 20, in: 1s, do: deny}",
     "in"},
    {"a rung", "delay wait sleep", "write do: delay, hold: 2s", "do"},
    {"a rung", "block ban deny reject drop throttle", "write do: deny", "do"},
    {"a rung", "alert webhook", "write notify: NAME, defined under \"notify\"", "notify"},
    {"a rung", "dry_run dryrun shadow log_only", "write mode: shadow", "mode"},

    {"an event", "route path url uri endpoint method methods request location",
     "write match: POST /api/login", "match"},
    {"an event", "if condition filter where", "write when: 'status == 401'", "when"},
    {"an event", "parent extends inherits base", "write is: login", "is"},
    {"an event", "extract variables labels properties params captures",
     "write fields: {user: body.username}", "fields"},
    {"an event", "file log format input", "write source: {csv: [...]}; the file is named to replay",
     "source"},

    {"a list", "type", "write kind: gray", "kind"},
    {"a list", "key by field fields", "write of: ip", "of"},
    {"a list", "items values ips addresses members networks", "write entries: [10.0.0.0/8]",
     "entries"},
    {"a list", "action do", "write effect: flag", "effect"},
    {"a list", "size capacity limit", "write max: 100000", "max"},

    {"a view", "group_by groupby key keys", "write by: path", "by"},
    {"a view", "limit topk top_k n", "write top: 5", "top"},
    {"a view", "filter condition", "write when: 'status == 200'", "when"},

    {"the main file", "domain descriptors",
     "a file of envoyproxy/ratelimit stands beside this one: ratelimit: {files: [limits.yaml]}; "
     "docs/migrating.md",
     "ratelimit"},
    {"the main file", "namespace max_value conditions variables",
     "weir import limitador FILE writes such limits as policies; docs/migrating.md", ""},
    {"the main file", "http location limit_req limit_conn limit_req_zone limit_conn_zone",
     "weir import nginx FILE writes such limits as policies; docs/migrating.md", ""},
    {"the main file", "frontend stick_table track_sc0 http_request tcp_request",
     "weir import haproxy FILE writes such rules as policies; docs/migrating.md", ""},
    {"the main file", "limits_by rate_limits ratelimits rate_limit limit rate burst rules policy",
     "write policies: [{name: per-ip, watch: request, key: ip, window: 1m, then: [{over: 100, do: "
     "deny}]}]",
     "policies"},
    {"the main file",
     "listen port bind upstream upstreams backend backends target server servers app",
     "write proxy: {listen: 0.0.0.0:8480, upstream: http://127.0.0.1:3000}", "proxy"},
    {"the main file", "whitelist allowlist blacklist denylist blocklist graylist greylist",
     "write lists: {office: {of: ip, kind: allow, entries: [10.0.0.0/8]}}", "lists"},
    {"the main file", "version apiversion", "the first line is weir: 1", "weir"},
    {"the main file", "logging", "write log: {level: info}", "log"},
    {"the main file", "storage store backend_storage", "write redis: {url: 'redis://HOST:6379'}",
     "redis"},
    {"the main file", "metrics prometheus",
     "metrics stand at the health door: health: {listen: ...}", "health"},

    {"\"proxy\"", "port bind address", "write listen: 0.0.0.0:8480", "listen"},
    {"\"proxy\"", "backend target app url", "write upstream: http://127.0.0.1:3000", "upstream"},
    {"\"proxy\"", "trusted_proxies trust real_ip trusted", "write client_ip: {trust: [10.0.0.0/8]}",
     "client_ip"},

    {"a window", "size length period duration interval time seconds sliding rolling",
     "write {last: 10m}", "last"},
    {"a window", "fixed tumbling", "write {every: 10m}", "every"},
    {"a window", "slide step advance", "write hop: 5s (of views)", "hop"},
    {"a window", "capacity bucket tokens token_bucket", "write {leaky: 5, drain: 10s}", "leaky"},
    {"a window", "leak leakspeed refill refill_rate", "write {leaky: 5, drain: 10s}", "drain"},
    {"a window", "timezone time_zone zone", "write tz: Asia/Shanghai", "tz"},

    {"do", "block reject drop refuse forbid abort", "write deny", ""},
    {"do", "ban blacklist jail", "write do: deny, for: 1h", ""},
    {"do", "throttle slow slowdown queue wait tarpit", "delay holds a request, deny refuses it",
     ""},
    {"do", "captcha managed_challenge js_challenge redirect verify", "write challenge", ""},
    {"do", "log monitor count alert mark tag warn report observe",
     "write flag, which passes the request on and says so to the app", ""},
    {"do", "allow pass accept none continue",
     "what no rung refuses passes; an allow list lets callers past all policies", ""},
    {"do", "greylist grey", "write graylist", ""},
    {"effect", "block reject drop refuse ban", "write deny", ""},
    {"effect", "throttle slow", "write delay, with hold: 2s", ""},
    {"effect", "log monitor count mark tag", "write flag", ""},
    {"effect", "captcha", "write challenge", ""},
    {"kind", "whitelist allowlist white pass safelist", "write allow", ""},
    {"kind", "blacklist denylist blocklist black block ban", "write deny", ""},
    {"kind", "greylist grey", "write gray", ""},
    {"mode", "dry_run dryrun monitor detect detection log log_only test audit report permissive",
     "write shadow", ""},
    {"mode", "active block enabled live prevent production", "write enforce", ""},
    {"mode", "off inactive none", "write disabled", ""},
    {"share", "global cluster distributed shared all", "write redis", ""},
    {"share", "instance process replica memory none", "write local", ""},

    {"metric", "requests hits events rate number", "write count", ""},
    {"metric", "cardinality unique uniq count_distinct distinct_count", "write distinct(user)", ""},
    {"metric", "mean average", "write avg(gold)", ""},
    {"metric", "concurrency connections concurrent inflight", "write in_flight", ""},

    {"expression", "remote_addr remote_address client_ip source_ip src_ip peer clientip",
     "write ip", ""},
    {"expression", "uri request_uri http_uri", "write path, or url with the query", ""},
    {"expression", "user_agent useragent http_user_agent", "write header.user_agent", ""},
    {"expression", "request req http",
     "fields stand alone: method, path, ip, header.x_name, query.name, body.name", ""},
    {"expression", "headers", "write header.x_name", ""},
    {"expression", "cookies", "write cookie.name", ""},
    {"expression", "args params get form post json",
     "write query.name (of the URL) or body.name (of a form or JSON)", ""},
    {"expression", "resp res answer", "write status, response.header.x_name or response.body.name",
     ""},
    {"expression", "status_code response_code code", "write status", ""},
    {"expression", "now timestamp ts", "write time", ""},
    {"expression", "true yes", "write true", ""},
    {"expression", "false no", "write false", ""},
    {"expression", "not", "write not (a == b), or !(a == b)", ""},
    {"expression", "and or", "write a and b, or a && b; a or b, or a || b", ""},
    {"expression", "none nil undefined", "write null", ""},
    {"expression", "lower tolower lowercase to_lower", "write name.lowerAscii()", ""},
    {"expression", "upper toupper uppercase to_upper", "write name.upperAscii()", ""},
    {"expression", "len length strlen count", "write size(name)", ""},
    {"expression", "startswith starts_with hasprefix begins_with",
     "write path.startsWith(\"/api\")", ""},
    {"expression", "endswith ends_with hassuffix", "write path.endsWith(\".php\")", ""},
    {"expression", "regex regexp re match rematch", "write path.matches(\"^/api/\")", ""},
    {"expression", "exists defined isset", "write has(header.x_name)", ""},
    {"expression", "in_cidr incidr ip_in_range cidr_match", "write ip.cidr(\"10.0.0.0/8\")", ""},
};

bool holds_word(std::string_view words, std::string_view word) {
  for (std::size_t from = 0; from < words.size();) {
    const std::size_t end = std::min(words.find(' ', from), words.size());
    if (words.substr(from, end - from) == word) return true;
    from = end + 1;
  }
  return false;
}

}  // namespace

ForeignWord foreign_word(std::string_view place, std::string_view word) {
  constexpr std::size_t kLongest = 32;
  if (word.empty() || word.size() > kLongest) return {};
  std::string plain(word);
  for (char& c : plain) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '-') c = '_';
  }
  if (place == "an included file") place = "the main file";
  for (const ForeignRow& row : kForeign) {
    if (row.place == place && holds_word(row.words, plain)) return {row.hint, row.means};
  }
  return {};
}

}  // namespace weir::config
