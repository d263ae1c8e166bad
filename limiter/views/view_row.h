#pragma once

#include <string>
#include <string_view>

#include "limiter/views/view.h"

namespace weir::limiter {

/// Appends a result as the stable JSON of `weir replay -o ndjson` and of GET /v1/views, without a
/// line end:
/// {"type":"view","view":V,"start":MS,"end":MS,"complete":true,"total":T,"rows":[[key...,value]]}.
/// Key parts are strings, integers bare, doubles shortest.
void append_view_row(std::string& out, std::string_view view, const ViewWindow& window);

}  // namespace weir::limiter
