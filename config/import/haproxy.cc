#include <algorithm>
#include <map>
#include <optional>

#include "config/import/haproxy_rule_order.h"
#include "config/import/yaml_writer.h"
#include "config/text/units.h"
#include "core/text.h"

/// stick-tables of HAProxy and the rules that read them, as policies. A policy is what a rule that
/// refuses reads: the tracked key, the counter of its table, the number, and the conditions. A rule
/// that becomes no policy becomes a note.
namespace weir::config {
namespace {

using Stage = HaproxyStage;

/// `10s`, `1m`, `500ms`; without unit: milliseconds.
std::optional<milliseconds> period_of(const std::string& text) {
  const bool bare = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  const auto length = parse_duration(bare ? text + "ms" : text);
  if (!length || length.value->count() < 1 || *length.value > std::chrono::hours{24 * 31})
    return std::nullopt;
  return length.value;
}

class HaproxyReader {
 public:
  HaproxyReader(std::string_view text, const RefusedRules& refused)
      : file_(haproxy_file(text)), refused_(refused), course_(file_, notes_) {}

  Imported read() {
    for (const HaproxySection& section : file_.sections) {
      for (std::size_t i = 0; i < section.rules.size(); ++i) rule(section, i);
    }
    out_.left_out = notes_.all();
    if (!file_.tables.empty() || !out_.left_out.empty())
      for (ImportNote& note : plain_) out_.left_out.push_back(std::move(note));
    if (policies_.empty() && out_.left_out.empty()) {
      out_.error = file_.tables.empty() ? "there is no stick-table in it"
                                        : "no rule in it limits by a stick-table";
      return std::move(out_);
    }
    std::stable_sort(out_.left_out.begin(), out_.left_out.end(),
                     [](const ImportNote& a, const ImportNote& b) { return a.line < b.line; });
    out_.none = policies_.empty();
    out_.yaml = written_file("HAProxy's stick-tables", out_.left_out, sections());
    return std::move(out_);
  }

 private:
  std::string sections() const {
    std::string out;
    if (!fields_.empty()) {
      out += "fields:\n";
      for (const auto& [name, expression] : fields_)
        out += "  " + name + ": " + yaml_text(expression) + "\n";
      out += "\n";
    }
    if (errors_ || failures_) {
      out += "events:\n";
      if (errors_) out += "  http_error: {is: request, when: \"status >= 400 && status < 500\"}\n";
      if (failures_) {
        out +=
            "  http_failure: {is: request, when: \"status >= 500 && status != 501 && "
            "status != 505\"}\n";
      }
      out += "\n";
    }
    return out + (policies_.empty() ? "policies: []\n" : "policies:\n" + policies_);
  }

  /// Rules that refuse, and others that read counts.
  void rule(const HaproxySection& section, std::size_t order) {
    const HaproxyRule& rule = section.rules[order];
    const std::string& first = rule.words[0];
    if (limits_without_table(section, rule)) return;
    if (section.kind == "global" || section.kind.empty()) return;
    const bool counts = reads_count(section, rule.words);
    const bool tracks = std::any_of(rule.words.begin(), rule.words.end(),
                                    [](const auto& word) { return word.starts_with("track-sc"); });
    if (!judges_requests(section)) {
      if (!counts && !tracks) return;
      return notes_.add(rule, section.kind == "defaults"
                                  ? "rules of defaults: write them into the sections that have them"
                                  : "it limits connections that are not HTTP requests (mode tcp)");
    }
    client(rule);
    const std::string action = haproxy_call(rule.action).first;
    if (rule.stage == Stage::other) {
      if (first.ends_with("-response") && (counts || tracks))
        return notes_.add(rule, "weir counts requests, and not by rules of the answer");
      if (counts && first != "server" && first != "log-format")
        notes_.add(rule, "weir has nothing that does this by a count");
      return;
    }
    if (tracks || !course_.reached(section, order)) return;
    if (action.starts_with("sc-"))
      return notes_.add(rule, "counters that rules add to: write a policy over the event");
    if (haproxy_refuses(action)) return refusal(section, order);
    if (!counts || action == "allow" || action == "accept") return;
    if (action == "set-var" || action == "set-var-fmt")
      return notes_.add(rule, "a variable made of a count: write a threshold");
    notes_.add(rule, action == "use_backend" || action == "redirect"
                         ? "weir refuses, holds or flags requests over a threshold: write a policy"
                         : "weir has nothing that does this by a count: see `do: flag`");
  }

