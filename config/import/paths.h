#pragma once

#include <string>
#include <string_view>

#include "config/import/imported.h"

/// Conditions over the path of a request, as other programs ask them. They look at the decoded
/// path as it came; weir's `path` is escaped, and has no slash at its end.
namespace weir::config {

/// `holds` is true wherever the other program's condition is: its limits hold there. `excludes` is
/// true only where that is, so that an exclusion from a limit is no way round it: of `= /a`,
/// `holds` takes `/a/` too, as an application may.
struct PathCondition {
  std::string holds;
  std::string excludes;
};

PathCondition path_is(std::string_view text);
PathCondition path_begins(std::string_view text);
/// The condition for a pattern that carried_pattern() has given.
PathCondition path_matches(std::string_view pattern);

/// The section `fields` with `uri`, the path with the slash at its end, if these policies read it.
std::string uri_field(std::string_view policies);

/// A pattern of PCRE in the syntax of RE2; or why there is none.
struct CarriedPattern {
  std::string text;
  std::string why;
};
/// `of_path`: characters that `path` has escaped are escaped in it too.
CarriedPattern carried_pattern(std::string_view pattern, bool of_path, bool caseless,
                               const PatternCheck& check);

}  // namespace weir::config
