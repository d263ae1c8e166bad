#include "config/import/haproxy_file.h"

#include <algorithm>
#include <array>

#include "config/import/tokens.h"
#include "config/text/units.h"
#include "core/chars/ascii.h"

namespace weir::config {
namespace {

template <std::size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool begins_section(std::string_view word) {
  static constexpr std::array<std::string_view, 20> kSections = {
      "global",    "defaults",    "frontend",    "backend",  "listen",
      "peers",     "resolvers",   "userlist",    "mailers",  "program",
      "cache",     "http-errors", "ring",        "fcgi-app", "log-forward",
      "crt-store", "traces",      "log-profile", "acme",     "dynamic-update"};
  return is_one_of(word, kSections);
}

HaproxyTable table_of(const HaproxyLine& line) {
  const HaproxyWords& words = line.words;
  HaproxyTable table;
  table.line = line.number;
  table.words = words;
  for (std::size_t i = 1; i + 1 < words.size(); ++i) {
    if (words[i] == "type") table.type = words[i + 1];
    if (words[i] == "len") table.length = words[i + 1];
    if (words[i] == "expire") table.expire = words[i + 1];
    if (words[i] == "peers") table.peers = true;
    if (words[i] != "store") continue;
    // A comma in brackets parts nothing: `http_req_rate(10s),gpc0`.
    for (const std::string& stored : haproxy_steps(words[i + 1])) {
      const auto [name, period] = haproxy_call(stored);
      table.stores[name] = period;
    }
  }
  return table;
}

/// The stage of the rule, and the index of its action.
std::pair<HaproxyStage, std::size_t> stage_of(const HaproxyWords& words) {
  if (words[0] == "http-request") return {HaproxyStage::request, 1};
  if (words[0] == "block") return {HaproxyStage::request, 0};
  if (words[0] == "redirect") return {HaproxyStage::redirect, 0};
  if (words[0] == "use_backend") return {HaproxyStage::backend, 0};
  if (words[0] != "tcp-request" || words.size() < 2) return {HaproxyStage::other, 0};
  if (words[1] == "connection") return {HaproxyStage::connection, 2};
  if (words[1] == "session") return {HaproxyStage::session, 2};
  if (words[1] == "content") return {HaproxyStage::content, 2};
  return {HaproxyStage::other, 0};
}

HaproxyRule rule_of(const HaproxyLine& line) {
  HaproxyRule rule;
  rule.line = line.number;
  rule.words = line.words;
  const auto [stage, at] = stage_of(line.words);
  rule.stage = at < line.words.size() ? stage : HaproxyStage::other;
  rule.action = at < line.words.size() ? line.words[at] : "";
  if (rule.action == "block") rule.action = "deny";
  std::size_t i = at + 1;
  for (; i < line.words.size() && line.words[i] != "if" && line.words[i] != "unless"; ++i)
    rule.arguments.push_back(line.words[i]);
  if (i >= line.words.size()) return rule;
  rule.unless = line.words[i] == "unless";
  rule.condition.assign(line.words.begin() + static_cast<std::ptrdiff_t>(i) + 1, line.words.end());
  return rule;
}

/// The counter's name, and the slot in the fetch's own name: `sc0_conn_cur` is conn_cur of
/// 0; `src` of src_conn_cur.
std::pair<std::string, std::string> split_counter(const std::string& fetch) {
  if (fetch.starts_with("src_")) {
    if (fetch == "src_port" || fetch == "src_is_local") return {};
    return {fetch.substr(4), "src"};
  }
  if (fetch.starts_with("sc_")) return {fetch.substr(3), {}};
  const std::size_t line = fetch.find('_');
  if (!fetch.starts_with("sc") || line == std::string::npos || line < 3) return {};
  const std::string slot = fetch.substr(2, line - 2);
  if (slot.find_first_not_of("0123456789") != std::string::npos) return {};
  return {fetch.substr(line + 1), slot};
}

/// Fetches that count all clients together.
bool is_total(std::string_view fetch) {
  static constexpr std::array<std::string_view, 11> kTotals = {
      "fe_conn",  "fe_req_rate",   "fe_sess_rate", "be_conn",   "be_sess_rate", "srv_conn",
      "dst_conn", "srv_sess_rate", "connslots",    "avg_queue", "be_conn_free"};
  return is_one_of(fetch, kTotals);
}

bool names_count(const HaproxySection& section, std::string_view word) {
  const auto in_name = [](char c) { return ascii::is_letter_or_digit(c) || c == '_' || c == '.'; };
  while (!word.empty()) {
    std::size_t end = 0;
    while (end < word.size() && in_name(word[end])) ++end;
    const std::string name(word.substr(0, end));
    if (!split_counter(name).first.empty() || name.starts_with("table_") || is_total(name) ||
        section.counts.contains(name))
      return true;
    word.remove_prefix(std::min(end + 1, word.size()));
  }
  return false;
}

/// The tests of a condition, one after the other.
class ConditionReader {
 public:
  ConditionReader(const HaproxySection& section, std::vector<std::string>& fields, std::string& why)
      : section_(section), fields_(fields), why_(why) {}

