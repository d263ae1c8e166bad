#include "policies/lang/extractors/json.h"

#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "core/utf8.h"
#include "policies/lang/extractors/arena.h"
#include "policies/lang/extractors/escapes.h"
#include "policies/lang/extractors/form.h"
#include "policies/lang/extractors/json_mending.h"
#include "policies/lang/extractors/multipart.h"
#include "policies/lang/extractors/name_path.h"
#include "policies/lang/extractors/names.h"
#include "policies/lang/extractors/text.h"

namespace weir::policies {

namespace dom = simdjson::dom;

struct BodyReader::Parser {
  simdjson::error_code parse(std::string_view text) {
    if (capacity < text.size() || capacity == 0) {
      const std::size_t wanted = std::bit_ceil(std::max<std::size_t>(text.size(), 1024));
      if (const auto error = dom.allocate(wanted, kDepthMax)) return error;
      if (const auto error = dom.doc.allocate(wanted)) return error;
      padded = std::make_unique<char[]>(wanted + simdjson::SIMDJSON_PADDING);
      capacity = wanted;
    }
    std::memcpy(padded.get(), text.data(), text.size());
    std::memset(padded.get() + text.size(), 0, simdjson::SIMDJSON_PADDING);
    return dom.parse(padded.get(), text.size(), false).get(root);
  }

