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
struct EntryRequest {
  std::vector<std::string_view> key;
  TimePoint until{};
  bool ended = false;  ///< its `until` has passed
  std::string_view why, effect;
};

/// Reads `key`, `for` or `until`, `why` and `effect`. Returns the error, or an empty text.
/// `from_file`: with neither `for` nor `until` the entry has no end, and an `until` that has passed
/// makes it one that has `ended`; else both are wrong.
std::string read_entry_request(const boost::json::object& body, TimePoint now, bool from_file,
                               EntryRequest& asked);

/// The one list that an entry goes to; null: there is none of this effect, or several lists and no
/// effect. `known` names the effects that there are.
const policies::List* choose_list(const EntryTarget& target, std::string_view effect,
                                  std::string& known);

/// Puts the key on the list, by `admin`.
limiter::ListOutcome add_wish(const Call& call, const policies::List& list,
                              const EntryTarget& target, const EntryRequest& asked);

}  // namespace weir::admin
