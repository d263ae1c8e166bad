#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "config/import/yaml_writer.h"
#include "config/text/units.h"

/// Limits of limitador as policies: its descriptors are events of their namespace, its conditions
/// expressions. Both dialects of conditions: `user == 'ann'` and CEL over `descriptors[0]`.
namespace weir::config {
namespace {

constexpr std::string_view kFrom = "line ";    // begins the comment above a policy
constexpr std::size_t kConditionMost = 4'096;  // bytes of an expression
constexpr std::int64_t kSecondsMost = 366 * 86'400;

bool is_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_inside(char c) { return is_start(c) || (c >= '0' && c <= '9'); }

/// Rewrites an expression of limitador; `why` says which part cannot be expressed.
class CelRewriter {
 public:
  /// `id`, `name`: of the limit that it belongs to.
  CelRewriter(std::string_view text, std::optional<std::string> id, std::optional<std::string> name)
      : text_(text), id_(std::move(id)), name_(std::move(name)) {}

  std::optional<std::string> rewrite() {
    while (at_ < text_.size() && why.empty()) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        string();
      } else if (is_start(c)) {
        name();
      } else if (c >= '0' && c <= '9') {
        number();
      } else {
        if (c == '!' && text_.substr(at_, 2) != "!=") negates_ = true;
        if (c == '{') why = "weir has no literal maps";
        out_ += c;
        ++at_;
      }
    }
    if (!why.empty()) return std::nullopt;
    // What is not there is null here, and an error there: a limit whose condition negates what is
    // not there does not apply.
    if (negates_ && out_.find("||") == std::string::npos && out_.find('?') == std::string::npos &&
        !asks_has_) {
      guards_ = all_guards_;
    }
    return guards_ + out_;
  }
  std::string why;
  std::string named_key;  ///< of the descriptor, which it asked last

 private:
  void string() {
    const auto text = take_string();
    if (text) out_ += expression_text(*text);
  }

