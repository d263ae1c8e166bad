#pragma once

#include <cstdint>

namespace weir {

/// How weir reads a body. `none`: weir reads nothing of this kind; in an event, `none` means that
/// Content-Type decides.
enum class BodyKind : std::uint8_t { none, json, form, multipart };

}  // namespace weir
