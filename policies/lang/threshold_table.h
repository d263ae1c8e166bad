#pragma once

#include <cstdint>
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
  /// `open`, if it is not null: gets a bit for each missing dimension whose value might lead to
  /// another limit (the first one is bit 0; of 32 at most).
  std::optional<Number> find(std::span<const std::optional<std::string_view>> dimensions,
                             std::uint32_t* open = nullptr) const;

 private:
  struct Node {
    std::optional<Number> limit;
    std::map<std::string, Node, std::less<>> children;
  };
  static Node build(const config::TableNode& from);
  static const Number* find(const Node& node, std::uint32_t bit,
                            std::span<const std::optional<std::string_view>> rest,
                            std::uint32_t* open);

  std::string name_;
  std::vector<std::string> by_;
  Node root_;
};

}  // namespace weir::policies
