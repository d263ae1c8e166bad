#include "app/change/fleet.h"

#include <gtest/gtest.h>

namespace weir::app::fleet_test {
namespace {

constexpr TimePoint kNow{milliseconds{5'000'000}};

store::BoardAnswer answer_with(std::vector<store::BoardReplica> replicas) {
  store::BoardAnswer out;
  out.now = to_ms(kNow);
  out.epoch = "e";
  out.replicas = std::move(replicas);
  return out;
}

std::string says(const char* hash) {
  return std::string(R"({"config":")") + hash +
         R"(","version":"1","admin":"10.0.0.1:8481","state":"serving","loaded":4000000,"overrides":2})";
}

TEST(Fleet, AnOverrideIsReadAsItWasWritten) {
  config::Override change;
  change.policy = "p";
  change.limits = {{"deny.over", Number(20)}, {"2.over", Number::real(0.5)}};
  change.since = kNow;
  change.reason = "ticket \"4711\"";
  change.by = "session";
  const auto back = read_override_words(override_words(change));
  ASSERT_TRUE(back);
  EXPECT_EQ(config::override_text(*back), config::override_text(change));
  EXPECT_EQ(back->reason, change.reason);
  EXPECT_EQ(back->since, change.since);
  change.limits.clear();
  change.mode = config::Mode::shadow;
  EXPECT_EQ(read_override_words(override_words(change))->mode, config::Mode::shadow);
}

TEST(Fleet, WhatIsNoOverrideIsNone) {
  for (const char* wrong :
       {"", "[]", "{}", R"({"policy":"p"})", R"({"policy":"p","mode":"quiet","limits":[]})",
        R"({"policy":"p","mode":7,"limits":[]})", R"({"mode":"shadow","limits":[]})",
        R"({"policy":"p","limits":[{"rung":"over","limit":"20"}]})",
        R"({"policy":"p","limits":[7]})", R"({"policy":"p","end":true,"limits":[]})"})
    EXPECT_FALSE(read_override_words(wrong)) << wrong;
}

TEST(Fleet, AnEntryOfAnotherReplicaSaysWhereItWasMade) {
  admin::AuditEntry entry;
  entry.action = "list.add";
  entry.who = "token admin.token";
  entry.from = "10.0.0.9";
  entry.target = "banned";
  entry.key = {"203.0.113.7"};
  entry.after = {{"until", "tomorrow"}};
  entry.reason = "scraping";
  const std::string words = audit_words(entry, "a/1");
  EXPECT_FALSE(read_audit_words(words, "a/1")) << "our own";
  const auto back = read_audit_words(words, "b/2");
  ASSERT_TRUE(back);
  EXPECT_EQ(back->from, "10.0.0.9, at replica a/1");
  EXPECT_EQ(back->key, entry.key);
  EXPECT_EQ(back->after, entry.after);
  entry.before = std::string(100'000, 'x');
  EXPECT_LE(audit_words(entry, "a/1").size(), store::BoardSync::kNewsBytesMax);
  for (const char* wrong : {"", "7", "{}", R"({"replica":"a/1"})", R"({"action":"x"})"})
    EXPECT_FALSE(read_audit_words(wrong, "b/2")) << wrong;
}

TEST(Fleet, AllSayWhatEveryReplicaThatIsThereSays) {
  store::BoardSync sync("a/1", "fresh");
  const auto all = [&] {
    return all_say(sync, kNow + milliseconds{500}, "unfit", [](const boost::json::value* said) {
      return said != nullptr && said->is_string() && said->get_string() == "x";
    });
  };
  const auto hear = [&](std::vector<store::BoardReplica> replicas) {
    sync.ask(kNow);
    sync.answered(answer_with(std::move(replicas)), kNow);
  };
  EXPECT_FALSE(all()) << "nobody was heard";
  hear({{"a/1", "{}", milliseconds{0}}});
  EXPECT_TRUE(all()) << "there is no other";
  hear({{"a/1", "{}", milliseconds{0}},
        {"b/2", R"({"unfit":"x"})", milliseconds{800}},
        {"c/3", "{}", milliseconds{9'000}}});
  EXPECT_TRUE(all()) << "c is gone";
  for (const char* const other : {R"({"unfit":"y"})", "{}", "no JSON"}) {
    hear({{"b/2", R"({"unfit":"x"})", milliseconds{800}}, {"c/3", other, milliseconds{0}}});
    EXPECT_FALSE(all()) << other;
  }
  hear({});
  sync.ask(kNow);
  sync.failed("no connection");
  EXPECT_FALSE(all()) << "Redis is away";
}

TEST(Fleet, WhoRunsNotWhatTheFleetCameToLastIsBehind) {
  store::BoardSync sync("a/1", "fresh");
  sync.ask(kNow);
  store::BoardAnswer answer = answer_with({{"a/1", says("new"), milliseconds{0}},
                                           {"b/2", says("old"), milliseconds{800}},
                                           {"c/3", says("newest"), milliseconds{9'000}},
                                           {"d/4", "no JSON", milliseconds{0}}});
  // `newest` runs nowhere any more: the only one with it is silent.
  answer.versions = {{"old", 1'000}, {"new", 2'000}, {"newest", 3'000}};
  sync.answered(answer, kNow);
  const admin::FleetFacts facts = fleet_facts(sync, kNow + milliseconds{500});
  EXPECT_TRUE(facts.up);
  EXPECT_EQ(facts.newest, "new");
  ASSERT_EQ(facts.replicas.size(), 3U);
  EXPECT_TRUE(facts.replicas[0].self);
  EXPECT_FALSE(facts.replicas[0].behind);
  EXPECT_TRUE(facts.replicas[1].behind);
  EXPECT_EQ(facts.replicas[1].silent, milliseconds{1'300});
  EXPECT_EQ(facts.replicas[1].loaded, TimePoint{milliseconds{4'000'000}});
  EXPECT_FALSE(facts.replicas[2].up);
  EXPECT_NE(facts.replicas[2].problem.find("nothing for 9 s"), std::string::npos);
  // An impossible time counts as none; it came without a seal.
  store::BoardSync other("a/1", "fresh");
  other.ask(kNow);
  const std::string far =
      R"({"config":"h","loaded":-9223372036854775808,"started":9223372036854775807})";
  other.answered(answer_with({{"b/2", far, milliseconds{0}}}), kNow);
  EXPECT_EQ(fleet_facts(other, kNow).replicas[0].loaded, TimePoint{});
  EXPECT_EQ(fleet_facts(other, kNow).replicas[0].started, TimePoint{});
  // Without Redis what is known grows old, and says so.
  sync.ask(kNow);
  sync.failed("no connection");
  const admin::FleetFacts later = fleet_facts(sync, kNow + milliseconds{60'000});
  EXPECT_FALSE(later.up);
  EXPECT_EQ(later.age, milliseconds{60'000});
  EXPECT_TRUE(later.replicas[0].up);
  EXPECT_FALSE(later.replicas[1].up);
}

}  // namespace
}  // namespace weir::app::fleet_test
