#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/value.h"
#include "policies/lang/expr/program.h"

/// The table of functions. A new one is a function and a row in functions.cc; the checks, the error
/// texts and the reference walk the table.
namespace weir::policies::expr {

/// A set of types that a parameter takes, one bit per Type.
using TypeSet = std::uint16_t;
constexpr TypeSet set_of(Type type) noexcept {
  return static_cast<TypeSet>(1u << static_cast<unsigned>(type));
}
template <class... T>
constexpr TypeSet set_of(Type first, T... rest) noexcept {
  return static_cast<TypeSet>(set_of(first) | set_of(rest...));
}

struct Param {
  /// All but `value` are text literals that are read at load and not passed to the function.
  enum class Role : std::uint8_t { value, pattern, network, zone, list_name, table_name };
  std::string_view name;
  Role role = Role::value;
  TypeSet types = 0;  ///< value
};

struct Call {
  Frame& frame;
  const Payload& payload;
  std::span<const Value> args;  ///< neither null nor error: these decide a call before it is made
};

struct FunctionRow {
  std::string_view name;
  bool method;                ///< usually spelled `x.name()`; both forms work
  std::vector<Param> params;  ///< the last one repeats up to `max`
  std::size_t min, max;       ///< arguments, with literals
  Type result;
  bool pure;                            ///< folded when all arguments are constant
  std::string_view help;                ///< one line
  Value (*call)(const Call&) noexcept;  ///< null for `has`, which is not a strict function
};

std::span<const FunctionRow> function_rows();
const FunctionRow* find_function(std::string_view name);

}  // namespace weir::policies::expr
