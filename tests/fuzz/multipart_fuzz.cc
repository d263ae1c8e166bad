#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "policies/lang/extractors/arena.h"
#include "policies/lang/extractors/json.h"
#include "policies/lang/extractors/media_type.h"
#include "policies/lang/extractors/multipart.h"
#include "policies/lang/extractors/name_path.h"
#include "tests/fuzz/require.h"

/// Input: a Content-Type line, a line feed, a body. A body that is read must be what a browser
/// could have written; a found value must be a view of the body; and a naive look for the name in
/// the bytes must have found it, too.
namespace {

using namespace weir;
using namespace weir::policies;

bool is_inside(std::string_view part, std::string_view whole) {
  return part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size();
}

/// The word in any case of its letters, as parameters of a header are read.
bool holds_ignoring_case(std::string_view text, std::string_view word) {
  const auto same = [](char a, char b) { return (a | 0x20) == (b | 0x20); };
  return std::search(text.begin(), text.end(), word.begin(), word.end(), same) != text.end();
}

void check_names(std::string_view a, std::string_view b) {
  const NameMatch match = match_form_name(a, b);
  if (a == b && a.find_first_of("%+") == std::string_view::npos) require(match == NameMatch::exact);
  if (a == b) require(match_json_name(a, b) == NameMatch::exact);
  // Both ways the same: folding is an equivalence.
  require((match_json_name(a, b) == NameMatch::no) == (match_json_name(b, a) == NameMatch::no));
  // A name at a path begins with its first step, and a longer name never is the shorter path.
  const PathStep path[] = {{"user", 0, false}, {"", 0, true}, {std::string(b), 0, false}};
  const std::span<const PathStep> two(path, 2), all(path);
  if (match_form_path(a, all) == PathMatch::field) {
    require(match_form_path(a, two) == PathMatch::container || b.empty());
    require(match_form_name(a, "user") != NameMatch::no || a.find_first_of(".]") != a.npos);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input{reinterpret_cast<const char*>(data), size};
  const std::size_t line = input.find('\n');
  const std::string_view type_line = input.substr(0, line);
  const std::string_view body =
      line == std::string_view::npos ? std::string_view{} : input.substr(line + 1);
  check_names(type_line, body.substr(0, 40));

  const MediaType type = parse_media_type(type_line);
  if (type.kind == BodyKind::multipart && !type.ambiguous) {
    require(is_inside(type.boundary, type_line) && !type.boundary.empty());
    static Multipart multipart;
    if (multipart.read(body, type.boundary, type.ascii)) {
      require(body.substr(body.starts_with("\r\n") ? 4 : 2).starts_with(type.boundary));
      for (const std::string_view name : {"user", "user_id", "a", ""}) {
        const Extracted got = multipart.find(name);
        if (got.why != MissReason::none) continue;
        require(is_inside(got.value.as_text(), body));
        // No delimiter lies within a value.
        const std::string_view value = got.value.as_text();
        for (std::size_t at = value.find("--"); at != std::string_view::npos;
             at = value.find("--", at + 1)) {
          require(!value.substr(at + 2).starts_with(type.boundary));
        }
        require(holds_ignoring_case(body, "name"));
      }
    }
  }
  // The same by the way that requests take; every kind of body is read of the same bytes.
  static BodyReader reader{BodyFrom::client};
  static Arena arena;
  const HeaderField header{"Content-Type", type_line};
  const PathStep step{"user_id", 0, false};
  const PathStep path[] = {{"user", 0, false}, {"email", 0, false}};
  for (const BodyKind pinned :
       {BodyKind::none, BodyKind::json, BodyKind::form, BodyKind::multipart}) {
    reader.reset();
    arena.reset();
    const Extracted got =
        reader.find(arena, BodyState::complete, body, {&header, 1}, {&step, 1}, pinned);
    const bool has_value = !got.value.is_null() && !got.value.is_error();
    require((got.why == MissReason::none) == has_value);
    if (type.ambiguous && !body.empty()) require(got.why == MissReason::unreadable);
    const Extracted inside =
        reader.find(arena, BodyState::complete, body, {&header, 1}, path, pinned);
    require((inside.why == MissReason::none) ==
            !(inside.value.is_null() || inside.value.is_error()));
  }
  return 0;
}
