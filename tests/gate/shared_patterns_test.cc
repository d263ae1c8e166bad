// Two replicas over one store: a match begins at one and ends at the other. The store is in memory,
// each replica has a line to it that can be cut.
#include <gtest/gtest.h>

#include "gate/gate.h"
#include "gate/judging.h"
#include "store/memory_store.h"
#include "tests/policies/world.h"

namespace weir::gate::shared_patterns_test {
namespace {

constexpr char kPolicies[] = R"(
redis: {url: "redis://127.0.0.1:6379", secret: s}
fields: {order: header.x_order}
events:
  ordered: {match: POST /order}
  paid: {match: POST /pay}
  guess: {match: POST /login}
  wrong: {is: guess, when: status == 401}
  right: {is: guess, when: status == 200}
lists:
  unpaid: {of: order, kind: gray}
  broken: {of: order, kind: gray}
policies:
  - {name: late, sequence: [ordered, no paid], within: 10s, key: order, share: redis,
     then: [{do: graylist, list: unpaid, for: 1h}]}
  - {name: twice, sequence: [paid, paid], within: 10s, key: order, share: redis, on_error: ON_ERROR,
     then: [{do: deny}]}
  - {name: broken, sequence: [wrong, right], within: 1m, key: order, share: redis,
     then: [{do: graylist, list: broken, for: 1h}]}
)";

/// Gives every answer late, or none.
class Line final : public store::SharedStore {
 public:
  explicit Line(store::SharedStore& store) : store_(store) {}
  bool submit(store::Batch& batch, TimePoint deadline) override {
    ++submitted;
    for (const limiter::SharedOp& op : batch.ops) {
      if (op.pattern != nullptr && op.verb == limiter::SharedVerb::add) told.emplace_back(op.key);
      if (op.verb == limiter::SharedVerb::done) ended.push_back(op.at);
    }
    if (!is_cut) {
      under_way_.push_back({&batch, deadline});
      return false;
    }
    for (limiter::SharedReply& reply : batch.replies) {
      reply = {};
      reply.error = limiter::SharedError::unavailable;
    }
    return true;
  }
  void cancel(store::Batch&) noexcept override {}
  void deliver() {
    while (!is_slow && !under_way_.empty()) {
      for (const auto& [batch, deadline] : std::exchange(under_way_, {})) {
        store_.submit(*batch, deadline);
        for (std::size_t i = 0; i < batch->ops.size(); ++i) {
          if (is_refused(batch->ops[i])) batch->replies[i].error = limiter::SharedError::refused;
        }
        batch->on_replies();
      }
    }
  }
  /// The connection breaks: the batches come back in their order.
  void lose() {
    for (const auto& [batch, deadline] : std::exchange(under_way_, {})) {
      for (limiter::SharedReply& reply : batch->replies) reply.error = limiter::SharedError::lost;
      batch->on_replies();
    }
  }
  bool is_cut = false;
  bool is_slow = false;
  bool refuses = false;     ///< every operation that adds
  std::string refused_key;  ///< of events that are refused; empty: none is
  std::size_t submitted = 0;
  std::vector<std::string> told;  ///< keys of the events
  std::vector<TimePoint> ended;   ///< leases

 private:
  bool is_refused(const limiter::SharedOp& op) const {
    const bool of_key = op.pattern != nullptr && !refused_key.empty() && op.key == refused_key;
    return op.verb == limiter::SharedVerb::add && (refuses || of_key);
  }

  store::SharedStore& store_;
  std::vector<std::pair<store::Batch*, TimePoint>> under_way_;
};

struct Session final : Waiter {
  void resume(TimePoint) override { resumed = true; }
  bool resumed = false;
};

class Replica {
 public:
  Replica(const std::string& yaml, store::SharedStore& store, std::uint64_t origin)
      : world(yaml), line(store), wheel(world.now) {
    shared.patterns = &world.patterns;
    gate.report_to(nullptr, nullptr);  // takes them up
    gate.use_store(line, {origin, "", false, milliseconds{60'000}, milliseconds{60'000}},
                   milliseconds{5}, &wheel);
    gate.fire_patterns(wheel, origin);
    gate.use(world.set_);
  }