  /// Limits that need no table. True: the line is done.
  bool limits_without_table(const HaproxySection& section, const HaproxyRule& rule) {
    const std::string& first = rule.words[0];
    if (first == ".if" || first == ".elif" || first == ".else") {
      notes_.add(rule, "weir reads both ways of the file");
      return true;
    }
    const bool server = first == "server" || first == "default-server" || first == "bind";
    const bool limit =
        std::find(rule.words.begin() + 1, rule.words.end(), "maxconn") != rule.words.end();
    if (first == "maxconn" || first == "rate-limit" || (first == "bind" && limit)) {
      notes_.add(rule, "a limit of all connections: see limits.connections");
      return true;
    }
    if (server && limit)
      notes_.add(rule, "weir lets no requests wait for a server: see `metric: in_flight`");
    if ((first == "filter" && rule.words.size() > 1 && rule.words[1].starts_with("bwlim")) ||
        rule.action == "set-bandwidth-limit") {
      notes_.add(rule, "weir does not limit bytes");
      return true;
    }
    return section.kind == "peers";
  }

  /// Settings that define the client's address if the connection does not.
  void client(const HaproxyRule& rule) {
    const bool proxy_protocol =
        (rule.words[0] == "bind" &&
         std::find(rule.words.begin(), rule.words.end(), "accept-proxy") != rule.words.end()) ||
        rule.action == "expect-proxy" || rule.action == "expect-netscaler-cip";
    if (proxy_protocol)
      return notes_.add(
          rule,
          "weir does not read the PROXY protocol: let the hop before it send a header, and "
          "write proxy.client_ip: {trust: [the hop], header: x-forwarded-for}");
    if (rule.action != "set-src" || rule.arguments.empty()) return;
    const auto field = haproxy_field(rule.arguments[0]);
    std::string header;
    if (field && !field->address_from.empty()) header = field->address_from;
    if (field && field->name.starts_with("header.")) header = field->name.substr(7);
    std::replace(header.begin(), header.end(), '_', '-');
    notes_.add(rule, header.empty()
                         ? "weir takes the client's address from a header: see proxy.client_ip"
                         : client_ip(header));
  }

  static std::string client_ip(const std::string& header) {
    return "for the client's address write proxy.client_ip: {trust: [the hop before weir], "
           "header: " +
           header + "}";
  }

  static int status_of(const HaproxyRule& rule) {
    int status = rule.action == "tarpit" ? 500 : rule.action == "return" ? 200 : 403;
    for (std::size_t i = 0; i + 1 < rule.arguments.size(); ++i) {
      if (rule.arguments[i] != "deny_status" && rule.arguments[i] != "status") continue;
      const auto number = parse_integer(rule.arguments[i + 1]);
      if (number && *number.value >= 100 && *number.value <= 599)
        status = static_cast<int>(*number.value);
    }
    return status;
  }

  void refusal(const HaproxySection& section, std::size_t order) {
    const HaproxyRule& rule = section.rules[order];
    const bool counts = reads_count(section, rule.condition);
    if (!counts) {
      if (rule.action != "return")
        plain_.push_back({rule.line, haproxy_text(rule.words),
                          "it refuses without a count: keep it, or write a deny list"});
      return;
    }
    if (const auto refused = refused_.find({rule.line}); refused != refused_.end())
      return notes_.add(rule, refused->second);
    if (status_of(rule) < 400)
      return notes_.add(rule, "weir refuses with a status of 400 and more: write a policy");
    std::string why;
    const auto ways = course_.condition(section, order, why);
    if (!ways) return notes_.add(rule, why);
    bool any = false;
    for (const std::vector<HaproxyTest>& way : *ways) {
      const auto counted =
          std::count_if(way.begin(), way.end(), [](const HaproxyTest& t) { return !!t.count; });
      if (counted == 0) {
        notes_.add(
            rule, "a part of its condition refuses without a count: keep it, or write a deny list");
      } else if (counted > 1) {
        notes_.add(rule, "it compares two counters: write a policy with `metrics` and `if`");
      } else {
        any = write(section, order, way) || any;
      }
    }
    if (!any) return;
    if (rule.action == "tarpit" || rule.action == "silent-drop")
      notes_.add(rule, "refused at once here: weir does not keep refused callers waiting");
    if (rule.stage == Stage::connection || rule.stage == Stage::session)
      notes_.add(
          rule,
          "HAProxy checks it once a connection, weir at each request, and weir sends an answer");
  }