  bool read(const HaproxyWords& words) {
    constexpr std::size_t kTestsMax = 64;
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (i > kTestsMax) return refuse("the condition is too long");
      if (words[i] == "or" || words[i] == "||") {
        begin_ = ways_.size();
        ways_.emplace_back();
        continue;
      }
      std::string word = words[i];
      bool negated = false;
      while (word.starts_with('!')) {
        negated = !negated;
        word.erase(0, 1);
        if (word.empty() && i + 1 < words.size()) word = words[++i];
      }
      std::vector<HaproxyTest> any;
      if (word == "{") {
        HaproxyWords test;
        for (++i; i < words.size() && words[i] != "}"; ++i) test.push_back(words[i]);
        if (!one(test, any.emplace_back())) return false;
      } else if (!named(word, any)) {
        return false;
      }
      if (!add(std::move(any), negated)) return false;
    }
    return true;
  }

  /// The opposite: `unless`.
  bool negate() {
    HaproxyWays out;
    const bool single =
        std::all_of(ways_.begin(), ways_.end(), [](const auto& way) { return way.size() == 1; });
    if (ways_.size() != 1 && !single) {
      if (has_count())
        return refuse("`unless` has several conditions: write when the rule refuses");
      HaproxyTest test;
      test.expression = test.definite = "!(" + joined(ways_, true) + ")";
      out.push_back({test});
    } else if (ways_.size() == 1) {
      for (const HaproxyTest& test : ways_[0]) out.push_back({opposite(test)});
    } else {
      out.emplace_back();
      for (const auto& way : ways_) out[0].push_back(opposite(way[0]));
    }
    ways_ = std::move(out);
    return true;
  }

  HaproxyWays take() { return std::move(ways_); }

 private:
  bool refuse(std::string why) {
    why_ = std::move(why);
    return false;
  }

  bool has_count() const {
    return std::any_of(ways_.begin(), ways_.end(), [](const auto& way) {
      return std::any_of(way.begin(), way.end(), [](const auto& test) { return test.count; });
    });
  }

  static HaproxyTest opposite(HaproxyTest test) {
    if (test.count) {
      static const std::map<std::string, std::string> kOpposites{
          {"gt", "le"}, {"le", "gt"}, {"ge", "lt"}, {"lt", "ge"}};
      const auto found = kOpposites.find(test.count->compare);
      test.count->compare = found == kOpposites.end() ? "ne" : found->second;
      return test;
    }
    test.expression = test.definite = "!(" + test.definite + ")";
    return test;
  }

