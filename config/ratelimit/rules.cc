#include "config/ratelimit/rules.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "config/cases.h"
#include "config/sections/descriptors.h"
#include "config/text/units.h"
#include "config/text/yaml_text.h"
#include "core/chars/ascii.h"
#include "core/chars/parse.h"

namespace weir::config {
namespace {

using Entry = DescriptorDef::Entry;

constexpr std::size_t kRulesMax = 50'000;

const Node* find_member(const Node& map, std::string_view key) {
  for (const Member& m : map.items) {
    if (m.key->text == key) return m.value;
  }
  return nullptr;
}

/// A whole number as envoyproxy/ratelimit's YAML reader takes it: `0x1F`, `0o17` and `017`, `0b11`,
/// `1_000`; and `1e+3` and `09`, which it refuses. None: it is no number from 0 to 4294967295.
std::optional<std::uint32_t> peer_number(std::string_view spelled) {
  std::string text;
  std::copy_if(spelled.begin(), spelled.end(), std::back_inserter(text),
               [](char c) { return c != '_'; });
  if (text.starts_with('+')) text.erase(0, 1);
  const bool prefixed = text.size() > 1 && text[0] == '0';
  const char letter = prefixed ? static_cast<char>(text[1] | 0x20) : '\0';
  const int base = letter == 'x' ? 16 : letter == 'b' ? 2 : prefixed ? 8 : 10;
  const std::size_t begin = letter == 'x' || letter == 'b' || letter == 'o' ? 2 : 0;
  const std::string_view digits = std::string_view(text).substr(begin);
  if (const auto whole = parse_whole<std::uint32_t>(digits, base)) return whole;
  const auto real = parse_whole<double>(text);  // also `09`, which is no octal number
  const bool fits = real && *real >= 0 && *real <= std::numeric_limits<std::uint32_t>::max() &&
                    std::trunc(*real) == *real;
  return fits ? std::optional(static_cast<std::uint32_t>(*real)) : std::nullopt;
}

/// Reads the tree of one file.
class RuleReader {
 public:
  RuleReader(Problems& problems, std::vector<RateLimitRule>& out)
      : problems_(problems), out_(out) {}

  void file(const Node& root, std::uint32_t index) {
    if (!root.is_map()) return error(root, "a file of rate limits is a map with \"domain\"");
    known(root, {"domain", "descriptors"}, "a file of rate limits");
    const Node* domain = find_member(root, "domain");
    if (domain == nullptr || !domain->is_scalar() || domain->text.empty()) {
      const Where top{index, 1, 1, 1};
      return problems_.error(domain != nullptr ? domain->where : top, "\"domain\" is empty");
    }
    RateLimitRule base;
    base.call.domain = {std::string(domain->text), domain->where};
    base.call.ordered = true;
    base.call.rule =
        DescriptorDef::Rule{};  // (not emplace: clang 16 does not see that it can be made)
    base.call.rule->path = base.call.domain.value;
    base.where = domain->where;
    const Node* descriptors = find_member(root, "descriptors");
    if (descriptors != nullptr) list(*descriptors, base);
    if (out_.empty() || out_.back().call.domain.value != base.call.domain.value) {
      base.call.whole_domain = true;  // the domain is known, and limits nothing
      out_.push_back(std::move(base));
    }
  }

 private:
  void error(const Node& node, std::string message, std::string hint = {}) {
    problems_.error(node.where, std::move(message), std::move(hint));
  }

  /// Keys of other places in such files are ignored, as envoyproxy does; others are unknown.
  void known(const Node& map, std::initializer_list<std::string_view> keys, std::string_view what) {
    static constexpr std::array<std::string_view, 16> kAll = {"domain",
                                                              "key",
                                                              "value",
                                                              "descriptors",
                                                              "rate_limit",
                                                              "unit",
                                                              "name",
                                                              "requests_per_unit",
                                                              "unlimited",
                                                              "shadow_mode",
                                                              "quota_mode",
                                                              "replaces",
                                                              "detailed_metric",
                                                              "value_to_metric",
                                                              "share_threshold",
                                                              "metadata"};
    for (const Member& m : map.items) {
      if (std::find(keys.begin(), keys.end(), m.key->text) != keys.end()) continue;
      if (std::find(kAll.begin(), kAll.end(), m.key->text) != kAll.end()) {
        problems_.warning(m.key->where,
                          quoted(m.key->text) + " means nothing in " + std::string(what));
        continue;
      }
      const std::vector<std::string_view> allowed(keys);
      error(*m.key, "unknown key " + quoted(m.key->text) + " in " + std::string(what),
            suggest(m.key->text, allowed));
    }
  }

