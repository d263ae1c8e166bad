#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "admin/call.h"
#include "admin/lists.h"
#include "limiter/lists/static_list.h"

namespace weir::admin {

/// A key in each of the lists that a name means (of a policy's own lists the parts are the
/// same).
struct EntryTarget {
  std::vector<const policies::List*> lists;
  std::vector<std::string> parts;  ///< canonical
  std::optional<Address> address;  ///< of lists of one address
  /// Where a part is a text that was cut when its key was listed: the keys of those entries.
  std::vector<std::pair<const policies::List*, Hash128>> cut;
};

enum class KeyUse : std::uint8_t {
  of_entry,  ///< to read or to remove
  to_list,
};

/// The entry of the call's `{list}` and these key parts; else the problem to answer with. If only a
/// part of a key is kept (limiter::is_cut), the key is found by that part, if one entry has it; it
/// cannot be listed.
std::variant<EntryTarget, net::HttpReply> entry_target(const Call& call,
                                                       const std::vector<std::string_view>& given,
                                                       KeyUse use);

Hash128 key_in(const Call& call, const policies::List& list, const EntryTarget& target);
/// The entry of the configuration that covers the key; null: none does.
const limiter::StaticList::Entry* static_entry(const Call& call, const policies::List& list,
                                               const EntryTarget& target);
/// The entry of the list's file or URL that covers the key; none: none does.
std::optional<boost::json::object> source_entry(const Call& call, const policies::List& list,
                                                const EntryTarget& target);

}  // namespace weir::admin
