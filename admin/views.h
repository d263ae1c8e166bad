#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <vector>

#include "admin/call.h"
#include "limiter/lists/bulk_list.h"
#include "limiter/lists/static_list.h"

/// The things of the API as JSON; docs/openapi.yaml has their schemas.
namespace weir::admin {

boost::json::object load_view(const LoadReport& report);
/// For the note of an answer: `; warning: ...` for each warning of a change; empty: there is none.
std::string warnings_note(const LoadReport& report);
boost::json::object policy_view(const Call& call, const policies::Policy& policy);
/// The view of a policy that is not compiled, because it is disabled: its name, mode and overrides;
/// the rest is empty.
boost::json::object disabled_policy_view(const Call& call, std::string_view name);
/// `enforce` or `shadow`, as the policy runs now.
std::string_view mode_text(const Call& call, const policies::Policy& policy);
boost::json::object list_view(const Call& call, const policies::List& list);
/// An entry that was added while running.
boost::json::object entry_view(const Call& call, const policies::List& list,
                               const limiter::ListEntry& entry);
/// The parts of an entry of the configuration as they are written there.
std::vector<std::string> static_parts(const policies::List& list,
                                      const limiter::StaticList::Entry& entry);
/// An entry of the configuration.
boost::json::object static_entry_view(const Call& call, const policies::List& list,
                                      const limiter::StaticList::Entry& entry);
/// A verdict, or a key that was listed.
boost::json::object verdict_view(const VerdictRow& from);
/// The file or URL that a list's further entries come from.
std::string source_text(const policies::List& list);
struct SourceEntry {
  boost::json::object row;
  TimePoint until;
};
/// An entry that comes from there and matches; none: there is none in force. `address` as of
/// StaticList::find.
std::optional<SourceEntry> source_entry_view(const Call& call, const policies::List& list,
                                             const Hash128& key, const Address* address,
                                             const std::vector<std::string>& parts);
/// The row of such an entry; `parts`: the key of one that is kept as a hash.
boost::json::object source_entry_row(const Call& call, const policies::List& list,
                                     const limiter::BulkList::Found& found,
                                     const std::vector<std::string>& parts);
/// Over which window a counter counts: `the last 10m`; null if there is none.
boost::json::value window_value(const policies::Counter& counter);

}  // namespace weir::admin
