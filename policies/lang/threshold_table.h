#pragma once

#include <cstdint>
#include <functional>
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

  /// What a lookup may find while some dimensions are not known.
  struct Reach {
    Number least, most;
    bool always = true;  ///< whatever the others are, there is a limit
  };
  /// `known`: as of find(); nullopt: may be any value. Nothing: no lookup finds a limit.
  std::optional<Reach> reach(std::span<const std::optional<std::string_view>> known) const;
  /// Each limit with the values that lead to it, in the order of the values.
  using Visit = std::function<void(const std::vector<std::string>& path, const Number& limit)>;
  void each(const Visit& visit) const;

 private:
  struct Node {
    std::optional<Number> limit;
    std::map<std::string, Node, std::less<>> children;
  };
  static Node build(const config::TableNode& from);
  static const Number* find(const Node& node, std::uint32_t bit,
                            std::span<const std::optional<std::string_view>> rest,
                            std::uint32_t* open);
  static bool reach(const Node& node, std::span<const std::optional<std::string_view>> rest,
                    std::optional<Reach>& out);
  static void each(const Node& node, std::vector<std::string>& path, const Visit& visit);

  std::string name_;
  std::vector<std::string> by_;
  Node root_;
};

}  // namespace weir::policies