  /// The rules that track the count that is read.
  std::vector<const HaproxyTracking*> counting(const HaproxySection& section, std::size_t order,
                                               const HaproxyCount& count,
                                               std::string& table) const {
    std::vector<const HaproxyTracking*> out;
    const auto is_here = [&](const HaproxyTracking& t) { return t.section == &section; };
    std::string fetch = count.fetch;
    if (fetch.empty()) {
      const bool own =
          std::any_of(course_.trackings().begin(), course_.trackings().end(),
                      [&](const HaproxyTracking& t) { return is_here(t) && t.slot == count.slot; });
      for (const HaproxyTracking& t : course_.trackings()) {
        const bool before = own ? is_here(t) && t.order < order
                                : section.kind == "backend" && t.section->takes_requests();
        if (t.slot == count.slot && before) out.push_back(&t);
      }
      if (out.empty() || count.table.empty() || count.table == out.front()->table) {
        table = out.empty() ? "" : out.front()->table;
        return out;
      }
      // The slot's key, in another table.
      fetch = out.front()->fetch;
      out.clear();
    }
    table = count.table.empty() ? section.name : count.table;
    for (const HaproxyTracking& t : course_.trackings()) {
      if (t.fetch == fetch && t.table == table) out.push_back(&t);
    }
    return out;
  }

  bool write(const HaproxySection& section, std::size_t order,
             const std::vector<HaproxyTest>& way) {
    const HaproxyRule& rule = section.rules[order];
    const HaproxyCount& count = *std::find_if(way.begin(), way.end(), [](const HaproxyTest& t) {
                                   return !!t.count;
                                 })->count;
    const auto refused = [&](std::string why) {
      notes_.add(rule, std::move(why));
      return false;
    };
    if (count.compare != "gt" && count.compare != "ge")
      return refused("only `gt` and `ge` a number are thresholds");
    std::string table;
    const auto trackings = counting(section, order, count, table);
    if (trackings.empty()) {
      return refused(count.fetch.empty()
                         ? "nothing tracks sc" + count.slot + " before it"
                         : "nothing in this file counts " + count.fetch + " in " + table);
    }
    const auto found = file_.tables.find(table);
    if (found == file_.tables.end()) return refused("its table " + table + " is not in this file");
    bool any = false;
    for (const HaproxyTracking* tracking : trackings) {
      if (tracking->why.empty()) {
        any = write(section, order, way, count, *tracking, found->second) || any;
      } else {
        notes_.add(*tracking->rule, tracking->why);
        notes_.add(rule,
                   "what it reads is not carried over: see " + line_text(tracking->rule->line));
      }
    }
    return any;
  }

  bool write(const HaproxySection& section, std::size_t order, const std::vector<HaproxyTest>& way,
             const HaproxyCount& count, const HaproxyTracking& tracking,
             const HaproxyTable& table) {
    const HaproxyRule& rule = section.rules[order];
    ImportedPolicy policy;
    policy.comment = line_text(rule.line);
    std::int64_t number = count.number;
    if (!measure(section, order, count, tracking, table, policy, number)) return false;
    for (const HaproxyField& field : tracking.key) policy.key.push_back(key_part(field));
    const std::string which = course_.requests_of(*tracking.section);
    policy.when = all_of({which, tracking.when});
    std::vector<std::string> asked;
    if (&section != tracking.section) asked.push_back(course_.requests_of(section));
    for (const HaproxyTest& test : way) asked.push_back(test.expression);
    for (const std::string& one : course_.leaves(section, order)) {
      if (&section != tracking.section || !tracking.leaves.contains(one)) asked.push_back(one);
    }
    const std::string condition = all_of(asked);
    if (const std::string& why = course_.too_long(section); !why.empty()) {
      notes_.add(rule, why);
      return false;
    }
    constexpr std::size_t kLongest = 4096;  // of an expression
    if (policy.when.size() > kLongest || condition.size() > kLongest) {
      notes_.add(rule, "its conditions are too long for one expression");
      return false;
    }
    if (policy.when == "true") policy.when.clear();
    policy.name = names_.make(section.name + "-" + count.name);
    policy.rungs.push_back("{" + std::string(count.compare == "gt" ? "over: " : "at: ") +
                           std::to_string(number) +
                           (condition == "true" ? "" : ", if: " + yaml_text(condition)) +
                           ", do: deny, status: " + std::to_string(status_of(rule)) + "}");
    policies_ += written(policy);
    tell(tracking, table, policy.always);
    return true;
  }

  std::string key_part(const HaproxyField& field) {
    if (field.kind == HaproxyField::Kind::address)
      return "ip/" + std::to_string(field.v4_bits) + "," + std::to_string(field.v6_bits);
    if (field.name == "host" && !field.absent) {
      fields_["host_if_any"] = "has(host) ? host : \"\"";
      return "host_if_any";
    }
    if (field.function.empty()) return field.name;
    std::string name = field.name + "_" + field.function;
    std::replace(name.begin(), name.end(), '.', '_');
    fields_[name] = field.expression();
    return name;
  }