  dom::parser dom;
  dom::element root;
  std::unique_ptr<char[]> padded;
  std::size_t capacity = 0;
  std::string_view form;
  Multipart multipart;
};

namespace {

/// In JsonRef::index: names in this document are compared byte for byte.
constexpr std::size_t kExactNames = 1;

/// Blanks and byte order marks do not count. JSON, XML and the comments of lenient JSON parsers
/// begin with one of these, a form never: an application that does not look at Content-Type would
/// read something else than a form.
bool looks_like_form(std::string_view body) noexcept {
  const std::size_t first = body.find_first_not_of(" \t\r\n\f\v");
  if (first == std::string_view::npos) return true;
  constexpr std::string_view kOthers = "{[(<\"'/#)\xef\xfe\xff";
  return kOthers.find(body[first]) == std::string_view::npos && body.find('\0') != 0;
}

/// Whether an encoded text and the bytes of its escapes are US-ASCII.
bool is_encoded_ascii(std::string_view text) noexcept {
  for (std::size_t at = text.find('%'); at != std::string_view::npos; at = text.find('%', at + 1)) {
    if (escaped_byte(text, at) >= 0x80) return false;
  }
  return is_ascii(text);
}

/// Whether all names of a form are US-ASCII. Some applications take `;` for `&`: a pair with one is
/// all names.
bool has_ascii_names(std::string_view form) noexcept {
  while (!form.empty()) {
    std::string_view pair = next_part(form, '&');
    const bool semicolons = pair.find(';') != std::string_view::npos;
    if (!is_encoded_ascii(semicolons ? pair : next_part(pair, '='))) return false;
  }
  return true;
}

Extracted to_value(Arena& arena, const dom::element& element, std::size_t names) noexcept {
  switch (element.type()) {
    case dom::element_type::NULL_VALUE:
      return Extracted::miss(MissReason::absent);
    case dom::element_type::BOOL: {
      bool value = false;
      if (element.get(value)) break;
      return {Value::boolean(value)};
    }
    case dom::element_type::INT64: {
      std::int64_t value = 0;
      if (element.get(value)) break;
      return {Value::integer(value)};
    }
    // Beyond 2^63: a double would make neighbours equal, so one account could pass for another.
    case dom::element_type::UINT64:
      break;
    case dom::element_type::DOUBLE: {
      double value = 0;
      if (element.get(value)) break;
      return {Value::real(value)};
    }
    case dom::element_type::STRING: {
      std::string_view value;
      if (element.get(value)) break;
      return {Value::text(value)};
    }
    case dom::element_type::OBJECT:
    case dom::element_type::ARRAY: {
      const dom::element* kept = arena.make(element);
      if (kept == nullptr) break;
      return {Value::json({kept, names})};
    }
  }
  return Extracted::miss(MissReason::unreadable);
}

constexpr std::string_view kPrototype = "__proto__", kConstructor = "constructor";

/// Whether JavaScript may read the member's members as those of the object itself.
bool may_be_prototype(std::string_view name) noexcept {
  return (name.size() == kPrototype.size() && name == kPrototype) ||
         (name.size() == kConstructor.size() && name == kConstructor);
}

bool has_member(const dom::element& from, std::string_view name) noexcept {
  dom::object object;
  if (from.get(object)) return false;
  return std::any_of(object.begin(), object.end(), [name](const dom::key_value_pair& field) {
    return match_json_name(field.key, name) != NameMatch::no;
  });
}

/// Whether a prototype in the object has the member. Code that copies the object makes it one of
/// the copy.
bool prototype_has(const dom::object& object, std::string_view name) noexcept {
  return std::any_of(object.begin(), object.end(), [name](const dom::key_value_pair& field) {
    if (field.key == kPrototype) return has_member(field.value, name);
    dom::object constructor;
    if (field.key != kConstructor || field.value.get(constructor)) return false;
    return std::any_of(constructor.begin(), constructor.end(),
                       [name](const dom::key_value_pair& inner) {
                         return inner.key == "prototype" && has_member(inner.value, name);
                       });
  });
}

/// The member that some application takes for the one of this name; ambiguous if there are several,
/// since applications differ in which they take.
MissReason find_member(const dom::element& from, std::string_view name, std::size_t names,
                       dom::element& out) noexcept {
  dom::object object;
  if (from.get(object)) return MissReason::absent;
  bool found = false, prototype = false;
  for (const dom::key_value_pair field : object) {
    const bool same = names == kExactNames ? field.key == name
                                           : match_json_name(field.key, name) != NameMatch::no;
    if (!same) {
      prototype = prototype || may_be_prototype(field.key);
      continue;
    }
    if (found) return MissReason::ambiguous;
    found = true;
    out = field.value;
  }
  if (prototype && names != kExactNames && prototype_has(object, name))
    return MissReason::ambiguous;
  return found ? MissReason::none : MissReason::absent;
}

/// Whether a member has the rest of a path for its name.
bool has_flat_path(const dom::element& from, std::span<const PathStep> path) noexcept {
  dom::object object;
  if (path.front().is_index || from.get(object)) return false;
  return std::any_of(object.begin(), object.end(), [path](const dom::key_value_pair& field) {
    return is_flat_path(field.key, path);
  });
}

MissReason find_element(const dom::element& from, std::uint64_t index, dom::element& out) noexcept {
  dom::array array;
  if (from.get(array)) return MissReason::absent;
  for (const dom::element element : array) {
    if (index-- == 0) {
      out = element;
      return MissReason::none;
    }
  }
  return MissReason::absent;
}

/// The value at a path into `at`.
Extracted find_at(Arena& arena, dom::element at, std::span<const PathStep> path,
                  std::size_t names) noexcept {
  for (std::size_t k = 0; k < path.size(); ++k) {
    const PathStep& step = path[k];
    if (names != kExactNames && k + 1 < path.size() && has_flat_path(at, path.subspan(k)))
      return Extracted::miss(MissReason::ambiguous);
    dom::element next;
    const MissReason why = step.is_index ? find_element(at, step.index, next)
                                         : find_member(at, step.name, names, next);
    if (why != MissReason::none) return Extracted::miss(why);
    at = next;
  }
  return to_value(arena, at, names);
}

/// Whether an element of a list has something at the path: a batch holds it, as JSON-RPC has them.
bool batch_has(Arena& arena, const dom::element& root, std::span<const PathStep> path) noexcept {
  dom::array batch;
  if (path.empty() || path.front().is_index || root.get(batch)) return false;
  return std::any_of(batch.begin(), batch.end(), [&](const dom::element& element) {
    return find_at(arena, element, path, 0).why != MissReason::absent;
  });
}

const dom::element& element_of(JsonRef node) noexcept {
  return *static_cast<const dom::element*>(node.document);
}

}  // namespace

BodyReader::BodyReader(BodyFrom from) noexcept : from_(from) {
  // simdjson chooses its code for this processor at its first use, and must find memory then.
  static const bool chosen = simdjson::validate_utf8("", 0);
  static_cast<void>(chosen);
}
BodyReader::~BodyReader() = default;

/// Without memory a body is not readable, here and below.
bool BodyReader::parse(std::string_view body) noexcept {
  if (body.starts_with(kByteOrderMark)) {
    body.remove_prefix(kByteOrderMark.size());
    if (body.starts_with(kByteOrderMark)) return false;  // simdjson passes over one more
  }
  try {
    const simdjson::error_code error = parser_->parse(body);
    if (error != simdjson::NUMBER_ERROR && error != simdjson::STRING_ERROR) return !error;
    const std::string mended = mended_json(body);
    return !mended.empty() && !parser_->parse(mended);
  } catch (const std::bad_alloc&) {
    parser_->capacity = 0;  // its parts may differ in size: the next body makes them again
    return false;
  }
}

void BodyReader::open(BodyState state, std::string_view body,
                      std::span<const HeaderField> headers) noexcept {
  state_ = State::missing;
  ascii_alone_ = false;
  kind_ = BodyKind::none;
  switch (state) {
    case BodyState::not_read:
      why_ = MissReason::unread;
      return;
    case BodyState::too_large:
      why_ = MissReason::too_large;
      return;
    case BodyState::encoded:
      why_ = MissReason::encoded;
      return;
    case BodyState::broken:
      why_ = MissReason::unreadable;
      return;
    case BodyState::complete:
      break;
  }
  if (body.empty()) {
    why_ = MissReason::absent;
    return;
  }
  why_ = MissReason::unreadable;
  const MediaType type = media_type_of(headers);
  if (from_ == BodyFrom::client && type.ambiguous) return;
  if (!parser_) parser_.reset(new (std::nothrow) Parser);
  if (!parser_) return;
  kind_ = type.kind;
  if (kind_ == BodyKind::none) {
    state_ = State::untyped;
    untyped_ = Untyped::fresh;
    return;
  }
  if (!open_as(type, body)) state_ = State::missing;
}

bool BodyReader::open_as(const MediaType& type, std::string_view body) noexcept {
  ascii_alone_ = type.ascii && from_ == BodyFrom::client;
  switch (type.kind) {
    case BodyKind::none:
      return false;
    case BodyKind::json:
      state_ = State::json;
      return (!ascii_alone_ || is_ascii(body)) && parse(body);
    case BodyKind::form:
      state_ = State::form;
      parser_->form = body;
      return looks_like_form(body) && (!ascii_alone_ || has_ascii_names(body));
    case BodyKind::multipart:
      state_ = State::multipart;
      try {
        return parser_->multipart.read(body, type.boundary, ascii_alone_);
      } catch (const std::bad_alloc&) {
        return false;
      }
  }
  return false;
}

Extracted BodyReader::find(Arena& arena, BodyState state, std::string_view body,
                           std::span<const HeaderField> headers, std::span<const PathStep> path,
                           BodyKind pinned) noexcept {
  if (state_ == State::fresh) open(state, body, headers);
  if (state_ == State::untyped && pinned == BodyKind::json) {
    if (untyped_ == Untyped::fresh) untyped_ = parse(body) ? Untyped::json : Untyped::broken;
    return untyped_ == Untyped::json ? find_in_json(arena, path) : Extracted::miss(why_);
  }
  if (pinned != BodyKind::none && kind_ != BodyKind::none && kind_ != pinned) {
    return Extracted::miss(MissReason::unreadable);
  }
  switch (state_) {
    case State::fresh:
    case State::untyped:
    case State::missing:
      return Extracted::miss(why_);
    case State::json:
      return find_in_json(arena, path);
    case State::form:
    case State::multipart:
      break;
  }
  if (path.empty() || path[0].is_index) return Extracted::miss(MissReason::absent);
  const Extracted got = find_field(arena, path);
  if (ascii_alone_ && got.why == MissReason::none && !is_ascii(got.value.as_text()))
    return Extracted::miss(MissReason::unreadable);
  return got;
}

Extracted BodyReader::find_field(Arena& arena, std::span<const PathStep> path) noexcept {
  const bool form = state_ == State::form;
  if (path.size() == 1) {
    return form ? find_parameter(arena, parser_->form, path[0].name)
                : parser_->multipart.find(path[0].name);
  }
  return form ? find_parameter(arena, parser_->form, path) : parser_->multipart.find(path);
}

Extracted BodyReader::find_in_json(Arena& arena, std::span<const PathStep> path) noexcept {
  const std::size_t names = from_ == BodyFrom::client ? 0 : kExactNames;
  const Extracted out = find_at(arena, parser_->root, path, names);
  const bool hidden = out.why == MissReason::absent && from_ == BodyFrom::client &&
                      batch_has(arena, parser_->root, path);
  return hidden ? Extracted::miss(MissReason::ambiguous) : out;
}

Extracted json_member(Arena& arena, JsonRef node, std::string_view name) noexcept {
  if (json_is_array(node)) return {Value::error(), MissReason::failed};
  dom::element found;
  const MissReason why = find_member(element_of(node), name, node.index, found);
  return why == MissReason::none ? to_value(arena, found, node.index) : Extracted::miss(why);
}

Extracted json_element(Arena& arena, JsonRef node, std::int64_t index) noexcept {
  if (!json_is_array(node)) return {Value::error(), MissReason::failed};
  dom::element found;
  if (index < 0) return Extracted::miss(MissReason::absent);
  const MissReason why = find_element(element_of(node), static_cast<std::uint64_t>(index), found);
  return why == MissReason::none ? to_value(arena, found, node.index) : Extracted::miss(why);
}

// simdjson keeps only 24 bits of a container's size, so sizes are counted. A body is far smaller,
// but the count is exact whatever limits.body says.
std::int64_t json_size(JsonRef node) noexcept {
  std::int64_t count = 0;
  dom::array array;
  if (!element_of(node).get(array)) {
    for ([[maybe_unused]] const dom::element element : array) ++count;
    return count;
  }
  dom::object object;
  if (!element_of(node).get(object)) {
    for ([[maybe_unused]] const dom::key_value_pair field : object) ++count;
  }
  return count;
}

bool json_is_array(JsonRef node) noexcept { return element_of(node).is_array(); }

bool json_has_name(JsonRef node, std::string_view name) noexcept {
  dom::element found;
  return find_member(element_of(node), name, node.index, found) != MissReason::absent;
}

void append_json_text(std::string& out, JsonRef node) { out += simdjson::minify(element_of(node)); }

bool json_any(Arena& arena, JsonRef node, bool (*use)(void* context, const Value& element),
              void* context) noexcept {
  dom::array array;
  if (element_of(node).get(array)) return false;
  for (const dom::element element : array) {
    if (use(context, to_value(arena, element, node.index).value)) return true;
  }
  return false;
}

}  // namespace weir::policies
