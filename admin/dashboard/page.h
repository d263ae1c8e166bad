#pragma once

#include <optional>
#include <string_view>

#include "net/http/server.h"

namespace weir::admin {

/// Whether a file of the dashboard is at this path: the same for everyone, with nothing secret
/// in it.
bool is_page_file(std::string_view path) noexcept;

/// The file at the path; nullopt: there is none. Compressed for clients that accept it.
std::optional<net::HttpReply> page_file(const net::HttpRequest& request);

}  // namespace weir::admin