  std::string text(const Node& map, std::string_view key) {
    const Node* node = find_member(map, key);
    if (node == nullptr || node->is_null()) return {};
    if (node->is_scalar()) return std::string(node->text);
    error(*node, quoted(key) + " is a text");
    return {};
  }

  bool flag(const Node& map, std::string_view key) {
    const Node* node = find_member(map, key);
    if (node == nullptr || node->is_null()) return false;
    const std::string word = ascii::lowered(node->is_scalar() ? node->text : "");
    if (word == "true" || word == "yes" || word == "on" || word == "y") return true;
    if (word == "false" || word == "no" || word == "off" || word == "n") return false;
    error(*node, quoted(key) + " is true or false");
    return false;
  }

  void list(const Node& node, const RateLimitRule& parent) {
    if (node.is_null()) return;
    if (!node.is_list()) return error(node, "\"descriptors\" is a list of maps");
    for (const Member& item : node.items) {
      if (item.value->is_map()) {
        descriptor(*item.value, parent);
      } else {
        error(*item.value, "\"descriptors\" is a list of maps, and this is none");
      }
    }
  }

  void descriptor(const Node& node, const RateLimitRule& parent) {
    known(node,
          {"key", "value", "descriptors", "rate_limit", "shadow_mode", "quota_mode",
           "detailed_metric", "value_to_metric", "share_threshold", "metadata"},
          "a descriptor");
    const Node* key = find_member(node, "key");
    if (key == nullptr || !key->is_scalar() || key->text.empty())
      return error(key != nullptr ? *key : node, "a descriptor needs \"key\"");
    if (key->text.find('*') != std::string::npos) {
      problems_.warning(key->where, "the * of the key " + quoted(key->text) + " is not a pattern",
                        "envoyproxy/ratelimit compares it with `key_value`: write a descriptor for "
                        "each key");
    }
    if (parent.call.entries.size() >= kDescriptorEntriesMax)
      return error(*key, "descriptors lie at most 32 deep");
    if (out_.size() >= kRulesMax) {
      if (!full_) error(*key, "more than 50,000 descriptors");
      full_ = true;
      return;
    }
    RateLimitRule rule = parent;
    rule.where = key->where;
    rule.replaces.clear();
    DescriptorDef::Rule& what = *rule.call.rule;
    const std::string path = what.path;
    DescriptorDef::Rule above = std::move(what);
    what = {};
    what.path = path;
    what.keys = std::move(above.keys);
    what.shared = std::move(above.shared);
    what.valued = std::move(above.valued);

    Entry entry;
    entry.key = {std::string(key->text), key->where};
    const Node* value = find_member(node, "value");
    entry.value = {text(node, "value"), value != nullptr ? value->where : key->where};
    entry.kind = entry.value.value.empty()                          ? Entry::Kind::any
                 : entry.value.value.find('*') != std::string::npos ? Entry::Kind::pattern
                                                                    : Entry::Kind::value;
    const bool share = flag(node, "share_threshold");
    // envoyproxy/ratelimit takes it with a * in the key, too, which is a pattern there.
    const bool has_star = key->text.find('*') != std::string::npos;
    if (share && entry.kind != Entry::Kind::pattern && !has_star) {
      error(*find_member(node, "share_threshold"),
            "\"share_threshold\" is for values with a * alone");
    }
    const std::string& of_value = entry.value.value;
    what.keys.push_back(entry.key.value + (of_value.empty() ? "" : "_" + of_value));
    what.path += "." + what.keys.back();
    what.shared.push_back(share && entry.kind == Entry::Kind::pattern);
    rule.call.entries.push_back(std::move(entry));
    rule.shadow = flag(node, "shadow_mode");
    rule.call.quota = flag(node, "quota_mode");
    what.detailed_metric = flag(node, "detailed_metric");
    what.valued.push_back(flag(node, "value_to_metric"));
    if (const Node* metadata = find_member(node, "metadata");
        metadata != nullptr && !metadata->is_null()) {
      metadata->is_map() ? void(what.metadata = json_of(*metadata))
                         : error(*metadata, "\"metadata\" is a map");
    }
    const Node* limit = find_member(node, "rate_limit");
    if (limit != nullptr && !limit->is_null()) rate_limit(*limit, rule);
    const RateLimitRule as_parent = rule;
    out_.push_back(std::move(rule));
    const Node* below = find_member(node, "descriptors");
    if (below != nullptr) list(*below, as_parent);
  }

