#include <algorithm>

#include "config/import/nginx_file.h"
#include "config/import/tokens.h"
#include "config/import/yaml_writer.h"
#include "config/text/units.h"
#include "config/text/yaml_text.h"
#include "core/chars/ascii.h"

namespace weir::config {
namespace {

constexpr std::size_t kDepthMax = 32;
constexpr std::size_t kLocationsMax = 2'000;

using Words = std::vector<std::string>;

class NginxReader {
 public:
  NginxReader(std::string_view text, const PatternCheck& check)
      : tokens_(nginx_tokens(text)), check_(check) {}

  NginxFile read() {
    block({&out_.http, nullptr, nullptr, nullptr}, 0);
    for (NginxServer& server : out_.servers) {
      server.scope.inherit(out_.http);
      hand_down(server.scope, server.locations);
    }
    return std::move(out_);
  }

 private:
  /// The block that encloses directives.
  struct Inside {
    NginxScope* scope;
    NginxServer* server;
    NginxLocation* location;
    std::vector<NginxLocation>* locations;  ///< where inner ones go
  };

  void note(std::size_t line, const Words& words, std::string why) {
    std::string what;
    for (const std::string& word : words) what += (what.empty() ? "" : " ") + word;
    out_.left_out.push_back({line, std::move(what), std::move(why)});
  }

  static void hand_down(const NginxScope& scope, std::vector<NginxLocation>& locations) {
    for (NginxLocation& location : locations) {
      location.scope.inherit(scope);
      hand_down(location.scope, location.inner);
    }
  }

  /// The next directive; whether it opens a block is in `opens`.
  Words words(bool& opens, std::size_t& line) {
    Words out;
    line = tokens_[at_].line;
    while (at_ < tokens_.size() && tokens_[at_].kind == NginxToken::Kind::word) {
      out.push_back(tokens_[at_++].text);
    }
    opens = at_ < tokens_.size() && tokens_[at_].kind == NginxToken::Kind::open;
    const bool ends = at_ < tokens_.size() && tokens_[at_].kind != NginxToken::Kind::close;
    if (!ends && !out.empty()) refused(line, out, "it does not end with a semicolon");
    if (at_ < tokens_.size() && tokens_[at_].kind != NginxToken::Kind::close) ++at_;
    return out;
  }

  /// Reads directives until the block ends. False: the file ends before.
  bool block(const Inside& inside, std::size_t depth) {
    while (at_ < tokens_.size()) {
      if (tokens_[at_].kind == NginxToken::Kind::close) {
        const std::size_t line = tokens_[at_++].line;
        if (depth > 0) return true;
        refused(line, {"}"}, "no block begins before it");
        continue;
      }
      bool opens = false;
      std::size_t line = 0;
      const Words found = words(opens, line);
      if (opens) {
        found.empty() ? skip(found, line) : open(found, line, inside, depth);
      } else if (!found.empty()) {
        directive(found, line, inside);
      }
    }
    return depth == 0;
  }

  /// Passes over a block. False: the file ends before.
  bool pass_over() {
    std::size_t open = 1;
    for (; open > 0 && at_ < tokens_.size(); ++at_) {
      if (tokens_[at_].kind == NginxToken::Kind::open) ++open;
      if (tokens_[at_].kind == NginxToken::Kind::close) --open;
    }
    return open == 0;
  }
  void skip(const Words& words, std::size_t line) {
    if (!pass_over()) unclosed(words, line);
  }
  void unclosed(const Words& words, std::size_t line) {
    if (!unclosed_) refused(line, words.empty() ? Words{"{"} : words, "its block does not end");
    unclosed_ = true;  // those around it do not end either
  }

  /// Notes a mistake with which nginx does not start: the user must look at the file.
  void refused(std::size_t line, const Words& words, const std::string& why) {
    note(line, words, why + ": nginx refuses the file");
  }

  void inner(const Words& words, std::size_t line, const Inside& inside, std::size_t depth) {
    if (!block(inside, depth)) unclosed(words, line);
  }

