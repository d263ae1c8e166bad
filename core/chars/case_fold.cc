#include "core/chars/case_fold.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace weir {
namespace {

/// Every `step`-th character from `first` to `last` folds to the one `difference` away.
struct Range {
  std::uint32_t first, last, step;
  std::int32_t difference;
};

constexpr Range kRanges[] = {
#include "core/chars/case_fold_table.inc"
};

char32_t lower(char32_t code) noexcept { return code >= U'A' && code <= U'Z' ? code | 0x20 : code; }

}  // namespace

char32_t fold_case(char32_t code) noexcept {
  if (code < 0x80) return lower(code);
  const Range* const found =
      std::lower_bound(std::begin(kRanges), std::end(kRanges), code,
                       [](const Range& range, char32_t wanted) { return range.last < wanted; });
  if (found == std::end(kRanges) || code < found->first) return code;
  if ((code - found->first) % found->step != 0) return code;
  return lower(static_cast<char32_t>(static_cast<std::int64_t>(code) + found->difference));
}

}  // namespace weir