  /// Another test of the alternative; alternatives of its own multiply it.
  bool add(std::vector<HaproxyTest> any, bool negated) {
    constexpr std::size_t kWaysMax = 32;
    if (negated) {
      for (HaproxyTest& test : any) {
        for (std::size_t w = begin_; w < ways_.size(); ++w) ways_[w].push_back(opposite(test));
      }
      return true;
    }
    const std::vector<std::vector<HaproxyTest>> before(
        ways_.begin() + static_cast<std::ptrdiff_t>(begin_), ways_.end());
    ways_.resize(begin_);
    for (const auto& way : before) {
      for (const HaproxyTest& test : any) {
        ways_.push_back(way);
        ways_.back().push_back(test);
      }
    }
    return ways_.size() <= kWaysMax || refuse("the condition is too long");
  }

  /// An ACL of the section, or one of HAProxy's own.
  bool named(const std::string& word, std::vector<HaproxyTest>& any) {
    const auto acl = section_.acls.find(word);
    if (acl != section_.acls.end()) {
      constexpr std::size_t kLinesMax = 256;
      if (acl->second.size() > kLinesMax) return refuse("the condition is too long");
      HaproxyTest plain;
      for (const HaproxyWords& line : acl->second) {
        HaproxyTest test;
        if (!one(line, test)) return false;
        if (test.count) {
          any.push_back(std::move(test));
          continue;
        }
        plain.expression += (plain.expression.empty() ? "" : " || ") + test.expression;
        plain.definite += (plain.definite.empty() ? "" : " || ") + test.definite;
      }
      if (plain.expression.empty()) return true;
      if (acl->second.size() > 1 + any.size()) {
        plain.expression = "(" + plain.expression + ")";
        plain.definite = "(" + plain.definite + ")";
      }
      any.push_back(std::move(plain));
      return true;
    }
    static const std::map<std::string, std::string> kBuiltIn{
        {"TRUE", "true"},
        {"FALSE", "false"},
        {"HTTP", "true"},
        {"WAIT_END", "true"},
        {"METH_GET", "method in [\"GET\", \"HEAD\"]"},
        {"METH_HEAD", "method == \"HEAD\""},
        {"METH_POST", "method == \"POST\""},
        {"METH_PUT", "method == \"PUT\""},
        {"METH_DELETE", "method == \"DELETE\""},
        {"METH_OPTIONS", "method == \"OPTIONS\""},
        {"METH_TRACE", "method == \"TRACE\""},
        {"METH_CONNECT", "method == \"CONNECT\""},
        {"LOCALHOST", "ip.cidr(\"127.0.0.0/8\", \"::1/128\")"}};
    const auto known = kBuiltIn.find(word);
    if (known == kBuiltIn.end()) return refuse("the condition " + word + " is not in this section");
    any.push_back({known->second, known->second, std::nullopt});
    return true;
  }

  /// `path_beg /a /b`, `sc_http_req_rate(0) gt 100`.
  bool one(const HaproxyWords& words, HaproxyTest& out) {
    if (words.empty()) return refuse("a condition in it is empty");
    for (const std::string& word : words) {
      if (word.find("${") != std::string::npos)
        return refuse("a variable of the environment: write its value");
    }
    HaproxyWords steps = haproxy_steps(words[0]);
    const auto [fetch, argument] = haproxy_call(steps[0]);
    const auto [last, table] = haproxy_call(steps.back());
    HaproxyCount count;
    if (const auto [counter, slot] = split_counter(fetch); !counter.empty()) {
      if (steps.size() > 1) return refuse("weir does not compute with counts: write a threshold");
      const std::size_t comma = argument.find(',');
      count.name = counter;
      if (slot.empty()) {
        count.slot = argument.substr(0, comma);
        count.table = comma == std::string::npos ? "" : argument.substr(comma + 1);
      } else {
        (slot == "src" ? count.fetch : count.slot) = slot;
        count.table = argument;
      }
      return counted(words, std::move(count), out);
    }
    if (steps.size() > 1 && last.starts_with("table_")) {
      count.name = last.substr(6);
      count.table = table;
      steps.pop_back();
      for (const std::string& step : steps) count.fetch += (count.fetch.empty() ? "" : ",") + step;
      return counted(words, std::move(count), out);
    }
    if (names_count(section_, words[0]))
      return refuse("weir does not compute with counts: write a threshold");
    return compared(words, out);
  }

