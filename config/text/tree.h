#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <memory_resource>
#include <span>
#include <string_view>

#include "config/text/problem.h"

/// YAML text as a small tree of our own: every key and value knows its place, plain text differs
/// from quoted text, and all that YAML readers disagree about is refused. Reading is linear in the
/// text.
namespace weir::config {

struct Node;

/// One entry of a map, or an item of a list (then key is null).
struct Member {
  const Node* key = nullptr;
  const Node* value = nullptr;
};

struct Node {
  enum class Kind : std::uint8_t { null, scalar, list, map };
  Kind kind = Kind::null;
  bool plain = false;  ///< a scalar without quotes
  bool flow = false;   ///< a list or map in [ ] or { }
  Where where;
  std::uint32_t weight = 1;       ///< nodes in this subtree with every alias expanded; saturates
  std::uint32_t begin = 0;        ///< offset of its first byte in the text
  std::string_view text;          ///< of a scalar, escapes resolved
  std::span<const Member> items;  ///< of a list or map, in order

  bool is_null() const noexcept { return kind == Kind::null; }
  bool is_scalar() const noexcept { return kind == Kind::scalar; }
  bool is_list() const noexcept { return kind == Kind::list; }
  bool is_map() const noexcept { return kind == Kind::map; }
};

/// Owns its nodes and their text. An alias is a second pointer to the anchor's node, so that a tree
/// never takes more memory than its text deserves; `weight` bounds the cost of a walk.
class Tree {
 public:
  Tree();
  /// Null if the text is empty or its syntax is broken.
  const Node* root() const noexcept { return root_; }
  /// A syntax error, or a bound was reached: the tree does not hold the whole text.
  bool broken() const noexcept { return broken_; }

  Node& make(Node::Kind kind, Where where);
  std::string_view keep(std::string_view text);
  std::span<const Member> keep(std::span<const Member> members);
  void set_root(const Node* root) noexcept { root_ = root; }
  void set_broken() noexcept { broken_ = true; }

 private:
  // Behind pointers, so that a Tree may move while its nodes stay.
  std::unique_ptr<std::pmr::monotonic_buffer_resource> arena_;
  std::unique_ptr<std::deque<Node>> nodes_;
  const Node* root_ = nullptr;
  bool broken_ = false;
};

/// Bounds of one text (security: no input may cost more than ten times its bytes).
struct TreeLimits {
  std::size_t bytes = std::size_t{4} << 20;
  std::size_t depth = 64;
  std::size_t nodes = 200'000;
  std::size_t alias_expansions = 200'000;  ///< nodes that aliases add, all together
  /// on, off, yes, no and numbers with leading zeros are texts, as in files of others.
  bool loose_words = false;
  /// `<<: *anchor` brings the keys of another map, or of a list of maps: those that the map has not
  /// itself. Without it a merge key is an error.
  bool merge_keys = false;
};

/// Reads one YAML document. Problems: syntax, bounds, encoding, control characters, duplicate and
/// merge keys, tags, several documents, bare on/off/yes/no, numbers with leading zeros, and
/// expressions that a flow map has torn apart because they were not quoted.
Tree parse_tree(std::string_view text, std::uint32_t file, Problems& problems,
                const TreeLimits& limits = {});

}  // namespace weir::config
