#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "admin/entry_target.h"
#include "core/clock.h"
#include "limiter/lists/lists.h"

namespace weir::admin {

/// An entry as a caller asks for it. The views point into the JSON that it was read from.
struct EntryWish {
  std::vector<std::string_view> key;
  TimePoint until{};
  std::string_view why, effect;
};

/// Reads `key`, `for` or `until`, `why` and `effect`. Returns what is wrong, or an empty text.
/// `for_ever`: with neither `for` nor `until` the entry has no end; else one of them is required.
std::string read_entry_wish(const boost::json::object& body, TimePoint now, bool for_ever,
                            EntryWish& wish);

/// The one list that an entry goes to; null: there is none of this effect, or several lists and no
/// effect. `known` names the effects that there are.
const policies::List* choose_list(const EntryTarget& target, std::string_view effect,
                                  std::string& known);

/// Puts the key on the list, by `admin`.
limiter::ListOutcome add_wish(const Call& call, const policies::List& list,
                              const EntryTarget& target, const EntryWish& wish);

}  // namespace weir::admin
