#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/value.h"
#include "policies/lang/slots.h"

/// The table of everything that can be read from a request or an answer. A new extractor is a
/// function and a row in one family under extractors/; the checks, the error texts and the
/// reference walk it.
namespace weir::policies {

class Frame;

/// Why a slot has no value.
enum class MissReason : std::uint8_t {
  none,        ///< the value is there
  absent,      ///< not there (or JSON null)
  ambiguous,   ///< applications differ in their reading: given twice, a list, two spellings
  unreadable,  ///< broken escapes or JSON, not UTF-8, a body of a kind that weir does not read
  too_large,   ///< the body is over limits.body
  encoded,     ///< the body has a Content-Encoding
  too_costly,  ///< its expression needs more memory than one may take
  failed,      ///< the field's expression failed (overflow, wrong type, ...)
  unread,  ///< not read or not kept: a body that no policy needs, an answer that is not there yet
  path,    ///< of the path itself: servers read it in different ways
};
std::string_view miss_reason_text(MissReason reason) noexcept;  // "absent", ...
/// Whether something is present, but different applications may read different values. It is not
/// missing: an expression that depends on it fails.
constexpr bool is_unread(MissReason reason) noexcept {
  return reason == MissReason::unreadable || reason == MissReason::ambiguous ||
         reason == MissReason::too_large || reason == MissReason::encoded ||
         reason == MissReason::too_costly;
}

/// The one of two reasons that weighs more: reasons to refuse weigh most.
MissReason worse(MissReason a, MissReason b) noexcept;

/// The value that an extractor has read, or the reason why there is none.
struct Extracted {
  Value value;
  MissReason why = MissReason::none;
  static Extracted miss(MissReason reason) noexcept {
    return {is_unread(reason) ? Value::error() : Value::null(), reason};
  }
};

enum class ArgumentForm : std::uint8_t {
  none,    ///< `method`
  name,    ///< `query.x`, `query["odd name"]`: exactly one name, case kept
  header,  ///< `header.x_device_id`: one name, case ignored, `_` is `-`
  path,    ///< `body.items[0].sku`; also bare `body`
  index,   ///< segments of a route: by call only
};

/// A field of expressions and keys: its name, its argument and its function.
struct ExtractorRow {
  std::string_view name;  ///< as spelled; `response.header` has two words
  ArgumentForm form;
  Type type;
  Side side;
  bool needs_body;  ///< of its side
  bool client_asserted;
  std::string_view help;  ///< one line
  /// Views in the result live as long as the request (or answer), or until the Frame's next begin.
  Extracted (*read)(Frame& frame, const Argument& argument) noexcept;
};

/// All rows, family by family, in the order of the reference page.
std::span<const ExtractorRow> extractor_rows();
const ExtractorRow* find_extractor(std::string_view name);
/// Whether no event field, list or metric may take this name: the first word of an extractor,
/// `event`, `value`, `limit`, the words of the grammar (`true`, `in`, `and`, ...).
bool is_reserved_name(std::string_view name);

/// The header name for `header.x_device_id`, in lower case: `x-device-id`. Nothing if the name is
/// not a token.
std::optional<std::string> wire_header_name(std::string_view spelled);

/// "json", "form", "multipart"; empty for none.
std::string_view body_kind_text(BodyKind kind) noexcept;

/// Canonical text of an attribute: `body.items[0]["odd name"]`.
std::string attribute_text(const ExtractorRow& row, const Argument& argument);

// The families.
std::span<const ExtractorRow> http_extractors();
std::span<const ExtractorRow> network_extractors();
std::span<const ExtractorRow> body_extractors();
std::span<const ExtractorRow> envoy_extractors();
std::span<const ExtractorRow> descriptor_extractors();

}  // namespace weir::policies