  /// The effect's status; 0: it passed. The app answers with `answer`.
  int say(const std::string& path, const std::string& order, int answer = 200) {
    policies::TestRequest request("POST " + path);
    request.header("X-Order", order);
    Session session;
    Decision judged = judge_or_park(gate, request.view(world.now), world.now, true, session);
    asked = judged.effect.kind == Effect::Kind::wait;
    if (asked) {
      line.deliver();
      gate.tick(world.now);
      EXPECT_TRUE(session.resumed);
      judged = judge_or_park(gate, request.view(world.now), world.now, true, session);
      gate.unpark(session);
    }
    if (judged.ticket != nullptr) {
      Answer told;
      told.status = answer;
      told.body_state = BodyState::complete;
      gate.answered_body(*judged.ticket, told, world.now);
      gate.finish(*judged.ticket, End::complete, world.now);
    }
    line.deliver();
    return judged.effect.kind == Effect::Kind::pass ? 0 : judged.effect.status;
  }
  void pass(milliseconds length) {
    for (const TimePoint end = world.now + length; world.now < end;) {
      world.now += milliseconds{50};
      wheel.advance(world.now);
      line.deliver();
    }
  }
  std::size_t listed(std::string_view list) {
    return world.lists.size(world.set_->find_list(list)->id);
  }

  policies::World world;
  Line line;
  net::Wheel wheel;
  telemetry::Metrics metrics{1};
  Shared shared{world.bank, world.lists, world.secret, world.stats};
  Gate gate{shared, 0, GateLimits{}, metrics.cells(0), nullptr};
  bool asked = false;
};

class SharedPatterns : public ::testing::Test {
 protected:
  static std::string policies(const std::string& on_error = "local") {
    std::string out = kPolicies;
    return out.replace(out.find("ON_ERROR"), 8, on_error);
  }
  void use(const std::string& yaml) {
    a.emplace(yaml, store, 1);
    b.emplace(yaml, store, 2);
  }
  void SetUp() override { use(policies()); }
  /// The replicas' clocks go together; the store's is theirs.
  void pass(milliseconds length) {
    for (milliseconds done{0}; done < length; done += milliseconds{50}) {
      a->pass(milliseconds{50});
      b->pass(milliseconds{50});
    }
  }
  TimePoint now() const { return a ? a->world.now : from_ms(1'800'000'000'000); }

