#include "policies/lang/frame.h"

#include "tests/policies/expr_support.h"
#include "tests/support/allocations.h"

namespace weir::policies::test::frame_test {
namespace {

struct World {
  SlotTable table;
  Scope scope{table};
  RequestData data;
  Frame frame;
  Expression make(const char* text) { return *compiled(text, scope); }
  void begin() { frame.begin(table, data.request, nullptr); }
};

TEST(Frame, ReadsTheBodyOnlyWhenSomethingNeedsIt) {
  World w;
  const Expression lazy = w.make("method == 'GET' && body.user == 'x'");
  w.data.body("{\"user\":\"x\"}");
  w.begin();
  EXPECT_FALSE(lazy.eval(w.frame).is_true());
  EXPECT_FALSE(w.frame.request_body().parsed());
  w.data.request.method = "GET";
  w.begin();
  EXPECT_TRUE(lazy.eval(w.frame).is_true());
  EXPECT_TRUE(w.frame.request_body().parsed());
}

TEST(Frame, RemembersWhatItComputed) {
  World w;
  const SlotId slot = w.table.computed(w.make("header.x_device_id.upperAscii()"));
  w.begin();
  const char* first = w.frame.load(slot).as_text().data();
  EXPECT_EQ(w.frame.load(slot).as_text().data(), first);
  w.data.headers[1].value = "Other";
  EXPECT_EQ(w.frame.load(slot).as_text(), "D-42");
  w.begin();
  EXPECT_EQ(w.frame.load(slot).as_text(), "OTHER");
}

TEST(Frame, DoesNotRememberWhatChangesWithinARequest) {
  World w;
  w.scope.rung = true;
  const SlotId slot = w.table.computed(w.make("event + '!'"));
  const Expression rung = w.make("value > limit");
  w.begin();
  w.frame.set_event("login");
  EXPECT_EQ(w.frame.load(slot).as_text(), "login!");
  w.frame.set_event("logout");
  EXPECT_EQ(w.frame.load(slot).as_text(), "logout!");
  w.frame.set_rung(Value::integer(2), Value::integer(1));
  EXPECT_TRUE(rung.eval(w.frame).is_true());
  w.frame.set_rung(Value::real(0.5), Value::integer(1));
  EXPECT_FALSE(rung.eval(w.frame).is_true());
  w.begin();
  EXPECT_TRUE(rung.eval(w.frame).is_null());
}

TEST(Frame, SaysWhyAFieldIsMissing) {
  World w;
  const SlotId header = *w.make("header.x_nope").slot();
  const SlotId twice = *w.make("header.x_twice").slot();
  const SlotId bad = *w.make("query.bad").slot();
  const SlotId user = *w.make("body.user").slot();
  const SlotId lower = w.table.computed(w.make("body.user.lowerAscii() + header.x_nope"));
  const SlotId failed = w.table.computed(w.make("int(header.x_device_id)"));
  const SlotId status = *w.make("status").slot();
  w.begin();
  EXPECT_EQ(w.frame.why(header), MissReason::absent);
  EXPECT_EQ(w.frame.why(twice), MissReason::ambiguous);
  EXPECT_EQ(w.frame.why(bad), MissReason::unreadable);
  EXPECT_EQ(w.frame.why(user), MissReason::unread);
  EXPECT_EQ(w.frame.why(failed), MissReason::failed);
  EXPECT_EQ(w.frame.why(status), MissReason::unread);
  EXPECT_EQ(w.frame.why(*w.make("ip").slot()), MissReason::none);
  const std::pair<BodyState, MissReason> states[] = {{BodyState::too_large, MissReason::too_large},
                                                     {BodyState::encoded, MissReason::encoded},
                                                     {BodyState::not_read, MissReason::unread},
                                                     {BodyState::complete, MissReason::absent}};
  for (const auto& [state, reason] : states) {
    w.data.request.body_state = state;
    w.begin();
    EXPECT_EQ(w.frame.why(user), reason);
    EXPECT_EQ(w.frame.why(lower), reason) << "through a computed field";
    const Expression condition = w.make("body.user == 'x' || body.user.size() > 3");
    const Value value = condition.eval(w.frame);
    EXPECT_EQ(w.frame.why(condition, value), reason);
  }
}

TEST(Frame, KeepsRequestValuesForTheAnswer) {
  World w;
  w.scope.fields["user"] = w.table.computed(w.make("body.user.lowerAscii()"));
  const Expression condition = w.make(
      "status == 401 && user == 'ann' && ip.cidr('10.0.0.0/8') && body.n == 3 && 'x' in body.tags "
      "&& "
      "has(body.tags) && size(body.tags) == 1 && !has(header.x_nope) && body.tags[0] == 'x'");
  EXPECT_EQ(condition.side(), Side::answer);
  Captured captured;
  for (int round = 0; round < 3; ++round) {
    {
      RequestData data;
      std::string body = "{\"user\":\"ANN\",\"n\":3,\"tags\":[\"x\"]}";
      data.body(body);
      w.frame.begin(w.table, data.request, nullptr);
      EXPECT_FALSE(condition.eval(w.frame).is_true());  // no answer yet
      w.frame.capture(condition.captures(), captured);
      std::fill(body.begin(), body.end(), '#');
    }
    w.data.body("{\"user\":\"someone else\"}");
    w.begin();
    EXPECT_EQ(w.frame.load(w.scope.fields["user"]).as_text(), "someone else");
    Captured moved = std::move(captured);
    Answer answer;
    answer.status = 401;
    w.frame.resume(w.table, moved, answer, from_ms(5), nullptr);
    EXPECT_EQ(show(condition.eval(w.frame)), "true");
    answer.status = 200;
    w.frame.resume(w.table, moved, answer, from_ms(5), nullptr);
    EXPECT_EQ(show(condition.eval(w.frame)), "false");
    EXPECT_EQ(w.frame.load(*w.make("time").slot()).as_integer(), 5);
    captured = std::move(moved);
  }
}

TEST(Frame, MissesOnTheAnswerSideWhatWasNotCaptured) {
  World w;
  const SlotId tags = *w.make("body.tags").slot(), twice = *w.make("header.x_twice").slot();
  const SlotId method = *w.make("method").slot();
  w.data.body("{\"tags\":[1]}");
  w.begin();
  Captured captured;
  const SlotId kept[] = {tags, twice};
  w.frame.capture(kept, captured);
  const HeaderField headers[] = {{"X-Cache", "HIT"}, {"Content-Type", "application/json"}};
  Answer answer{200, headers, BodyState::complete, "{\"code\":7}"};
  w.frame.resume(w.table, captured, answer, from_ms(0), nullptr);
  EXPECT_EQ(w.frame.why(tags), MissReason::unread);
  EXPECT_EQ(w.frame.why(twice), MissReason::ambiguous);
  EXPECT_EQ(w.frame.why(method), MissReason::unread);
  EXPECT_TRUE(w.make("response.header.x_cache == 'HIT' && response.body.code == 7 && status == 200")
                  .eval(w.frame)
                  .is_true());
  w.begin();
  EXPECT_EQ(w.frame.load(method).as_text(), "POST");
}

TEST(Frame, ServesAnotherTableAfterAReload) {
  World w;
  const Expression before = w.make("method");
  w.begin();
  EXPECT_EQ(before.eval(w.frame).as_text(), "POST");
  SlotTable table;
  Scope scope(table);
  const Expression after = *compiled("path", scope);
  w.frame.begin(table, w.data.request, nullptr);
  EXPECT_EQ(after.eval(w.frame).as_text(), "/api/login");
}

TEST(Frame, AllocatesNothingAfterWarmUp) {
  World w;
  w.scope.fields["user"] = w.table.computed(w.make("body.username.lowerAscii() + query.q"));
  const Expression expressions[] = {
      w.make("user != 'x' && header.x_device_id in ['a', 'b', header.x_number]"),
      w.make("'x' in body.tags || size(body.items) > 3 || body.items[0].sku == string(time)"),
      w.make("hash(user) % 100 < 10 && hour('Asia/Shanghai') > 3 && ip.cidr('10.0.0.0/8')"),
      w.make("cookie.sid.startsWith('a') && [user, method] == ['a'] + [path]"),
      w.make("path.matches('^/api/[a-z]+$') && weekday('UTC') == 2"),
  };
  const Expression answer_side = w.make("status == 401 && user == 'x' && 'x' in body.tags");
  w.data.body(R"({"username":"Ann","tags":["a","b"],"items":[{"sku":"s"}]})");
  Answer answer;
  answer.status = 401;
  Captured captured;
  const auto run = [&] {
    w.begin();
    for (const Expression& expression : expressions) (void)expression.eval(w.frame);
    w.frame.capture(answer_side.captures(), captured);
    w.frame.resume(w.table, captured, answer, from_ms(0), nullptr);
    (void)answer_side.eval(w.frame);
  };
  run();
  run();
  const std::size_t before = weir::test::allocations();
  for (int k = 0; k < 100; ++k) run();
  EXPECT_EQ(weir::test::allocations() - before, 0U);
}

TEST(Frame, BoundsTheMemoryOfOneRequest) {
  World w;
  const std::string big(100'000, 'x');
  const std::string body = "{\"a\":\"" + big + "\"}";
  w.data.body(body);
  const Expression doubled = w.make("size(body.a + body.a)"),
                   tripled = w.make("size(body.a + body.a + body.a)");
  w.begin();
  EXPECT_EQ(show(doubled.eval(w.frame)), "200000");
  EXPECT_EQ(show(tripled.eval(w.frame)), "error");
  for (int k = 0; k < 100; ++k) (void)doubled.eval(w.frame);
  EXPECT_EQ(show(doubled.eval(w.frame)), "error") << "the arena is full";
  EXPECT_LE(w.frame.arena().capacity(), 2 * Arena::kMax);
  w.begin();
  EXPECT_EQ(show(doubled.eval(w.frame)), "200000");
}

TEST(Arena, GivesWhatItGaveBeforeWhateverItsBlocksAre) {
  for (std::size_t piece : {std::size_t{100}, std::size_t{3'000}, std::size_t{1'000'000}}) {
    Arena arena;
    for (std::size_t given = 0; given + piece < Arena::kMax / 2; given += piece)
      EXPECT_NE(arena.allocate(piece), nullptr);
    arena.reset();
    EXPECT_NE(arena.allocate(Arena::kMax - 8), nullptr);
    EXPECT_NE(arena.allocate(8), nullptr);
    EXPECT_EQ(arena.allocate(1), nullptr);
    arena.reset();
    EXPECT_EQ(arena.allocate(Arena::kMax + 1), nullptr);
    EXPECT_NE(arena.allocate(Arena::kMax / 2 + 8), nullptr);
    EXPECT_EQ(arena.allocate(Arena::kMax / 2), nullptr);
    arena.shrink(Arena::kMax / 2 + 8, 8);
    EXPECT_NE(arena.allocate(Arena::kMax / 2), nullptr);
    EXPECT_LE(arena.capacity(), 4 * Arena::kMax);
  }
}

}  // namespace
}  // namespace weir::policies::test::frame_test
