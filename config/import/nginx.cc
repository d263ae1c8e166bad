#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "config/import/tokens.h"
#include "config/import/yaml_writer.h"
#include "config/text/units.h"

/// limit_req and limit_conn of nginx as policies. A zone with its parameters is one policy, whose
/// condition says in which locations it holds; of locations nginx takes the nearest, so that the
/// condition of one leaves out those that come before it.
namespace weir::config {
namespace {

constexpr std::size_t kDepthMost = 32;
constexpr std::size_t kLocationsMost = 2'000;

struct Zone {
  std::string variables;  ///< as it stands
  std::string rate;       ///< `10/s`; empty: limit_conn
  std::size_t line = 0;
};

/// One limit_req or limit_conn where it stands.
struct Use {
  bool connections = false;
  std::string zone;
  std::int64_t number = 0;                 ///< burst, or connections
  std::optional<std::int64_t> delay_from;  ///< how many go undelayed; none: nodelay
  std::size_t line = 0;
};

/// The settings of a block, which inner blocks inherit unless they set their own.
struct Scope {
  std::vector<Use> requests, connections;
  int request_status = 503, connection_status = 503;
  bool request_dry = false, connection_dry = false;
};

struct Location {
  std::string condition;                              ///< the matching condition; empty: everything
  std::string prefix;                                 ///< of a prefix location
  bool exact = false, pattern = false, firm = false;  ///< `=`, `~`, `^~`
  bool unreachable = false;                           ///< a named one
  Scope scope;
};

struct HttpServer {
  std::string condition;  ///< of its names; empty: any
  std::vector<Location> locations;
  Scope scope;
};

class NginxReader {
 public:
  explicit NginxReader(std::string_view text) : tokens_(nginx_tokens(text)) {}

  Imported read() {
    Scope http;
    block(http, nullptr, nullptr, 0);
    servers_.empty() ? take(http, {}, {}) : take_servers();
    write();
    return std::move(out_);
  }

 private:
  using Words = std::vector<std::string>;

  void note(std::size_t line, const Words& words, std::string why) {
    std::string what;
    for (const std::string& word : words) what += (what.empty() ? "" : " ") + word;
    out_.left_out.push_back({line, std::move(what), std::move(why)});
  }

  /// Reads directives until the block ends.
  void block(Scope& scope, HttpServer* server, Location* location, std::size_t depth) {
    bool own_requests = false, own_connections = false;
    while (at_ < tokens_.size()) {
      if (tokens_[at_].kind == NginxToken::Kind::close) {
        ++at_;
        if (depth > 0) return;
        continue;  // an extra one
      }
      Words words;
      const std::size_t line = tokens_[at_].line;
      while (at_ < tokens_.size() && tokens_[at_].kind == NginxToken::Kind::word) {
        words.push_back(tokens_[at_++].text);
      }
      const bool opens = at_ < tokens_.size() && tokens_[at_].kind == NginxToken::Kind::open;
      if (at_ < tokens_.size() && tokens_[at_].kind != NginxToken::Kind::close) ++at_;
      if (words.empty()) {
        if (opens) skip();
        continue;
      }
      if (opens) {
        open(words, line, scope, server, depth);
      } else {
        directive(words, line, scope, server, own_requests, own_connections);
      }
    }
    (void)location;
  }

  void skip() {
    for (std::size_t open = 1; open > 0 && at_ < tokens_.size(); ++at_) {
      if (tokens_[at_].kind == NginxToken::Kind::open) ++open;
      if (tokens_[at_].kind == NginxToken::Kind::close) --open;
    }
  }