  void rate_limit(const Node& node, RateLimitRule& rule) {
    if (!node.is_map()) return error(node, "\"rate_limit\" is a map");
    known(node, {"unit", "requests_per_unit", "unlimited", "name", "replaces"}, "\"rate_limit\"");
    DescriptorDef::Rule& what = *rule.call.rule;
    what.has_limit = true;
    what.unlimited = flag(node, "unlimited");
    what.name = text(node, "name");
    read_unit(node, what);
    if (const Node* number = find_member(node, "requests_per_unit");
        number != nullptr && !number->is_null()) {
      if (const auto read = number->is_scalar() ? peer_number(number->text) : std::nullopt) {
        what.requests = *read;
      } else {
        error(*number, "\"requests_per_unit\" is 0 to 4294967295");
      }
    }
    const Node* replaces = find_member(node, "replaces");
    if (replaces == nullptr || replaces->is_null()) return;
    if (!replaces->is_list())
      return error(*replaces, "\"replaces\" is a list of maps with \"name\"");
    for (const Member& item : replaces->items) {
      const Node* name = item.value->is_map() ? find_member(*item.value, "name") : nullptr;
      if (name == nullptr || !name->is_scalar() || name->text.empty()) {
        error(*item.value, "each of \"replaces\" is a map with a \"name\"");
      } else if (name->text == what.name) {
        error(*name, "a rate limit does not replace itself");
      } else {
        rule.replaces.push_back({std::string(name->text), name->where});
      }
    }
  }

  void read_unit(const Node& node, DescriptorDef::Rule& what) {
    static constexpr std::array<std::pair<std::string_view, RateUnit>, 7> kUnits{
        {{"second", RateUnit::second},
         {"minute", RateUnit::minute},
         {"hour", RateUnit::hour},
         {"day", RateUnit::day},
         {"week", RateUnit::week},
         {"month", RateUnit::month},
         {"year", RateUnit::year}}};
    const Node* unit = find_member(node, "unit");
    const std::string word = ascii::lowered(text(node, "unit"));
    const auto found = std::find_if(kUnits.begin(), kUnits.end(),
                                    [&](const auto& one) { return one.first == word; });
    if (found != kUnits.end()) what.unit = found->second;
    if (what.unlimited && found != kUnits.end()) {
      error(*unit, "a rate limit that is unlimited has no unit");
    } else if (!what.unlimited && found == kUnits.end()) {
      error(unit != nullptr ? *unit : node,
            word.empty() ? "a rate limit needs \"unit\"" : quoted(word) + " is not a unit",
            "write second, minute, hour, day, week, month or year");
    }
  }

