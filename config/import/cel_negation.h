#pragma once

#include <string>
#include <string_view>

namespace weir::config {

/// The condition of CEL with no `!` before a group of `&&` or `||`: `!(a && b)` becomes
/// `(!(a) || !(b))`, and so on inside (De Morgan's laws, which hold in CEL also where a part is an
/// error: `false && error` is false). So each part that is negated can be asked for by itself.
/// Groups with `?` or after `!!`, and more than 32 negations within each other, stay as they are,
/// and so does a text that is not CEL. Comments are left out. Pure.
std::string push_negations(std::string_view text);

}  // namespace weir::config
