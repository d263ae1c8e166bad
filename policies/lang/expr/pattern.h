#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}

namespace weir::policies::expr {

/// Compiles an RE2 pattern whose automata stay within a fixed budget of memory. Null with the
/// reason in `error` if it is malformed or too large.
std::unique_ptr<re2::RE2> compile_pattern(std::string_view pattern, std::string& error);

/// Whether the pattern can match no text at all, as far as its shape shows: an empty class,
/// something that must follow `$` or precede `^`. True is certain; false may be a pattern that
/// is merely odd.
bool matches_nothing(const re2::RE2& compiled);

}  // namespace weir::policies::expr
