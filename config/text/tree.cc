#include "config/text/tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <istream>
#include <limits>
#include <streambuf>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "config/text/look_alikes.h"
#include "config/text/yaml_text.h"

namespace weir::config {

Tree::Tree()
    : arena_(std::make_unique<std::pmr::monotonic_buffer_resource>()),
      nodes_(std::make_unique<std::deque<Node>>()) {}

Node& Tree::make(Node::Kind kind, Where where) {
  Node& node = nodes_->emplace_back();
  node.kind = kind;
  node.where = where;
  return node;
}

std::string_view Tree::keep(std::string_view text) {
  if (text.empty()) return {};
  char* out = static_cast<char*>(arena_->allocate(text.size(), 1));
  std::copy(text.begin(), text.end(), out);
  return {out, text.size()};
}

std::span<const Member> Tree::keep(std::span<const Member> members) {
  if (members.empty()) return {};
  auto* out = static_cast<Member*>(arena_->allocate(members.size_bytes(), alignof(Member)));
  std::copy(members.begin(), members.end(), out);
  return {out, members.size()};
}

namespace {

/// Commas in one torn expression; a bound, so that a long list of open brackets stays linear.
constexpr std::size_t kTornMax = 64;

/// Ends the parser from inside an event: the problem is reported already.
struct Stop {};

/// Reads from memory that outlives it, without a copy.
class ViewBuffer : public std::streambuf {
 public:
  explicit ViewBuffer(std::string_view text) {
    char* begin = const_cast<char*>(text.data());
    setg(begin, begin, begin + text.size());
  }
};

/// Turns the parser's events into nodes. An open container keeps its members on one shared stack,
/// so that each member is copied once, whatever the nesting.
class Builder : public YAML::EventHandler {
 public:
  Builder(std::string_view text, std::uint32_t file, Problems& problems, const TreeLimits& limits,
          Tree& tree)
      : text_(text), file_(file), problems_(problems), limits_(limits), tree_(tree) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) {
      problems_.error(place(mark, 3), "more than one YAML document in a file",
                      "put each document into a file of its own and name them in \"include\"");
      throw Stop{};
    }
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    // An implied null has the position of the next token, lines below: show its key instead.
    Node& node = make(Node::Kind::null, mark, 1);
    const bool written =
        node.begin < text_.size() && std::string_view("~nN").find(text_[node.begin]) < 3;
    if (!written && !open_.empty() && open_.back().key != nullptr) {
      node.where = open_.back().key->where;
    }
    add(node, anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      problems_.error(place(mark, 1), "an alias inside the anchor that it names");
      throw Stop{};
    }
    expansions_ += found->second->weight;
    if (expansions_ > limits_.alias_expansions) {
      problems_.error(place(mark, 1), "aliases expand to more than " +
                                          std::to_string(limits_.alias_expansions) + " nodes");
      throw Stop{};
    }
    add(*found->second, YAML::NullAnchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Node& node = make(Node::Kind::scalar, mark, 0);
    const Token token = token_at(text_, node.begin);
    node.begin = static_cast<std::uint32_t>(token.begin);
    node.where.column += static_cast<std::uint32_t>(token.begin - token.from);
    node.plain = tag == "?";
    node.text = tree_.keep(value);
    node.where.length = underline(node, token);
    check_tag(node, tag);
    if (tag.size() > 1 &&
        value.empty()) {  // `when: !has(x)`: reads the text that was meant, to avoid further errors
      node.text = tree_.keep(tag);
      node.where.length = static_cast<std::uint32_t>(tag.size());
    } else if (node.plain) {
      if (!limits_.loose_words) check_plain(node, problems_);
    } else if (token.unterminated) {
      problems_.error(node.where, "a quoted text without its closing quote");
      throw Stop{};
    }
    add(node, anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    open(Node::Kind::list, mark, tag, anchor, style);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    open(Node::Kind::map, mark, tag, anchor, style);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    Node* node;
    YAML::anchor_t anchor;
    std::size_t first;          // of its members on the stack
    const Node* key = nullptr;  // read, and waiting for its value
  };

  Where place(const YAML::Mark& mark, std::uint32_t length) const {
    return {file_, static_cast<std::uint32_t>(std::max(mark.line, 0) + 1),
            static_cast<std::uint32_t>(std::max(mark.column, 0) + 1), length};
  }

  Node& make(Node::Kind kind, const YAML::Mark& mark, std::uint32_t length) {
    if (++made_ > limits_.nodes) {
      problems_.error(place(mark, 1), "more than " + std::to_string(limits_.nodes) + " nodes",
                      kManyNodes);
      throw Stop{};
    }
    Node& node = tree_.make(kind, place(mark, length));
    node.begin = static_cast<std::uint32_t>(std::max(mark.pos, 0));
    return node;
  }

  /// A plain text has no escapes, so its bytes show where it ends, unless it goes over several
  /// lines.
  std::uint32_t underline(const Node& node, const Token& token) const {
    std::size_t length = token.length;
    if (node.plain) {
      const std::string_view rest = text_.substr(node.begin);
      length = rest.starts_with(node.text) ? node.text.size() : rest.find_first_of("\r\n");
      length = std::min(length, rest.size());
    }
    return static_cast<std::uint32_t>(std::max<std::size_t>(length, 1));
  }

  void check_tag(const Node& node, const std::string& tag) {
    const bool bang = node.begin < text_.size() && text_[node.begin] == '!';
    if (tag.empty() || tag == "?" || (tag == "!" && !bang)) return;
    problems_.error(node.where, "a value that begins with ! is a YAML tag, which weir does not use",
                    "quote an expression that begins with !, as in \"!has(body.x)\"");
  }

  void open(Node::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            YAML::EmitterStyle::value style) {
    if (open_.size() >= limits_.depth) {
      problems_.error(place(mark, 1),
                      "nested deeper than " + std::to_string(limits_.depth) + " levels");
      throw Stop{};
    }
    Node& node = make(kind, mark, 1);
    node.flow = style == YAML::EmitterStyle::Flow;
    check_tag(node, tag);
    open_.push_back({&node, anchor, members_.size()});
  }

  void close() {
    const Open done = open_.back();
    open_.pop_back();
    Node& node = *done.node;
    if (node.flow) mend_torn(node, done.first);
    const std::span<const Member> mine{members_.data() + done.first, members_.size() - done.first};
    std::uint64_t weight = 1;
    for (const Member& m : mine) weight += m.value->weight + (m.key != nullptr ? 1u : 0u);
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
    node.weight = static_cast<std::uint32_t>(std::min(weight, kMost));
    node.items = tree_.keep(node.kind == Node::Kind::map ? unique_keys(mine) : mine);
    members_.resize(done.first);
    add(node, done.anchor);
  }

  void add(const Node& node, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) anchors_[anchor] = &node;
    if (open_.empty()) {
      tree_.set_root(&node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node->kind == Node::Kind::list) {
      members_.push_back({nullptr, &node});
    } else if (parent.key == nullptr) {
      parent.key = &node;
    } else {
      members_.push_back({parent.key, &node});
      parent.key = nullptr;
    }
  }

  /// In `{metric: distinct(a, b)}` YAML reads the entries `metric: distinct(a` and `b)`. Reports
  /// this once, at the torn text, and joins the parts again, so that no other error follows from
  /// it.
  void mend_torn(const Node& node, std::size_t first) {
    std::size_t out = first;
    for (std::size_t i = first; i < members_.size(); ++i) {
      Member member = members_[i];
      const Node* value = member.value;
      if (value->is_scalar() && value->plain && open_brackets(value->text) > 0) {
        std::size_t last = i;
        int depth = open_brackets(value->text);
        while (depth > 0 && last + 1 < members_.size() && last - i < kTornMax) {
          const Member& next = members_[last + 1];
          const Node* rest = next.key != nullptr ? next.key : next.value;
          if (next.key != nullptr && !next.value->is_null()) break;
          if (!rest->is_scalar()) break;
          depth += open_brackets(rest->text);
          ++last;
        }
        if (last > i && depth <= 0) {
          member.value = mended(node, *value, members_[last]);
          i = last;
        }
      } else if (torn_mask(i, first)) {
        const Node& before = *members_[i - 1].value;
        problems_.error(before.where,
                        std::string(node.is_list() ? "in [ ]" : "in { }") +
                            " a key with two masks must be quoted",
                        "write \"" + std::string(before.text) + "," +
                            std::string(member.key != nullptr ? member.key->text : value->text) +
                            "\"");
        continue;
      }
      members_[out++] = member;
    }
    members_.resize(out);
  }

  /// `[user, ip/24,56]`: the item 56 after the item ip/24. `{key: ip/24,56}`: the key 56, which has
  /// no value, after that one.
  bool torn_mask(std::size_t i, std::size_t first) const {
    if (i == first) return false;
    const Node& before = *members_[i - 1].value;
    const Member& member = members_[i];
    if (member.key != nullptr &&
        (!member.value->is_null() || member.key->where.line != before.where.line)) {
      return false;
    }
    const Node& torn = member.key != nullptr ? *member.key : *member.value;
    return before.is_scalar() && before.plain && torn.is_scalar() && torn.plain &&
           is_digits(torn.text) && is_masked_name(before.text);
  }

  const Node* mended(const Node& container, const Node& value, const Member& last) {
    const Node& tail = last.key != nullptr ? *last.key : *last.value;
    const std::size_t end = std::min<std::size_t>(tail.begin + tail.where.length, text_.size());
    const std::string_view whole = text_.substr(value.begin, end - value.begin);
    Node& node = tree_.make(Node::Kind::scalar, value.where);
    node.begin = value.begin;
    node.text = whole;
    if (tail.where.line == value.where.line) {
      node.where.length = static_cast<std::uint32_t>(whole.size());
    }
    problems_.error(node.where,
                    container.is_list() ? "in [ ] a text with a comma must be quoted"
                                        : "in { } an expression with a comma must be quoted",
                    whole.size() <= 60 && whole.find('"') == std::string_view::npos
                        ? "write \"" + std::string(whole) + "\""
                        : "put it in quotes");
    return &node;
  }

  /// Keys are texts, and each is unique: yaml-cpp lets the last one win without a word.
  std::span<const Member> unique_keys(std::span<const Member> members) {
    std::unordered_map<std::string_view, const Node*> seen;
    kept_.clear();
    merged_.clear();
    for (const Member& m : members) {
      if (!m.key->is_scalar()) {
        problems_.error(m.key->where, "a key must be a plain text");
        continue;
      }
      if (m.key->plain && m.key->text == "<<") {
        if (limits_.merge_keys) {
          collect_merged(*m.value);
          continue;
        }
        problems_.error(m.key->where, "merge keys (<<) are not used here",
                        "write the keys out: \"defaults\" has what all policies share, and an "
                        "alias (*name) stands for a whole value");
        if (m.value->is_map()) collect_merged(*m.value);  // so that nothing seems to be missing
        continue;
      }
      const auto [first, fresh] = seen.emplace(m.key->text, m.key);
      if (fresh) {
        kept_.push_back(m);
      } else {
        const std::string at =
            "the first one is at line " + std::to_string(first->second->where.line);
        problems_.error(m.key->where, "duplicate key " + quoted(m.key->text),
                        m.value->is_list() ? at + ": put the items of both into one list" : at);
      }
    }
    for (const Member& m : merged_) {
      if (seen.emplace(m.key->text, m.key).second) kept_.push_back(m);
    }
    return kept_;
  }

  void collect_merged(const Node& value) {
    if (value.is_map()) {
      merged_.insert(merged_.end(), value.items.begin(), value.items.end());
      return;
    }
    const auto is_map = [](const Member& m) { return m.value->is_map(); };
    if (!value.is_list() || !std::all_of(value.items.begin(), value.items.end(), is_map)) {
      problems_.error(value.where, "a merge key (<<) takes a map, or a list of maps",
                      "such as: <<: *anchor");
      return;
    }
    for (const Member& m : value.items)
      merged_.insert(merged_.end(), m.value->items.begin(), m.value->items.end());
  }

  std::string_view text_;
  std::uint32_t file_;
  Problems& problems_;
  const TreeLimits& limits_;
  Tree& tree_;
  int documents_ = 0;
  std::size_t made_ = 0;
  std::size_t expansions_ = 0;
  std::vector<Open> open_;
  std::vector<Member> members_;
  std::vector<Member> kept_;
  std::vector<Member> merged_;
  std::unordered_map<YAML::anchor_t, const Node*> anchors_;
};

/// Reads a text for its errors alone.
class Ignoring final : public YAML::EventHandler {
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

/// Whether a look-alike is why the text is no YAML at this line: with the one it resembles in its
/// place, the text is YAML beyond that line.
bool look_alike_is_cause(std::string_view text, std::uint32_t line) {
  const std::string mended = without_look_alikes(text, line);
  if (mended == text) return false;
  ViewBuffer buffer(mended);
  std::istream stream(&buffer);
  Ignoring ignoring;
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(ignoring)) {
    }
  } catch (const YAML::Exception& e) {
    return std::max(e.mark.line, 0) + 1 > static_cast<int>(line);
  }
  return true;
}

}  // namespace

Tree parse_tree(std::string_view text, std::uint32_t file, Problems& problems,
                const TreeLimits& limits) {
  Tree tree;
  if (!check_text(text, file, limits, problems)) {
    tree.set_broken();
    return tree;
  }
  ViewBuffer buffer(text);
  std::istream stream(&buffer);
  Builder builder(text, file, problems, limits, tree);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Stop&) {
    tree.set_broken();
  } catch (const YAML::Exception& e) {
    tree.set_broken();
    const Where where{file, static_cast<std::uint32_t>(std::max(e.mark.line, 0) + 1),
                      static_cast<std::uint32_t>(std::max(e.mark.column, 0) + 1), 1};
    if (!look_alike_is_cause(text, where.line) ||
        !tell_look_alike(text, file, where.line, problems))
      tell_syntax(e.msg, where, text, problems);
  }
  if (tree.broken()) tree.set_root(nullptr);
  return tree;
}

}  // namespace weir::config
