#pragma once

#include <yaml-cpp/yaml.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weir::app {

/// Changes to a text at places that its parsed nodes name; applied together at the end. A map or
/// list may stand in block or in flow form.
class Edits {
 public:
  explicit Edits(std::string_view text) : text_(text) {}

  /// A key and its value before `before`, which is a key of that map, or as its first one.
  void add_key(const YAML::Node& map, std::string_view before, const std::string& key,
               const YAML::Node& value);
  void add_first(const YAML::Node& list, const YAML::Node& item);
  /// In flow form as the first one, all the same.
  void add_last(const YAML::Node& list, const YAML::Node& item);
  /// A scalar, quoted or not, becomes `with`.
  void replace(const YAML::Node& scalar, const std::string& with);

  std::string apply() const;

 private:
  struct Edit {
    std::size_t at, erase;
    std::string text;
  };
  void insert(std::size_t at, std::string text);
  std::size_t open_of(const YAML::Node& node, char bracket) const;
  std::size_t end_of_block(std::size_t at, std::size_t column) const;

  std::string_view text_;
  std::vector<Edit> edits_;
};

/// The node of that key itself, whose mark is its place; undefined if there is none.
YAML::Node key_node(const YAML::Node& map, std::string_view key);

}  // namespace weir::app
