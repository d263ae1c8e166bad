#include <algorithm>
#include <charconv>
#include <compare>
#include <map>
#include <optional>
#include <set>

#include "config/import/cel_negation.h"
#include "config/import/cel_rewriter.h"
#include "config/import/yaml_writer.h"
#include "config/sections/key_parts.h"
#include "config/text/units.h"
#include "config/text/yaml_text.h"
#include "core/key.h"
#include "core/number.h"
#include "core/text.h"

/// Limits of limitador as policies: its descriptors are events of their namespace, its conditions
/// expressions. Both dialects of conditions: `user == 'ann'` and CEL over `descriptors[0]`.
namespace weir::config {
namespace {

constexpr std::string_view kFrom = "line ";    // begins the comment above a policy
constexpr std::string_view kNth = ", limit ";  // if others precede it on its line
constexpr std::size_t kConditionMax = 4'096;   // bytes of an expression
constexpr std::int64_t kSecondsMax = 366 * 86'400;

/// The identity of a limit in limitador. max_value, name and id are not part of it.
struct Identity {
  std::string space;
  std::int64_t seconds = 0;
  std::set<std::string, std::less<>> conditions, variables;
  auto operator<=>(const Identity&) const = default;
};

/// A hash of an identity. Texts are hashed with their lengths: no two identities are the same
/// bytes.
std::string hash_of(const Identity& identity) {
  std::string out = std::to_string(identity.seconds);
  const auto add = [&](const std::string& text) {
    out += ' ' + std::to_string(text.size()) + ':' + text;
  };
  add(identity.space);
  for (const std::string& condition : identity.conditions) add(condition);
  out += " by";
  for (const std::string& variable : identity.variables) add(variable);
  const Hash128 hash = HashSecret::from_bytes({}).hash(out);
  return std::to_string(hash.hi) + "-" + std::to_string(hash.lo);
}

class LimitadorReader {
 public:
  LimitadorReader(const RefusedRules& refused, Imported& out) : refused_(refused), out_(out) {}

  void list(const Node& root) {
    for (const Member& item : root.items) {
      if (item.value->is_map()) {
        limit(*item.value);
      } else {
        broken(*item.value, "a limit is a map");
      }
    }
    if (!out_.error.empty()) return out_.limits.clear();
    out_.none = policies_.empty() && !out_.left_out.empty();
    write_events();
    out_.yaml = written_file(
        "limitador's limits", out_.left_out,
        policies_.empty() ? "policies: []\n"
                          : (events_.empty() ? std::string() : "events:\n" + events_ + "\n") +
                                "policies:\n" + policies_);
  }

 private:
  static const Node* member(const Node& map, std::string_view key) {
    for (const Member& m : map.items) {
      if (m.key->text == key) return m.value;
    }
    return nullptr;
  }

  void note(const Node& node, std::string what, std::string why) {
    out_.left_out.push_back({node.where.line, std::move(what), std::move(why)});
  }

  bool left_out(const Node& node, std::string what, std::string why) {
    note(node, std::move(what), std::move(why));
    return false;
  }

  /// Reports a mistake for which limitador refuses the whole file and keeps the previous one.
  void broken(const Node& node, const std::string& why) {
    if (out_.error.empty()) out_.error = std::to_string(node.where.line) + ": " + why;
  }

  std::optional<std::int64_t> number(const Node& map, std::string_view key, std::int64_t most) {
    const Node* node = member(map, key);
    std::string_view text = node != nullptr && node->is_scalar() ? node->text : std::string_view();
    if (text.starts_with('+')) text.remove_prefix(1);
    const int base = text.starts_with("0x")   ? 16
                     : text.starts_with("0o") ? 8
                     : text.starts_with("0b") ? 2
                                              : 10;
    if (base != 10) text.remove_prefix(2);
    std::uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, value, base);
    if (read.ptr != end || read.ec == std::errc::invalid_argument) {
      broken(node != nullptr ? *node : map, quoted(key) + " must be a whole number, 0 or more");
      return std::nullopt;
    }
    const bool fits = read.ec == std::errc{} && value <= static_cast<std::uint64_t>(most);
    if (fits && value >= (key == "seconds" ? 1 : 0)) return static_cast<std::int64_t>(value);
    note(map, std::string(key), "it is beyond what weir counts");
    return std::nullopt;
  }

  static std::optional<std::string> text_of(const Node& map, std::string_view key) {
    const Node* node = member(map, key);
    if (node == nullptr || node->is_null() || !node->is_scalar()) return std::nullopt;
    return std::string(node->text);
  }

