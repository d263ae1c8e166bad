#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "config/import/tokens.h"
#include "config/import/yaml_writer.h"
#include "config/text/units.h"

/// stick-tables of HAProxy and the rules that read them, as policies. A policy is what a rule that
/// refuses reads: the tracked key, the counter of its table, the number, and the conditions.
namespace weir::config {
namespace {

using Words = std::vector<std::string>;

/// `name(argument)`; with no brackets the argument is empty.
std::pair<std::string, std::string> call_of(const std::string& text) {
  const std::size_t open = text.find('(');
  if (open == std::string::npos || !text.ends_with(')')) return {text, {}};
  return {text.substr(0, open), text.substr(open + 1, text.size() - open - 2)};
}

/// The content of a table: the counter and its time.
struct Table {
  std::string type = "ip";
  std::map<std::string, std::string> stores;  ///< name: period
};

struct Tracking {
  std::string table;
  std::string fetch;  ///< `src`
  Words condition;    ///< as it stands, behind `if`
  bool unless = false;
  std::size_t line = 0;
};

struct Acl {
  std::vector<Words> lines;  ///< each: criterion, flags, patterns; any of them holds
};

/// One test of a condition.
struct Condition {
  std::string expression;  ///< empty: see counter
  // A number of a tracked key:
  std::string counter;  ///< `http_req_rate`
  std::string slot;     ///< of sc_…: `0`; empty: of the source address
  std::string table;
  std::string compare;  ///< gt, ge
  std::int64_t number = 0;
};

class HaproxyReader {
 public:
  explicit HaproxyReader(std::string_view text) : lines_(haproxy_lines(text)) {}

  Imported read() {
    for (const HaproxyLine& line : lines_) declare(line);
    for (const HaproxyLine& line : lines_) rule(line);
    if (tables_.empty() && out_.left_out.empty()) {
      out_.error = "there is no stick-table in it";
      return std::move(out_);
    }
    std::stable_sort(out_.left_out.begin(), out_.left_out.end(),
                     [](const ImportNote& a, const ImportNote& b) { return a.line < b.line; });
    std::string sections;
    if (errors_ || failures_) {
      sections = "events:\n";
      if (errors_)
        sections += "  http_error: {is: request, when: \"status >= 400 && status < 500\"}\n";
      if (failures_) sections += "  http_failure: {is: request, when: \"status >= 500\"}\n";
      sections += "\n";
    }
    sections += policies_.empty() ? "policies: []\n" : "policies:\n" + policies_;
    out_.yaml = written_file("HAProxy's stick-tables", out_.left_out, sections);
    return std::move(out_);
  }

 private:
  void note(std::size_t line, const Words& words, std::string why) {
    std::string what;
    for (const std::string& word : words) what += (what.empty() ? "" : " ") + word;
    out_.left_out.push_back({line, std::move(what), std::move(why)});
  }

  static bool begins_section(const Words& words) {
    static constexpr std::array<std::string_view, 13> kSections = {
        "global",   "defaults", "frontend", "backend", "listen",      "peers", "resolvers",
        "userlist", "mailers",  "program",  "cache",   "http-errors", "ring"};
    return std::find(kSections.begin(), kSections.end(), words[0]) != kSections.end();
  }