  void open(const Words& words, std::size_t line, const Inside& inside, std::size_t depth) {
    const std::string& name = words[0];
    if (depth >= kDepthMax || blocks_ >= kLocationsMax) {
      if (depth >= kDepthMax || blocks_++ == kLocationsMax)
        note(line, words, "too many blocks, or too deep inside each other");
      return skip(words, line);
    }
    if (name == "http")
      return inner(words, line, {&out_.http, nullptr, nullptr, nullptr}, depth + 1);
    if (name == "server" && words.size() == 1) {
      ++blocks_;
      NginxServer server;
      server.line = line;
      inner(words, line, {&server.scope, &server, nullptr, &server.locations}, depth + 1);
      if (server.listens.empty()) server.listens.emplace_back("*:80");
      out_.servers.push_back(std::move(server));
    } else if (name == "location" && inside.locations != nullptr) {
      ++blocks_;
      NginxLocation location;
      location.line = line;
      describe(words, line, location);
      inner(words, line, {&location.scope, inside.server, &location, &location.inner}, depth + 1);
      inside.locations->push_back(std::move(location));
    } else if (name == "limit_except" || name == "if") {
      conditional(words, line, inside);
    } else if (name == "map" || name == "geo" || name == "split_clients") {
      if (words.size() > 1) out_.mapped[words.back()] = line;
      skip(words, line);
    } else if (name == "stream" || name == "mail") {
      const std::size_t before = at_;
      skip(words, line);
      for (std::size_t i = before; i < at_; ++i) {
        if (tokens_[i].text == "limit_conn" || tokens_[i].text == "limit_conn_zone")
          note(tokens_[i].line, {name + ": " + tokens_[i].text},
               "weir counts HTTP requests, and no other connections");
      }
    } else {
      skip(words, line);
    }
  }

  /// The block of an `if` or limit_except: its effect on some requests.
  void conditional(const Words& words, std::size_t line, const Inside& inside) {
    const std::string& name = words[0];
    const std::size_t before = at_;
    skip(words, line);
    bool begins = true;
    for (std::size_t i = before; i < at_; ++i) {
      const std::string& text = tokens_[i].text;
      if (tokens_[i].kind != NginxToken::Kind::word) {
        begins = true;
        continue;
      }
      if (begins && (text.starts_with("limit_req") || text.starts_with("limit_conn")))
        note(tokens_[i].line, {text}, "inside " + name + " nginx ignores it");
      if (begins && text == "rewrite") {
        NginxLead lead{tokens_[i].line, {}};
        for (std::size_t k = i; k < at_ && tokens_[k].kind == NginxToken::Kind::word; ++k)
          lead.words.push_back(tokens_[k].text);
        inside.scope->leads.push_back(std::move(lead));
      }
      begins = false;
    }
  }

  void describe(const Words& words, std::size_t line, NginxLocation& out) {
    using Kind = NginxLocation::Kind;
    // The mark may be joined to its text without a blank.
    std::string mark = words.size() > 2 ? words[1] : "";
    out.text = words.size() > 1 ? words.back() : "";
    for (const std::string_view sign : {"=", "~*", "~", "^~"}) {
      if (words.size() != 2 || !out.text.starts_with(sign)) continue;
      mark = sign;
      out.text.erase(0, sign.size());
      break;
    }
    if (words.size() < 2 || (mark.empty() && out.text.starts_with('@'))) {
      out.kind = Kind::named;
    } else if (mark == "~" || mark == "~*") {
      out.kind = Kind::pattern;
      const CarriedPattern pattern = carried_pattern(out.text, true, mark == "~*", check_);
      out.known = pattern.why.empty();
      if (!out.known) return note(line, words, pattern.why);
      out.condition = path_matches(pattern.text);
    } else {
      out.kind = mark == "=" ? Kind::exact : Kind::prefix;
      out.firm = mark == "^~";
      out.condition = mark == "=" ? path_is(out.text) : path_begins(out.text);
      if (out.text.find(';') != std::string::npos)
        note(line, words, "weir's path leaves out the text after a semicolon");
    }
  }

  void directive(const Words& words, std::size_t line, const Inside& inside) {
    const std::string& name = words[0];
    NginxScope& scope = *inside.scope;
    if (name == "limit_req_zone" || name == "limit_conn_zone" || name == "limit_zone") {
      zone(words, line);
    } else if (name == "limit_req") {
      limit_req(words, line, scope);
    } else if (name == "limit_conn") {
      limit_conn(words, line, scope);
    } else if (name == "limit_rate" || name == "limit_rate_after") {
      note(line, words, "weir does not slow answers down: keep it in nginx");
    } else if (name == "limit_req_log_level" || name == "limit_conn_log_level") {
      note(line, words, "refusals are in weir's log and metrics by policy");
    } else if (name == "include") {
      note(line, words, "files that are included are not read: import them too");
    } else if (name == "internal" && inside.location != nullptr) {
      inside.location->internal = true;
    } else if (words.size() > 1) {
      setting(words, line, inside);
    }
  }

