#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/key.h"
#include "limiter/lists/bulk_list.h"
#include "policies/set/policy_set.h"

namespace weir::policies {

/// The entries that were read from the file or URL of a list.
struct BulkText {
  std::shared_ptr<const limiter::BulkList> entries;  ///< null: there are problems
  std::size_t ended = 0;                             ///< entries left out: their time was over
  std::vector<std::string> problems;  ///< `line 12: "x" is no address`; the first ten
  std::size_t problem_count = 0;
};

/// Reads one entry a line: the list's fields, then perhaps when the entry ends (`2027-01-01`, RFC
/// 3339, or Unix seconds) and why, with commas between them; in a list of addresses blanks will do
/// as well. A comment begins with `#` or `;`. A line that is no entry spoils the whole: half a list
/// is worse than the one before it. `entries_max`: of lines that are entries. Pure; linear in the
/// text, and takes the memory of the list once more while it sorts.
BulkText read_bulk_list(const List& list, std::string_view text, const HashSecret& secret,
                        TimePoint now, std::size_t entries_max);

}  // namespace weir::policies
