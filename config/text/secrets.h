#pragma once

#include <string>
#include <string_view>

/// Masks secrets in texts that people paste into tickets. Pure.
namespace weir::config {

/// A line of a configuration as others may see it: of the same length, with `*` for each byte of
/// the values of keys such as `password`, `secret`, `token` or `authorization`, also mistyped ones
/// (not of keys that name a file), of passwords and queries in URLs, and of the paths of webhooks.
/// `before`: the line before it; a value may stand below its key.
std::string without_secrets(std::string_view line, std::string_view before = {});
/// The same of a message about a value or a key: passwords and queries in URLs, and what stands
/// behind such a key within quotes.
std::string without_secrets_of_message(std::string_view text);

}  // namespace weir::config