  /// Directives with an argument that define where or how limits hold.
  void setting(const Words& words, std::size_t line, const Inside& inside) {
    const std::string& name = words[0];
    NginxScope& scope = *inside.scope;
    if (name == "limit_req_status") {
      scope.request_status = status(words, line);
    } else if (name == "limit_conn_status") {
      scope.connection_status = status(words, line);
    } else if (name == "limit_req_dry_run") {
      scope.request_dry = words[1] == "on";
    } else if (name == "limit_conn_dry_run") {
      scope.connection_dry = words[1] == "on";
    } else if (name == "set_real_ip_from") {
      if (scope.trusted.empty()) scope.real_ip_line = line;
      scope.trusted.push_back(words[1]);
    } else if (name == "real_ip_header") {
      scope.real_ip_header = words[1];
    } else if (name == "real_ip_recursive") {
      scope.real_ip_recursive = words[1] == "on";
    } else if (name == "rewrite" || name == "try_files" || name == "error_page" ||
               name == "index") {
      scope.leads.push_back({line, words});
    } else if (name == "return" && inside.server != nullptr) {
      scope.returns = line;
    } else if (inside.server != nullptr && name == "server_name") {
      for (std::size_t i = 1; i < words.size(); ++i) host(words, i, line, *inside.server);
    } else if (inside.server != nullptr && name == "listen") {
      listen(words, *inside.server);
    }
  }

  int status(const Words& words, std::size_t line) {
    const auto number = parse_integer(words[1]);
    if (words[1] == "444")
      note(line, words, "nginx closes the connection without an answer, weir answers with 444");
    if (number && *number.value >= 400 && *number.value <= 599)
      return static_cast<int>(*number.value);
    note(line, words, "a status of weir is 400 to 599");
    return 503;
  }

  void host(const Words& words, std::size_t i, std::size_t line, NginxServer& out) {
    using Kind = NginxName::Kind;
    std::string name = words[i];
    if (!out.first_name) out.first_name = name;
    if (name == "_" || name.empty()) return;  // no client sends it
    if (name.starts_with('~')) {
      const bool capitals = std::any_of(name.begin(), name.end(), ascii::is_upper);
      const CarriedPattern pattern =
          carried_pattern(std::string_view(name).substr(1), false, capitals, check_);
      if (!pattern.why.empty()) return note(line, words, pattern.why);
      out.names.push_back(
          {Kind::pattern, {}, "host.matches(" + expression_text(pattern.text) + ")"});
      return;
    }
    if (name.find('$') != std::string::npos)
      return note(line, words, "a name with a variable is not a host");
    name = ascii::lowered(name);
    const bool both = name.starts_with('.');
    if (both) name.insert(0, 1, '*');
    if (name.starts_with("*.")) {
      name.erase(0, 1);
      if (both) {
        const std::string whole = name.substr(1);
        out.names.push_back({Kind::exact, whole, "host == " + expression_text(whole)});
      }
      out.names.push_back({Kind::ending, name, "host.endsWith(" + expression_text(name) + ")"});
    } else if (name.ends_with(".*")) {
      name.pop_back();
      out.names.push_back(
          {Kind::beginning, name, "host.startsWith(" + expression_text(name) + ")"});
    } else {
      out.names.push_back({Kind::exact, name, "host == " + expression_text(name)});
    }
  }

  static void listen(const Words& words, NginxServer& out) {
    std::string at = words[1];
    const bool digits = std::all_of(at.begin(), at.end(), ascii::is_digit);
    if (digits) {
      at.insert(0, "*:");
    } else if (!at.starts_with("unix:") && at.find(':', at.find(']') + 1) == std::string::npos) {
      at += ":80";
    }
    out.listens.push_back(at);
    for (std::size_t i = 2; i < words.size(); ++i) {
      if (words[i] == "default_server" || words[i] == "default") out.default_of.push_back(at);
    }
  }

