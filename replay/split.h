#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policies/set/policy_set.h"

namespace weir::replay {

/// How a replay can be shared out to several threads so that its result stays, byte for byte, what
/// one thread finds.
struct Split {
  enum class By : std::uint8_t {
    nothing,   ///< one thread
    rows,      ///< each thread judges the rows of its own values of one field
    policies,  ///< each thread judges every row, by its own policies
  };
  /// Each thread evaluates this policy, because it decides what other policies count. Only the
  /// first thread reports it.
  static constexpr unsigned kEvery = ~0U;

  By by = By::nothing;
  unsigned threads = 1;
  std::string text;  ///< for people: by what; by nothing: why

  // rows
  std::string field;
  /// The slot of the field: by the event's source, empty for requests.
  std::map<std::string, policies::KeySlot> places;

  // policies: the thread that reports each, by index
  std::vector<unsigned> policies, other_policies, views;
};

/// The best way for at most `threads` threads. `other` may be null: the set of `--against`.
/// `gives_rows`: rows are wanted in their order, not only a report. Neither set is changed.
Split make_split(const policies::PolicySet& set, const policies::PolicySet* other, unsigned threads,
                 bool gives_rows);

/// Leaves in a set that is not attached yet only what thread `index` judges by. All indices stay.
void keep_part(policies::PolicySet& set, const std::vector<unsigned>& policies,
               const std::vector<unsigned>& views, unsigned index);

}  // namespace weir::replay
