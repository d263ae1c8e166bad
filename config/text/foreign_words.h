#pragma once

#include <span>
#include <string_view>

/// Words of other rate limiters, proxies and rule engines, and weir's words for them: those that a
/// newcomer types first; and, of case files, keys of weir that belong to another level. A
/// configuration that holds one gets an error as for any other unknown word; only the hint is
/// better.
namespace weir::config {

struct ForeignWord {
  std::string_view hint;   ///< the correction; empty: the word is unknown
  std::string_view means;  ///< the key of weir that the word stands for; empty: none by itself
};

/// One row of the words: of a place, and with one meaning there.
struct ForeignRow {
  std::string_view place;
  std::string_view words;  ///< separated by blanks, in small letters
  std::string_view hint;
  std::string_view means;
};
std::span<const ForeignRow> foreign_rows() noexcept;

/// `place`: the kind of place of the word, in the words of messages ("a policy", "a rung") or, for
/// a value, the key before it ("do", "mode"); "expression": a name or function in an expression.
/// Letter case, `_` and `-` do not matter: `limit_by` is also `limitBy`.
ForeignWord foreign_word(std::string_view place, std::string_view word);

}  // namespace weir::config
