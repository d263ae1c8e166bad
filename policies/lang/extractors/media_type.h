#pragma once

#include <span>
#include <string_view>

#include "core/event.h"
#include "core/words.h"

namespace weir::policies {

/// The content of Content-Type.
struct MediaType {
  BodyKind kind = BodyKind::none;  ///< none: another type, or no type
  /// Applications may differ in their reading: two Content-Type lines, a charset that is neither
  /// UTF-8 nor one byte a character beyond US-ASCII, or given twice, broken parameters, a boundary
  /// that is not plain.
  bool ambiguous = false;
  /// The charset is US-ASCII, or has one byte a character and begins with US-ASCII (ISO-8859-1,
  /// windows-1252): applications agree about bytes below 0x80 alone.
  bool ascii = false;
  std::string_view boundary;  ///< of multipart; a view into the header
};

/// The one Content-Type of these headers. Pure.
MediaType media_type_of(std::span<const HeaderField> headers) noexcept;
/// The value of a Content-Type line. Pure.
MediaType parse_media_type(std::string_view value) noexcept;

enum class Charset : std::uint8_t {
  utf8,         ///< or none is named
  ascii_based,  ///< US-ASCII, or one of one or two bytes a character that begins with it
  other,        ///< another one, several, or broken parameters
};
/// The charset that the Content-Type lines name, whatever the type. Pure.
Charset charset_of(std::span<const HeaderField> headers) noexcept;

/// Whether a parameter may have an encoded word of RFC 2047 (`=?utf-8?q?=61?=`), which Tomcat
/// decodes in boundaries and in the parameters of parts.
bool may_have_encoded_word(std::string_view text) noexcept;

/// Whether the parameters of a type (`; charset=utf-8`) name UTF-8, no charset, or one of which
/// only the ASCII part is readable (`ascii`, as above).
bool read_charset(std::string_view parameters, bool& ascii) noexcept;

/// Reads one `; name=value` of a header, the value without its quotes. False: there is none, or it
/// is broken; `broken` says which. A `\` or a control byte in quotes counts as broken, because
/// applications read them differently.
bool next_header_parameter(std::string_view& rest, std::string_view& name, std::string_view& value,
                           bool& broken) noexcept;

}  // namespace weir::policies
