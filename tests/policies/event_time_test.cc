// `clock: event` with `late`: policies that count by the times which events bring.
#include <gmock/gmock.h>

#include "core/words.h"
#include "policies/judgement/row_sink.h"
#include "tests/policies/world.h"

namespace weir::policies::event_time_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Readings and verdicts as `p 2` and `p 2 flag`.
class Readings final : public RowSink {
 public:
  std::vector<std::string> all;
  void reading(const Row& row) override { all.push_back(text(row)); }
  void verdict(const Row& row, const Rung& rung, std::size_t, std::optional<Number>) override {
    if (all.empty()) all.push_back(row.policy->name);  // by the answer: the reading comes later
    all.back() += " " + std::string(row_of(rung.action).name);
  }

 private:
  static std::string text(const Row& row) {
    std::string out = row.policy->name + " ";
    if (!append_canonical(out, row.value)) out += "null";
    return out;
  }
};

class Skips final : public Trace {
 public:
  std::vector<std::string> all;
  void event(const Event&, Happened) override {}
  void list(const List&, std::optional<TimePoint>, std::string_view) override {}
  void skipped(const Policy& policy, Skip skip, std::string_view, MissReason) override {
    if (skip == Skip::late) all.push_back(policy.name);
  }
  void counted(const Policy&, const Binding&, const Counter&, const PlannedCounter&) override {}
  void rung(const Policy&, std::size_t, const Value&, std::optional<Number>, bool) override {}
  void pattern(const Policy&, const PlannedPattern&, const limiter::PatternView&) override {}
};

struct EventTimePolicies : testing::Test {
  /// Judges a request that says it happened `s` seconds after the start; the app answers at once.
  std::vector<std::string> at(World& world, double s, TestRequest request = {"GET /a"},
                              int status = 200) {
    readings.all.clear();
    JudgeOptions options;
    options.may_wait = false;
    options.rows = &readings;
    options.own_time = time(s);
    judge(world, std::move(request), options, status);
    return readings.all;
  }
  /// The same for one that says nothing, as a proxied one.
  std::vector<std::string> now(World& world, TestRequest request = {"GET /a"}, int status = 200) {
    readings.all.clear();
    JudgeOptions options;
    options.may_wait = false;
    options.rows = &readings;
    judge(world, std::move(request), options, status);
    return readings.all;
  }
  std::vector<std::string> late_for(World& world, double s, TestRequest request = {"GET /a"}) {
    Skips skips;
    JudgeOptions options;
    options.dry = true;
    options.own_time = time(s);
    options.trace = &skips;
    world.start(request.view(world.now), options);
    return skips.all;
  }
  static std::uint64_t late(World& world, std::string_view policy) {
    return world.stats.totals("policy", policy).late;
  }
  static TimePoint time(double s) {
    return from_ms(1'800'000'000'000 + static_cast<std::int64_t>(s * 1000));
  }
  Readings readings;

 private:
  static void judge(World& world, TestRequest request, const JudgeOptions& options, int status) {
    world.start(request.view(world.now), options);
    if (world.last->is_open()) world.answer(*world.last, status);
  }
};

std::string policy(const std::string& more, const std::string& window = "{last: 10s, exact: true}",
                   const std::string& then = "[{over: 2, do: flag}]") {
  return "policies: [{name: p, watch: request, window: " + window + ", clock: event, " + more +
         ", then: " + then + "}]\n";
}

TEST_F(EventTimePolicies, an_event_counts_at_its_own_time_and_reads_the_window_that_ends_there) {
  World world(policy("late: 1m"));
  world.now += std::chrono::minutes(2);
  EXPECT_THAT(at(world, 10), ElementsAre("p 1"));
  EXPECT_THAT(at(world, 25), ElementsAre("p 1"));
  EXPECT_THAT(at(world, 12), ElementsAre("p 2")) << "those at 10 and 12; 25 is later";
  EXPECT_THAT(at(world, 20), ElementsAre("p 2")) << "12 and 20: 10 has left the window";
  EXPECT_THAT(at(world, 25), ElementsAre("p 3 flag")) << "20, 25 and 25";
  EXPECT_THAT(at(world, 22), ElementsAre("p 2")) << "20 and 22; 12 has just left";
}

