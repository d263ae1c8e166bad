#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/model.h"
#include "core/number.h"

namespace weir::policies {

/// Thresholds by dimension. A lookup takes the exact value of each dimension first and backtracks
/// to `*`; null where nothing matches: the rung does not hold. Immutable; thread-safe.
class ThresholdTable {
 public:
  ThresholdTable(std::string name, std::vector<std::string> by, const config::TableNode& values);

  const std::string& name() const noexcept { return name_; }
  const std::vector<std::string>& by() const noexcept { return by_; }
  /// `dimensions`: canonical text of each value; nullopt for a missing one, which only `*` matches.
  std::optional<Number> find(std::span<const std::optional<std::string_view>> dimensions) const;

 private:
  struct Node {
    std::optional<Number> limit;
    std::map<std::string, Node, std::less<>> children;
  };
  static Node build(const config::TableNode& from);
  static const Number* find(const Node& node,
                            std::span<const std::optional<std::string_view>> rest);

  std::string name_;
  std::vector<std::string> by_;
  Node root_;
};

}  // namespace weir::policies