  void open(const Words& words, std::size_t line, Scope& scope, HttpServer* server,
            std::size_t depth) {
    const std::string& name = words[0];
    if (depth >= kDepthMost || locations_ >= kLocationsMost) {
      if (depth >= kDepthMost || locations_++ == kLocationsMost)
        note(line, words, "too many blocks, or too deep inside each other");
      return skip();
    }
    if (name == "http") return block(scope, nullptr, nullptr, depth + 1);
    if (name == "server" && words.size() == 1) {
      HttpServer inner;
      inner.scope = scope;
      block(inner.scope, &inner, nullptr, depth + 1);
      servers_.push_back(std::move(inner));
      return;
    }
    if (name == "location" && server != nullptr) {
      Location inner;
      describe(words, line, inner);
      ++locations_;
      // Settings after the locations of a server hold in the locations too: settings that are
      // missing inside are filled in afterwards.
      Scope inside;
      inside.request_status = inside.connection_status = 0;
      block(inside, server, &inner, depth + 1);
      inner.scope = std::move(inside);
      server->locations.push_back(std::move(inner));
      return;
    }
    if (name == "limit_except" || name == "if") {
      const std::size_t before = at_;
      skip();
      for (std::size_t i = before; i < at_; ++i) {
        if (tokens_[i].text.starts_with("limit_req") || tokens_[i].text.starts_with("limit_conn"))
          return note(tokens_[i].line, {tokens_[i].text}, "inside " + name + " nginx ignores it");
      }
      return;
    }
    if (name == "map" || name == "geo") {
      if (words.size() > 1) mapped_[words.back()] = line;
      return skip();
    }
    if (name == "stream" || name == "mail") {
      const std::size_t before = at_;
      skip();
      for (std::size_t i = before; i < at_; ++i) {
        if (tokens_[i].text == "limit_conn" || tokens_[i].text == "limit_conn_zone")
          note(tokens_[i].line, {name + ": " + tokens_[i].text},
               "weir counts HTTP requests, and no other connections");
      }
      return;
    }
    skip();
  }

  void describe(const Words& words, std::size_t line, Location& out) {
    const std::string mark = words.size() > 2 ? words[1] : "";
    const std::string& text = words.back();
    if (words.size() < 2 || text.starts_with('@')) {
      out.unreachable = true;
      return;
    }
    if (mark == "=") {
      out.exact = true;
      out.condition = "path == " + expression_text(text);
    } else if (mark == "~" || mark == "~*") {
      out.pattern = true;
      out.condition = "path.matches(" + expression_text((mark == "~*" ? "(?i)" : "") + text) + ")";
      for (const std::string_view odd : {"(?=", "(?!", "(?<=", "(?<!"}) {
        if (text.find(odd) == std::string::npos) continue;
        note(line, words, "RE2 has no look-ahead: write the condition in another way");
        out.condition = "false";
      }
    } else {
      out.prefix = text;
      out.firm = mark == "^~";
      if (text != "/") out.condition = "path.startsWith(" + expression_text(text) + ")";
    }
  }

  void directive(const Words& words, std::size_t line, Scope& scope, HttpServer* server,
                 bool& own_requests, bool& own_connections) {
    const std::string& name = words[0];
    if (name == "limit_req_zone" || name == "limit_conn_zone" || name == "limit_zone") {
      zone(words, line);
    } else if (name == "limit_req") {
      if (!own_requests) scope.requests.clear();  // a block with its own setting inherits none
      own_requests = true;
      limit_req(words, line, scope);
    } else if (name == "limit_conn") {
      if (!own_connections) scope.connections.clear();
      own_connections = true;
      limit_conn(words, line, scope);
    } else if (name == "limit_req_status" && words.size() > 1) {
      scope.request_status = status(words, line);
    } else if (name == "limit_conn_status" && words.size() > 1) {
      scope.connection_status = status(words, line);
    } else if (name == "limit_req_dry_run" && words.size() > 1) {
      scope.request_dry = words[1] == "on";
    } else if (name == "limit_conn_dry_run" && words.size() > 1) {
      scope.connection_dry = words[1] == "on";
    } else if (name == "limit_rate" || name == "limit_rate_after") {
      note(line, words, "weir does not slow answers down: keep it in nginx");
    } else if (name == "limit_req_log_level" || name == "limit_conn_log_level") {
      note(line, words, "refusals are in weir's log and metrics by policy");
    } else if (name == "server_name" && server != nullptr) {
      server->condition = hosts(words, line);
    } else if (name == "include") {
      note(line, words, "files that are included are not read: import them too");
    }
  }

  int status(const Words& words, std::size_t line) {
    const auto number = parse_integer(words[1]);
    if (number && *number.value >= 400 && *number.value <= 599)
      return static_cast<int>(*number.value);
    note(line, words, "a status of weir is 400 to 599");
    return 503;
  }

  std::string hosts(const Words& words, std::size_t line) {
    std::string out;
    const auto add = [&](const std::string& condition) {
      out += (out.empty() ? "" : " || ") + condition;
    };
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::string& name = words[i];
      if (name == "_" || name.empty()) {
        return {};
      } else if (name.starts_with('~')) {
        add("host.matches(" + expression_text(name.substr(1)) + ")");
      } else if (name.starts_with("*.")) {
        add("host.endsWith(" + expression_text(name.substr(1)) + ")");
      } else if (name.starts_with('.')) {
        add("host == " + expression_text(name.substr(1)) + " || host.endsWith(" +
            expression_text(name) + ")");
      } else if (name.ends_with(".*")) {
        add("host.startsWith(" + expression_text(name.substr(0, name.size() - 1)) + ")");
      } else if (name.find('$') != std::string::npos) {
        note(line, words, "a name with a variable is no host");
      } else {
        add("host == " + expression_text(name));
      }
    }
    return out;
  }

