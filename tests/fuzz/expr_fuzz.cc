#include <cstdint>
#include <string>

#include "policies/lang/expr/expression.h"
#include "policies/lang/frame.h"
#include "tests/fuzz/expr_world.h"
#include "tests/fuzz/require.h"

/// Any text: it compiles or is refused with at least one problem inside the text; if it compiles,
/// it evaluates, and its canonical text is stable and evaluates to the same.
namespace {

using namespace weir;
using namespace weir::policies;

std::string shown(const Value& value) {
  std::string out(type_name(value.type()));
  append_canonical(out, value);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > kExpressionBytesMax + 8) return 0;
  static Frame frame;
  fuzz::World world;
  config::Text text;
  text.value.assign(reinterpret_cast<const char*>(data), size);
  text.where = {0, 1, 1, 0};
  config::Problems problems;
  const auto expression = compile_expression(text, world, problems);
  require(expression.has_value() || problems.has_errors());
  if (!expression) return 0;
  require(!problems.has_errors());
  const Request request = world.request();
  frame.begin(world.slots(), request, &world.lists);
  const std::string first = shown(expression->eval(frame));
  require(shown(expression->eval(frame)) == first);

  Captured captured;
  frame.capture(expression->captures(), captured);
  Answer answer;
  answer.status = 401;
  if (expression->canonical().size() <= kExpressionBytesMax) {
    config::Text canonical;
    canonical.value = expression->canonical();
    config::Problems none;
    const auto again = compile_expression(canonical, world, none);
    // An odd field is refused inside has() once it is written out, and depth is counted again from
    // 0.
    if (again) {
      require(again->canonical() == canonical.value);
      frame.begin(world.slots(), request, &world.lists);
      require(shown(again->eval(frame)) == first);
    }
  }
  frame.resume(world.slots(), captured, answer, request.time, &world.lists);
  (void)expression->eval(frame);
  return 0;
}
