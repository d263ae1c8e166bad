#pragma once

#include <boost/json/value.hpp>
#include <string>

namespace weir::app {

/// What GET /v1/views answers, as a table for people. Pure; what comes from elsewhere is made
/// plain.
std::string views_table(const boost::json::value& answer);
/// What GET /v1/views/{view} answers: a heading for each window, oldest first, and its rows.
std::string view_windows(const boost::json::value& answer);

}  // namespace weir::app
