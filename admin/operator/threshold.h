#pragma once

#include <boost/json/value.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "limiter/lists/lists.h"
#include "policies/set/policy_set.h"

/// The threshold that a rung of a policy compares its readings with, as far as it is known for a
/// key: a number, or the limits of a table, of which each event chooses one.
namespace weir::admin {

/// An entry that a policy has made, and the list that has it.
using MadeEntry = std::pair<const policies::List*, limiter::ListEntry>;

/// The facts about the key of a reading. The caller keeps the objects that it refers to.
struct KeyFacts {
  std::span<const std::string> parts;  ///< canonical; empty: of no key in particular
  std::span<const MadeEntry> entries;  ///< of this key
};

struct Threshold {
  std::optional<Number> limit;  ///< the only one that the key can meet
  const policies::ThresholdTable* table = nullptr;
  std::optional<policies::ThresholdTable::Reach> reach;  ///< of a table; none: it has no limit
  std::optional<Number> listed_at;                   ///< of a table: where the key passed it last
  const policies::Expression* expression = nullptr;  ///< each event brings its own limit
};

Threshold threshold_of(const policies::PolicySet& set, const policies::Policy& policy,
                       std::size_t rung, const KeyFacts& key);

/// The threshold of a rung if it is a number, the same for all events; else null.
const Number* limit_of(const policies::Policy& policy, std::size_t rung);

/// The table that has the limits of a rung; null: none.
const policies::ThresholdTable* table_of(const policies::PolicySet& set,
                                         const policies::Policy& policy, std::size_t rung);

bool passes(Compare compare, const Number& reading, const Number& limit);
/// Whether a rung holds for this reading, with no further event; nothing: each event decides it.
std::optional<bool> holds(Compare compare, const Threshold& threshold, const Number& reading);

/// `1500 to 3000 by shop, os`
std::string range_text(const Threshold& threshold);
/// The same as an object; null: it is no table.
boost::json::value table_value(const Threshold& threshold);

}  // namespace weir::admin