  void zone(const Words& words, std::size_t line) {
    NginxZone zone;
    zone.line = line;
    std::string name;
    const bool old = words[0] == "limit_zone";  // its name comes first, and its size last
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::string& word = words[i];
      if (word.starts_with("zone=")) {
        name = word.substr(5, word.find(':') - 5);
      } else if (word.starts_with("rate=")) {
        zone.rate = word.substr(5);
      } else if (word == "sync") {
        note(line, words, "zones shared by several nginx: write share: redis");
      } else if (i == 1) {
        (old ? name : zone.variables) = word;
      } else if (i == 2 && old) {
        zone.variables = word;
      } else if (!old) {
        return refused(line, words, "it has no parameter " + word);
      }
    }
    if (words[0] == "limit_req_zone" && !rate(zone.rate)) {
      return note(line, words, "weir cannot read its rate: write 1r/s to 1000000r/s, or r/m");
    }
    if (name.empty()) return note(line, words, "it has no name");
    (words[0] == "limit_req_zone" ? out_.request_zones : out_.connection_zones)[name] =
        std::move(zone);
  }

  /// `10r/s` becomes `10/s`.
  static bool rate(std::string& text) {
    const bool seconds = text.ends_with("r/s"), minutes = text.ends_with("r/m");
    if (!seconds && !minutes) return false;
    const auto number = parse_integer(std::string_view(text).substr(0, text.size() - 3));
    if (!number || *number.value < 1 || *number.value > 1'000'000) return false;
    text = std::to_string(*number.value) + (seconds ? "/s" : "/m");
    return true;
  }

  void limit_req(const Words& words, std::size_t line, NginxScope& scope) {
    NginxUse use;
    use.line = line;
    use.delay_from = 0;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::string& word = words[i];
      const std::size_t equals = std::min(word.find('='), word.size() - 1) + 1;
      const std::string_view what = std::string_view(word).substr(0, equals);
      const std::string_view is = std::string_view(word).substr(equals);
      if (what == "zone=") {
        use.zone = is;
      } else if (what == "burst=" || what == "delay=") {
        const auto count = number(is, words, line);
        if (!count) return;
        if (what == "burst=") use.number = *count;
        if (what == "delay=") use.delay_from = *count;
      } else if (word == "nodelay") {
        use.delay_from.reset();
      } else {
        return refused(line, words, "it has no parameter " + word);
      }
    }
    if (use.zone.empty()) return refused(line, words, "zone= is missing");
    scope.requests.push_back(std::move(use));
  }

  void limit_conn(const Words& words, std::size_t line, NginxScope& scope) {
    if (words.size() != 3) return refused(line, words, "it needs a zone and a number");
    const auto count = number(words[2], words, line);
    if (!count) return;
    NginxUse use;
    use.connections = true;
    use.line = line;
    use.zone = words[1];
    use.number = *count;
    scope.connections.push_back(std::move(use));
  }

  /// None: the reason has been reported.
  std::optional<std::int64_t> number(std::string_view text, const Words& words, std::size_t line) {
    const std::size_t from = std::min(text.find_first_not_of('0'), text.size());
    const std::string_view digits = text.substr(from);  // it reads 010 as 10
    if (digits.empty() || digits.find_first_not_of("0123456789") != digits.npos) {
      refused(line, words, quoted(text) + " is not a whole number, 1 or more");
      return std::nullopt;
    }
    const auto parsed = parse_integer(digits);
    if (parsed && *parsed.value <= 1'000'000'000) return *parsed.value;
    note(line, words, "it is beyond what weir counts");
    return std::nullopt;
  }

  std::vector<NginxToken> tokens_;
  const PatternCheck& check_;
  std::size_t at_ = 0;
  std::size_t blocks_ = 0;
  bool unclosed_ = false;
  NginxFile out_;
};

}  // namespace

void NginxScope::inherit(const NginxScope& from) {
  own_requests = !requests.empty();
  own_connections = !connections.empty();
  if (requests.empty()) requests = from.requests;
  if (connections.empty()) connections = from.connections;
  if (!request_status) request_status = from.request_status;
  if (!connection_status) connection_status = from.connection_status;
  if (!request_dry) request_dry = from.request_dry;
  if (!connection_dry) connection_dry = from.connection_dry;
  if (trusted.empty()) {
    trusted = from.trusted;
    real_ip_line = from.real_ip_line;
  }
  if (!real_ip_header) real_ip_header = from.real_ip_header;
  if (!real_ip_recursive) real_ip_recursive = from.real_ip_recursive;
}

bool NginxScope::limits_alike(const NginxScope& other) const {
  return requests == other.requests && connections == other.connections &&
         request_dry.value_or(false) == other.request_dry.value_or(false) &&
         connection_dry.value_or(false) == other.connection_dry.value_or(false);
}

NginxFile read_nginx(std::string_view text, const PatternCheck& check) {
  return NginxReader(text, check).read();
}

}  // namespace weir::config
