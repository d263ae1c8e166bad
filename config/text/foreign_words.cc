#include "config/text/foreign_words.h"

#include <algorithm>
#include <string>

#include "core/chars/ascii.h"

namespace weir::config {
namespace {

constexpr std::string_view kEnvoyRule =
    "a rule of envoyproxy/ratelimit stays in its own file: ratelimit: {files: [limits.yaml]} in "
    "the main file; as a policy it is watch: {domain: api, descriptors: {remote_address: \"*\"}}, "
    "window: 1m, then: [{over: 100, do: deny}]; docs/migrating.md";
constexpr std::string_view kEnvoyFile =
    "name a file of envoyproxy/ratelimit here: ratelimit: {files: [limits.yaml]}; "
    "docs/migrating.md";

constexpr ForeignRow kForeign[] = {
    {"a case file", "test tests scenarios suite", "write cases: [{name: ..., steps: [...]}]",
     "cases"},
    {"a case file", "policy policies file configuration include",
     "the file with the policies is named by config: weir.yaml", ""},
    {"a case file", "name steps step request event domain expect answer response",
     "a case has a name and steps: cases: [{name: ..., steps: [{request: POST /login, expect: "
     "pass}]}]",
     "cases"},
    {"a case", "title description case it test", "what the case shows is its name", "name"},
    {"a case", "requests events step sequence", "what happens is a list: steps: [...]", "steps"},
    {"a case",
     "request event domain descriptors hits_addend headers json form body ip method path url query "
     "fields at after happened repeat every",
     "this belongs to a step: steps: [{request: POST /login, json: {user: anna}, expect: pass}]",
     "steps"},
    {"a case", "answer response status upstream reply",
     "what the app answers belongs to a step: steps: [{request: POST /login, answer: 401}]",
     "steps"},
    {"a case", "expect expected verdict by listed not_listed values notified patterns views",
     "what is expected belongs to a step: steps: [{request: GET /, expect: {verdict: deny, by: "
     "per-ip}}]",
     "steps"},
    {"a case", "policy policies",
     "the policy that decides is expected in a step: steps: [{request: GET /, expect: {verdict: "
     "deny, by: per-ip}}]; all policies of the configuration judge",
     ""},
    {"a case", "config file", "the configuration is named once for the file, beside cases:", ""},
    {"a step of a case", "response responds reply returns status code status_code upstream",
     "what the app answers is answer: 401, or answer: {status: 401, json: {...}}; what weir itself "
     "answers is expect: {status: 429}",
     ""},
    {"a step of a case", "policy policies by",
     "the policy that decides is expect: {verdict: deny, by: per-ip}", ""},
    {"a step of a case",
     "verdict rung value limit score hold values listed not_listed notified patterns views "
     "expected expects assert should then do action",
     "what is expected belongs in expect: expect: {verdict: flag, value: 6}", ""},
    {"a step of a case", "method path url uri http", "write request: POST /login?x=1", "request"},
    {"a step of a case", "query", "the query belongs to the path: request: GET /items?page=2", ""},
    {"a step of a case", "time wait sleep delay pause",
     "write after: 60s, the time since the step before, or at: 90s", "after"},
    {"a step of a case", "times count", "write repeat: 5, with every: 1s", "repeat"},
    {"a step of a case", "client client_ip remote_addr remote_ip from", "write ip: 203.0.113.7",
     ""},
    {"a step of a case", "payload data content", "write json: {...}, form: {...} or body: '...'",
     ""},
    {"an answer", "code status_code", "write status: 401", ""},
    {"an answer", "time delay latency duration takes", "write after: 2s", ""},
    {"an answer", "form text content data payload", "write json: {...} or body: '...'", ""},
    {"an answer", "expect verdict", "what is expected belongs beside the answer, in the step", ""},
    {"\"expect\"", "answer response reply json form",
     "what the app answers belongs beside expect, in the step: answer: 401; status, headers and "
     "body "
     "here are what weir itself answers",
     ""},
    {"\"expect\"", "code status_code", "write status: 429, which weir itself answers with", ""},
    {"\"expect\"", "policy policies name rule", "write by: NAME-OF-THE-POLICY", "by"},
    {"\"expect\"", "action do effect decision result outcome", "write verdict: deny", "verdict"},
    {"\"expect\"", "reading readings count counter",
     "write value: 6, or values: {NAME-OF-THE-POLICY: 6}", "value"},
    {"\"expect\"", "list lists key keys", "write listed: {per-ip: 203.0.113.7}", ""},
    {"\"expect\"", "event request at after ip repeat every",
     "this belongs beside expect, in the step", ""},
    {"a policy", "rate requests_per_second average rps",
     "a rate is a threshold over a window: window: 1s, then: [{over: 10, do: deny}]", "window"},
    {"a policy", "requests_per_unit rate_limit", kEnvoyRule, "then"},
    {"a policy",
     "share_threshold quota_mode value_to_metric detailed_metric replaces unlimited "
     "unit_multiplier",
     kEnvoyRule, ""},
    {"a policy",
     "limit limits threshold thresholds max maximum quota over at under requests hits points "
     "max_requests requests_per_period max_retry max_retries max_attempts max_events max_hits "
     "limit_for_period quota_max allow_requests",
     "a limit is a rung: then: [{over: 100, do: deny}]", "then"},
    {"a policy", "second minute hour day month year",
     "a limit is a rung over a window: window: 1m, then: [{over: 100, do: deny}]; a second one has "
     "its own: {over: 1000, in: 1h, do: deny}",
     "then"},
    {"a policy",
     "rate_limits rate_limiting rate_limiter request_rate_limiter limiter throttling "
     "throttle_rates",
     "a limit is a window and a rung: key: ip, window: 1m, then: [{over: 100, do: deny}]", "then"},
    {"a policy",
     "limit_by limited_by limit_key key_type key_generator key_resolver aggregate_key_type "
     "characteristics source source_criterion ip_strategy scope consumer header header_name "
     "request_header_name request_host remote_address remote_addr client_ip remote_ip ip user",
     "to count by address or user, write key: ip, or key: header.x_user_id", "key"},
    {"a policy", "per", "to count by address in a minute, write key: ip and window: 1m", ""},
    {"a policy", "burst burst_size max_burst",
     "write window: {rate: 10/s, burst: 20}, then: [{do: deny}]; or a rung with a short window "
     "beside "
     "a long one: [{over: 20, in: 1s, do: deny}, {over: 100, do: deny}]",
     "window"},
    {"a policy",
     "token_bucket bucket tokens max_tokens tokens_per_fill fill_interval refill refill_rate "
     "refill_speed replenish_rate burst_capacity algorithm",
     "write window: {rate: 10/s, burst: 20}, then: [{do: deny}]", "window"},
    {"a policy", "capacity leakspeed drain leaky leaky_bucket",
     "write window: {leaky: 5, drain: 10s}", "window"},
    {"a policy", "delay pace pacing queue",
     "a rung may hold requests: window: {rate: 10/s, burst: 20}, then: [{do: delay}]", "then"},
    {"a policy", "in_flight concurrency concurrent connections max_connections conn amount",
     "write metric: in_flight, then: [{over: 20, do: deny}]", "metric"},
    {"a policy", "cost weight hits_addend requested_tokens num_tokens increment",
     "to add up what events cost, write metric: sum(cost)", "metric"},
    {"a policy",
     "status status_code code error_code rejected_code message error_message rejected_msg body "
     "content_type response custom_response handler on_limit retry_after",
     "what a refused caller gets belongs in the rung: then: [{over: 100, do: deny, status: 429, "
     "body: '...'}]",
     ""},
    {"a policy",
     "headers standard_headers legacy_headers hide_client_headers enable_x_ratelimit_headers "
     "show_limit_quota_header",
     "write announce: true for RateLimit headers, and tell: full, retry or nothing in the rung",
     ""},
    {"a policy",
     "fault_tolerant failure_mode failure_mode_deny fail_open fail_closed pass_on_store_error "
     "allow_degradation",
     "write on_error: local, allow or deny", "on_error"},
    {"a policy",
     "policy strategy store storage backend redis global local cluster distributed sync_rate",
     "write share: redis, with redis: {url: 'redis://HOST:6379'} in the main file", "share"},
    {"a policy",
     "skip exempt exclude except ignore_ip excluded_ips whitelist allowlist allow "
     "trusted bypass",
     "write lists: {office: {of: ip, kind: allow, entries: [10.0.0.0/8]}} in the main file, or "
     "when: 'path != \"/healthz\"'",
     ""},
    {"a policy", "skip_successful_requests skip_failed_requests counting_expression",
     "to count by the answer, write when: 'status == 401'", "when"},
    {"a policy", "priority order precedence",
     "every policy judges, and the severest verdict counts: there is no order", ""},
    {"a policy", "description comment note notes", "write a comment: # why", ""},
    {"a policy", "plugin plugins config filters middlewares args settings",
     "the settings of a policy belong beside its name: {name: per-ip, watch: request, key: ip, "
     "window: 1m, "
     "then: [{over: 100, do: deny}]}",
     ""},
    {"a policy", "log alert notify",
     "a rung that only tells: then: [{over: 100, do: flag, notify: NAME}]", "then"},
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
    {"a policy",
     "period interval unit duration timespan time_window window_size window_ms window_type "
     "window_seconds find_time evaluation_window_sec limit_refresh_period quota_renewal_rate",
     "the time is the window: window: 1m", "window"},
    {"a policy", "block ban deny reject drop throttle challenge flag action actions do",
     "the action belongs in a rung: then: [{over: 100, do: deny, for: 10m}]", "then"},
    {"a policy", "rules rungs steps stages", "the thresholds belong under then: [...]", "then"},
    {"a policy",
     "match route routes path paths url uri endpoint method methods host hosts prefix predicates "
     "service services",
     "define an event, events: {login: {match: POST /api/login}}, and write watch: login", "watch"},
    {"a policy", "event events on_event", "write watch: login", "watch"},
    {"a policy", "on",
     "the event belongs in watch: login; counters of all replicas are share: redis", ""},
    {"a policy", "filter condition if expression", "write when: 'status == 401'", "when"},
    {"a policy", "group_by by track_by identifier selector zone", "write key: ip", "key"},
    {"a policy", "dry_run shadow shadow_mode log_only enabled disabled",
     "write mode: shadow (or enforce, disabled)", "mode"},
    {"a policy", "count counter aggregate aggregation", "write metric: count", "metric"},
    {"a policy", "distinct unique cardinality", "write metric: distinct(user)", "metric"},
    {"a policy",
     "blackhole ttl expire cooldown for ban_time ban_duration block_duration mitigation_timeout "
     "penalty timeout",
     "how long a key is remembered belongs in the rung: {over: 100, do: deny, for: 10m}", ""},
    {"a policy", "score_over total_score",
     "it belongs in a rung: then: [{score_over: 70, do: challenge}]", "then"},
    {"a policy", "id title", "write name: my-policy", "name"},

    {"a rung", "action actions then", "write do: deny", "do"},
    {"a rung",
     "gt above greater_than more_than exceed exceeds limit limits threshold max requests count "
     "hits points max_requests",
     "write over: 100", "over"},
    {"a rung", "second minute hour day month", "write over: 100, in: 1m", "over"},
    {"a rung", "response message error_message rejected_msg text html",
     "write body: '...', and content_type: text/html where it is not plain text", "body"},
    {"a rung", "retry_after headers",
     "write tell: full (all of it), retry (when to come again) or nothing", "tell"},
    {"a rung", "rate requests_per_unit",
     "a rate is a window: window: {rate: 10/s, burst: 20}, then: [{do: deny}]", "over"},
    {"a rung", "unit", "a rung's own window is in: 1m", "in"},
    {"a rung", "domain descriptors descriptor",
     "what is counted belongs in the policy: watch: {domain: api, descriptors: {remote_address: "
     "\"*\"}}",
     ""},
    {"a rung", "total_score", "write score_over: 70", "score_over"},
    {"a rung", "gte ge at_least min_count", "write at: 100", "at"},
    {"a rung", "lt below less_than fewer_than", "write under: 5", "under"},
    {"a rung",
     "duration ttl expire timeout ban_time ban_duration block_time block_duration cooldown "
     "mitigation_timeout penalty",
     "write for: 10m", "for"},
    {"a rung", "when condition filter", "write if: 'value > 5'", "if"},
    {"a rung", "window period per interval", "a rung's own window is in: 1m", "in"},
    {"a rung", "code status_code http_status error_code rejected_code", "write status: 429",
     "status"},
    {"a rung", "burst", "a burst is a rung with a short window: {over: 20, in: 1s, do: deny}",
     "in"},
    {"a rung", "delay wait sleep", "write do: delay, hold: 2s", "do"},
    {"a rung", "block ban deny reject drop throttle", "write do: deny", "do"},
    {"a rung", "alert webhook", "write notify: NAME, defined under \"notify\"", "notify"},
    {"a rung", "dry_run shadow log_only", "write mode: shadow", "mode"},

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

    {"a view", "group_by key keys", "write by: path", "by"},
    {"a view", "limit topk n", "write top: 5", "top"},
    {"a view", "filter condition", "write when: 'status == 200'", "when"},

    {"the main file", "domain descriptors rate_limits", kEnvoyFile, "ratelimit"},
    {"the main file", "namespace max_value conditions variables",
     "weir import limitador FILE writes such limits as policies; docs/migrating.md", ""},
    {"the main file",
     "plugins middlewares http_filters filters limiters limiter rate_limiting rate_limiter "
     "request_rate_limiter throttle throttling zones quota quotas resilience4j bucket4j jail jails "
     "max window window_ms requests",
     "write policies: [{name: per-ip, watch: request, key: ip, window: 1m, then: [{over: 100, do: "
     "deny}]}]",
     "policies"},
    {"the main file", "rate_limit_service rls",
     "Envoy asks weir at its gRPC door: grpc: {listen: 127.0.0.1:8483}; docs/migrating.md", "grpc"},
    {"the main file", "http location limit_req limit_conn limit_req_zone limit_conn_zone",
     "weir import nginx FILE writes such limits as policies; docs/migrating.md", ""},
    {"the main file", "frontend stick_table track_sc0 http_request tcp_request",
     "weir import haproxy FILE writes such rules as policies; docs/migrating.md", ""},
    {"the main file",
     "limits_by rate_limit limit rate burst rules policy block deny ban unit requests_per_unit "
     "zone",
     "write policies: [{name: per-ip, watch: request, key: ip, window: 1m, then: [{over: 100, do: "
     "deny}]}]",
     "policies"},
    {"the main file",
     "listen port bind upstream upstreams backend backends target server servers app services "
     "routes clusters entrypoints",
     "write proxy: {listen: 0.0.0.0:8480, upstream: http://127.0.0.1:3000}", "proxy"},
    {"the main file", "whitelist allowlist blacklist denylist blocklist graylist greylist",
     "write lists: {office: {of: ip, kind: allow, entries: [10.0.0.0/8]}}", "lists"},
    {"the main file", "trusted_proxies trust real_ip trusted trust_proxy set_real_ip_from",
     "write proxy: {client_ip: {trust: [10.0.0.0/8]}}", ""},
    {"the main file", "version apiversion", "the first line is weir: 1", "weir"},
    {"the main file", "logging", "write log: {level: info}", "log"},
    {"the main file", "storage store backend_storage", "write redis: {url: 'redis://HOST:6379'}",
     "redis"},
    {"the main file", "metrics prometheus", "metrics are at the health door: health: {listen: ...}",
     "health"},

    {"\"defaults\"", "window key metric watch over limit limits rate burst then do for",
     "these keys belong in each policy: policies: [{name: per-ip, watch: "
     "request, key: ip, window: 1m, then: [{over: 100, do: deny}]}]",
     ""},

    {"\"proxy\"", "port bind address", "write listen: 0.0.0.0:8480", "listen"},
    {"\"admin\"", "port bind address host", "write listen: 127.0.0.1:8481", "listen"},
    {"\"health\"", "port bind address host", "write listen: 0.0.0.0:8482", "listen"},
    {"\"api\"", "port bind address host", "write listen: 127.0.0.1:8484", "listen"},
    {"\"grpc\"", "port bind address host", "write listen: 127.0.0.1:8483", "listen"},
    {"\"proxy\"", "backend target app url", "write upstream: http://127.0.0.1:3000", "upstream"},
    {"\"proxy\"", "trusted_proxies trust real_ip trusted", "write client_ip: {trust: [10.0.0.0/8]}",
     "client_ip"},

    {"a window",
     "size length period duration interval time seconds minutes hours days sliding rolling unit "
     "window_ms window_size",
     "write {last: 10m}", "last"},
    {"a window", "fixed tumbling", "write {every: 10m}", "every"},
    {"a window", "slide step advance", "write hop: 5s (of views)", "hop"},
    {"a window",
     "token_bucket bucket tokens max_tokens average replenish_rate tokens_per_fill fill_interval "
     "refill refill_rate requests_per_second rps",
     "write {rate: 10/s, burst: 20}", "rate"},
    {"a window", "burst_capacity burst_size max_burst", "write {rate: 10/s, burst: 20}", "burst"},
    {"a window", "capacity", "write {rate: 10/s, burst: 20}, or {leaky: 5, drain: 10s}", "leaky"},
    {"a window", "leak leakspeed", "write {leaky: 5, drain: 10s}", "drain"},
    {"a window", "timezone zone", "write tz: Asia/Shanghai", "tz"},

    {"do", "block reject drop refuse forbid abort", "write deny", ""},
    {"do", "ban blacklist jail", "write do: deny, for: 1h", ""},
    {"do", "429 403 503 401", "write do: deny, status: 429", ""},
    {"do", "limit rate_limit", "write deny, or delay, which holds a request", ""},
    {"do", "throttle slow slowdown queue wait tarpit", "delay holds a request, deny refuses it",
     ""},
    {"do", "captcha managed_challenge js_challenge redirect verify", "write challenge", ""},
    {"do", "log monitor count alert mark tag warn report observe",
     "write flag, which passes the request on and tells the app", ""},
    {"do", "allow pass accept none continue",
     "a request that no rung refuses passes; an allow list exempts callers from all policies", ""},
    {"do", "greylist grey", "write graylist", ""},
    {"effect", "block reject drop refuse ban", "write deny", ""},
    {"effect", "throttle slow", "write delay, with hold: 2s", ""},
    {"effect", "log monitor count mark tag", "write flag", ""},
    {"effect", "captcha", "write challenge", ""},
    {"kind", "whitelist allowlist white pass safelist", "write allow", ""},
    {"kind", "blacklist denylist blocklist black block ban", "write deny", ""},
    {"kind", "greylist grey", "write gray", ""},
    {"mode", "dry_run monitor detect detection log log_only test audit report permissive",
     "write shadow", ""},
    {"mode", "active block enabled live prevent production true on", "write enforce", ""},
    {"mode", "off inactive none false disable", "write disabled", ""},
    {"share", "global cluster distributed shared all true", "write redis", ""},
    {"share", "instance process replica memory none false", "write local", ""},

    {"expect", "200 ok allow allowed accept accepted success through none",
     "a request that weir lets through is pass", ""},
    {"expect", "429 403 block blocked reject rejected denied ban banned",
     "write deny, or {verdict: deny, status: 429}", ""},

    {"metric", "requests hits events rate number", "write count", ""},
    {"metric", "cardinality unique uniq count_distinct distinct_count", "write distinct(user)", ""},
    {"metric", "mean average", "write avg(gold)", ""},
    {"metric", "concurrency connections concurrent inflight", "write in_flight", ""},

    {"expression",
     "remote_addr remote_address remote_ip client_ip client_address source_ip source_address "
     "src_ip "
     "src peer ip_address real_ip binary_remote_addr x_forwarded_for x_real_ip",
     "write ip", ""},
    {"expression", "user username user_id uid consumer account principal credential",
     "say where it is: header.x_user_id, cookie.user, or a field of the event: fields: {user: "
     "body.username}",
     ""},
    {"expression", "api_key token jwt authorization",
     "write header.x_api_key, or header.authorization", ""},
    {"expression", "session session_id sid", "write cookie.session", ""},
    {"expression", "global everyone everybody", "one count for all has no key: leave key out", ""},
    {"expression", "uri request_uri http_uri", "write path, or url with the query", ""},
    {"expression", "user_agent http_user_agent", "write header.user_agent", ""},
    {"expression", "request req http",
     "write the field by itself: method, path, ip, header.x_name, query.name, body.name", ""},
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
    {"expression", "inf infinity unlimited unbounded",
     "for no limit leave out the rung, and in a table write unlimited", ""},
    {"expression", "lower tolower lowercase", "write name.lowerAscii()", ""},
    {"expression", "upper toupper uppercase", "write name.upperAscii()", ""},
    {"expression", "strip trimspace trimmed", "write name.trim()", ""},
    {"expression", "len length strlen count", "write size(name)", ""},
    {"expression", "startswith hasprefix begins_with", "write path.startsWith(\"/api\")", ""},
    {"expression", "endswith hassuffix", "write path.endsWith(\".php\")", ""},
    {"expression", "regex regexp re match rematch", "write path.matches(\"^/api/\")", ""},
    {"expression", "exists defined isset", "write has(header.x_name)", ""},
    {"expression", "in_cidr ip_in_range cidr_match", "write ip.cidr(\"10.0.0.0/8\")", ""},
};

/// `Limit-By`, `limitBy` and `limit_by` are one word.
std::string plain(std::string_view word) {
  std::string out;
  for (const char c : word) {
    if (c == '_' || c == '-') continue;
    out += ascii::lower(c);
  }
  return out;
}

bool holds_word(std::string_view words, std::string_view word) {
  for (std::size_t from = 0; from < words.size();) {
    const std::size_t end = std::min(words.find(' ', from), words.size());
    if (plain(words.substr(from, end - from)) == word) return true;
    from = end + 1;
  }
  return false;
}

}  // namespace

std::span<const ForeignRow> foreign_rows() noexcept { return kForeign; }

ForeignWord foreign_word(std::string_view place, std::string_view word) {
  constexpr std::size_t kLongest = 48;
  if (word.empty() || word.size() > kLongest) return {};
  // Spring writes `redis-rate-limiter.replenishRate`: the last name is the word.
  const std::string last = plain(word.substr(word.rfind('.') + 1));
  if (place == "an included file") place = "the main file";
  for (const ForeignRow& row : kForeign) {
    if (row.place == place && holds_word(row.words, last)) return {row.hint, row.means};
  }
  return {};
}

}  // namespace weir::config