  void zone(const Words& words, std::size_t line) {
    Zone zone;
    zone.line = line;
    std::string name;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::string& word = words[i];
      if (word.starts_with("zone=")) {
        name = word.substr(5, word.find(':') - 5);
      } else if (word.starts_with("rate=")) {
        zone.rate = word.substr(5);
      } else if (word == "sync") {
        note(line, words, "zones shared by several nginx: write share: redis");
      } else if (i == 1) {
        zone.variables = word;
      }
    }
    if (words[0] == "limit_req_zone") {
      const bool seconds = zone.rate.ends_with("r/s"), minutes = zone.rate.ends_with("r/m");
      const auto number =
          seconds || minutes
              ? parse_integer(std::string_view(zone.rate).substr(0, zone.rate.size() - 3))
              : Parsed<std::int64_t>{};
      if (!number || *number.value < 1 || *number.value > 1'000'000) {
        return note(line, words, "its rate is none that weir reads: 1r/s to 1000000r/s, or r/m");
      }
      zone.rate = std::to_string(*number.value) + (seconds ? "/s" : "/m");
    }
    if (name.empty()) return note(line, words, "it has no name");
    (words[0] == "limit_req_zone" ? request_zones_ : connection_zones_)[name] = std::move(zone);
  }

  void limit_req(const Words& words, std::size_t line, Scope& scope) {
    Use use;
    use.line = line;
    use.delay_from = 0;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::string& word = words[i];
      if (word.starts_with("zone=")) use.zone = word.substr(5);
      if (word.starts_with("burst=")) use.number = number(word.substr(6));
      if (word.starts_with("delay=")) use.delay_from = number(word.substr(6));
      if (word == "nodelay") use.delay_from.reset();
    }
    scope.requests.push_back(std::move(use));
  }

  void limit_conn(const Words& words, std::size_t line, Scope& scope) {
    Use use;
    use.connections = true;
    use.line = line;
    if (words.size() > 1) use.zone = words[1];
    if (words.size() > 2) use.number = number(words[2]);
    scope.connections.push_back(std::move(use));
  }

  static std::int64_t number(std::string_view text) {
    const auto parsed = parse_integer(text);
    return parsed && *parsed.value >= 0 && *parsed.value <= 1'000'000'000 ? *parsed.value : 0;
  }

  /// Where each limit holds, once all is read.
  void take_servers() {
    std::string others;  // hosts of servers with names: the one without takes the rest
    for (const HttpServer& server : servers_) {
      if (!server.condition.empty() && others.size() < 16'384)
        others += (others.empty() ? "" : " || ") + server.condition;
    }
    for (HttpServer& server : servers_) {
      const std::string host = !server.condition.empty() ? "(" + server.condition + ")"
                               : others.empty()          ? std::string()
                                                         : "!(" + others + ")";
      bool whole = false;
      for (Location& location : server.locations) {
        if (location.unreachable) continue;
        inherit(server.scope, location.scope);
        std::string before = others_before(server, location);
        whole = whole || (location.prefix == "/");
        take(location.scope, host, both(location.condition, before));
      }
      if (whole) continue;
      std::string anywhere;
      for (const Location& location : server.locations) {
        if (!location.unreachable && !location.condition.empty())
          anywhere += (anywhere.empty() ? "" : " || ") + location.condition;
      }
      take(server.scope, host, anywhere.empty() ? "" : "!(" + anywhere + ")");
    }
  }

  static std::string both(const std::string& a, const std::string& b) {
    return a.empty() ? b : b.empty() ? a : a + " && " + b;
  }

  static void inherit(const Scope& from, Scope& to) {
    if (to.requests.empty()) to.requests = from.requests;
    if (to.connections.empty()) to.connections = from.connections;
    if (to.request_status == 0) to.request_status = from.request_status;
    if (to.connection_status == 0) to.connection_status = from.connection_status;
    to.request_dry = to.request_dry || from.request_dry;
    to.connection_dry = to.connection_dry || from.connection_dry;
  }

  /// The locations that nginx takes before this one for some of its paths.
  static std::string others_before(const HttpServer& server, const Location& of) {
    std::string out;
    constexpr std::size_t kLongest = 4'096;
    bool earlier = true;
    for (const Location& other : server.locations) {
      if (&other == &of) {
        earlier = false;
        continue;
      }
      if (other.unreachable || other.condition.empty() || of.exact) continue;
      bool first = false;
      if (other.exact) {
        first = true;
      } else if (other.pattern) {
        first = of.pattern ? earlier : !of.firm;
      } else {  // a prefix: longer and inside, or firm before patterns
        first = of.pattern
                    ? other.firm
                    : other.prefix.size() > of.prefix.size() && other.prefix.starts_with(of.prefix);
      }
      if (first && out.size() < kLongest) out += (out.empty() ? "!(" : " || ") + other.condition;
    }
    return out.empty() ? out : out + ")";
  }

  void take(const Scope& scope, const std::string& host, const std::string& path) {
    const std::string when = both(host, path);
    for (const Use& use : scope.requests) add(use, scope.request_status, scope.request_dry, when);
    for (const Use& use : scope.connections)
      add(use, scope.connection_status, scope.connection_dry, when);
  }

  struct Limit {
    Use use;
    int status = 503;
    bool dry = false;
    std::vector<std::string> where;  ///< empty text: everywhere
  };

  void add(const Use& use, int status, bool dry, const std::string& when) {
    if (status == 0) status = 503;  // the default
    for (Limit& limit : limits_) {
      if (limit.use.connections != use.connections || limit.use.zone != use.zone ||
          limit.use.number != use.number || limit.use.delay_from != use.delay_from ||
          limit.status != status || limit.dry != dry)
        continue;
      limit.where.push_back(when);
      return;
    }
    limits_.push_back({use, status, dry, {when}});
  }

  /// The fields of the key that these variables are; none: something in it is not known.
  std::optional<std::vector<std::string>> key_of(const Zone& zone) {
    std::vector<std::string> key;
    std::string_view rest = zone.variables;
    while (!rest.empty()) {
      if (rest.front() != '$') {
        const std::size_t next = std::min(rest.find('$'), rest.size());
        rest.remove_prefix(next);  // text between is the same for all
        continue;
      }
      std::size_t end = 1;
      const bool braces = rest.size() > 1 && rest[1] == '{';
      if (braces) {
        end = std::min(rest.find('}'), rest.size());
      } else {
        while (end < rest.size() &&
               (is_name(rest.substr(end, 1), false) || (rest[end] >= '0' && rest[end] <= '9')))
          ++end;
      }
      const std::size_t from = braces ? 2 : 1;
      const std::string name(rest.substr(std::min(from, end), end - std::min(from, end)));
      rest.remove_prefix(std::min(end + (braces ? 1 : 0), rest.size()));
      auto field = field_of(name);
      if (!field) {
        note(zone.line, {"zone with $" + name},
             mapped_.contains("$" + name)
                 ? "a map or geo makes it: write the condition under `when`, or a table"
                 : "weir has no such field: give it one under `fields`");
        return std::nullopt;
      }
      if (!field->empty() && std::find(key.begin(), key.end(), *field) == key.end())
        key.push_back(std::move(*field));
    }
    return key;
  }

  static std::optional<std::string> field_of(const std::string& name) {
    static const std::map<std::string, std::string> kFields{
        // nginx counts each IPv6 address by itself.
        {"binary_remote_addr", "ip/32,128"},
        {"remote_addr", "ip/32,128"},
        {"realip_remote_addr", "ip/32,128"},
        {"proxy_add_x_forwarded_for", "ip/32,128"},
        {"host", "host"},
        {"http_host", "host"},
        {"server_name", "host"},
        {"uri", "path"},
        {"document_uri", "path"},
        {"request_uri", "url"},
        {"request_method", "method"},
        {"scheme", "scheme"},
        {"server_port", ""},
        {"server_addr", ""},
        {"hostname", ""}};
    if (const auto found = kFields.find(name); found != kFields.end()) return found->second;
    for (const auto& [start, family] : {std::pair{"http_", "header."}, std::pair{"arg_", "query."},
                                        std::pair{"cookie_", "cookie."}}) {
      const std::string_view text = start;
      if (name.starts_with(text) && is_name(name.substr(text.size()), false))
        return family + name.substr(text.size());
    }
    return std::nullopt;
  }

  void write() {
    std::map<std::string, std::size_t> of_zone;
    for (const Limit& limit : limits_) {
      ++of_zone[(limit.use.connections ? "c" : "r") + limit.use.zone];
    }
    ImportNames names(true);
    std::string policies;
    for (Limit& limit : limits_) {
      const auto& zones = limit.use.connections ? connection_zones_ : request_zones_;
      const auto zone = zones.find(limit.use.zone);
      const std::string what =
          std::string(limit.use.connections ? "limit_conn " : "limit_req zone=") + limit.use.zone;
      if (zone == zones.end()) {
        note(limit.use.line, {what}, "the zone is not in this file");
        continue;
      }
      auto key = key_of(zone->second);
      if (!key) continue;
      if (of_zone[(limit.use.connections ? "c" : "r") + limit.use.zone] > 1) {
        note(
            limit.use.line, {what},
            "the zone is used with several numbers: here each counts by itself, in nginx together");
      }
      if (limit.use.delay_from && limit.use.number > *limit.use.delay_from) {
        const std::int64_t at_once = limit.use.number + 1 - held_most(zone->second.rate);
        if (at_once > *limit.use.delay_from) {
          note(limit.use.line, {"limit_req zone=" + limit.use.zone},
               "requests would wait for more than a minute, the longest that weir holds one: the "
               "first " +
                   std::to_string(std::min(at_once, limit.use.number)) +
                   " of a burst pass at once");
          limit.use.delay_from = at_once;
        }
      }
      policies += written(policy_of(limit, zone->second, std::move(*key), names));
    }
    for (const auto& [name, zone] : request_zones_) {
      if (!of_zone.contains("r" + name)) note(zone.line, {"zone " + name}, "nothing uses it");
    }
    std::stable_sort(out_.left_out.begin(), out_.left_out.end(),
                     [](const ImportNote& a, const ImportNote& b) { return a.line < b.line; });
    if (limits_.empty() && out_.left_out.empty() && request_zones_.empty()) {
      out_.error = "there is no limit_req and no limit_conn in it";
      return;
    }
    out_.yaml = written_file("nginx's limits", out_.left_out,
                             policies.empty() ? "policies: []\n" : "policies:\n" + policies);
  }

  /// How many requests in a row wait for less than a minute, at a rate such as `5/m`.
  static std::int64_t held_most(std::string_view rate) {
    const std::size_t slash = rate.find('/');
    const auto number = parse_integer(rate.substr(0, slash));
    if (slash == rate.npos || !number) return 0;
    return *number.value * (rate.substr(slash) == "/s" ? 60 : 1) - 1;
  }

  static ImportedPolicy policy_of(const Limit& limit, const Zone& zone,
                                  std::vector<std::string> key, ImportNames& names) {
    ImportedPolicy policy;
    policy.name = names.make(limit.use.zone);
    policy.comment = "line " + std::to_string(limit.use.line);
    policy.watch = "request";
    const bool everywhere = std::any_of(limit.where.begin(), limit.where.end(),
                                        [](const std::string& w) { return w.empty(); });
    for (std::size_t i = 0; i < limit.where.size() && !everywhere; ++i) {
      const bool several = limit.where.size() > 1;
      policy.when +=
          (i == 0 ? "" : " || ") + (several ? "(" + limit.where[i] + ")" : limit.where[i]);
    }
    policy.key = std::move(key);
    policy.shadow = limit.dry;
    const std::string deny = "do: deny, status: " + std::to_string(limit.status);
    if (limit.use.connections) {
      policy.metric = "in_flight";
      policy.rungs.push_back("{over: " + std::to_string(limit.use.number) + ", " + deny + "}");
      return policy;
    }
    // nginx lets one through at once, and `burst` more.
    policy.window =
        "{rate: " + zone.rate + ", burst: " + std::to_string(limit.use.number + 1) + "}";
    if (limit.use.delay_from && limit.use.number > *limit.use.delay_from) {
      policy.rungs.push_back("{over: " + std::to_string(*limit.use.delay_from + 1) +
                             ", do: delay}");
    }
    policy.rungs.push_back("{" + deny + "}");
    return policy;
  }

  std::vector<NginxToken> tokens_;
  std::size_t at_ = 0;
  std::size_t locations_ = 0;
  Imported out_;
  std::map<std::string, Zone> request_zones_, connection_zones_;
  std::map<std::string, std::size_t> mapped_;
  std::vector<HttpServer> servers_;
  std::vector<Limit> limits_;
};

}  // namespace

Imported import_nginx(std::string_view text) { return NginxReader(text).read(); }

}  // namespace weir::config