TEST_F(EventTimePolicies, what_is_later_than_late_does_not_count_and_is_told) {
  World world(policy("late: 5s"));
  world.now += std::chrono::minutes(2);
  EXPECT_THAT(at(world, 60), ElementsAre("p 1"));
  EXPECT_THAT(late_for(world, 54.999), ElementsAre("p"));
  EXPECT_THAT(late_for(world, 55), IsEmpty());
  EXPECT_THAT(at(world, 55), ElementsAre("p 1"));
  EXPECT_THAT(at(world, 54.999), IsEmpty()) << "neither read nor counted";
  EXPECT_EQ(late(world, "p"), 1u);
  EXPECT_THAT(at(world, 60), ElementsAre("p 3 flag"));
}

TEST_F(EventTimePolicies, without_late_only_what_is_in_order_counts) {
  World world(
      "policies: [{name: p, watch: request, window: 10s, clock: event, then: [{over: 9, do: "
      "flag}]}]\n");
  world.now += std::chrono::minutes(2);
  EXPECT_THAT(at(world, 60), ElementsAre("p 1"));
  EXPECT_THAT(at(world, 60), ElementsAre("p 2"));
  EXPECT_THAT(at(world, 59.999), IsEmpty());
}

TEST_F(EventTimePolicies, the_watermark_belongs_to_the_stream_and_not_to_the_key) {
  World world(
      "policies: [{name: p, watch: request, key: ip, window: 10s, clock: event, late: 5s, "
      "then: [{over: 9, do: flag}]}]\n");
  world.now += std::chrono::minutes(2);
  EXPECT_THAT(at(world, 60, {"GET /", "203.0.113.1"}), ElementsAre("p 1"));
  EXPECT_THAT(at(world, 50, {"GET /", "203.0.113.2"}), IsEmpty());
}

TEST_F(EventTimePolicies, also_what_does_not_count_moves_the_watermark) {
  World world(
      "fields: {user: query.user}\n"
      "policies:\n"
      "  - {name: p, watch: request, key: user, window: 10s, clock: event, late: 5s, "
      "charge: when_allowed, missing: skip, then: [{at: 1, do: deny}]}\n");
  world.now += std::chrono::minutes(2);
  at(world, 60, {"GET /?user=u"});
  EXPECT_EQ(world.bank.stats().keys, 0u) << "refused, so not counted";
  EXPECT_THAT(late_for(world, 54, {"GET /?user=v"}), ElementsAre("p"));
  at(world, 70, {"GET /"});
  EXPECT_THAT(late_for(world, 64, {"GET /?user=v"}), ElementsAre("p")) << "no user, but its time";
}

TEST_F(EventTimePolicies, a_query_moves_nothing) {
  World world(policy("late: 5s"));
  world.now += std::chrono::minutes(2);
  at(world, 10);
  EXPECT_THAT(late_for(world, 100), IsEmpty());
  EXPECT_THAT(at(world, 10), ElementsAre("p 2"));
}

