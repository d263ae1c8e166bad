#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
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

  /// The limits that a lookup may find while some dimensions are not known.
  struct Reach {
    Number least, most;
    bool always = true;  ///< whatever the others are, there is a limit
  };
  /// `known`: as of find(); nullopt: may be any value. Nothing: no lookup finds a limit. It looks
  /// at kVisitsMax places at most: of a larger table the answer may hold limits of other values
  /// too.
  std::optional<Reach> reach(std::span<const std::optional<std::string_view>> known) const;
  /// Whether such a lookup may find this limit. As costly as reach(); unexamined parts may
  /// have it.
  bool may_give(const Number& limit, std::span<const std::optional<std::string_view>> known) const;

  /// The different limits, collected once when the table is built.
  struct Summary {
    struct Limit {
      Number limit;
      std::size_t cells = 0;                     ///< how often the table has it
      std::vector<std::vector<std::string>> of;  ///< the values of the first three of them
    };
    std::vector<Limit> limits;  ///< ascending; of too many some, at even distances
    std::size_t left_out = 0;   ///< different limits that are not among them
    std::size_t unlimited = 0;  ///< places without a limit
  };
  const Summary& summary() const noexcept { return summary_; }

 private:
  static constexpr std::size_t kVisitsMax = 10'000;
  struct Node {
    std::optional<Number> limit;
    std::unique_ptr<const Reach> below;  ///< of no known dimension; null: it has a limit, or none
    std::map<std::string, Node, std::less<>> children;
  };
  /// Each limit with the values that lead to it, in the order of the values.
  using Visit = std::function<void(const std::vector<std::string>& path, const Number& limit)>;
  static Node build(const config::TableNode& from);
  static Summary summarize(const Node& root);
  static const Number* find(const Node& node, std::uint32_t bit,
                            std::span<const std::optional<std::string_view>> rest,
                            std::uint32_t* open);
  static bool reach(const Node& node, std::span<const std::optional<std::string_view>> rest,
                    std::size_t& left, std::optional<Reach>& out);
  struct Search {
    const Number& limit;
    std::size_t left;  ///< places that may still be looked at
    bool found = false;
  };
  static bool search(const Node& node, std::span<const std::optional<std::string_view>> rest,
                     Search& search);
  static void each(const Node& node, std::vector<std::string>& path, const Visit& visit);

  std::string name_;
  std::vector<std::string> by_;
  Node root_;
  Summary summary_;
};

}  // namespace weir::policies
