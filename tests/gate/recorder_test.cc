#include "gate/recorder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "gate/gate.h"
#include "tests/policies/world.h"
#include "tests/support/seed.h"

namespace weir::gate::recorder_test {
namespace {

using policies::TestRequest;

/// How many leading bits two addresses share.
unsigned common(const Address& a, const Address& b) {
  for (unsigned i = 0; i < 128; ++i) {
    if ((a.bytes()[i / 8] ^ b.bytes()[i / 8]) & (0x80U >> i % 8)) return i;
  }
  return 128;
}

TEST(Pseudonym, KeepsTheNetworksAndNotTheAddresses) {
  const HashSecret secret = HashSecret::from_bytes({1, 2, 3});
  const auto seed = ::weir::test::new_seed();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  unsigned kept = 0;
  for (int i = 0; i < 500; ++i) {
    const std::uint32_t first = static_cast<std::uint32_t>(random());
    const std::uint32_t second = first ^ static_cast<std::uint32_t>(random() >> (random() % 32));
    const Address a = Address::v4(first), b = Address::v4(second);
    const Address pa = pseudonym(a, secret), pb = pseudonym(b, secret);
    ASSERT_TRUE(pa.is_v4());
    ASSERT_EQ(common(a, b), common(pa, pb)) << a.to_string() << " " << b.to_string();
    kept += a == pa ? 1 : 0;
  }
  EXPECT_LT(kept, 3U);
  const auto v6 = [&](const char* text) { return pseudonym(*Address::parse(text), secret); };
  EXPECT_EQ(common(v6("2001:db8::1"), v6("2001:db8:0:8000::1")), 48U);
  EXPECT_EQ(v6("2001:db8::1").masked(32, 64), v6("2001:db8::2").masked(32, 64));
  EXPECT_NE(v6("2001:db8::1"), v6("2001:db8::2"));
  EXPECT_NE(v6("2001:db8::1"),
            pseudonym(*Address::parse("2001:db8::1"), HashSecret::from_bytes({9})));
}

struct Nobody final : Waiter {
  void resume(TimePoint) override {}
};

/// A gate that records.
struct RecordingWorld {
  explicit RecordingWorld(Recorder::Settings settings) : recorder(settings, metrics.cells(0)) {
    gate.record_to(&recorder);
    gate.use(world.set_);
  }
  void send(TestRequest request, int status, End end = End::complete) {
    const Decision judged = gate.judge(request.view(world.now), world.now, false, nobody);
    if (judged.ticket == nullptr) return;
    Answer answer;
    answer.status = status;
    if (status != 0) static_cast<void>(gate.answered(*judged.ticket, answer, world.now));
    gate.finish(*judged.ticket, end, world.now);
  }
  std::string rows() {
    std::string out;
    recorder.take(out);
    return out;
  }

  policies::World world{R"(
fields: {user: header.x_user}
events:
  login: {match: POST /login, fields: {gold: int(body.gold)}}
  failed: {is: login, when: status == 401}
policies:
  - {name: a, watch: failed, key: user, metric: sum(gold), window: 1m, then: [{over: 5, do: deny}]}
)"};
  telemetry::Metrics metrics{1};
  Shared shared{world.bank, world.lists, world.secret, world.stats};
  Gate gate{shared, 0, GateLimits{}, metrics.cells(0), nullptr};
  Nobody nobody;
  Recorder recorder;
};

Recorder::Settings settings() { return {HashSecret::from_bytes({4})}; }

TEST(Recorder, WritesWhatReplayNeeds) {
  RecordingWorld world(settings());
  const auto login = [] {
    return TestRequest("POST /login?pin=1234")
        .header("X-User", "bob")
        .header("X-Other", "x")
        .json(R"({"gold":4,"name":"B"})");
  };
  const std::string ip = pseudonym(*Address::parse("203.0.113.7"), settings().secret).to_string();
  std::string bob;
  append_hashed(bob, "bob", settings().secret);
  const std::string begin = R"({"ts":1800000000000,"method":"POST","path":"/login","ip":")" + ip +
                            R"(","fields":{"header.x_user":")" + bob + R"(","body.gold":4})";
  world.send(login(), 401);
  EXPECT_EQ(world.rows(), begin + ",\"status\":401}\n");
  world.send(login(), 0, End::aborted);
  EXPECT_EQ(world.rows(), begin + "}\n") << "refused: the sum would be 8";
  world.world.now += milliseconds{65'000};
  world.send(login(), 0, End::aborted);
  EXPECT_NE(world.rows().find("},\"aborted\":true}"), std::string::npos);
  world.world.now += milliseconds{70'000};
  world.send(login(), 0, End::upstream_failed);
  EXPECT_EQ(world.rows().find("status"), std::string::npos);
}

TEST(Recorder, AUserIsRecordedWhollyOrNotAtAll) {
  Recorder::Settings tenth = settings();
  tenth.sample = 0.2;
  tenth.subject = "user";
  RecordingWorld world(tenth);
  std::map<std::string, int> rows;
  for (int round = 0; round < 3; ++round) {
    for (int user = 0; user < 500; ++user) {
      const std::string name = "u" + std::to_string(user);
      world.send(TestRequest("GET /x", "203.0.113." + std::to_string(round)).header("X-User", name),
                 200);
      if (!world.rows().empty()) ++rows[name];
    }
  }
  EXPECT_GT(rows.size(), 50U);
  EXPECT_LT(rows.size(), 160U);
  for (const auto& [name, count] : rows) EXPECT_EQ(count, 3) << name;
}

TEST(Recorder, WhatFindsNoRoomIsDroppedAndCounted) {
  Recorder::Settings small = settings();
  small.queue = 250;
  RecordingWorld world(small);
  for (int i = 0; i < 5; ++i) world.send(TestRequest("GET /x"), 200);
  const std::string rows = world.rows();
  const auto lines = std::count(rows.begin(), rows.end(), '\n');
  EXPECT_GT(lines, 0);
  EXPECT_LE(rows.size(), 250U);
  const auto cells = [&](telemetry::Metric metric) { return world.metrics.sum(metric); };
  EXPECT_EQ(cells(telemetry::Metric::record_rows), lines);
  EXPECT_EQ(cells(telemetry::Metric::record_dropped), 5 - lines);
  world.send(TestRequest("GET /x"), 200);
  EXPECT_FALSE(world.rows().empty()) << "there is room again";
}

}  // namespace
}  // namespace weir::gate::recorder_test
