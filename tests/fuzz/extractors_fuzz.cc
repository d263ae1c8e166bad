#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policies/lang/expr/expression.h"
#include "policies/lang/extractors/form.h"
#include "policies/lang/frame.h"
#include "tests/fuzz/expr_world.h"
#include "tests/fuzz/require.h"

/// Input: lines `Name: value` as headers, an empty line, the rest is query, path and body at once.
/// Every kind of attribute is read; a value must be a view into live memory (ASan watches), a miss
/// must have a reason, and a form and a query must agree about the same bytes.
namespace {

using namespace weir;
using namespace weir::policies;

struct Message {
  std::vector<HeaderField> headers;
  std::string_view rest;
};

Message split(std::string_view input) {
  Message out;
  while (!input.empty() && out.headers.size() < 100) {
    const std::size_t end = input.find('\n');
    const std::string_view line = input.substr(0, end);
    input.remove_prefix(end == std::string_view::npos ? input.size() : end + 1);
    if (line.empty()) break;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    out.headers.push_back({line.substr(0, colon), line.substr(std::min(line.size(), colon + 2))});
  }
  out.rest = input;
  return out;
}

struct Slots {
  SlotTable table;
  std::vector<SlotId> ids;
  SlotId query_a = 0, body_a = 0;

  Slots() {
    class Scope final : public ExprScope {
     public:
      using ExprScope::ExprScope;
      std::optional<SlotId> field(std::string_view) const override { return std::nullopt; }
      std::vector<std::string_view> field_names() const override { return {}; }
      std::optional<ListRef> list(std::string_view) const override { return std::nullopt; }
      std::vector<std::string_view> list_names() const override { return {}; }
    } scope(table);
    const auto add = [&](const char* text) {
      config::Text located;
      located.value = text;
      config::Problems problems;
      const auto expression = compile_expression(located, scope, problems);
      require(expression.has_value());
      ids.push_back(table.computed(*expression));
      return ids.back();
    };
    for (const char* text : {"method",
                             "path",
                             "url",
                             "host",
                             "scheme",
                             "ip",
                             "time",
                             "header.a",
                             "header.x_device_id",
                             "cookie.a",
                             "cookie.sid",
                             "query['a b']",
                             "body",
                             "body.a.b",
                             "body.a[0]",
                             "body.a[1].b",
                             "body['a b']",
                             "size(body)",
                             "'a' in body",
                             "1 in body.a",
                             "body.a == [1, 'x', null]",
                             "body.a.lowerAscii()",
                             "body.a[body.b]",
                             "body[body.b]",
                             "int(body.a) + 1",
                             "string(body.a)",
                             "status",
                             "response.body.a",
                             "response.header.a"}) {
      add(text);
    }
    query_a = add("query.a");
    body_a = add("body.a");
    for (std::uint32_t k = 0; k < 4; ++k) ids.push_back(table.segment(k));
  }
};

void touch(const Value& value) {
  std::string out;
  append_canonical(out, value);
  volatile std::size_t size = out.size();
  (void)size;
}

/// JSON, XML and comments are no form to an application that does not look at the type.
bool may_be_a_form(std::string_view body) {
  for (const char c : body) {
    if (std::string_view(" \t\r\n\f\v").find(c) != std::string_view::npos) continue;
    return std::string_view("{[(<\"'/#)\xef\xfe\xff").find(c) == std::string_view::npos &&
           body.front() != '\0';
  }
  return true;
}

/// A parameter, as a reading of a request that has it in its query or in its form alone: of one
/// that has both `body.a` is ambiguous.
struct Parameter {
  MissReason why;
  std::string text;
};

Parameter read_alone(const Slots& slots, Frame& frame, const Request& request, SlotId id) {
  frame.begin(slots.table, request, nullptr);
  const Value value = frame.load(id);
  return {frame.why(id), value.is(Type::text) ? std::string(value.as_text()) : std::string()};
}

void compare_form_with_query(const Slots& slots, Frame& frame, Request request) {
  const std::string_view text = request.body;
  request.body = {};
  const Parameter query = read_alone(slots, frame, request, slots.query_a);
  // A parameter that the body lacks is read from the query.
  require(read_alone(slots, frame, request, slots.body_a).why == query.why);
  request.body = text;
  request.query = {};
  const Parameter form = read_alone(slots, frame, request, slots.body_a);
  if (!may_be_a_form(text)) return require(form.why == MissReason::unreadable);
  require(form.why == query.why && form.text == query.text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Slots slots;
  static Frame frame;
  const Message message = split({reinterpret_cast<const char*>(data), size});
  Request request;
  request.method = "POST";
  request.target = request.path = request.query = message.rest;
  request.headers = message.headers;
  request.body_state = BodyState::complete;
  request.body = message.rest;
  frame.begin(slots.table, request, nullptr);
  for (const SlotId id : slots.ids) {
    const Value value = frame.load(id);
    const bool missing = value.is_null() || value.is_error();
    require((frame.why(id) == MissReason::none) == !missing);
    touch(value);
  }
  Captured captured;
  frame.capture(slots.ids, captured);
  Answer answer{200, message.headers, BodyState::complete, message.rest};
  frame.resume(slots.table, captured, answer, request.time, nullptr);
  for (const SlotId id : slots.ids) touch(frame.load(id));
  if (message.headers.size() == 1 && message.headers[0].name == "Content-Type" &&
      message.headers[0].value == "application/x-www-form-urlencoded" && !message.rest.empty()) {
    compare_form_with_query(slots, frame, request);
  }
  return 0;
}