  std::optional<std::string> take_string() {
    const char quote = text_[at_++];
    std::string out;
    for (; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
        const char next = text_[++at_];
        out += next == 'n' ? '\n' : next == 't' ? '\t' : next;
      } else {
        out += text_[at_];
      }
    }
    if (at_ >= text_.size()) {
      why = "a text in it has no end";
      return std::nullopt;
    }
    ++at_;
    return out;
  }

  void number() {
    while (at_ < text_.size() && (is_inside(text_[at_]) || text_[at_] == '.')) out_ += text_[at_++];
    if (out_.ends_with('u') || out_.ends_with('U')) why = "weir has no unsigned numbers";
  }

  std::string take_name() {
    const std::size_t from = at_;
    while (at_ < text_.size() && is_inside(text_[at_])) ++at_;
    return std::string(text_.substr(from, at_ - from));
  }

  char next() const {
    std::size_t i = at_;
    while (i < text_.size() && text_[i] == ' ') ++i;
    return i < text_.size() ? text_[i] : '\0';
  }
  void blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  void name() {
    static constexpr std::array<std::string_view, 4> kWords = {"true", "false", "null", "in"};
    static constexpr std::array<std::string_view, 12> kFunctions = {
        "size",       "int",      "double",   "string",  "bool",       "has",
        "startsWith", "endsWith", "contains", "matches", "lowerAscii", "upperAscii"};
    const bool member = !out_.empty() && out_.back() == '.';
    const std::string word = take_name();
    if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'')) {
      why = "weir has no texts with the prefix " + word;
    } else if (std::find(kWords.begin(), kWords.end(), word) != kWords.end()) {
      out_ += word;
    } else if (next() == '(') {
      if (std::find(kFunctions.begin(), kFunctions.end(), word) == kFunctions.end()) {
        why = "weir has no function " + word + "()";
      }
      asks_has_ = asks_has_ || word == "has";
      out_ += word;
    } else if (member) {
      why = "it reads a member of a value";
    } else if (word == "descriptors") {
      if (next() != '[') {
        why = "it asks for all descriptors at once: each is an event of its own here";
        return;
      }
      indexed();
    } else if (word == "descriptor" && next() == '.') {
      blanks();
      ++at_;
      blanks();
      field(take_name());
    } else if (word == "limit" && next() == '.') {
      of_limit();
    } else if (word == "limit" && next() == '[') {
      why = "it asks for the limit by an index: write limit.name or limit.id";
    } else {
      // The old dialect: a bare name, with dots, is a key of the descriptor.
      std::string key = word;
      while (at_ + 1 < text_.size() && text_[at_] == '.' && is_start(text_[at_ + 1])) {
        const std::size_t back = at_++;
        const std::string part = take_name();
        if (next() == '(') {  // a function of it
          at_ = back;
          break;
        }
        key += "." + part;
      }
      field(key);
    }
  }

  /// `limit.name` and `limit.id` are known here.
  void of_limit() {
    blanks();
    ++at_;
    blanks();
    const std::string which = take_name();
    if (which != "name" && which != "id") {
      why = "a limit has a name and an id, and no " + which;
      return;
    }
    const std::optional<std::string>& text = which == "name" ? name_ : id_;
    out_ += text ? expression_text(*text) : "null";
  }

  /// `descriptors[0].key` or `descriptors[0]["key"]`.
  void indexed() {
    blanks();
    ++at_;
    blanks();
    std::string digits;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') digits += text_[at_++];
    blanks();
    if (digits.empty() || at_ >= text_.size() || text_[at_] != ']') {
      why = "it computes which descriptor it asks";
      return;
    }
    ++at_;
    if (!descriptor_.empty() && descriptor_ != digits) {
      why = "it asks for two descriptors at once: each is an event of its own here";
      return;
    }
    descriptor_ = digits;
    if (next() == '.') {
      blanks();
      ++at_;
      blanks();
      field(take_name());
    } else if (next() == '[') {
      blanks();
      ++at_;
      blanks();
      if (at_ >= text_.size() || (text_[at_] != '"' && text_[at_] != '\'')) {
        why = "it computes which key it asks";
        return;
      }
      const auto key = take_string();
      blanks();
      if (!key || at_ >= text_.size() || text_[at_] != ']') {
        if (why.empty()) why = "a bracket in it has no end";
        return;
      }
      ++at_;
      field(*key);
    } else {
      why = "it asks for a descriptor as a whole";
    }
  }

  void field(const std::string& named) {
    if (named.empty()) {
      why = "a name in it is missing";
      return;
    }
    named_key = named;
    const std::string spelled = is_name(named, false)
                                    ? "descriptor." + named
                                    : "descriptor[" + expression_text(named) + "]";
    // Where limitador finds no such entry the limit does not apply, also with `!=`.
    const std::string guard = "has(" + spelled + ") && ";
    const std::size_t same = next_operator();
    if (same == 2 && guards_.find(guard) == std::string::npos) guards_ += guard;
    if (all_guards_.find(guard) == std::string::npos) all_guards_ += guard;
    out_ += spelled;
  }

  /// 1: `==`, 2: `!=` follows; else 0.
  std::size_t next_operator() const {
    std::size_t i = at_;
    while (i < text_.size() && text_[i] == ' ') ++i;
    if (text_.substr(i, 2) == "!=") return 2;
    return text_.substr(i, 2) == "==" ? 1 : 0;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::optional<std::string> id_, name_;
  std::string out_, guards_, all_guards_, descriptor_;
  bool negates_ = false, asks_has_ = false;
};

class LimitadorReader {
 public:
  LimitadorReader(const std::map<std::size_t, std::string>& refused, Imported& out)
      : refused_(refused), out_(out) {}