  bool counted(const HaproxyWords& words, HaproxyCount count, HaproxyTest& out) {
    std::size_t i = 1;
    while (i + 1 < words.size() && words[i] == "-m" && words[i + 1] == "int") i += 2;
    static constexpr std::array<std::string_view, 5> kCompare = {"gt", "ge", "lt", "le", "eq"};
    count.compare = "eq";
    if (i < words.size() && is_one_of(words[i], kCompare)) count.compare = words[i++];
    const auto number = i < words.size() ? parse_integer(words[i]) : Parsed<std::int64_t>{};
    constexpr std::int64_t kCountMax = 4'294'967'295;  // of HAProxy's counters
    if (!number || *number.value < 0 || *number.value > kCountMax || i + 1 != words.size())
      return refuse("only `gt` and `ge` a number are thresholds");
    count.number = *number.value;
    out.count = std::move(count);
    return true;
  }

  bool compared(const HaproxyWords& words, HaproxyTest& out) {
    std::string sample = words[0];
    HaproxyMatch match;
    bool flags = true;
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (!flags || !words[i].starts_with('-') || words[i].size() < 2) {
        flags = false;
        match.patterns.push_back(words[i]);
      } else if (words[i] == "-i") {
        match.fold = true;
      } else if (words[i] == "-m" && i + 1 < words.size()) {
        match.method = words[++i];
      } else if (words[i] == "-f" || words[i] == "-M") {
        return refuse("patterns from a file: write a list, or a table");
      } else if (words[i] == "--") {
        flags = false;
      } else if (words[i] != "-n" && words[i] != "-u") {
        return refuse("weir does not know the flag " + words[i]);
      }
    }
    // `path_beg`, `hdr_dom(host)`: the suffix of the name says how to match.
    const std::size_t bracket = std::min(sample.find_first_of("(,"), sample.size());
    for (const std::string_view tail : {"_beg", "_end", "_sub", "_reg", "_dir", "_dom", "_len"}) {
      if (!std::string_view(sample).substr(0, bracket).ends_with(tail)) continue;
      sample.erase(bracket - tail.size(), tail.size());
      match.method = tail.substr(1);
      break;
    }
    if (sample == "always_true" || sample == "always_false" || sample == "wait_end") {
      out.expression = out.definite = sample == "always_false" ? "false" : "true";
      return true;
    }
    const auto field = haproxy_field(sample);
    if (!field) {
      if (!base(sample, match, out))
        return why_.empty() ? refuse("weir has no field " + sample) : false;
      return true;
    }
    fields_.push_back(field->name);
    out.expression = haproxy_comparison(*field, match, why_);
    out.definite = field->absent && match.method != "found"
                       ? "(has(" + field->name + ") && " + out.expression + ")"
                       : out.expression;
    return !out.expression.empty();
  }

  /// `base_beg example.com/api`: the host and the path, one after the other.
  bool base(const std::string& sample, const HaproxyMatch& match, HaproxyTest& out) {
    if (sample != "base") return false;
    const auto host = haproxy_field("hdr(host)"), path = haproxy_field("path");
    std::string any;
    for (const std::string& pattern : match.patterns) {
      const std::size_t slash = pattern.find('/');
      const bool whole = match.method.empty() || match.method == "str" || match.method == "beg";
      if (!whole || slash == std::string::npos || slash == 0)
        return refuse("for base, weir compares a host with a path after it");
      HaproxyMatch of_host{"str", match.fold, {pattern.substr(0, slash)}};
      HaproxyMatch of_path{match.method, match.fold, {pattern.substr(slash)}};
      const std::string first = haproxy_comparison(*host, of_host, why_);
      const std::string second = first.empty() ? "" : haproxy_comparison(*path, of_path, why_);
      if (second.empty()) return false;
      any += (any.empty() ? "(" : " || (") + first + " && " + second + ")";
    }
    fields_.insert(fields_.end(), {"host", "path"});
    if (any.empty()) return refuse("a condition in it has nothing to compare with");
    out.expression = out.definite = match.patterns.size() > 1 ? "(" + any + ")" : any;
    return true;
  }