  Problems& problems_;
  std::vector<RateLimitRule>& out_;
  bool full_ = false;
};

/// The key of a rule's counts in Redis, where they are envoyproxy/ratelimit's.
std::optional<PeerKey> peer_key_of(const DescriptorDef& call, const Server::RateLimit& settings) {
  if (!settings.peer_keys) return std::nullopt;
  PeerKey out;
  out.prefix = settings.peer_prefix;
  out.domain = call.domain.value;
  out.unit = unit_length(call.rule->unit);
  for (std::size_t i = 0; i < call.entries.size(); ++i) {
    const Entry& entry = call.entries[i];
    const bool fixed = entry.kind == Entry::Kind::value || call.rule->shared[i];
    out.entries.push_back({entry.key.value, fixed ? entry.value.value : std::string(), fixed});
  }
  return out;
}

/// A name that policies can have; the first of equal ones as it is, the others numbered.
class PolicyNames {
 public:
  explicit PolicyNames(const Model& model) {
    for (const PolicyDef& policy : model.policies) taken_[policy.name.value] = 1;
  }
  std::string make(std::string_view path) {
    constexpr std::size_t kLongest = 56;
    std::string name;
    for (const char c : path.substr(0, kLongest)) {
      const bool plain = ascii::is_letter_or_digit(c) || c == '_' || c == '-';
      name += plain ? c : '-';
    }
    if (name.empty() || name.front() == '-' || ascii::is_digit(name.front()))
      name.insert(0, 1, 'r');
    std::string out = name;
    for (std::size_t n = 2; !taken_.emplace(out, 1).second; n = ++taken_[name])
      out = name + "-" + std::to_string(n);
    return out;
  }

