#pragma once

#include "config/sections/sections.h"

/// Checks the `match` of an event.
namespace weir::config {

/// `POST /api/login`: a method in capitals or `*`, one blank, a route that begins with `/`. What
/// other routers take instead is named, with what to write.
void check_match(Reader& reader, const Member& m, const Text& match);

/// Reports what to write instead of a list or a map, which some routers take.
void tell_match(Reader& reader, const Member& m);

}  // namespace weir::config
