#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/event.h"
#include "core/value.h"
#include "policies/lang/extractors.h"
#include "policies/lang/extractors/media_type.h"

namespace weir::policies {

class Arena;

/// The sender of a body.
enum class BodyFrom : std::uint8_t {
  client,  ///< read as strictly as the readings of applications differ (docs/security.md)
  app,     ///< an answer or a record of a file: no other parser reads it, so names are exact
};

/// Reads the body of one message, JSON, form or multipart, when something first asks for it, and
/// once. Its memory (about 16 times the largest body seen, four times that if it had to be mended:
/// json_mending.h) is reused. Values are views into it or into the body and live until reset(). Not
/// thread-safe.
class BodyReader {
 public:
  static constexpr std::size_t kDepthMax = 64;
  explicit BodyReader(BodyFrom from = BodyFrom::app) noexcept;
  ~BodyReader();
  void reset() noexcept { state_ = State::fresh; }
  /// `path` into the body; empty: all of it. `pinned`: the only kind that is read; with `json` also
  /// a body whose Content-Type names no kind. Misses with every reason but failed.
  Extracted find(Arena& arena, BodyState state, std::string_view body,
                 std::span<const HeaderField> headers, std::span<const PathStep> path,
                 BodyKind pinned = BodyKind::none) noexcept;
  /// The body has fields, not members; after find().
  bool is_form() const noexcept { return state_ == State::form || state_ == State::multipart; }
  /// Why nothing of the body can be read, if something has asked; else none.
  MissReason missing() const noexcept {
    const bool unread =
        state_ == State::missing || (state_ == State::untyped && untyped_ != Untyped::json);
    return unread ? why_ : MissReason::none;
  }
  bool parsed() const noexcept {
    return state_ == State::json;
  }  ///< JSON was looked at (for tests)

 private:
  enum class State : unsigned char { fresh, json, form, multipart, untyped, missing };
  void open(BodyState state, std::string_view body, std::span<const HeaderField> headers) noexcept;
  bool open_as(const MediaType& type, std::string_view body) noexcept;
  Extracted find_field(Arena& arena, std::span<const PathStep> path) noexcept;
  Extracted find_in_json(Arena& arena, std::span<const PathStep> path) noexcept;
  bool parse(std::string_view body) noexcept;

  struct Parser;
  std::unique_ptr<Parser> parser_;  // made when the first body comes: most Frames never see one
  BodyFrom from_;
  State state_ = State::fresh;
  bool ascii_alone_ = false;
  /// For a body whose Content-Type names no kind: the result of reading it as JSON.
  enum class Untyped : std::uint8_t { fresh, json, broken } untyped_ = Untyped::fresh;
  BodyKind kind_ = BodyKind::none;
  MissReason why_ = MissReason::none;
};

/// Members of a JSON object or array inside expressions. Null if the member is absent or ambiguous;
/// an error if the node or the index has the wrong kind.
Extracted json_member(Arena& arena, JsonRef node, std::string_view name) noexcept;
Extracted json_element(Arena& arena, JsonRef node, std::int64_t index) noexcept;
std::int64_t json_size(JsonRef node) noexcept;
bool json_is_array(JsonRef node) noexcept;
bool json_has_name(JsonRef object, std::string_view name) noexcept;
/// Appends the object or array as JSON without blanks.
void append_json_text(std::string& out, JsonRef node);
/// Calls `use(context, element)` for each element of an array until it returns true; whether it
/// did.
bool json_any(Arena& arena, JsonRef array, bool (*use)(void* context, const Value& element),
              void* context) noexcept;

}  // namespace weir::policies
