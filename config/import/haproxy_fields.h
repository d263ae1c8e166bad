#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// Translates fetches of HAProxy (`src`, `req.hdr(X),lower`) to weir's fields.
namespace weir::config {

using HaproxyWords = std::vector<std::string>;

/// `name(argument)`; with no brackets the argument is empty.
std::pair<std::string, std::string> haproxy_call(const std::string& text);
/// A fetch and its converters: `req.hdr(host),field(1,:)` are two.
HaproxyWords haproxy_steps(const std::string& sample);

struct HaproxyField {
  enum class Kind : std::uint8_t { constant, text, header, path, address, number };
  Kind kind = Kind::text;
  std::string name;          ///< `header.x_kind`; of a constant: none
  bool absent = false;       ///< a request may come without it
  std::string function;      ///< the function of its converters: `lowerAscii`
  std::string address_from;  ///< of an address: the header that it comes in; empty: the connection
  int v4_bits = 32, v6_bits = 128;

  std::string expression() const { return function.empty() ? name : name + "." + function + "()"; }
};

std::optional<HaproxyField> haproxy_field(const std::string& sample);
/// The parts of a key: `base32+src` has three. Nothing: weir has no such fields.
std::optional<std::vector<HaproxyField>> haproxy_key(const std::string& sample);

/// How a condition compares.
struct HaproxyMatch {
  std::string method;  ///< beg, end, sub, dir, dom, reg, len, int, found; empty: as the field is
  bool fold = false;   ///< letter case makes no difference
  HaproxyWords patterns;
};

/// The condition as an expression; empty: see `why`.
std::string haproxy_comparison(const HaproxyField& field, const HaproxyMatch& match,
                               std::string& why);

}  // namespace weir::config