TEST_F(EventTimePolicies, nothing_happens_later_than_now) {
  World world(policy("late: 5s"));
  world.now += std::chrono::seconds(60);
  EXPECT_THAT(at(world, 86'400), ElementsAre("p 1")) << "at 60";
  EXPECT_THAT(at(world, 56), ElementsAre("p 1")) << "a date far ahead makes nobody late";
  EXPECT_THAT(at(world, 60), ElementsAre("p 3 flag"));
}

TEST_F(EventTimePolicies, each_policy_has_a_watermark_and_an_identity_of_its_own) {
  World world(R"(policies:
  - {name: wall, watch: request, window: 10s, then: [{over: 9, do: flag}]}
  - {name: strict, watch: request, window: 10s, clock: event, then: [{over: 9, do: flag}]}
  - {name: late, watch: request, window: 10s, clock: event, late: 10s, then: [{over: 9, do: flag}]}
  - {name: same, watch: request, window: 10s, clock: event, late: 10s, then: [{over: 5, do: flag}]}
)");
  EXPECT_EQ(world.set_->counters.size(), 3u);
  world.now += std::chrono::minutes(2);
  EXPECT_THAT(at(world, 60), ElementsAre("wall 1", "strict 1", "late 1", "same 1"));
  EXPECT_THAT(at(world, 55), ElementsAre("wall 2", "late 1", "same 1"));
  EXPECT_THAT(late_for(world, 55), ElementsAre("strict"));
}

TEST_F(EventTimePolicies, a_late_event_of_a_fixed_window_counts_in_the_window_that_it_is_of) {
  for (const std::string window : {"{every: 1h}", "{calendar: hour, tz: Asia/Shanghai}"}) {
    World world(policy("late: 10m", window));
    world.now += std::chrono::hours(2);
    EXPECT_THAT(at(world, 3'500), ElementsAre("p 1")) << window;
    EXPECT_THAT(at(world, 3'700), ElementsAre("p 1")) << "the next hour";
    EXPECT_THAT(at(world, 3'599), ElementsAre("p 2")) << "the hour before, which is kept";
    EXPECT_THAT(at(world, 3'550), ElementsAre("p 3 flag")) << "of all that has come of it";
    EXPECT_THAT(at(world, 3'700), ElementsAre("p 2"));
    EXPECT_THAT(at(world, 4'200), ElementsAre("p 3 flag"));
    EXPECT_THAT(at(world, 3'599), IsEmpty()) << "more than ten minutes behind";
  }
}

TEST_F(EventTimePolicies, a_ban_until_the_window_ends_ends_by_the_clock) {
  World world(policy("key: ip, late: 10m", "{every: 1h}", "[{over: 1, do: deny, for: window}]"));
  world.now += std::chrono::seconds(3'650);
  at(world, 3'500);
  at(world, 3'500);
  EXPECT_THAT(at(world, 3'500), ElementsAre("p 2 deny"))
      << "that hour is over: nobody is refused for it any more";
  at(world, 3'610);
  at(world, 3'610);
  EXPECT_THAT(at(world, 3'610), IsEmpty()) << "banned";
  world.now += std::chrono::hours(1);
  EXPECT_THAT(at(world, 7'200), ElementsAre("p 1"));
}

TEST_F(EventTimePolicies, what_brings_no_time_is_as_late_as_any) {
  World world(policy("late: 0s"));
  world.now = time(60);
  EXPECT_THAT(at(world, 60), ElementsAre("p 1"));
  world.now = time(59.998);  // another worker's clock
  EXPECT_THAT(now(world), ElementsAre("p 2"));
  EXPECT_EQ(late(world, "p"), 0u);
}

constexpr const char* kLogins = R"(
events:
  login: {match: POST /login, fields: {user: query.user, gold: int(query.gold)}}
  failed: {is: login, when: status == 401}
  right: {is: login, when: status == 200}
policies:
)";
const TestRequest kAnn{"POST /login?user=ann&gold=5"};

TEST_F(EventTimePolicies, an_outcome_counts_at_its_requests_time) {
  World world(std::string(kLogins) +
              "  - {name: p, watch: failed, key: user, window: {last: 10s, exact: true}, clock: "
              "event, late: 1m, then: [{over: 1, do: flag}]}\n");
  world.now = time(60);
  EXPECT_THAT(at(world, 20, kAnn, 401), ElementsAre("p 1"));
  EXPECT_THAT(at(world, 20, kAnn, 200), ElementsAre("p flag")) << "two, unless the answer is right";
  EXPECT_THAT(at(world, 12, kAnn, 401), ElementsAre("p 1")) << "20 is later";
  EXPECT_THAT(at(world, 21, kAnn, 401), ElementsAre("p flag", "p 3"));
}

TEST_F(EventTimePolicies, answers_in_any_order_hide_no_failure) {
  World world(std::string(kLogins) +
              "  - {name: p, watch: failed, key: user, window: {last: 10s, exact: true}, clock: "
              "event, then: [{over: 2, do: graylist, for: 1h}]}\n");
  std::vector<std::shared_ptr<Judgement>> open;
  for (int n = 0; n < 3; ++n) {
    world.now = time(60 + n);
    TestRequest request = kAnn;
    auto judged = world.judge(request);
    ASSERT_TRUE(judged.judgement);
    open.push_back(std::move(judged.judgement));
  }
  world.now = time(70);  // beyond `late: 0s`: reservations count all the same
  for (auto it = open.rbegin(); it != open.rend(); ++it) world.answer(**it, 401);
  EXPECT_EQ(world.send(kAnn), "gray") << "the first to be asked was the last to be answered";
}

TEST_F(EventTimePolicies, a_reset_forgets_what_has_happened_before_it) {
  World world(std::string(kLogins) +
              "  - {name: p, watch: failed, key: user, window: {last: 10m, exact: true}, reset: "
              "right, clock: event, late: 1m, then: [{over: 9, do: flag}]}\n");
  world.now = time(120);
  at(world, 60, kAnn, 401);
  at(world, 80, kAnn, 401);
  at(world, 70, kAnn, 200);
  EXPECT_THAT(at(world, 81, kAnn, 401), ElementsAre("p 2")) << "80 came after the right one";
}

TEST_F(EventTimePolicies, sums_members_places_and_the_event_before) {
  World world(R"(
fields: {user: query.user, gold: int(query.gold), lon: double(query.lon), lat: double(query.lat)}
policies:
  - {name: sum, watch: request, metric: sum(gold), window: 10s, clock: event, late: 1m, then: [{over: 99, do: flag}]}
  - {name: avg, watch: request, metric: avg(gold), window: {events: 2}, clock: event, late: 1m, then: [{over: 99, do: flag}]}
  - {name: users, watch: request, metric: distinct(user), window: {every: 1h}, clock: event, late: 1m, then: [{over: 9, do: flag}]}
  - {name: seen, watch: request, metric: exists(user), window: 10s, clock: event, late: 1m, then: [{over: 9, do: flag}]}
  - {name: before, watch: request, metric: last(user), window: 10s, clock: event, late: 1m, then: [{if: 'value == "nobody"', do: flag}]}
  - {name: place, watch: request, key: {near: {lon, lat, radius: 1km}}, window: 10s, clock: event, late: 1m, then: [{over: 9, do: flag}]}
)");
  world.now = time(120);
  const auto request = [](const std::string& user, int gold) {
    return TestRequest("GET /?user=" + user + "&gold=" + std::to_string(gold) +
                       "&lon=116.3&lat=39.9");
  };
  EXPECT_THAT(at(world, 60, request("a", 4)),
              ElementsAre("sum 4", "avg 4", "users 1", "seen 0", "before null", "place 1"));
  EXPECT_THAT(at(world, 65, request("b", 8)),
              ElementsAre("sum 12", "avg 6", "users 2", "seen 0", "before a", "place 2"));
  EXPECT_THAT(at(world, 62, request("b", 6)),
              ElementsAre("sum 10", "avg 5", "users 2", "seen 0", "before a", "place 2"));
  EXPECT_THAT(at(world, 66, request("a", 1)),
              ElementsAre("sum 19", "avg 4.5", "users 2", "seen 1", "before b", "place 4"));
}

TEST_F(EventTimePolicies, several_metrics_each_by_the_same_times) {
  World world(std::string(kLogins) +
              "  - {name: p, watch: login, key: user, clock: event, late: 1m, metrics: {tries: "
              "{watch: login, window: {last: 10s, exact: true}}, gold: {watch: login, metric: "
              "sum(gold), window: "
              "{every: 1m}}}, then: [{if: 'tries > 1 && gold > 9', do: flag}]}\n");
  world.now = time(120);
  at(world, 60, kAnn);
  EXPECT_THAT(at(world, 75, kAnn), ElementsAre("p.tries 1", "p.gold 10"));
  EXPECT_THAT(at(world, 62, kAnn), ElementsAre("p.tries 2", "p.gold 15 flag"));
}

TEST_F(EventTimePolicies, a_reload_keeps_counts_and_clock_and_another_late_begins_afresh) {
  World world(policy("late: 5s"));
  world.now = time(120);
  at(world, 60);
  world.use(policy("late: 5s", "{last: 10s, exact: true}", "[{over: 1, do: flag}]"));
  EXPECT_THAT(at(world, 50), IsEmpty());
  EXPECT_THAT(at(world, 60), ElementsAre("p 2 flag"));
  world.use(policy("late: 6s"));
  EXPECT_THAT(at(world, 50), ElementsAre("p 1"));
}

TEST_F(EventTimePolicies, the_metric_counts_what_came_too_late) {
  World world(policy("late: 5s"));
  world.now = time(120);
  at(world, 60);
  at(world, 10);
  at(world, 20);
  std::string page;
  world.stats.write(page);
  EXPECT_THAT(page, testing::HasSubstr("weir_late_total{policy=\"p\"} 2\n"));
}

}  // namespace
}  // namespace weir::policies::event_time_test
