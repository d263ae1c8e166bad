#pragma once

#include "config/sections/sections.h"

/// Checks the `match` of an event.
namespace weir::config {

/// `POST /api/login`: a method in capitals or `*`, one blank, a route that begins with `/`. Syntax
/// of other routers gets a message with the right form.
void check_match(Reader& reader, const Member& m, const Text& match);

/// Reports the right form instead of a list or a map, which some routers take.
void tell_match(Reader& reader, const Member& m);

}  // namespace weir::config