  /// The first pass: tables, ACLs and what is tracked, wherever they stand.
  void declare(const HaproxyLine& line) {
    const Words& words = line.words;
    if (begins_section(words)) {
      section_ = words.size() > 1 ? words[1] : words[0];
      return;
    }
    if (words[0] == "stick-table" || (words[0] == "table" && words.size() > 2)) {
      table(line);
    } else if (words[0] == "acl" && words.size() > 2) {
      acls_[section_ + "\n" + words[1]].lines.emplace_back(words.begin() + 2, words.end());
    } else {
      for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i].starts_with("track-sc") && i + 1 < words.size()) track(line, i);
      }
    }
  }

  void table(const HaproxyLine& line) {
    const Words& words = line.words;
    Table table;
    for (std::size_t i = 1; i + 1 < words.size(); ++i) {
      if (words[i] == "type") table.type = words[i + 1];
      if (words[i] != "store") continue;
      std::string_view rest = words[i + 1];
      while (!rest.empty()) {
        // A comma in brackets parts nothing: `http_req_rate(10s),gpc0`.
        const std::size_t end = std::min(rest.find(','), rest.size());
        const auto [name, period] = call_of(std::string(rest.substr(0, end)));
        table.stores[name] = period;
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
    }
    const std::string name = words[0] == "table" ? section_ + "/" + words[1] : section_;
    tables_[name] = std::move(table);
  }

  void track(const HaproxyLine& line, std::size_t at) {
    const Words& words = line.words;
    Tracking tracking;
    tracking.line = line.number;
    tracking.fetch = words[at + 1];
    tracking.table = section_;
    std::size_t i = at + 2;
    if (i + 1 < words.size() && words[i] == "table") {
      tracking.table = words[i + 1];
      i += 2;
    }
    if (i < words.size() && (words[i] == "if" || words[i] == "unless")) {
      tracking.unless = words[i] == "unless";
      tracking.condition.assign(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
    }
    tracked_[section_ + "\n" + words[at].substr(8)] = std::move(tracking);
  }

  /// The second pass: rules that refuse.
  void rule(const HaproxyLine& line) {
    const Words& words = line.words;
    if (begins_section(words)) {
      section_ = words.size() > 1 ? words[1] : words[0];
      return;
    }
    const bool http = words[0] == "http-request", tcp = words[0] == "tcp-request";
    if (words[0] == "maxconn" || words[0] == "rate-limit")
      return note(line.number, words, "a limit of all connections: see limits.connections");
    if (words[0] == "stick" || words[0] == "stick-table" || !(http || tcp)) return;
    std::size_t at = 1;
    if (tcp && at < words.size() &&
        (words[at] == "connection" || words[at] == "content" || words[at] == "session"))
      ++at;
    if (at >= words.size()) return;
    const std::string& action = words[at];
    static constexpr std::array<std::string_view, 5> kRefusing = {"deny", "tarpit", "reject",
                                                                  "silent-drop", "return"};
    if (action.starts_with("sc-") || action == "set-var")
      return note(line.number, words, "counters that rules add to: write a policy over the event");
    if (std::find(kRefusing.begin(), kRefusing.end(), action) == kRefusing.end()) return;
    int status = action == "tarpit" ? 500 : 403;
    std::size_t i = at + 1;
    for (; i < words.size() && words[i] != "if" && words[i] != "unless"; ++i) {
      if ((words[i] == "deny_status" || words[i] == "status") && i + 1 < words.size()) {
        const auto number = parse_integer(words[i + 1]);
        if (number && *number.value >= 400 && *number.value <= 599)
          status = static_cast<int>(*number.value);
      }
    }
    const bool unless = i < words.size() && words[i] == "unless";
    const Words condition(
        words.begin() + static_cast<std::ptrdiff_t>(std::min(i + 1, words.size())), words.end());
    if (!reads_a_table(condition)) return;
    if (unless) return note(line.number, words, "`unless` a number: write when it refuses");
    if (action == "tarpit" || action == "silent-drop") {
      note(line.number, words, "refused at once here: weir does not keep refused callers waiting");
    }
    refuse(line, condition, status);
  }

  bool reads_a_table(const Words& condition) const {
    return std::any_of(condition.begin(), condition.end(), [&](const std::string& word) {
      if (is_counter(call_of(word).first)) return true;
      const auto acl =
          acls_.find(section_ + "\n" + (word.starts_with('!') ? word.substr(1) : word));
      if (acl == acls_.end()) return false;
      return std::any_of(acl->second.lines.begin(), acl->second.lines.end(),
                         [&](const Words& w) { return is_counter(call_of(w[0]).first); });
    });
  }

  /// `sc_http_req_rate`, `sc0_http_req_rate`, `src_http_req_rate`.
  static bool is_counter(const std::string& fetch) { return !split_counter(fetch).first.empty(); }

  /// The counter's name, and the slot that stands in the fetch's own: `sc0_conn_cur` is conn_cur,
  /// 0.
  static std::pair<std::string, std::string> split_counter(const std::string& fetch) {
    static constexpr std::array<std::string_view, 22> kCounters = {
        "http_req_rate", "http_req_cnt",  "http_err_rate",  "http_err_cnt", "http_fail_rate",
        "http_fail_cnt", "conn_rate",     "conn_cnt",       "conn_cur",     "sess_rate",
        "sess_cnt",      "bytes_in_rate", "bytes_out_rate", "gpc0_rate",    "gpc1_rate",
        "gpc_rate",      "get_gpc0",      "get_gpc1",       "get_gpt0",     "kbytes_in",
        "kbytes_out",    "trackers"};
    std::string slot;
    std::string name;
    if (fetch.starts_with("src_")) {
      name = fetch.substr(4);
      slot = "src";
    } else if (fetch.starts_with("sc_")) {
      name = fetch.substr(3);
    } else if (fetch.starts_with("sc") && fetch.size() > 3 && fetch[2] >= '0' && fetch[2] <= '9') {
      const std::size_t line = fetch.find('_');
      if (line == std::string::npos) return {};
      slot = fetch.substr(2, line - 2);
      name = fetch.substr(line + 1);
    }
    if (std::find(kCounters.begin(), kCounters.end(), name) == kCounters.end()) return {};
    return {name, slot};
  }

  void refuse(const HaproxyLine& line, const Words& words, int status) {
    std::vector<std::vector<Condition>> ways;
    std::string why;
    if (!parse(words, ways, why)) return note(line.number, line.words, why);
    for (const std::vector<Condition>& way : ways) {
      const auto counted = std::count_if(way.begin(), way.end(),
                                         [](const Condition& c) { return !c.counter.empty(); });
      if (counted == 0) continue;  // a condition that reads no table
      if (counted > 1) {
        note(line.number, line.words,
             "it compares two counters: write a policy with `metrics` and `if`");
        continue;
      }
      write(line, way, status);
    }
  }

  void write(const HaproxyLine& line, const std::vector<Condition>& way, int status) {
    const Condition& counter = *std::find_if(way.begin(), way.end(),
                                             [](const Condition& c) { return !c.counter.empty(); });
    ImportedPolicy policy;
    policy.comment = "line " + std::to_string(line.number);
    std::string fetch = "src", table = counter.table;
    if (counter.slot != "src") {
      const Tracking* tracking = tracking_of(counter.slot);
      if (tracking == nullptr) {
        return note(line.number, line.words,
                    "nothing tracks sc" + counter.slot + " in this section");
      }
      fetch = tracking->fetch;
      if (table.empty()) table = tracking->table;
      if (!tracking->condition.empty()) {
        std::vector<std::vector<Condition>> ways;
        std::string why;
        if (!parse(tracking->condition, ways, why)) return note(tracking->line, {fetch}, why);
        policy.when = joined(ways);
        if (tracking->unless) policy.when = "!(" + policy.when + ")";
      }
    } else if (table.empty()) {
      table = section_;
    }
    const auto key = key_of(fetch);
    if (!key)
      return note(line.number, {fetch}, "weir has no such field: give it one under `fields`");
    if (!key->empty()) policy.key.push_back(*key);
    const auto found = tables_.find(table);
    if (found == tables_.end())
      return note(line.number, line.words, "its table " + table + " is not in this file");
    if (!measure(line, counter, found->second, policy)) return;
    std::string condition;
    for (const Condition& c : way) {
      if (c.counter.empty()) condition += (condition.empty() ? "" : " && ") + c.expression;
    }
    policy.name = names_.make(section_ + "-" + counter.counter);
    const bool above = counter.compare == "gt";
    policy.rungs.push_back("{" + std::string(above ? "over: " : "at: ") +
                           std::to_string(counter.number) +
                           (condition.empty() ? "" : ", if: " + yaml_text(condition)) +
                           ", do: deny, status: " + std::to_string(status) + "}");
    policies_ += written(policy);
  }

  const Tracking* tracking_of(const std::string& slot) const {
    const auto here = tracked_.find(section_ + "\n" + slot);
    return here == tracked_.end() ? nullptr : &here->second;
  }

  /// The counter's measure and its time. HAProxy counts refused requests too.
  bool measure(const HaproxyLine& line, const Condition& counter, const Table& table,
               ImportedPolicy& policy) {
    policy.watch = "request";
    const auto refused = [&](std::string why) {
      note(line.number, line.words, std::move(why));
      return false;
    };
    if (counter.counter == "conn_cur" || counter.counter == "trackers") {
      policy.metric = "in_flight";
      return true;
    }
    policy.always = true;
    std::string stored = counter.counter;
    if (stored == "http_err_rate") {
      policy.watch = "http_error";
      policy.always = false;
      errors_ = true;
    } else if (stored == "http_fail_rate") {
      policy.watch = "http_failure";
      policy.always = false;
      failures_ = true;
    } else if (stored == "conn_rate" || stored == "sess_rate") {
      note(line.number, line.words, "connections are not counted, but their requests");
    } else if (stored != "http_req_rate") {
      return refused(stored.ends_with("_cnt")
                         ? "a count without a window never falls: choose a window"
                         : "weir has no " + stored + ": write a policy over the event");
    }
    const auto period = table.stores.find(stored);
    if (period == table.stores.end()) return refused("its table does not store " + stored);
    auto length = period_of(period->second);
    if (!length) return refused("its period is none that weir reads");
    policy.window = format_duration(*length);
    return true;
  }

  /// `10s`, `1m`, `500ms`; without unit: milliseconds.
  static std::optional<milliseconds> period_of(const std::string& text) {
    const bool bare = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
    const auto length = parse_duration(bare ? text + "ms" : text);
    if (!length || length.value->count() < 1 || *length.value > std::chrono::hours{24 * 31})
      return std::nullopt;
    return length.value;
  }

  static std::optional<std::string> key_of(const std::string& fetch) {
    // Converters behind the fetch (`src,ipmask(24)`).
    const std::size_t comma =
        fetch.find("),") != std::string::npos ? fetch.find("),") + 1 : fetch.find(',');
    const auto [name, argument] = call_of(fetch.substr(0, comma));
    const std::string converter = comma == std::string::npos ? "" : fetch.substr(comma + 1);
    std::string field;
    if (name == "src") field = "ip/32,128";
    if (name == "path" || name == "base") field = "path";
    if (name == "url") field = "url";
    if (name == "method") field = "method";
    if ((name == "hdr" || name == "req.hdr" || name == "req.fhdr") && !argument.empty()) {
      std::string header = argument.substr(0, argument.find(','));
      for (char& c : header)
        c = c == '-' ? '_' : c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
      if (header == "host")
        field = "host";
      else if (header == "x_forwarded_for")
        field = "ip/32,128";
      else if (is_name(header, false))
        field = "header." + header;
    }
    if ((name == "hdr_ip" || name == "req.hdr_ip") && !argument.empty()) field = "ip/32,128";
    if ((name == "url_param" || name == "urlp") && is_name(argument, false))
      field = "query." + argument;
    if ((name == "req.cook" || name == "cook" || name == "cookie") && is_name(argument, false))
      field = "cookie." + argument;
    if (name == "int" || name == "always_true" || name == "str") return std::string();
    if (field.empty()) return std::nullopt;
    if (converter.empty() || converter == "lower") return field;
    const auto [what, mask] = call_of(converter);
    if (what == "ipmask" && name == "src") {
      const auto bits = parse_integer(mask.substr(0, mask.find(',')));
      if (bits && *bits.value >= 0 && *bits.value <= 32)
        return "ip/" + std::to_string(*bits.value) + ",128";
    }
    return std::nullopt;
  }

  static std::string joined(const std::vector<std::vector<Condition>>& ways) {
    std::string out;
    for (const auto& way : ways) {
      std::string all;
      for (const Condition& c : way) all += (all.empty() ? "" : " && ") + c.expression;
      out += (out.empty() ? "" : " || ") + (ways.size() > 1 ? "(" + all + ")" : all);
    }
    return out;
  }

  /// A condition as alternatives of tests that hold together. False: see `why`.
  bool parse(const Words& words, std::vector<std::vector<Condition>>& ways, std::string& why) {
    ways.assign(1, {});
    constexpr std::size_t kTestsMost = 64;
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (i > kTestsMost) {
        why = "the condition is too long";
        return false;
      }
      if (words[i] == "or" || words[i] == "||") {
        ways.emplace_back();
        continue;
      }
      bool negated = false;
      std::string word = words[i];
      if (word == "!") {
        negated = true;
        if (++i >= words.size()) break;
        word = words[i];
      } else if (word.starts_with('!')) {
        negated = true;
        word.erase(0, 1);
      }
      Words test;
      if (word == "{") {
        for (++i; i < words.size() && words[i] != "}"; ++i) test.push_back(words[i]);
        Condition condition;
        if (!one(test, condition, why)) return false;
        if (!add(ways.back(), std::move(condition), negated, why)) return false;
        continue;
      }
      const auto acl = acls_.find(section_ + "\n" + word);
      if (acl == acls_.end()) {
        static const std::map<std::string, std::string> kBuiltIn{
            {"TRUE", "true"},
            {"FALSE", "false"},
            {"METH_GET", "method in [\"GET\", \"HEAD\"]"},
            {"METH_POST", "method == \"POST\""},
            {"METH_OPTIONS", "method == \"OPTIONS\""},
            {"LOCALHOST", "ip.cidr(\"127.0.0.0/8\")"}};
        const auto known = kBuiltIn.find(word);
        if (known == kBuiltIn.end()) {
          why = "the condition " + word + " is not in this section";
          return false;
        }
        Condition condition;
        condition.expression = known->second;
        if (!add(ways.back(), std::move(condition), negated, why)) return false;
        continue;
      }
      Condition any;
      for (const Words& line : acl->second.lines) {
        Condition condition;
        if (!one(line, condition, why)) return false;
        if (!condition.counter.empty()) {
          if (acl->second.lines.size() > 1) {
            why = "the condition " + word + " is one of several: write a policy for each";
            return false;
          }
          any = std::move(condition);
        } else {
          any.expression += (any.expression.empty() ? "" : " || ") + condition.expression;
        }
      }
      if (acl->second.lines.size() > 1) any.expression = "(" + any.expression + ")";
      if (!add(ways.back(), std::move(any), negated, why)) return false;
    }
    return true;
  }

  static bool add(std::vector<Condition>& way, Condition condition, bool negated,
                  std::string& why) {
    if (negated && !condition.counter.empty()) {
      why = "a number that is not reached: write when it refuses";
      return false;
    }
    if (negated) condition.expression = "!(" + condition.expression + ")";
    way.push_back(std::move(condition));
    return true;
  }

  /// `path_beg /a /b`, `sc_http_req_rate(0) gt 100`.
  bool one(const Words& words, Condition& out, std::string& why) {
    if (words.empty()) {
      why = "a condition in it is empty";
      return false;
    }
    const auto [fetch, argument] = call_of(words[0]);
    if (const auto [counter, slot] = split_counter(fetch); !counter.empty()) {
      out.counter = counter;
      const std::size_t comma = argument.find(',');
      const std::string first = argument.substr(0, comma);
      out.slot = slot.empty() ? first : slot;
      out.table =
          slot.empty() ? (comma == std::string::npos ? "" : argument.substr(comma + 1)) : argument;
      std::size_t i = 1;
      out.compare = "eq";
      if (i < words.size() && (words[i] == "gt" || words[i] == "ge" || words[i] == "lt" ||
                               words[i] == "le" || words[i] == "eq"))
        out.compare = words[i++];
      const auto number = i < words.size() ? parse_integer(words[i]) : Parsed<std::int64_t>{};
      if (!number || *number.value < 0 || (out.compare != "gt" && out.compare != "ge")) {
        why = "only `gt` and `ge` a number are thresholds";
        return false;
      }
      out.number = *number.value;
      return true;
    }
    bool fold = false;
    std::string method;  // of matching, behind -m
    Words patterns;
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (words[i] == "-i") {
        fold = true;
      } else if (words[i] == "-m" && i + 1 < words.size()) {
        method = words[++i];
      } else if (words[i] == "-f" || words[i] == "-M") {
        why = "patterns from a file: write a list, or a table";
        return false;
      } else if (words[i] != "--" && words[i] != "-n" && words[i] != "-u") {
        patterns.push_back(words[i]);
      }
    }
    return criterion(fetch, argument, method, fold, patterns, out, why);
  }

  bool criterion(std::string fetch, const std::string& argument, std::string method, bool fold,
                 const Words& patterns, Condition& out, std::string& why) {
    for (const auto& [end, match] :
         {std::pair{"_beg", "beg"}, std::pair{"_end", "end"}, std::pair{"_sub", "sub"},
          std::pair{"_reg", "reg"}, std::pair{"_dir", "dir"}}) {
      const std::string_view tail = end;
      if (!fetch.ends_with(tail)) continue;
      fetch.erase(fetch.size() - tail.size());
      method = match;
      break;
    }
    if (fetch == "src") {
      std::string any;
      for (const std::string& pattern : patterns) {
        if (!Cidr::parse(pattern)) {
          why = pattern + " is no network that weir reads";
          return false;
        }
        any +=
            (any.empty() ? "" : " || ") + std::string("ip.cidr(") + expression_text(pattern) + ")";
      }
      out.expression = patterns.size() > 1 ? "(" + any + ")" : any;
      return !any.empty();
    }
    const auto field = key_of(argument.empty() ? fetch : fetch + "(" + argument + ")");
    if (!field || field->empty() || field->starts_with("ip/")) {
      why = "weir has no field " + fetch;
      return false;
    }
    if (method == "found") {
      out.expression = "has(" + *field + ")";
      return true;
    }
    if (patterns.empty()) {
      why = "a condition in it has nothing to compare with";
      return false;
    }
    const std::string left = fold && method != "reg" ? *field + ".lowerAscii()" : *field;
    std::string any;
    for (std::string pattern : patterns) {
      if (fold && method != "reg") {
        for (char& c : pattern) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
      }
      std::string test;
      if (method == "beg")
        test = left + ".startsWith(" + expression_text(pattern) + ")";
      else if (method == "end")
        test = left + ".endsWith(" + expression_text(pattern) + ")";
      else if (method == "sub")
        test = left + ".contains(" + expression_text(pattern) + ")";
      else if (method == "dir")
        test = left + ".contains(" + expression_text("/" + pattern) + ")";
      else if (method == "reg")
        test = *field + ".matches(" + expression_text((fold ? "(?i)" : "") + pattern) + ")";
      else
        test = left + " == " + expression_text(pattern);
      any += (any.empty() ? "" : " || ") + test;
    }
    out.expression = patterns.size() > 1 ? "(" + any + ")" : any;
    return true;
  }

  std::vector<HaproxyLine> lines_;
  std::string section_;
  std::map<std::string, Table> tables_;
  std::map<std::string, Acl> acls_;
  std::map<std::string, Tracking> tracked_;
  Imported out_;
  ImportNames names_{true};
  std::string policies_;
  bool errors_ = false, failures_ = false;
};

}  // namespace

Imported import_haproxy(std::string_view text) { return HaproxyReader(text).read(); }

}  // namespace weir::config