  const HaproxySection& section_;
  std::vector<std::string>& fields_;
  std::string& why_;
  HaproxyWays ways_{{}};
  std::size_t begin_ = 0;  ///< of the alternatives after the last `or`
};

}  // namespace

HaproxyFile haproxy_file(std::string_view text) {
  HaproxyFile file;
  file.sections.emplace_back();
  std::string mode;  // of the defaults
  std::set<std::string> counts;
  for (const HaproxyLine& line : haproxy_lines(text)) {
    const HaproxyWords& words = line.words;
    if (begins_section(words[0])) {
      HaproxySection& section = file.sections.emplace_back();
      section.line = line.number;
      section.kind = words[0];
      section.name = words.size() > 1 ? words[1] : words[0];
      if (words[0] == "defaults") mode.clear();
      section.mode = mode;
      continue;
    }
    HaproxySection& section = file.sections.back();
    if (words[0] == "stick-table") {
      file.tables[section.name] = table_of(line);
    } else if (words[0] == "table" && words.size() > 2) {
      file.tables[section.name + "/" + words[1]] = table_of(line);
    } else if (words[0] == "acl" && words.size() > 2) {
      section.acls[words[1]].emplace_back(words.begin() + 2, words.end());
    } else if (words[0] == "mode" && words.size() > 1) {
      section.mode = words[1];
      if (section.kind == "defaults") mode = words[1];
    } else {
      HaproxyRule rule = rule_of(line);
      const auto [action, argument] = haproxy_call(rule.action);
      if (action.starts_with("set-var") && reads_count(section, rule.arguments))
        counts.insert(argument.substr(0, argument.find(',')));
      section.rules.push_back(std::move(rule));
    }
  }
  for (HaproxySection& section : file.sections) {
    section.counts = counts;
    for (const auto& [name, lines] : section.acls) {
      const bool counting = std::any_of(lines.begin(), lines.end(), [&](const HaproxyWords& line) {
        return names_count(section, line.front());
      });
      if (counting) section.counting_acls.insert(name);
    }
    std::stable_sort(section.rules.begin(), section.rules.end(),
                     [](const HaproxyRule& a, const HaproxyRule& b) { return a.stage < b.stage; });
  }
  return file;
}

bool reads_count(const HaproxySection& section, const HaproxyWords& words) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    const std::string name = word.starts_with('!') ? word.substr(1) : word;
    return section.acls.contains(name) ? section.counting_acls.contains(name)
                                       : names_count(section, word);
  });
}

std::optional<HaproxyWays> haproxy_condition(const HaproxySection& section, const HaproxyRule& rule,
                                             std::vector<std::string>& fields, std::string& why) {
  ConditionReader reader(section, fields, why);
  if (!reader.read(rule.condition) || (rule.unless && !reader.negate())) return std::nullopt;
  return reader.take();
}

std::string joined(const HaproxyWays& ways, bool definite) {
  std::string out;
  for (const auto& way : ways) {
    std::vector<std::string> tests;
    for (const HaproxyTest& test : way) tests.push_back(definite ? test.definite : test.expression);
    const std::string all = all_of(tests);
    if (all == "true") return "true";
    const bool several = ways.size() > 1 && way.size() > 1;
    out += (out.empty() ? "" : " || ") + (several ? "(" + all + ")" : all);
  }
  return ways.size() > 1 ? "(" + out + ")" : out;
}

std::string all_of(const std::vector<std::string>& conditions) {
  std::string out;
  for (const std::string& condition : conditions) {
    if (condition.empty() || condition == "true") continue;
    out += (out.empty() ? "" : " && ") + condition;
  }
  return out.empty() ? "true" : out;
}

}  // namespace weir::config
