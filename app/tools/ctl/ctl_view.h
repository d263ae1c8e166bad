#pragma once

#include <boost/json/value.hpp>
#include <string>

namespace weir::app {

/// The answer of GET /v1/views, as a table for people. Pure; texts from elsewhere are escaped.
std::string views_table(const boost::json::value& answer);
/// The answer of GET /v1/views/{view}: a heading for each window, oldest first, and its rows.
std::string view_windows(const boost::json::value& answer);

}  // namespace weir::app
