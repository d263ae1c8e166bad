#include "policies/lang/extractors/query.h"

#include "core/utf8.h"
#include "policies/lang/extractors/arena.h"
#include "policies/lang/extractors/form.h"
#include "policies/lang/extractors/media_type.h"
#include "policies/lang/extractors/text.h"

namespace weir::policies {
namespace {

Extracted in_charset_of_body(const Request& request, const Extracted& got) noexcept {
  if (got.why != MissReason::none) return got;
  const Charset charset = charset_of(request.headers);
  const bool alike = charset == Charset::utf8 ||
                     (charset == Charset::ascii_based && is_ascii(got.value.as_text()));
  return alike ? got : Extracted::miss(MissReason::unreadable);
}

}  // namespace

Extracted find_in_query(Arena& arena, const Request& request, std::string_view name) noexcept {
  return in_charset_of_body(request, find_parameter(arena, request.query, name));
}

Extracted find_in_query(Arena& arena, const Request& request,
                        std::span<const PathStep> path) noexcept {
  return in_charset_of_body(request, find_parameter(arena, request.query, path));
}

}  // namespace weir::policies
