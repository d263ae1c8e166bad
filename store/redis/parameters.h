#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "limiter/exchange/shared_op.h"

namespace weir::store {

/// A number that an operation's part brings for its form: a script calls it `p.span`.
struct Parameter {
  std::string_view name;
  double (*of)(const limiter::SharedPart&);
};
/// The parameters that each part has room for; those of a form are in the order of its row. In a
/// window of the calendar the first ones are the edges of windows (kEdges).
inline constexpr std::size_t kParameters = 5;
inline constexpr auto kEdges =
    std::to_array<std::string_view>({"earlier", "begins", "ends", "later"});
static_assert(kEdges.size() <= kParameters);

/// A row may be shorter than kParameters; the values without a name are 0.
std::span<const Parameter> parameters_of(limiter::SharedForm form) noexcept;

/// The index of a form's parameter of this name: 0 .. kParameters - 1.
std::optional<std::size_t> place_of(std::string_view name, limiter::SharedForm form) noexcept;

/// A script's text with places for names: `p.a` for the first parameter, `p.b` for the second. In
/// scripts of plain operations parameters are locals, so there it is `a` and `b`.
std::string with_places(std::string_view text, limiter::SharedForm form, bool are_locals);

}  // namespace weir::store
