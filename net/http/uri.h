#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Parses the target of a request to one of the small doors. Pure; throws only if memory runs out.
namespace weir::net {

/// A path's segments, decoded after splitting: `/v1/lists/a%2Fb` has three. No empty ones: nullopt
/// for `//`, a trailing `/`, `.`, `..`, or a broken escape.
std::optional<std::vector<std::string>> split_path(std::string_view path);

/// Whether a URL or a part of it has characters that need an escape: a blank, a control character,
/// or `#`, which begins a fragment. Bytes from 0x80 on need none.
bool lacks_escapes(std::string_view url) noexcept;

/// Parameters of a query in their order.
class Query {
 public:
  static constexpr std::size_t kParametersMax = 32;
  /// nullopt: a broken escape, or too many parameters.
  static std::optional<Query> parse(std::string_view text);

  std::vector<std::string_view> all(std::string_view name) const;
  /// The only value of that name, if there is exactly one.
  std::optional<std::string_view> one(std::string_view name) const;
  /// The first value of that name, which is then no parameter any more.
  std::optional<std::string> take(std::string_view name);
  bool has(std::string_view name) const { return !all(name).empty(); }
  /// The first name that is not among `known`.
  std::optional<std::string_view> unknown(std::initializer_list<std::string_view> known) const;

 private:
  std::vector<std::pair<std::string, std::string>> parameters_;
};

/// The host of a Host field or authority: lower case, without port and brackets. nullopt: none, or
/// not the form HOST, HOST:PORT, [V6], [V6]:PORT.
std::optional<std::string> host_of_authority(std::string_view authority);

}  // namespace weir::net
