#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// Masks secrets in texts that people paste into tickets. Pure.
namespace weir::config {

/// What the keys of a line are: settings, whose values may be secrets, or names and expressions of
/// what weir counts, such as `fields: {token: body.token}`.
enum class LineKeys : std::uint8_t { settings, names };

/// Tells what the keys of a file's lines are, from its first line to its last.
class LineSections {
 public:
  LineKeys next(std::string_view line);

 private:
  LineKeys keys_ = LineKeys::settings;
};

/// A line of a configuration as others may see it: of the same length, with `*` for each byte of
/// the values of keys such as `password`, `secret`, `token` or `authorization`, also mistyped ones
/// (not of keys that name a file), of passwords and queries in URLs, of the paths of webhooks, and
/// of the texts that an expression compares with such a key.
/// `before`: the line before it; a value may stand below its key.
std::string without_secrets(std::string_view line, std::string_view before = {},
                            LineKeys keys = LineKeys::settings);
/// The same of a message about a value or a key: passwords and queries in URLs, and what stands
/// behind such a key within quotes.
std::string without_secrets_of_message(std::string_view text);

}  // namespace weir::config
