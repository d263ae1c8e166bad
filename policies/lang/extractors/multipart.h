#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "policies/lang/extractors.h"

namespace weir::policies {

/// The fields of a multipart/form-data body, read as strictly as browsers write it (RFC 7578). A
/// body that two common parsers could cut up differently is refused as a whole. Keeps its memory:
/// at most kPartsMax entries. Not thread-safe.
class Multipart {
 public:
  static constexpr std::size_t kPartsMax = 1000;

  /// `boundary` is plain (extractors/media_type.h); `ascii`: applications agree about ASCII alone,
  /// so names have nothing else. False: the body is not what browsers write; then find() may not be
  /// called. At most one empty line is before the first boundary and
  /// after the line of the last; lines end with CRLF; each part has one Content-Disposition with
  /// one name, no name that is encoded (`name*`) or is in Content-Type, and no transfer
  /// encoding.
  bool read(std::string_view body, std::string_view boundary, bool ascii);
  /// The value of a field: a view of the body, until the next read(). Misses: absent; ambiguous
  /// (two parts that some application takes for this field, or a file of this name); unreadable
  /// (not UTF-8, or of a type that applications decode).
  Extracted find(std::string_view name) const noexcept;
  /// The same of a field at a path (two steps or more): `user[email]`.
  Extracted find(std::span<const PathStep> path) const noexcept;

 private:
  struct Part {
    std::string_view name, value;
    bool file = false;   ///< has a filename, or one that is encoded (`filename*`)
    bool plain = true;   ///< text in UTF-8, as far as its headers say
    bool ascii = false;  ///< its headers name a charset of which only the ASCII part is readable
  };
  bool read_part(std::string_view part);
  template <class Match>
  Extracted find_matching(Match match) const noexcept;
  bool is_charset_unchanged() const noexcept;

  std::vector<Part> parts_;
};

}  // namespace weir::policies
