#pragma once

#include <boost/json/fwd.hpp>
#include <initializer_list>
#include <string>
#include <string_view>

#include "app/support/news.h"

/// Answers of the admin API as text for people: `weir ctl`. Pure. Hidden characters in texts from
/// elsewhere are escaped.
namespace weir::app {

/// GET /v1/policies: a row for each.
std::string policies_table(const boost::json::value& answer);
/// GET /v1/lists
std::string lists_table(const boost::json::value& answer);
/// GET /v1/lists/{list}, and /v1/lists/{list}/entries: a row for each entry.
std::string entries_table(const boost::json::value& answer);
/// A problem in the words of the API, which calls a value `until`, in those of the command line:
/// --until. `names`: the members that are flags of the command.
std::string said_by_flags(std::string problem, std::initializer_list<std::string_view> names);
/// POST and DELETE /v1/lists/{list}/entries
std::string entry_change(const boost::json::value& answer);
/// The answer's `note`, as a line; empty: there is none.
std::string note_line(const boost::json::value& answer);
/// DELETE /v1/lists/{list}
std::string list_cleared(const boost::json::value& answer);
/// POST /v1/lists/{list}/import, the answers of all pieces added up.
std::string list_imported(const boost::json::value& answer);
/// The time that an entry has left: `59m`, or `for good`.
std::string left_of(const boost::json::value& entry);
/// GET and DELETE /v1/counters/{policy}
std::string counters_table(const boost::json::value& answer);
std::string counters_emptied(const boost::json::value& answer);
/// POST /v1/reload, taken or refused (then with `problems`).
std::string reload_text(const boost::json::value& answer);
/// `problems` of an answer: a line for each, a hint below it, and how many more there are.
std::string problems_text(const boost::json::value& answer);
/// POST /v1/drain
std::string drain_text(const boost::json::value& answer);

/// GET /v1/audit: a line for each change, with the values before and after below it.
std::string audit_text(const boost::json::value& answer);

/// Policies by how busy they are: the verdicts of each since the answer before, by the second,
/// and in all. `before`: null the first time.
std::string top_table(const boost::json::value& answer, const boost::json::value& before,
                      double seconds);

/// A row of GET /v1/verdicts, as `weir dev` shows it.
News news_of(const boost::json::value& row);

}  // namespace weir::app
