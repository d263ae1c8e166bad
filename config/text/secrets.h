#pragma once

#include <string>
#include <string_view>

/// Masks secrets in texts that people paste into tickets. Pure.
namespace weir::config {

/// A line of a configuration as others may see it: of the same length, with `*` for each byte of
/// the values of keys such as `password`, `secret`, `token` or `authorization` (files of them are
/// no secrets), of passwords in URLs, and of the paths of webhooks. `before`: the line before it; a
/// value may stand below its key.
std::string without_secrets(std::string_view line, std::string_view before = {});
/// The same of the passwords in URLs alone: of a message about a value.
std::string without_url_passwords(std::string_view text);

}  // namespace weir::config
