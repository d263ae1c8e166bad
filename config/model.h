#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/address.h"
#include "core/calendar.h"
#include "core/clock.h"
#include "core/descriptor.h"
#include "core/number.h"
#include "core/path_readings.h"
#include "core/redis_url.h"
#include "core/time_pattern.h"
#include "core/words.h"
#include "telemetry/access_line.h"

/// The content of the YAML as plain structs; each value knows its place. The loader has checked
/// spelling, shapes, units and ranges; checks of meaning (does the event exist, is the type right)
/// are made by policies/set/compile, which reports problems at the same places.
namespace weir::config {

/// A place in a file, 1-based, columns and lengths in bytes; file is an index into Model::files.
/// line 0: no place (a default).
struct Where {
  std::uint32_t file = 0;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint32_t length = 1;  ///< bytes to underline
};

template <class T>
struct Located {
  T value{};
  Where where;
};
using Text = Located<std::string>;
using Duration = Located<milliseconds>;

/// The place of a part of a text: exact where the text is in one piece, plain or in quotes without
/// escapes (its length shows that), else the place of the whole.
inline Where within(const Text& text, std::size_t offset, std::size_t length) {
  const std::size_t shown = text.where.length;
  const bool bare = shown == text.value.size();
  if (text.where.line == 0 || (!bare && shown != text.value.size() + 2)) return text.where;
  Where out = text.where;
  out.column += static_cast<std::uint32_t>(offset + (bare ? 0 : 1));
  out.length = static_cast<std::uint32_t>(length == 0 ? 1 : length);
  return out;
}

struct FieldDef {
  Text name;
  Text expression;
  bool sound = true;  ///< false: it could not be read
};

/// The form of an event's records in a file: `source:`.
struct SourceDef {
  enum class Format : std::uint8_t { csv, log, json };
  Format format = Format::csv;
  std::vector<Text> columns;  ///< csv: in order; log: the fields that its format names
  Text pattern;               ///< log: `%h - %u %t "%r"`, or `combined` / `common`
  bool header = false;        ///< csv: the first line is skipped
  Text time_field;            ///< csv, json: the column with the event's time
  TimeForm time;              ///< how it is written
  Where where;
};

/// The descriptors of a rate limit call that make it this event: `domain` and `descriptors`.
struct DescriptorDef {
  struct Entry {
    enum class Kind : std::uint8_t {
      value,    ///< this value
      pattern,  ///< a text in which each `*` stands for any characters
      any,
    };
    Text key;
    Text value;
    Kind kind = Kind::value;
  };
  /// The settings of a rule of envoyproxy/ratelimit beside its policy.
  struct Rule {
    std::string name;               ///< as its rule names it; may be empty
    std::string path;               ///< `domain.key_value.key2`
    std::vector<std::string> keys;  ///< by entry: `key_value` or `key`, as in the file
    std::uint32_t requests = 0;
    RateUnit unit = RateUnit::unknown;
    bool has_limit = false;
    bool unlimited = false;
    bool detailed_metric = false;
    std::vector<bool> shared;  ///< by entry: whether all values of its pattern share the counter
    std::vector<bool> valued;  ///< by entry: whether metrics are by its value (value_to_metric)
    std::string metadata;      ///< a JSON object; empty: none
  };
  Text domain;
  bool whole_domain = false;  ///< without `descriptors`: every call in the domain
  std::vector<Entry> entries;
  bool ordered = false;        ///< a list: the entries in this order; else in any
  std::vector<Text> replaces;  ///< events that a call with this one does not make
  bool quota = false;          ///< refuses a call only where all its events with quota refuse
  /// Built in: a descriptor that brings a limit of this unit along, with any entries.
  std::optional<RateUnit> brings;
  std::optional<Rule> rule;
};

struct EventDef {
  Text name;
  std::optional<Text> match;        ///< "POST /api/login"; exactly one of match, is, source, domain
  std::optional<Text> is;           ///< another event's name
  std::optional<SourceDef> source;  ///< records instead of requests
  std::optional<DescriptorDef> descriptor;  ///< a rate limit call's
  std::optional<Text> when;                 ///< expression
  std::vector<FieldDef> fields;
  Located<BodyKind> body;  ///< the only kind of body that its fields read; none: by Content-Type
  std::string spelling;    ///< of the definition (config/text/merge.h)
  /// False: a part of it could not be read. References to it are compiled as if it provided every
  /// name, so that their other errors are reported.
  bool sound = true;
};

// core/words.h has the words that other rooms know too.
using weir::Action;
using weir::ListKind;
using weir::Missing;
using weir::Mode;
using weir::Tell;
enum class Charge : std::uint8_t { when_allowed, always };
enum class PolicyClock : std::uint8_t { wall, event };

/// A text that is fetched from elsewhere, and again every so often: `url: https://...`, or a map.
struct RemoteDef {
  Text url;                        ///< http[s]://...; empty: a key of Redis
  Text redis_key;                  ///< instead, of `include:` alone
  milliseconds every{60'000};      ///< 1 s .. 31 d
  std::optional<Text> sha256;      ///< 64 hex digits, or the URL of a file that begins with them
  std::optional<Text> signer;      ///< an Ed25519 public key, base64; the signature is at URL.sig
  std::optional<Text> token_file;  ///< sent as a bearer token
  std::optional<Text> ca_file;     ///< certificates that are trusted instead of the system's
  Where where;

  /// How people and files name it: the URL, or `redis:KEY`.
  std::string name() const {
    return redis_key.value.empty() ? url.value : "redis:" + redis_key.value;
  }
};

struct ListEntryDef {
  std::vector<Text> key;  ///< one text per field of the list; an address or CIDR for `ip`
  std::optional<Located<TimePoint>> until;
  std::string why;
};

/// A level of a table: either a limit or the values of the next dimension ("*" = any other). The
/// limit `unlimited` is plus infinity, so that no value is over it.
struct TableChild;
struct TableNode {
  Where where;
  std::optional<Number> limit;
  std::vector<TableChild> children;
};
struct TableChild {
  Text value;
  TableNode node;
};

struct TableDef {
  Text name;
  std::vector<Text> by;      ///< names of fields, outermost first
  std::optional<Text> file;  ///< csv: one column per field of `by`, then the value
  TableNode values;
  std::string spelling;  ///< of the definition (config/text/merge.h)
  bool sound = true;     ///< as of an event
};

/// A place as part of a key: `near: {lon, lat, cell: 6}` or `near: {lon, lat, radius: 1000m}`;
/// exactly one of cell and radius.
struct NearDef {
  Text lon{"lon", {}};  ///< fields, in degrees
  Text lat{"lat", {}};
  std::optional<unsigned> cell;  ///< letters of the geohash, 1 .. 12
  std::optional<double> radius;  ///< metres, 1 .. 1,000,000
  Where where;
};

struct KeyPart {
  Text field;  ///< a field of the event or `ip`; empty with `near`
  std::optional<NearDef> near;
  std::optional<unsigned> entry;    ///< the value of this entry of the descriptor, from 0
  std::optional<unsigned> v4_bits;  ///< `ip/24,56`
  std::optional<unsigned> v6_bits;
};

struct ListDef {
  Text name;
  std::vector<KeyPart> of;  ///< fields, `ip` perhaps masked; never a place
  Located<ListKind> kind;
  Located<Action> effect;     ///< flag, none, delay, challenge or deny; default by kind
  milliseconds hold{0};       ///< with effect delay
  bool trusted = false;       ///< allow lists over fields that the client asserts
  std::size_t max = 100'000;  ///< entries at most
  std::optional<Tell> tell;
  std::optional<int> status;
  std::string body, content_type;  ///< of its refusals; empty: weir's own
  std::optional<Text> release;     ///< an event of the same key that lifts the entry
  std::optional<Duration> forget;  ///< how long an ended entry is remembered for escalation
  std::optional<Where> share;      ///< by all replicas, through Redis
  std::vector<ListEntryDef> entries;
  std::optional<Text> file;      ///< more entries, a line each; load() makes it a path to open
  std::optional<RemoteDef> url;  ///< or from there
  std::string spelling;          ///< of the definition (config/text/merge.h)
  bool sound = true;             ///< as of an event
};

struct MetricDef {
  using Kind = Metric;
  Kind kind = Kind::count;
  std::vector<Text> arguments;  ///< expressions: the amount, or the members
  Where where;
};

struct WindowDef {
  enum class Kind : std::uint8_t { last, every, events, calendar, leaky, all };
  Kind kind = Kind::last;                 ///< all: without an end, in views
  milliseconds length{0};                 ///< 1 ms .. 31 d; events: 0 = however old
  std::size_t events = 0;                 ///< events: how many
  CalendarUnit unit = CalendarUnit::day;  ///< calendar
  Text zone{"UTC", {}};                   ///< calendar: name of a time zone
  Number capacity{0};                     ///< leaky
  milliseconds drain{0};                  ///< leaky: the time in which `drains` drain
  std::uint32_t drains = 1;               ///< leaky: 1, or of `rate: 3/s` the 3
  /// leaky: `rate` and `burst`. A rung without threshold means "over the burst", and does not empty
  /// the bucket.
  bool is_rate = false;
  milliseconds hop{0};    ///< last, in views: the time between two results
  unsigned buckets = 60;  ///< last, not exact: 1 .. 3600
  bool exact = false;
  bool from_first = false;  ///< every: a window begins at the key's first event
  Where where;
};

struct Rung {
  using Compare = weir::Compare;
  Where where;
  Compare compare = Compare::none;
  /// A number, or the text of an expression or the name of a table.
  std::variant<std::monostate, Located<Number>, Text> limit;
  std::optional<Text> condition;         ///< `if`
  std::optional<Located<WindowDef>> in;  ///< a window of its own
  Located<Action> action;           ///< `do`; none if there is only `score` or `clear` or `notify`
  std::vector<Duration> durations;  ///< `for`; several = escalation
  bool for_window = false;          ///< `for: window`: until the fixed or calendar window ends
  std::optional<Duration> forget;
  std::optional<Duration> hold;  ///< delay
  std::optional<Where> paces;    ///< delay without `hold`, with a `rate`: until its turn comes
  std::optional<Text> list;
  std::optional<Located<std::int64_t>> score;
  bool clear = false;
  std::optional<Text> notify;
  std::optional<Located<int>> status;
  std::optional<Located<Tell>> tell;
  std::string body, content_type;  ///< deny: of the refusal; empty: weir's own
  std::optional<Located<Mode>> mode;
  bool silenced = false;  ///< enforced by the files, and in shadow by an override
};

/// One of a policy's `metrics`.
struct NamedMetricDef {
  Text name;
  std::vector<Text> watch;
  std::vector<EventDef> described;  ///< events that `watch` describes in place
  std::optional<Text> when;
  bool has_key = false;  ///< false: the policy's
  std::vector<KeyPart> key;
  MetricDef metric;
  std::optional<WindowDef> window;
};

/// `sequence: [a, b]`, `sequence: [a, no b]` or `pair: [a, b]`.
struct PatternDef {
  enum class Kind : std::uint8_t { sequence, absence, pair };
  struct Step {
    Text event;
    std::optional<Text> when;
  };
  Kind kind = Kind::sequence;
  std::vector<Step> steps;  ///< two or more; absence: the last is the one that must not follow
  std::optional<Duration> within;
  std::optional<Duration> before;  ///< pair: how much earlier the second may be
  std::optional<Duration> after;   ///< pair: how much later; both none: the end of input
  bool strict = false;
  bool overlap = true;
  std::vector<Text> among;  ///< strict: events that may not occur between the steps
  Where where;
};

/// Which processes count together. Absent: this process counts alone.
struct ShareDef {
  static constexpr milliseconds kSyncMin{10}, kSyncMax{10'000};
  Where where;
  /// Set: judgements use the counts known here, which are exchanged with other replicas at this
  /// interval. None: each judgement asks the store.
  std::optional<Duration> sync;
};

/// The names that envoyproxy/ratelimit gives in Redis to the counts of a policy.
struct PeerKey {
  struct Entry {
    std::string key;
    std::string value;   ///< its only one, or the pattern of all of them
    bool fixed = false;  ///< else `value` is empty: the call's own applies
  };
  std::string prefix, domain;
  std::vector<Entry> entries;  ///< none: a limit that a call brings along, with any entries
  milliseconds unit{0};        ///< whole seconds
};

/// How a policy works while the shared store is away.
struct OnErrorDef {
  enum class What : std::uint8_t {
    local,  ///< by the counts of this process, against `part` of the limits
    allow,  ///< as if the policy were not there
    deny,   ///< 503
  };
  Where where;
  What what = What::local;
  double part = 1;  ///< over 0, up to 1
};

struct PolicyDef {
  Text name;
  bool sound = true;  ///< otherwise its errors are reported already, and further checks skip it
  std::vector<Text> watch;
  std::vector<EventDef> described;  ///< events that `watch` and `guard` describe in place
  std::optional<Text> when;
  std::vector<KeyPart> key;
  std::optional<PatternDef> pattern;
  std::vector<NamedMetricDef> metrics;
  std::optional<Text> reserve;  ///< the estimate of an amount that only the answer contains
  std::optional<Located<std::int64_t>> version;
  std::optional<Duration> retain;
  std::optional<Located<PolicyClock>> clock;
  std::optional<Duration> late;  ///< with `clock: event`; none: 0
  MetricDef metric;
  std::optional<WindowDef> window;
  std::optional<Text> reset;
  std::vector<Rung> then;
  Located<Charge> charge;
  Located<Missing> missing;
  std::vector<Text> guard;
  Located<Mode> mode;
  std::optional<Located<std::size_t>> keep;  ///< default 1000
  std::optional<Located<std::size_t>> keys;  ///< default limits.keys
  bool announce = false;
  std::optional<ShareDef> share;    ///< by all replicas
  std::optional<PeerKey> peer_key;  ///< in the shared store
  std::optional<OnErrorDef> on_error;
};

/// `defaults:` the settings of policies that have none of their own.
struct PolicyDefaults {
  std::optional<ShareDef> share;  ///< where the policy counts or waits for something
  std::optional<Located<Missing>> missing;
  std::optional<Located<Mode>> mode;
  std::optional<Located<Tell>> tell;   ///< rungs that deny or challenge
  std::optional<OnErrorDef> on_error;  ///< where the policy asks Redis each time
};

/// Numbers without a verdict.
struct ViewDef {
  using Method = weir::Method;
  Text name;
  bool sound = true;  ///< as a policy's
  std::vector<Text> watch;
  std::vector<EventDef> described;  ///< as a policy's
  std::optional<Text> when;
  std::vector<KeyPart> by;
  MetricDef metric;
  WindowDef window;
  std::optional<Located<std::size_t>> top;
  std::optional<Text> per;  ///< top so many of each value of this field
  Method method = Method::exact;
  std::size_t expect = 1'000'000;  ///< bloom: distinct members of a window
  double error = 0.01;             ///< bloom, hll: relative
  std::optional<Where> share;      ///< `share: redis`
};

struct NotifyDef {
  Text name;
  std::optional<Text> webhook;  ///< http:// or https:// URL
  bool log = false;
  unsigned per_minute = 10;
  std::string spelling;  ///< of the definition (config/text/merge.h)
};

struct Endpoint {    ///< "0.0.0.0:8480" or "unix:/run/weir/admin.sock"
  std::string host;  ///< an address; empty for a Unix socket
  std::uint16_t port = 0;
  std::string path;  ///< of the Unix socket
  bool is_unix() const { return !path.empty(); }
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

struct Server {
  struct Proxy {
    Located<Endpoint> listen;
    /// From http://HOST:PORT or unix:PATH. A HOST that is a name is looked up at the start, and
    /// every ten seconds after it.
    std::optional<Located<Endpoint>> upstream;
    std::string upstream_authority;  ///< HOST:PORT as written
    std::vector<Cidr> trust;         ///< client_ip.trust
    std::string client_header = "x-forwarded-for";
    PathRules path;
    /// `connect`: Linux sends a lost SYN again after 1 s and after 3 s; a backlog that is full for
    /// a moment must not end requests just before. Envoy's default; HAProxy's manual says the same.
    milliseconds connect{5'000}, head{10'000}, body{30'000}, answer{60'000}, idle{75'000};
  } proxy;
  struct Admin {
    Located<Endpoint> listen;
    std::optional<Text> token_file;
    std::vector<std::string> hosts;     ///< lower case, without port
    std::vector<std::string> replicas;  ///< HOST or HOST:PORT of the other replicas' admin doors
    bool approval = false;              ///< a table change by one operator waits for another
  } admin;
  struct Health {
    Located<Endpoint> listen;
  } health;
  struct Api {
    std::optional<Located<Endpoint>> listen;  ///< nullopt: 127.0.0.1:8484, if it is free
    bool none = false;                        ///< `listen: none`
    std::optional<Text> token_file;
    std::vector<std::string> hosts;  ///< lower case, without port
    std::optional<Text> ext_authz;  ///< its prefix, which begins with '/' and does not end with one
    /// A proxy that asks at /forward_auth/NAME.
    struct ForwardAuth {
      Text caller;
      std::vector<std::pair<int, int>> deny_status;  ///< replacements for the statuses of refusals
      friend bool operator==(const ForwardAuth& a, const ForwardAuth& b) {
        return a.caller.value == b.caller.value && a.deny_status == b.deny_status;
      }
    };
    std::vector<ForwardAuth> forward_auth;
  } api;
  /// How far weir trusts proxies that ask about requests.
  struct Authz {
    std::vector<Cidr> trust;  ///< client_ip.trust; none: `hops` are counted instead
    std::string client_header = "x-forwarded-for";
    unsigned hops = 0;  ///< trusted proxies in front of the one that asks
    bool error_response = false;
    milliseconds settle{60'000};  ///< for the app to report an answer
  } authz;
  struct Grpc {
    std::optional<Located<Endpoint>> listen;         ///< nullopt: 127.0.0.1:8483, if it is free
    bool none = false;                               ///< `listen: none`
    std::uint64_t message = std::uint64_t{4} << 20;  ///< bytes of a message
    milliseconds connection_age{0};                  ///< 0: connections are not ended for it
    /// Certificates; PEM files.
    struct Tls {
      Where where;
      Text cert, key;                 ///< cert: with its chain
      std::optional<Text> client_ca;  ///< only peers with a certificate of these
    };
    std::optional<Tls> tls;  ///< none: in the clear
  } grpc;
  struct State {
    std::optional<Text> dir;
  } state;
  struct Drain {
    milliseconds delay{5'000}, timeout{30'000};
  } drain;
  struct Limits {
    std::uint64_t memory = std::uint64_t{256} << 20;
    bool memory_given = false;  ///< else less in a small cgroup; see fit_into_machine()
    std::uint64_t keys = 1'000'000;
    std::uint64_t body = 64 << 10;
    std::uint64_t head = 32 << 10;
    std::uint64_t connections = 10'000;
    std::optional<std::uint64_t> connections_per_ip;  ///< of one address; none: the default
    /// Bytes that connections keep, together; see buffer_bytes().
    std::optional<std::uint64_t> buffers;
    std::uint64_t held = 1'000;  ///< requests held by `delay` at once, per worker
    std::uint64_t views = std::uint64_t{64} << 20;  ///< bytes of all views together
    std::uint64_t waiting = 1'024;  ///< requests waiting for reservations at once, per worker
  } limits;
  milliseconds reserve_wait{1'000};
  struct Challenge {
    int status = 403;
    std::string body = "Please confirm that you are not a robot.\n";
    std::string content_type = "text/plain; charset=utf-8";
    std::string redirect;  ///< a Location; then the status is 302 unless set
  } challenge;
  struct Log {
    std::string level = "info";
    bool json = true;
    bool readable_keys = false;              ///< log keys as text, not as hashes
    std::uint32_t verdicts_per_second = 50;  ///< lines of verdicts, and as many of list entries
  } log;
  /// A limit of a file of limitador, with the file's values; a policy counts it.
  struct LimitadorLimit {
    Text policy;  ///< its name
    /// A hash of the identity of a limit in limitador: the namespace, the seconds, the conditions
    /// and the variables. A reload that moves the limit in the file does not change the hash.
    std::string identity;
    std::optional<std::string> id, name;
    std::string space;  ///< its namespace
    std::int64_t most = 0, seconds = 0;
    std::vector<std::string> conditions, variables;
    std::vector<std::string> keys;  ///< of a descriptor, by variable
  };
  /// `ratelimit:` files of envoyproxy/ratelimit, and how calls of the rate limit service are
  /// answered.
  struct RateLimit {
    std::vector<Text> files;  ///< patterns, as `include`
    std::optional<ShareDef> share;
    std::optional<Where> peer_keys;  ///< the files' limits count under envoyproxy/ratelimit's keys
    std::string peer_prefix;         ///< which begin with it
    bool shadow = false;             ///< answers OK whatever the policies decide
    bool quota = false;              ///< every event has quota
    bool merge_domains = false;      ///< several files may add to one domain
    bool metadata = false;           ///< dynamic_metadata in answers
    bool json = false;               ///< `POST /json` and `GET /healthcheck` on the api door
    double near = 0.8;  ///< from this part of a limit on, hits are near it, in its metrics
    std::optional<Text> limitador;  ///< a file of limitador's limits, and its paths on the api door
    std::vector<LimitadorLimit> limits;  ///< of that file
    /// Names of the header fields that describe the scarcest limit; empty: none.
    std::string limit_header, remaining_header, reset_header;
  } ratelimit;
  struct AccessLog {
    bool is_on = false;           ///< the section is present
    std::string path = "stdout";  ///< or `stderr`, or of a file
    telemetry::AccessSettings wants;
  } access_log;
  struct Tracing {
    std::optional<Text> endpoint;  ///< http://HOST:PORT[/path]; none: nothing is traced
    double sample = 0.01;
    std::string service = "weir";
  } tracing;
  struct Audit {
    std::optional<Text> path;  ///< of a file; none: the log
    std::uint32_t keep = 1'000;
  } audit;
  /// `redis:`; one of url, sentinel and cluster.
  struct Redis {
    Where where;
    std::optional<Text> url;
    RedisUrl parsed_url;
    std::optional<Where> sentinel;  ///< by `master` and `sentinels`
    std::optional<Text> master, sentinel_user, sentinel_password_file;
    std::vector<Located<RedisEndpoint>> sentinels, cluster;
    std::optional<Text> user, password, password_file;
    std::optional<Where> tls;  ///< also if the URL says so
    std::optional<Text> ca, cert, key, server_name;
    milliseconds timeout{50}, budget{5};
    std::optional<Text> secret, secret_file;
    bool readable_keys = false;
    bool functions = false;  ///< Redis Functions instead of EVALSHA
  };
  std::optional<Redis> redis;
  std::optional<Located<unsigned>> threads;
};

struct Model {
  /// False: a text could not be read as a whole, and may define any name.
  bool complete = true;
  bool draft = false;  ///< has errors: compiled to find more of them, never to run
  /// As the user named them; after them `$NAME` of each environment variable that set something.
  std::vector<std::string> files;
  Server server;
  std::vector<FieldDef> fields;
  std::vector<EventDef> events;
  std::vector<ListDef> lists;
  std::vector<TableDef> tables;
  PolicyDefaults defaults;
  std::vector<PolicyDef> policies;
  bool no_policies = false;        ///< `policies: []`: no policies on purpose
  std::vector<RemoteDef> remotes;  ///< of `include:`
  std::vector<ViewDef> views;
  std::vector<NotifyDef> notify;
};

}  // namespace weir::config
