#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "admin/call.h"

/// Keys as callers of the API write them: one text per part.
namespace weir::admin {

inline constexpr std::size_t kKeyPartBytesMax = 4096;

/// The parts in canonical text: addresses masked and spelt as everywhere. Else the error, in
/// words. `slots`: of the policy's or list's first binding; `names`: of the parts.
std::variant<std::vector<std::string>, std::string> canonical_parts(
    const std::vector<std::string_view>& given, const std::vector<policies::KeySlot>& slots,
    const std::vector<std::string>& names);

/// Explains, for people, why a network is invalid where the key of an entry has an address.
std::string network_problem(std::string_view text);
/// Explains, for people, how to ask about a network where a question needs an address.
std::string network_question(std::string_view text);

std::vector<std::string_view> as_views(const std::vector<std::string>& parts);

/// Says of a part which no request has, such as a host with a dot at its end, that it is so; empty:
/// there is none. `parts`: canonical.
std::string never_note(const policies::PolicySet& set, const policies::List& list,
                       const std::vector<std::string>& parts);

/// The key parts of a list, as its first binding has them.
const std::vector<policies::KeySlot>& slots_of(const policies::PolicySet& set,
                                               const policies::List& list);

}  // namespace weir::admin