  void list(const Node& root) {
    for (const Member& item : root.items) {
      if (item.value->is_map()) {
        limit(*item.value);
      } else {
        note(*item.value, "a limit", "it is no map");
      }
    }
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

  std::optional<std::int64_t> number(const Node& map, std::string_view key, std::int64_t most) {
    const Node* node = member(map, key);
    const auto parsed =
        node != nullptr && node->is_scalar() ? parse_integer(node->text) : Parsed<std::int64_t>{};
    if (parsed && *parsed.value >= (key == "seconds" ? 1 : 0) && *parsed.value <= most)
      return parsed.value;
    note(map, std::string(key), "it is missing, or beyond what weir counts");
    return std::nullopt;
  }

  static std::optional<std::string> text_of(const Node& map, std::string_view key) {
    const Node* node = member(map, key);
    if (node == nullptr || node->is_null() || !node->is_scalar()) return std::nullopt;
    return std::string(node->text);
  }

  static std::vector<const Node*> texts(const Node* list) {
    std::vector<const Node*> out;
    if (list == nullptr || list->is_null()) return out;
    if (list->is_scalar()) return {list};
    for (const Member& item : list->items) out.push_back(item.value);
    return out;
  }

  void limit(const Node& node) {
    const Node* space = member(node, "namespace");
    const std::string domain(space != nullptr && space->is_scalar() ? space->text : "");
    if (domain.empty()) return note(node, "a limit", "it has no namespace");
    const auto most = number(node, "max_value", std::int64_t{1} << 53);
    const auto seconds = number(node, "seconds", kSecondsMost);
    if (!most || !seconds) return;
    if (const auto why = refused_.find(node.where.line); why != refused_.end())
      return note(node, "the limit", why->second);
    ImportedPolicy policy;
    policy.comment = std::string(kFrom) + std::to_string(node.where.line);
    Server::LimitadorLimit as_it_stands;
    as_it_stands.space = domain;
    as_it_stands.most = *most;
    as_it_stands.seconds = *seconds;
    as_it_stands.id = text_of(node, "id");
    as_it_stands.name = text_of(node, "name");
    policy.watch = "{domain: " + yaml_text(domain) + "}";
    for (const Node* condition : texts(member(node, "conditions"))) {
      CelRewriter cel(condition->text, as_it_stands.id, as_it_stands.name);
      auto rewritten = cel.rewrite();
      if (!rewritten) return note(*condition, std::string(condition->text), cel.why);
      as_it_stands.conditions.emplace_back(condition->text);
      const bool alone =
          rewritten->find("||") == std::string::npos && rewritten->find('?') == std::string::npos;
      policy.when +=
          (policy.when.empty() ? "" : " && ") + (alone ? *rewritten : "(" + *rewritten + ")");
    }
    if (policy.when.size() > kConditionMost)
      return note(node, "the limit", "its conditions are too long for one expression");
    std::vector<std::string> spelled;  // a set there
    for (const Node* variable : texts(member(node, "variables"))) {
      CelRewriter cel(variable->text, as_it_stands.id, as_it_stands.name);
      auto rewritten = cel.rewrite();
      if (!rewritten) return note(*variable, std::string(variable->text), cel.why);
      if (std::find(spelled.begin(), spelled.end(), *rewritten) != spelled.end()) continue;
      spelled.push_back(*rewritten);
      if (!key(domain, *rewritten, policy))
        return note(*variable, std::string(variable->text),
                    "a variable that is computed: give it a name under `fields` of an event");
      as_it_stands.variables.emplace_back(variable->text);
      as_it_stands.keys.push_back(cel.named_key);
    }
    const bool named = as_it_stands.name && !as_it_stands.name->empty();
    policy.name = names_.make(named ? *as_it_stands.name : domain);
    // A window of limitador's begins with its first hit.
    constexpr std::int64_t kLongestFromFirst = 31 * 86'400;
    const bool first = *seconds <= kLongestFromFirst;
    policy.window = "{every: " + format_duration(milliseconds{*seconds * 1000}) +
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

  /// A key names fields: other texts than `descriptor.name` need a name, which an event gives.
  bool key(const std::string& domain, const std::string& expression, ImportedPolicy& policy) {
    constexpr std::string_view kPlain = "descriptor.";
    if (expression.starts_with(kPlain) && is_name(expression.substr(kPlain.size()), false)) {
      policy.key.push_back(expression);
      return true;
    }
    if (!expression.starts_with("descriptor[") || !expression.ends_with("]")) return false;
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
    return true;
  }

  void write_events() {
    for (const std::string& domain : order_) {
      events_ += "  " + whole_[domain] + ": {domain: " + yaml_text(domain) + ", fields: {" +
                 fields_of_[domain] + "}}\n";
    }
  }

  const std::map<std::size_t, std::string>& refused_;
  Imported& out_;
  ImportNames names_{true}, event_names_{false};
  std::map<std::string, std::string> named_;
  std::map<std::string, std::string> whole_, fields_of_;
  std::vector<std::string> order_;
  std::string events_, policies_;
};

}  // namespace

std::optional<std::size_t> imported_from(std::string_view yaml, std::size_t line) {
  const std::string comment = "  # " + std::string(kFrom);
  std::optional<std::size_t> out;
  for (std::size_t at = 0; at < yaml.size() && line > 0; --line) {
    const std::size_t end = std::min(yaml.find('\n', at), yaml.size());
    const std::string_view one = yaml.substr(at, end - at);
    if (one.starts_with(comment)) {
      if (const auto number = parse_integer(one.substr(comment.size())))
        out = static_cast<std::size_t>(*number.value);
    }
    at = end + 1;
  }
  return out;
}

Imported import_limitador(std::string_view text,
                          const std::map<std::size_t, std::string>& refused) {
  Imported out;
  Problems problems;
  TreeLimits limits;
  limits.loose_words = true;
  const Tree tree = parse_tree(text, 0, problems, limits);
  if (tree.broken() || tree.root() == nullptr || !tree.root()->is_list()) {
    out.error = "it is no list of limits";
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
