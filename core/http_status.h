#pragma once

#include <string_view>

namespace weir {

/// The reason phrase of a status that weir itself may answer with (RFC 9110 section 15 and the
/// registry beside it); "" for any other. Thread-safe, as is all here.
std::string_view reason_phrase(int status) noexcept;

/// A whole problem+json body (RFC 9457) that says no more than the status; "" as above.
std::string_view problem_body(int status) noexcept;

}  // namespace weir