  std::vector<const Node*> texts(const Node& map, std::string_view key) {
    std::vector<const Node*> out;
    const Node* const list = member(map, key);
    if (list == nullptr || list->is_null()) return out;
    const auto is_text = [](const Member& item) {
      return item.key == nullptr && item.value->is_scalar();
    };
    if (list->is_scalar() || !std::all_of(list->items.begin(), list->items.end(), is_text)) {
      broken(*list, quoted(key) + " is a list of texts");
      return out;
    }
    for (const Member& item : list->items) out.push_back(item.value);
    return out;
  }

  void limit(const Node& node) {
    place_ = {node.where.line, place_.line == node.where.line ? place_.nth + 1 : 1};
    const ImportPlace place = place_;
    const Node* space = member(node, "namespace");
    const std::string domain(space != nullptr && space->is_scalar() ? space->text : "");
    if (domain.empty()) return broken(node, "a limit needs \"namespace\", a text");
    const auto most = member(node, "max_value") != nullptr
                          ? number(node, "max_value", kExactInteger)
                          : std::optional<std::int64_t>(0);  // as there: it refuses all
    const auto seconds = number(node, "seconds", kSecondsMax);
    if (!most || !seconds) return;
    if (const auto why = refused_.find(place); why != refused_.end())
      return note(node, "the limit", why->second);
    ImportedPolicy policy;
    policy.comment = std::string(kFrom) + std::to_string(place.line);
    if (place.nth > 1) policy.comment += std::string(kNth) + std::to_string(place.nth);
    Server::LimitadorLimit as_it_stands;
    as_it_stands.space = domain;
    as_it_stands.most = *most;
    as_it_stands.seconds = *seconds;
    as_it_stands.id = text_of(node, "id");
    as_it_stands.name = text_of(node, "name");
    policy.watch = "{domain: " + yaml_text(domain) + "}";
    Identity identity{domain, *seconds, {}, {}};
    if (!conditions(node, as_it_stands, identity, policy) ||
        !variables(node, as_it_stands, identity, policy))
      return;
    as_it_stands.identity = hash_of(identity);
    const auto [same, fresh] = lines_.try_emplace(std::move(identity), node.where.line);
    if (!fresh)
      return note(node, "the limit",
                  "line " + std::to_string(same->second) +
                      " has the same limit, whose max_value counts: in limitador too");
    const bool named = as_it_stands.name && !as_it_stands.name->empty();
    policy.name = names_.make(named ? *as_it_stands.name : domain);
    // A window of limitador's begins with its first hit.
    constexpr std::int64_t kLongestFromFirst = 31 * 86'400;
    const bool first = *seconds <= kLongestFromFirst;
    policy.window = "{every: " + human_duration(milliseconds{*seconds * 1000}) +
                    (first ? ", from: first}" : "}");
    if (!first)
      note(node, "seconds: " + std::to_string(*seconds),
           "windows over 31 days begin for all keys at once, not with the first hit");
    policy.rungs.push_back("{over: " + std::to_string(*most) + ", do: deny}");
    policies_ += written(policy);
    as_it_stands.policy = {policy.name, node.where};
    out_.limits.push_back(std::move(as_it_stands));
    if (const Node* other = member(node, "policy");
        other != nullptr && other->text == "token_bucket")
      note(*other, "policy: token_bucket", "write window: {rate: 10/s, burst: 20}");
  }

  bool conditions(const Node& node, Server::LimitadorLimit& limit, Identity& identity,
                  ImportedPolicy& policy) {
    for (const Node* condition : texts(node, "conditions")) {
      if (!identity.conditions.emplace(condition->text).second) continue;
      const std::string pushed = push_negations(condition->text);
      CelRewriter cel(pushed, limit.id, limit.name);
      const auto rewritten = cel.rewrite();
      if (!rewritten) return left_out(*condition, std::string(condition->text), cel.why);
      limit.conditions.emplace_back(condition->text);
      const bool alone =
          rewritten->find("||") == std::string::npos && rewritten->find('?') == std::string::npos;
      policy.when +=
          (policy.when.empty() ? "" : " && ") + (alone ? *rewritten : "(" + *rewritten + ")");
    }
    return policy.when.size() <= kConditionMax ||
           left_out(node, "the limit", "its conditions are too long for one expression");
  }

