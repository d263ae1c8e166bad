#pragma once

#include <string_view>

#include "core/effect.h"
#include "net/http/refusal.h"
#include "proxy/head_text.h"

namespace weir::proxy {

/// The line of answers of our own that a later try may not get.
inline constexpr std::string_view kRetryAfter = "Retry-After: 1\r\n";

/// An answer of our own.
struct LocalAnswer {
  int status = 500;
  std::string_view lines;         ///< whole header lines to add; may be empty
  std::string_view content_type;  ///< empty: no body
  std::string_view body;
  std::string_view request_id;  ///< may be empty
  bool keep_alive = true;
  bool head_only = false;  ///< the request was HEAD: Content-Length, but no body
  bool http_1_0 = false;   ///< then the answer must announce that the connection stays
};

/// Appends the whole answer, ready to send. No allocation once `out` has grown.
void append_answer(HeadText& out, const LocalAnswer& answer, std::string_view date);

/// The answer for an error of the path itself (400, 408, 502 ...): a short problem+json body
/// (RFC 9457). `lines` and the flags stay as they are.
void fill_problem(LocalAnswer& answer, int status) noexcept;
/// The answer to a refusal by the parser: as fill_problem, with a detail that names the error.
void fill_refusal(LocalAnswer& answer, net::HttpRefusal refusal);

/// An Effect of kind answer, as it goes out.
LocalAnswer render(const Effect& effect) noexcept;

}  // namespace weir::proxy