 private:
  std::unordered_map<std::string, std::size_t> taken_;
};

}  // namespace

TreeLimits rate_limit_file_limits() {
  TreeLimits limits;
  limits.depth = 2 * kDescriptorEntriesMax + 16;  // a descriptor is a map in a list
  limits.loose_words = true;
  limits.merge_keys = true;
  return limits;
}

void read_rate_limit_rules(const Tree& tree, std::uint32_t file, Problems& problems,
                           std::vector<RateLimitRule>& out) {
  if (tree.broken()) return;
  if (tree.root() == nullptr || tree.root()->is_null()) {
    problems.error({file, 1, 1, 1}, "\"domain\" is missing: the file is empty");
    return;
  }
  std::vector<RateLimitRule> rules;
  RuleReader(problems, rules).file(*tree.root(), file);
  std::move(rules.begin(), rules.end(), std::back_inserter(out));
}

void check_rate_limit_rules(const std::vector<RateLimitRule>& rules, bool merge_domains,
                            Problems& problems) {
  std::unordered_map<std::string_view, std::uint32_t> domains;
  std::unordered_map<std::string, Where> seen;
  for (const RateLimitRule& rule : rules) {
    const std::uint32_t file = rule.call.domain.where.file;
    const auto [domain, fresh] = domains.emplace(rule.call.domain.value, file);
    if (!fresh && domain->second != file) {
      if (!merge_domains) {
        problems.error(rule.call.domain.where,
                       "domain " + quoted(rule.call.domain.value) + " is in two files",
                       "write merge_domains: true under \"ratelimit\", or put them together");
        domain->second = file;  // once for a file
      }
    }
    const auto [first, alone] = seen.emplace(described_name(rule.call), rule.where);
    if (!alone && !rule.call.whole_domain) {
      problems.error(rule.where, "this descriptor is given twice",
                     "the first one is in line " + std::to_string(first->second.line));
    }
  }
}

void add_rate_limit_rules(const std::vector<RateLimitRule>& rules, Model& model) {
  PolicyNames names(model);
  // The rules of each name, by domain.
  std::unordered_map<std::string, std::vector<Text>> called;
  const auto in_domain = [](const RateLimitRule& rule, std::string_view name) {
    return std::to_string(rule.call.domain.value.size()) + ":" + rule.call.domain.value +
           std::string(name);
  };
  for (const RateLimitRule& rule : rules) {
    if (rule.call.rule->name.empty()) continue;
    called[in_domain(rule, rule.call.rule->name)].push_back(
        {described_name(rule.call), rule.where});
  }
  std::unordered_set<std::string> made;
  for (const RateLimitRule& rule : rules) {
    if (!made.insert(described_name(rule.call)).second)
      continue;  // reported already, if it is wrong
    EventDef event;
    event.name = {described_name(rule.call), rule.where};
    event.spelling = event.name.value;
    event.descriptor = rule.call;
    for (const Text& name : rule.replaces) {
      const auto found = called.find(in_domain(rule, name.value));
      if (found == called.end()) continue;  // a name that no rule has replaces nothing, as there
      for (const Text& replaced : found->second) event.descriptor->replaces.push_back(replaced);
    }
    const DescriptorDef::Rule& what = *rule.call.rule;
    const bool limits = what.has_limit && !what.unlimited && !rule.call.whole_domain;
    if (limits) {
      PolicyDef policy;
      policy.name = {names.make(what.path), rule.where};
      policy.watch.push_back(event.name);
      for (unsigned i = 0; i < rule.call.entries.size(); ++i) {
        const Entry& entry = rule.call.entries[i];
        if (entry.kind == Entry::Kind::value || what.shared[i]) continue;
        KeyPart part;
        part.field = {entry.key.value, entry.key.where};
        part.entry = i;
        policy.key.push_back(std::move(part));
      }
      policy.metric.kind = Metric::sum;
      policy.metric.arguments = {{"hits_addend", rule.where}};
      policy.metric.where = rule.where;
      policy.window.emplace();
      policy.window->kind = WindowDef::Kind::every;
      policy.window->length = unit_length(what.unit);
      policy.window->where = rule.where;
      policy.charge.value = Charge::always;
      policy.mode.value = rule.shadow           ? Mode::shadow
                          : model.defaults.mode ? model.defaults.mode->value
                                                : Mode::enforce;
      policy.share =
          model.server.ratelimit.share ? model.server.ratelimit.share : model.defaults.share;
      policy.peer_key = peer_key_of(rule.call, model.server.ratelimit);
      policy.on_error = model.defaults.on_error;
      Rung rung;
      rung.where = rule.where;
      rung.compare = Compare::over;
      rung.limit = Located<Number>{Number{std::int64_t{what.requests}}, rule.where};
      rung.action = {Action::deny, rule.where};
      rung.tell = Located<Tell>{Tell::nothing, rule.where};  // the caller chooses its own words
      rung.status = Located<int>{429, rule.where};
      policy.then.push_back(std::move(rung));
      model.policies.push_back(std::move(policy));
    }
    model.events.push_back(std::move(event));
  }
}

void add_limit_overrides(Model& model) {
  const auto call = std::find_if(model.events.begin(), model.events.end(),
                                 [](const EventDef& e) { return e.descriptor.has_value(); });
  if (call == model.events.end()) return;
  const Where where = call->name.where;
  constexpr std::pair<const char*, RateUnit> kUnits[] = {
      {"second", RateUnit::second}, {"minute", RateUnit::minute}, {"hour", RateUnit::hour},
      {"day", RateUnit::day},       {"month", RateUnit::month},   {"year", RateUnit::year},
      {"week", RateUnit::week}};
  PolicyNames names(model);
  for (const auto& [word, unit] : kUnits) {
    RateLimitRule rule;
    rule.where = where;
    EventDef event;
    event.name = {"limit override per " + std::string(word), where};
    event.spelling = event.name.value;
    event.descriptor.emplace();
    event.descriptor->brings = unit;
    event.descriptor->rule = DescriptorDef::Rule{};
    event.descriptor->rule->has_limit = true;
    event.descriptor->rule->unit = unit;
    PolicyDef policy;
    policy.name = {names.make("limit-override-" + std::string(word)), where};
    policy.watch.push_back(event.name);
    for (const char* const field : {"domain", "descriptor_key"}) {
      KeyPart part;
      part.field = {field, where};
      policy.key.push_back(std::move(part));
    }
    policy.metric.kind = Metric::sum;
    policy.metric.arguments = {{"hits_addend", where}};
    policy.metric.where = where;
    policy.window.emplace();
    policy.window->kind = WindowDef::Kind::every;
    policy.window->length = unit_length(unit);
    policy.window->where = where;
    policy.charge.value = Charge::always;
    policy.share =
        model.server.ratelimit.share ? model.server.ratelimit.share : model.defaults.share;
    policy.peer_key = peer_key_of(*event.descriptor, model.server.ratelimit);
    policy.on_error = model.defaults.on_error;
    Rung rung;
    rung.where = where;
    rung.compare = Compare::over;
    rung.limit = Text{"limit_override", where};
    rung.action = {Action::deny, where};
    rung.tell = Located<Tell>{Tell::nothing, where};
    rung.status = Located<int>{429, where};
    policy.then.push_back(std::move(rung));
    model.policies.push_back(std::move(policy));
    model.events.push_back(std::move(event));
  }
}

}  // namespace weir::config