  bool variables(const Node& node, Server::LimitadorLimit& limit, Identity& identity,
                 ImportedPolicy& policy) {
    std::set<std::string, std::less<>> keys;
    for (const Node* variable : texts(node, "variables")) {
      if (!identity.variables.emplace(variable->text).second) continue;
      CelRewriter cel(variable->text, limit.id, limit.name);
      const auto rewritten = cel.rewrite();
      if (!rewritten) return left_out(*variable, std::string(variable->text), cel.why);
      limit.variables.emplace_back(variable->text);
      limit.keys.push_back(cel.named_key);
      const std::string field = descriptor_field(cel.named_key);
      if (bare(*rewritten) != field)
        return left_out(*variable, std::string(variable->text),
                        "a variable that is computed: give it a name under `fields` of an event");
      if (keys.insert(field).second) key(limit.space, cel.named_key, field, policy);
    }
    if (policy.key.size() > kKeyPartsMax) {
      return left_out(node, "the limit",
                      "it counts by more than " + std::to_string(kKeyPartsMax) +
                          " variables; a key in weir has no more");
    }
    return true;
  }

  /// Without the blanks and parentheses around it.
  static std::string_view bare(std::string_view text) {
    const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
    while (!text.empty()) {
      if (is_blank(text.front())) {
        text.remove_prefix(1);
      } else if (is_blank(text.back())) {
        text.remove_suffix(1);
      } else if (text.starts_with('(') && text.ends_with(')')) {
        text = text.substr(1, text.size() - 2);
      } else {
        break;
      }
    }
    return text;
  }

  /// A key of a policy names fields: of a descriptor's keys that are no names an event makes some.
  void key(const std::string& domain, const std::string& named, const std::string& expression,
           ImportedPolicy& policy) {
    if (is_name(named, false)) return policy.key.push_back(expression);
    const std::string spelled = domain + "\n" + expression;
    const auto [field, fresh] = named_.try_emplace(spelled);
    if (fresh) {
      field->second = "key_" + std::to_string(named_.size());
      std::string& fields = fields_of_[domain];
      fields += (fields.empty() ? "" : ", ") + field->second + ": " + yaml_text(expression);
    }
    // One event for each namespace: its fields grow with the limits.
    const auto [whole, first] = whole_.try_emplace(domain);
    if (first) {
      whole->second = event_names_.make(domain);
      order_.push_back(domain);
    }
    policy.watch = whole->second;
    policy.key.push_back(field->second);
  }

  void write_events() {
    for (const std::string& domain : order_) {
      events_ += "  " + whole_[domain] + ": {domain: " + yaml_text(domain) + ", fields: {" +
                 fields_of_[domain] + "}}\n";
    }
  }

  const RefusedRules& refused_;
  Imported& out_;
  ImportPlace place_;  // of the limit that is read
  ImportNames names_{true}, event_names_{false};
  std::map<Identity, std::size_t> lines_;
  std::map<std::string, std::string> named_;
  std::map<std::string, std::string> whole_, fields_of_;
  std::vector<std::string> order_;
  std::string events_, policies_;
};

}  // namespace

std::optional<ImportPlace> imported_from(std::string_view yaml, std::size_t line) {
  const std::string comment = "  # " + std::string(kFrom);
  std::optional<ImportPlace> out;
  for (std::size_t at = 0; at < yaml.size() && line > 0; --line) {
    const std::size_t end = std::min(yaml.find('\n', at), yaml.size());
    const std::string_view one = yaml.substr(at, end - at);
    if (one.starts_with(comment)) {
      const std::string_view place = one.substr(comment.size());
      const std::size_t nth = place.find(kNth);
      const auto number = parse_integer(place.substr(0, nth));
      const auto of_line = nth == std::string_view::npos
                               ? parse_integer("1")
                               : parse_integer(place.substr(nth + kNth.size()));
      if (number && of_line) {
        out = {static_cast<std::size_t>(*number.value), static_cast<std::size_t>(*of_line.value)};
      }
    }
    at = end + 1;
  }
  return out;
}

Imported import_limitador(std::string_view text, const RefusedRules& refused) {
  Imported out;
  Problems problems;
  TreeLimits limits;
  limits.loose_words = true;
  const Tree tree = parse_tree(text, 0, problems, limits);
  if (tree.broken() || tree.root() == nullptr || !tree.root()->is_list()) {
    out.error = "it is not a list of limits";
    for (const Problem& problem : problems.all()) {
      out.error = std::to_string(problem.where.line) + ": " + problem.message;
      break;
    }
    return out;
  }
  LimitadorReader(refused, out).list(*tree.root());
  return out;
}

}  // namespace weir::config
