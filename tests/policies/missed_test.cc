// Which part of a request an expression could not read, and which errors are its own.
#include "policies/lang/expr/missed.h"

#include <random>

#include "tests/policies/expr_support.h"
#include "tests/policies/world.h"
#include "tests/support/seed.h"

namespace weir::policies::test::missed_test {
namespace {

TEST(Missed, names_only_an_operand_that_could_not_be_read) {
  struct Case {
    const char *expression, *body, *want;  // "why" or "why, part"
  };
  const Case cases[] = {
      // An error of the expression itself, though all applications read its field alike.
      {"10 / body.n > 3", R"({"n":0})", "failed"},
      {"body.n % 0 == 1", R"({"n":5})", "failed"},
      {"body.n * 4611686018427387904 > 1", R"({"n":5})", "failed"},
      {"-body.n < 0", R"({"n":-9223372036854775808})", "failed"},
      {"[1, 2][body.n] == 1", R"({"n":7})", "failed"},
      {"body.n > 5 && int(header.x_device_id) > 1", R"({"n":7})", "failed"},
      {"int(header.x_device_id) + body.n > 1", R"({"n":7})", "failed"},
      {"address(header.x_device_id) == ip || body.b", R"({"b":false})", "failed"},
      {"body.b && 1 / 0 == 1", R"({"b":true})", "failed"},
      {"body.n == 1 && body.t > 5", R"({"n":1,"t":"500"})", "failed"},
      {"body.b && body.t * 2 > 5", R"({"b":true,"t":"500"})", "failed"},
      {"int(body.t) > 5 && body.other.contains('x')", R"({"t":"abc","other":"5x"})", "failed"},
      {"body.b ? int(header.x_device_id) > 1 : body.t.contains('x')", R"({"b":true,"t":5})",
       "failed"},
      {"(body.n == 5 || body.t.contains('x')) && 1 / 0 == 1", R"({"n":5,"t":[]})", "failed"},
      // An operand that could not be read.
      {"body.t.contains('x')", R"({"t":5})", "unreadable, body.t"},
      {"body.t.contains('x')", R"({"t":["x"]})", "unreadable, body.t"},
      {"body.n == 1 && body.t.contains('x')", R"({"n":1,"t":true})", "unreadable, body.t"},
      {"body.n + 1 > 5", R"({"n":1.5})", "unreadable, body.n"},
      {"body.n > 5", R"({"n":true})", "unreadable, body.n"},
      {"body.n % 10 == 1", R"({"n":1.5})", "unreadable, body.n"},
      {"!body.b", R"({"b":1})", "unreadable, body.b"},
      {"body.b ? true : false", R"({"b":1})", "unreadable, body.b"},
      {"body.b && method == 'POST'", R"({"b":1})", "unreadable, body.b"},
      {"-body.b < 0", R"({"b":true})", "unreadable, body.b"},
      {"body.o == body.o", R"({"o":{}})", "unreadable, body.o"},
      {"5 in body.n", R"({"n":5})", "unreadable, body.n"},
      {"(body.b ? body.t : 'x').contains('y')", R"({"b":true,"t":5})", "unreadable, body.t"},
      {"int(body.n) > 1", R"({"n":1.5})", "unreadable, body.n"},
      {"int(body.n * 10.0) > 1", R"({"n":1.55})", "unreadable, body.n"},
      {"int(body.t) > 1", R"({"t":"1e9"})", "unreadable, body.t"},
      {"int(body.t.trim()) > 1", R"({"t":" 5x "})", "unreadable, body.t"},
      {"int(query.bad) > 1", "{}", "unreadable, query.bad"},
      {"header.x_twice == 'x' && body.n == 1", R"({"n":1})", "ambiguous, header.x_twice"},
      // A side that the other outweighs, and a branch that is not taken, do not count.
      {"(header.x_twice == 'a' || true) && 10 / body.n > 3", R"({"n":0})", "failed"},
      {"body.n == 0 ? 10 / body.n > 1 : header.x_twice == 'a'", R"({"n":0})", "failed"},
      {"body.n == 0 ? header.x_nope : header.x_twice", R"({"n":0})", "absent"},
      {"body.n == 1 ? header.x_nope : header.x_twice", R"({"n":0})", "ambiguous, header.x_twice"},
  };
  for (const Case& c : cases) {
    SlotTable table;
    Scope scope(table);
    RequestData data;
    Frame frame;
    data.body(c.body);
    const std::optional<Expression> expression = compiled(c.expression, scope);
    ASSERT_TRUE(expression) << c.expression;
    // As an expression, and as the field of an event.
    const SlotId field = table.computed(*expression);
    frame.begin(table, data.request, nullptr);
    const auto check = [&](const expr::Missed& missed) {
      std::string got = missed.why == MissReason::failed ? "failed"
                        : missed.why == MissReason::ambiguous
                            ? "ambiguous"
                            : std::string(miss_reason_text(missed.why));
      if (missed.part != SlotTable::kMax) got += ", " + table[missed.part].text;
      EXPECT_EQ(got, c.want) << c.expression << " of " << c.body;
    };
    expression->eval(frame);
    const expr::Missed missed = expr::why_missed(*expression->program(), frame);
    check(missed);
    EXPECT_EQ(frame.why(field), missed.why) << c.expression << " of " << c.body;
    scope.fields["f"] = field;
    const bool text = expression->type() == Type::text;
    const std::optional<Expression> reader = compiled(text ? "f == 'x'" : "f || false", scope);
    reader->eval(frame);
    if (missed.why != MissReason::absent && missed.why != MissReason::failed)
      check(expr::why_missed(*reader->program(), frame));
  }
}

TEST(Missed, has_no_part_while_all_operands_have_the_types_that_are_asked_for) {
  const std::uint32_t seed = weir::test::new_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto any = [&](std::size_t n) { return random() % n; };
  const char* const ends[] = {
      "0", "1", "3", "body.n", "body.m", "9223372036854775807", "int(header.x_device_id)"};
  std::function<std::string(int)> number = [&](int depth) -> std::string {
    if (depth == 0) return ends[any(std::size(ends))];
    if (any(6) == 0) return "-(" + number(depth - 1) + ")";
    return "(" + number(depth - 1) + " " + "+-*/%"[any(5)] + " " + number(depth - 1) + ")";
  };
  std::function<std::string(int)> test = [&](int depth) -> std::string {
    const char* const orders[] = {"<", "<=", ">", ">=", "==", "!="};
    if (depth == 0)
      return "(" + number(static_cast<int>(any(3))) + " " + orders[any(6)] + " " +
             number(static_cast<int>(any(3))) + ")";
    if (any(4) == 0) return "!" + test(depth - 1);
    return "(" + test(depth - 1) + (any(2) == 0 ? " && " : " || ") + test(depth - 1) + ")";
  };
  int errors = 0;
  for (int round = 0; round < 3000; ++round) {
    SlotTable table;
    Scope scope(table);
    RequestData data;
    Frame frame;
    const std::string body = "{\"n\":" + std::to_string(any(3)) +
                             ",\"m\":" + std::to_string(std::int64_t{1} << any(63)) + "}";
    data.body(body);
    const std::string text = test(static_cast<int>(any(4)));
    config::Problems problems;
    const auto expression = compile_expression(text_at(text), scope, problems);
    if (!expression) continue;  // an error that is known at load
    frame.begin(table, data.request, nullptr);
    if (!expression->eval(frame).is_error()) continue;
    ++errors;
    const expr::Missed missed = expr::why_missed(*expression->program(), frame);
    EXPECT_EQ(missed.why, MissReason::failed) << text << " of " << body;
    EXPECT_EQ(missed.part, SlotTable::kMax) << text << " of " << body;
  }
  EXPECT_GT(errors, 100);
}

// The same where policies read an expression: an error of its own is no 400.
TEST(Missed, refuses_no_request_for_an_error_of_the_expression_itself) {
  const std::string buy = "events: {buy: {match: 'POST /buy', body: json}";
  const std::string head = "}\npolicies: [{name: p, watch: buy, key: ip, window: 1h, ";
  const std::string deny = "then: [{at: 1, do: deny}]}]\n";
  const std::string test = "'10 / body.n > 3'";
  const std::pair<const char*, std::string> places[] = {
      {"when", buy + head + "when: " + test + ", " + deny},
      {"when of an event", buy + ", some: {is: buy, when: " + test +
                               "}}\npolicies: [{name: p, watch: some, key: ip, window: 1h, " +
                               deny},
      {"a limit", buy + head + "then: [{at: '10 / body.n', do: deny}]}]\n"},
      {"if", buy + head + "then: [{if: 'value > 0 and 10 / body.n > 3', do: deny}]}]\n"},
      {"an amount", buy + head + "metric: sum(10 / body.n), then: [{over: 2, do: deny}]}]\n"},
      {"a member", buy + head + "metric: distinct(10 / body.n), then: [{over: 0, do: deny}]}]\n"},
      {"a key",
       "events: {buy: {match: 'POST /buy', body: json, fields: {k: 10 / body.n}}}\n"
       "policies: [{name: p, watch: buy, key: k, window: 1h, " +
           deny},
      {"an amount by a header",
       buy + head + "metric: sum(int(header.x_cost)), then: [{over: 2, do: deny}]}]\n"},
  };
  for (const auto& [place, yaml] : places) {
    World world(yaml);
    EXPECT_EQ(
        world.judge(TestRequest("POST /buy").header("X-Cost", "abc").json(R"({"n":0})")).effect,
        "pass")
        << place;
    EXPECT_EQ(
        world.judge(TestRequest("POST /buy").header("X-Cost", "5x").json(R"({"n":[]})")).effect,
        std::string_view(place) == "if" ? "deny" : "defect")
        << place;
    const World::Judged counted =
        world.judge(TestRequest("POST /buy").header("X-Cost", "5").json(R"({"n":2})"));
    EXPECT_TRUE(counted.effect == "deny" || std::string_view(place) == "a limit") << place;
  }
}

}  // namespace
}  // namespace weir::policies::test::missed_test
