#pragma once

#include <cstdint>

namespace weir {

/// What a body is read as. `none`: nothing that weir reads; of an event: whatever Content-Type
/// says.
enum class BodyKind : std::uint8_t { none, json, form, multipart };

}  // namespace weir
