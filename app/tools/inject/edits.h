#pragma once

#include <yaml-cpp/yaml.h>

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace weir::app {

/// Changes to a text at places that its parsed nodes name; applied together at the end. A map or
/// list may be in block or in flow form. Additions end lines as the text does (LF or CRLF).
class Edits {
 public:
  explicit Edits(std::string_view text) : text_(text) {}

  /// A key and its value before `before`, which is a key of that map, or as its first one.
  void add_key(const YAML::Node& map, std::string_view before, const std::string& key,
               const YAML::Node& value);
  /// A value after a key that has none (`annotations:`, or null). False, and no change: there is
  /// an anchor, a tag or an alias.
  [[nodiscard]] bool fill(const YAML::Node& map, std::string_view key, const YAML::Node& value);
  [[nodiscard]] bool can_fill(const YAML::Node& map, std::string_view key) const;
  void add_first(const YAML::Node& list, const YAML::Node& item);
  /// In flow form as the first one, all the same.
  void add_last(const YAML::Node& list, const YAML::Node& item);
  /// The value of a key, a scalar, quoted or not, becomes `with`. False, and no change: the value
  /// is not written after its key as it is, but is empty, or has an anchor, or is an alias.
  [[nodiscard]] bool replace(const YAML::Node& map, std::string_view key, const std::string& with);
  /// Removes members of a map, or items of a list, by their numbers; once for each map or list.
  /// Items that add_key(), add_first() and add_last() have added are removed without a trace.
  /// Comments between members stay. False, and no change: nothing would be left of a map or list in
  /// block form.
  [[nodiscard]] bool remove(const YAML::Node& of, const std::set<std::size_t>& which);

  std::string apply() const;

 private:
  struct Edit {
    std::size_t at, erase;
    std::string text;
  };
  void insert(std::size_t at, std::string text);
  /// The text after the colon of such a key: nothing, or the word null. Without data: the key
  /// has another value.
  std::string_view null_behind(const YAML::Node& name, std::string_view key) const;
  bool is_taken(std::size_t place) const;
  void erase(std::size_t from, std::size_t to);
  bool remove_block(const YAML::Node& of, std::size_t first, std::size_t last);
  void remove_flow(const YAML::Node& of, std::size_t first, std::size_t last);
  std::size_t start_of(const YAML::Node& of, std::size_t member) const;
  std::size_t line_of(std::size_t at) const;
  std::size_t end_of_flow(std::size_t at) const;
  std::size_t end_of_member(std::size_t at) const;
  std::size_t before_comments(std::size_t from, std::size_t to) const;
  std::size_t open_of(const YAML::Node& node, char bracket) const;
  std::size_t end_of_block(std::size_t at, std::size_t column) const;

  std::string_view text_;
  std::vector<Edit> edits_;
};

inline bool is_flow(const YAML::Node& node) { return node.Style() == YAML::EmitterStyle::Flow; }

/// Whether the key is there without a value: nothing follows it, or null.
inline bool is_null(const YAML::Node& node) { return node.IsDefined() && node.IsNull(); }

/// The node of that key itself, whose mark is its place; undefined if there is none.
YAML::Node key_node(const YAML::Node& map, std::string_view key);

}  // namespace weir::app
