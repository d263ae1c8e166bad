#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "policies/lang/extractors/names.h"
#include "policies/lang/slots.h"

/// Names of forms and queries that mean a path: applications read `user[email]` as
/// `body.user.email` (PHP, Ruby, qs), `user.email` too (Spring, ASP.NET, qs with dots).
namespace weir::policies {

enum class PathMatch : std::uint8_t {
  no,         ///< no application takes it for the field
  field,      ///< some application does
  container,  ///< the field is a list or map of it, or which element it is differs: `user[email][]`
  elsewhere,  ///< another element of the list: the field, for parsers that close gaps in lists
};

/// The same of a name alone.
constexpr PathMatch path_match(NameMatch match) noexcept {
  if (match == NameMatch::no) return PathMatch::no;
  return match == NameMatch::container ? PathMatch::container : PathMatch::field;
}

/// Compares the raw name in the message. Letters are folded as by match_form_name(), in each step.
/// Text that is left over after a `]` (PHP and qs drop it) makes it a container, and so do an index
/// that the application chooses (`items[]`) and any index but 0. Pure, no allocation.
PathMatch match_form_path(std::string_view encoded, std::span<const PathStep> path) noexcept;

/// Whether a member of a JSON object has the whole path for its name: `{"user.email": ...}` or
/// `{"user[email]": ...}`, which lodash's get() prefers to the nested member. Pure.
bool is_flat_path(std::string_view member, std::span<const PathStep> path) noexcept;

}  // namespace weir::policies
