#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "core/event.h"
#include "core/value.h"
#include "policies/extractors.h"

namespace weir::policies {

class Arena;

/// Reads the body of one message, JSON or form, when something first asks for it, and once. Its
/// memory (about 16 times the largest body seen, four times that if it had to be mended:
/// json_mending.h) is reused. Values are views into it or into the
/// body and live until reset(). Not thread-safe.
class BodyReader {
 public:
  static constexpr std::size_t kDepthMax = 64;
  BodyReader() noexcept;
  ~BodyReader();
  void reset() noexcept { state_ = State::fresh; }
  /// `path` into the body; empty: all of it. Misses with every reason but failed.
  Extracted find(Arena& arena, BodyState state, std::string_view body,
                 std::span<const HeaderField> headers, std::span<const PathStep> path) noexcept;
  bool parsed() const noexcept {
    return state_ == State::json;
  }  ///< JSON was looked at (for tests)

 private:
  enum class State : unsigned char { fresh, json, form, missing };
  void open(BodyState state, std::string_view body, std::span<const HeaderField> headers) noexcept;
  bool parse(std::string_view body) noexcept;

  struct Parser;
  std::unique_ptr<Parser>
      parser_;  // made when the first JSON body comes: most Frames never see one
  State state_ = State::fresh;
  MissReason why_ = MissReason::none;
};

/// Members of a JSON object or array inside expressions. Null where there is no such thing (absent
/// or ambiguous), an error where the node or the index is of the wrong kind.
Extracted json_member(Arena& arena, JsonRef node, std::string_view name) noexcept;
Extracted json_element(Arena& arena, JsonRef node, std::int64_t index) noexcept;
std::int64_t json_size(JsonRef node) noexcept;
bool json_is_array(JsonRef node) noexcept;
bool json_has_name(JsonRef object, std::string_view name) noexcept;
/// Calls `use(context, element)` for each element of an array until it returns true; whether it
/// did.
bool json_any(Arena& arena, JsonRef array, bool (*use)(void* context, const Value& element),
              void* context) noexcept;

}  // namespace weir::policies