  store::MemoryStore store{{std::uint64_t{1} << 20, 1'000}, [this] { return now(); }};
  std::optional<Replica> a, b;
};

TEST_F(SharedPatterns, OrderedHerePaidThereIsNoAlarmAndUnpaidIsOne) {
  pass(milliseconds{5'000});
  EXPECT_EQ(a->say("/order", "o1"), 0);
  EXPECT_FALSE(a->asked) << "nothing that it could complete: nobody waits for the store";
  a->say("/order", "o2");
  EXPECT_EQ(b->say("/pay", "o1"), 0);
  pass(milliseconds{9'000});
  EXPECT_EQ(a->listed("unpaid") + b->listed("unpaid"), 0U);
  pass(milliseconds{3'000});
  EXPECT_EQ(a->listed("unpaid") + b->listed("unpaid"), 1U) << "one of them, once";
  pass(milliseconds{20'000});
  EXPECT_EQ(a->listed("unpaid") + b->listed("unpaid"), 1U);
}

TEST_F(SharedPatterns, ASequenceGoesOverReplicasAndARefusedStepHasNotHappened) {
  EXPECT_EQ(a->say("/pay", "o"), 0);
  EXPECT_TRUE(a->asked) << "it could have been the second";
  EXPECT_EQ(b->say("/pay", "o"), 429);
  EXPECT_EQ(a->say("/pay", "o"), 429) << "the match is still open";
  const auto matched = [](const Replica& replica) {
    return replica.metrics.sum(telemetry::Metric::patterns_matched);
  };
  EXPECT_EQ(matched(*b), 1) << "refused, and a match";
  EXPECT_EQ(matched(*a), 1);
  EXPECT_EQ(a->say("/pay", "other"), 0);
}

TEST_F(SharedPatterns, WhatTheAnswerDecidesIsToldThenAndRemembered) {
  a->say("/login", "o", 401);
  EXPECT_EQ(b->listed("broken"), 0U);
  b->say("/login", "o", 200);
  EXPECT_EQ(b->listed("broken"), 1U);
  EXPECT_EQ(a->listed("broken"), 0U) << "the list is each one's own";
  b->say("/login", "p", 200);
  b->say("/login", "p", 401);
  EXPECT_EQ(b->listed("broken"), 1U) << "the wrong way round";
}

TEST_F(SharedPatterns, AwayItGoesOnWithWhatItHasSeenAndTellsTheRestLater) {
  pass(milliseconds{5'000});
  a->say("/order", "o1");
  a->line.is_cut = b->line.is_cut = true;
  a->say("/order", "o2");
  EXPECT_EQ(b->say("/pay", "o1"), 0);
  EXPECT_EQ(b->say("/pay", "o1"), 429) << "on_error: local";
  EXPECT_TRUE(a->gate.is_exchanging());
  pass(milliseconds{15'000});
  EXPECT_EQ(a->listed("unpaid") + b->listed("unpaid"), 0U);
  const std::size_t submitted = a->line.submitted;
  pass(milliseconds{1'000});
  EXPECT_LE(a->line.submitted, submitted + 30) << "while nobody is there it asks now and then";
  a->line.is_cut = b->line.is_cut = false;
  pass(milliseconds{8'000});
  EXPECT_FALSE(a->gate.is_exchanging());
  EXPECT_EQ(a->listed("unpaid") + b->listed("unpaid"), 1U)
      << "o2; the payment of o1 was told first";
}

TEST_F(SharedPatterns, WhoHasSeenToADeadlineNamesItsLease) {
  pass(milliseconds{5'000});
  a->say("/order", "o1");
  TimePoint fired{};
  while (fired == TimePoint{} && now() < from_ms(1'800'000'060'000)) {
    pass(milliseconds{50});
    if (a->listed("unpaid") + b->listed("unpaid") != 0) fired = now();
  }
  const auto& ended = a->line.ended.empty() ? b->line.ended : a->line.ended;
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0], fired + PatternClock::kLease);
}

TEST_F(SharedPatterns, AnEventThatTheStoreNeverTakesIsDroppedInTheEnd) {
  pass(milliseconds{5'000});
  a->line.refuses = true;
  a->say("/order", "o1");
  pass(milliseconds{8'000});
  EXPECT_TRUE(a->gate.is_exchanging()) << "it may pass";
  EXPECT_EQ(a->metrics.sum(telemetry::Metric::patterns_dropped), 0);
  pass(milliseconds{12'000});
  EXPECT_FALSE(a->gate.is_exchanging());
  EXPECT_EQ(a->metrics.sum(telemetry::Metric::patterns_dropped), 1);
}

// An error of one key is not an error of the store.
TEST_F(SharedPatterns, AKeyThatTheStoreRefusesHoldsUpNoOther) {
  pass(milliseconds{5'000});
  a->say("/order", "o1");
  b->say("/pay", "o1");
  a->line.refused_key = a->line.told.at(0);
  a->say("/order", "o1");
  for (const char* order : {"o2", "o3", "o4"}) {
    const std::size_t told = a->line.told.size();
    a->say("/order", order);
    EXPECT_EQ(a->line.told.size(), told + 1) << order << " waits for nothing";
    b->say("/pay", order);
  }
  EXPECT_TRUE(a->gate.is_exchanging()) << "it may pass";
  EXPECT_EQ(a->metrics.sum(telemetry::Metric::patterns_untold), 1);
  pass(milliseconds{9'000});
  EXPECT_TRUE(a->gate.is_exchanging());
  pass(milliseconds{6'000});
  EXPECT_FALSE(a->gate.is_exchanging());
  EXPECT_EQ(a->metrics.sum(telemetry::Metric::patterns_dropped), 1);
  EXPECT_EQ(a->listed("unpaid") + b->listed("unpaid"), 1U)
      << "o1, as counted here; the three others were paid, over there";
}

TEST_F(SharedPatterns, WhatComesLaterOfARefusedKeyWaitsBehind) {
  pass(milliseconds{5'000});
  a->line.refuses = true;
  a->say("/login", "o1", 401);
  a->line.refuses = false;
  const std::string key = a->line.told.back();
  a->line.refused_key = key;
  const auto told = [&] { return std::count(a->line.told.begin(), a->line.told.end(), key); };
  const auto before = told();
  a->say("/login", "o1", 200);
  a->say("/login", "o2", 200);
  EXPECT_EQ(told(), before) << "the right one after the wrong one";
  a->line.refused_key.clear();
  pass(milliseconds{500});
  EXPECT_EQ(told(), before + 2);
  EXPECT_FALSE(a->gate.is_exchanging());
  EXPECT_EQ(a->listed("broken"), 1U);
}

TEST_F(SharedPatterns, AStoreThatRefusesEveryKeyIsAskedNowAndThen) {
  pass(milliseconds{5'000});
  a->line.refuses = true;
  for (int i = 0; i < 600; ++i) a->say("/order", "o" + std::to_string(i));
  a->pass(milliseconds{200});
  const std::size_t told = a->line.told.size();
  a->pass(milliseconds{1'000});
  EXPECT_LE(a->line.told.size(), told + 11 * 600) << "each now and then";
  a->line.refuses = false;
  a->pass(milliseconds{1'000});
  EXPECT_FALSE(a->gate.is_exchanging());
  EXPECT_EQ(a->metrics.sum(telemetry::Metric::patterns_dropped), 0);
}

// In the wrong order, the second step of a sequence finds no first one.
TEST_F(SharedPatterns, EventsOfSeveralBatchesAreSentAgainInTheirOrder) {
  a->line.is_slow = true;
  for (const char* order : {"o1", "o2", "o3"}) {
    a->say("/order", order);
    a->pass(milliseconds{50});
  }
  ASSERT_EQ(a->line.told.size(), 3U);
  a->line.lose();
  a->say("/order", "o4");
  a->line.is_slow = false;
  a->pass(milliseconds{500});
  ASSERT_EQ(a->line.told.size(), 7U);
  EXPECT_EQ(a->line.told[3], a->line.told[0]);
  EXPECT_EQ(a->line.told[4], a->line.told[1]);
  EXPECT_EQ(a->line.told[5], a->line.told[2]);
  EXPECT_FALSE(a->gate.is_exchanging());
}

TEST_F(SharedPatterns, OnErrorAllowSeesNothingAndDenyRefuses) {
  use(policies("allow"));
  a->line.is_cut = true;
  EXPECT_EQ(a->say("/pay", "o"), 0);
  EXPECT_EQ(a->say("/pay", "o"), 0);
  use(policies("deny"));
  a->line.is_cut = true;
  EXPECT_EQ(a->say("/pay", "o"), 503);
  EXPECT_EQ(a->say("/order", "o"), 0) << "this one needs no answer";
}

TEST_F(SharedPatterns, AReloadKeepsWhatWaits) {
  pass(milliseconds{5'000});
  a->say("/order", "o1");
  a->world.use(policies());
  a->gate.use(a->world.set_);
  b->line.is_cut = true;
  pass(milliseconds{12'000});
  EXPECT_EQ(a->listed("unpaid"), 1U);
}

}  // namespace
}  // namespace weir::gate::shared_patterns_test