  /// Notes how a key and its table differ between HAProxy and weir.
  void tell(const HaproxyTracking& tracking, const HaproxyTable& table, bool counts_refused) {
    for (const HaproxyField& field : tracking.key) {
      if (!field.address_from.empty()) notes_.add(*tracking.rule, client_ip(field.address_from));
      if (field.kind == HaproxyField::Kind::header)
        notes_.add(*tracking.rule,
                   "in a list (`a, b`) HAProxy counts the last part, weir the whole line");
      if (field.kind == HaproxyField::Kind::address && field.v6_bits == 128 && field.v4_bits < 32)
        notes_.add(*tracking.rule,
                   "without a second mask HAProxy counts no IPv6 address, and weir counts all");
    }
    if (counts_refused && tracking.behind != 0)
      notes_.add(*tracking.rule,
                 "what " + line_text(tracking.behind) +
                     " refuses before this rule is not counted by HAProxy, but is counted by weir");
    if (table.type == "string" && !tracking.key.empty())
      notes_.add(table.line, table.words,
                 "HAProxy counts keys by their first " + table.length +
                     " bytes, weir counts them by all bytes");
    if (table.peers) notes_.add(table.line, table.words, "peers: see `share: redis`");
  }

  /// The counter's measure and its time. HAProxy counts refused requests too, unless they are
  /// refused before it counts them.
  bool measure(const HaproxySection& section, std::size_t order, const HaproxyCount& count,
               const HaproxyTracking& tracking, const HaproxyTable& table, ImportedPolicy& policy,
               std::int64_t& number) {
    const HaproxyRule& rule = section.rules[order];
    policy.watch = "request";
    const auto refused = [&](std::string why) {
      notes_.add(rule, std::move(why));
      return false;
    };
    const Stage counted = tracking.rule->stage;
    const bool at_connection = counted == Stage::connection || counted == Stage::session;
    const bool here = tracking.section == &section;
    bool before = here ? tracking.order < order : tracking.section->takes_requests();
    if (count.name == "conn_cur" || count.name == "trackers") {
      policy.metric = "in_flight";
      if (at_connection)
        notes_.add(rule, "weir does not count connections, but the requests in flight");
      if (!before) ++number;
      return true;
    }
    if (count.name == "http_err_rate" || count.name == "http_fail_rate") {
      // The answer of the request that is judged does not count yet; a refusal is an error.
      const bool errors = count.name == "http_err_rate";
      policy.watch = errors ? "http_error" : "http_failure";
      policy.always = errors;
      ++number;
    } else if (count.name == "conn_rate" || count.name == "sess_rate") {
      notes_.add(rule, "weir does not count connections, but their requests");
      policy.always = before;
    } else if (count.name == "http_req_rate") {
      // Requests count where http-request rules track them, else as those rules begin.
      before = before && rule.stage >= Stage::request;
      policy.always = before;
    } else {
      return refused(count.name.ends_with("_cnt")
                         ? "a count without a window never falls: choose a window"
                         : "weir has no " + count.name + ": write a policy over the event");
    }
    if (!before && policy.watch == "request") ++number;
    const auto period = table.stores.find(count.name);
    if (period == table.stores.end()) return refused("its table does not store " + count.name);
    const auto length = period_of(period->second);
    if (!length) return refused("weir cannot read its period");
    policy.window = human_duration(*length);
    errors_ = errors_ || policy.watch == "http_error";
    failures_ = failures_ || policy.watch == "http_failure";
    const auto expire = period_of(table.expire);
    if (expire && *expire < *length)
      notes_.add(table.line, table.words,
                 "HAProxy forgets a key after " + human_duration(*expire) +
                     " without requests, before its period ends: weir counts the whole period");
    return true;
  }

  HaproxyFile file_;
  const RefusedRules& refused_;
  HaproxyNotes notes_;
  HaproxyRuleOrder course_;
  Imported out_;
  std::vector<ImportNote> plain_;  ///< refusals without counts
  ImportNames names_{true};
  std::map<std::string, std::string> fields_;  ///< that keys need: expression
  std::string policies_;
  bool errors_ = false, failures_ = false;
};

}  // namespace

Imported import_haproxy(std::string_view text, const RefusedRules& refused) {
  return HaproxyReader(text, refused).read();
}

}  // namespace weir::config
