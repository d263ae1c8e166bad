#pragma once

#include <boost/json/fwd.hpp>
#include <string>

namespace weir::app {

/// An answer of the admin API for people: `name: value` lines, nested values indented below their
/// name, numbers in their shortest form. Text is made fit for a terminal.
std::string outline(const boost::json::value& value);

}  // namespace weir::app
