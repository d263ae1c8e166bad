#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// One JSON object, read in place: its members, and the byte offset of each, so that
/// an error of an event has a column. (Boost.JSON and simdjson do not report a member's offset,
/// and simdjson's lazy reader does not check that skipped text is JSON at all.)
namespace weir::api {

struct JsonMember {
  enum class Kind : std::uint8_t { null, boolean, integer, real, text, object, array };
  std::string_view name;  ///< unescaped
  Kind kind = Kind::null;
  bool boolean = false;
  std::int64_t integer = 0;
  double real = 0;
  std::string_view text;            ///< text: unescaped; object, array: the raw text, checked
  std::size_t name_at = 0, at = 0;  ///< offsets of name and value
};

/// The error, and its byte.
struct JsonWrong {
  std::size_t at = 0;
  std::string what;
};

/// Strict RFC 8259: one object and blanks around it, valid UTF-8, no lone surrogates, no name twice
/// in the outermost object, at most kDepthMax levels and kMembersMax members. Numbers without
/// fraction and exponent are integers, others doubles; numbers beyond 64 bits or a double are
/// null. Keeps its memory. Not thread-safe.
class JsonMembers {
 public:
  static constexpr std::size_t kDepthMax = 16;
  static constexpr std::size_t kMembersMax = 256;

  /// The members live until the next read, in `object` and here. `base` is added to all offsets.
  std::optional<JsonWrong> read(std::string_view object, std::size_t base = 0);
  const std::vector<JsonMember>& members() const noexcept { return members_; }
  const JsonMember* find(std::string_view name) const noexcept;

 private:
  class Scan;
  std::vector<JsonMember> members_;
  std::string unescaped_;  // reserved beforehand: views into it stay
};

}  // namespace weir::api
