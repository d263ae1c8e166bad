#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gate/gate.h"
#include "gate/judging.h"
#include "store/memory_store.h"
#include "tests/gate/pairs_model.h"
#include "tests/policies/world.h"
#include "tests/store/world.h"
#include "tests/support/redis_server.h"
#include "tests/support/seed.h"

// Two policies at a time, perhaps on one counter, and perhaps a third on their score, drawn from
// every combination of what policies can say about counting and remembering, on two replicas, with
// requests one after the other and open at once, answers, aborts, failures, reloads, and a Redis
// that is late or away in between. Verdicts, readings and lists are compared with a naive model of
// the contract (docs/accuracy.md, docs/redis.md; tests/gate/pairs_model.h). WEIR_PAIRS_SEED repeats
// one run; WEIR_PAIRS_RUNS makes more.
namespace weir::gate::random_pairs_test {
namespace {

using pairs::Drawn;
using pairs::Here;
using pairs::kReplicas;
using pairs::Model;
using pairs::Try;

struct Session final : Waiter {
  void resume(TimePoint) override {}
};

/// Answers at once, from a real Redis that gets the time from the test.
class RealStore final : public store::SharedStore {
 public:
  RealStore() : store_(store::test::connected(world_, store::test::unix_settings(redis_.path()))) {}
  ~RealStore() override { store_->stop(); }
  bool submit(store::Batch& batch, TimePoint) override {
    Once once;
    ops_.assign(batch.ops.begin(), batch.ops.end());
    for (limiter::SharedOp& op : ops_) op.now = *now;
    once.ops = ops_;
    once.replies = batch.replies;
    bool there = false;
    world_.turn([&] { there = store_->submit(once, world_.worker.now() + milliseconds{20'000}); });
    EXPECT_TRUE(there || world_.until([&] { return once.told; }, milliseconds{25'000}));
    for (const limiter::SharedReply& reply : batch.replies)
      EXPECT_EQ(reply.error, limiter::SharedError::none) << row_of(reply.error).name;
    return true;
  }
  void cancel(store::Batch&) noexcept override {}
  const TimePoint* now = nullptr;  ///< the time of the run that uses it

 private:
  struct Once final : store::Batch {
    void on_replies() override { told = true; }
    bool told = false;
  };
  weir::test::RedisServer redis_;
  store::test::World world_;
  std::unique_ptr<store::RedisStore> store_;
  std::vector<limiter::SharedOp> ops_;
};

/// The gate's readings by policy, within one call.
struct Rows final : policies::RowSink {
  void reading(const Row& row) override {
    values[row.policy->name] = row.value.is_number() ? row.value.as_number().as_real() : -1;
  }
  void verdict(const Row&, const policies::Rung&, std::size_t, std::optional<Number>) override {}
  std::map<std::string, double> values;
};

/// A replica's way to the store: late, or cut.
class Way final : public store::SharedStore {
 public:
  Way(store::SharedStore& store, bool is_late) : store_(store), is_late_(is_late) {}
  bool submit(store::Batch& batch, TimePoint deadline) override {
    if (is_away && knows_it) {
      fail(batch);
      return true;
    }
    if (!is_away && !is_late_) return store_.submit(batch, deadline);
    asked.push_back(&batch);
    return false;
  }
  void cancel(store::Batch&) noexcept override {}
  void deliver() {
    for (store::Batch* const batch : std::exchange(asked, {})) {
      is_away ? fail(*batch) : static_cast<void>(store_.submit(*batch, {}));
      batch->on_replies();
    }
  }
  bool is_away = false;
  bool knows_it = false;  ///< the breaker is open: nothing waits
  std::vector<store::Batch*> asked;

 private:
  void fail(store::Batch& batch) const {
    for (limiter::SharedReply& reply : batch.replies) {
      reply = {};
      reply.error = knows_it ? limiter::SharedError::unavailable : limiter::SharedError::timed_out;
    }
  }
  store::SharedStore& store_;
  bool is_late_;
};

std::string yaml_of(const std::vector<Drawn>& drawn, const std::string& reload) {
  std::string out = R"(
redis: {url: "redis://127.0.0.1:6379", secret: s}
events:
  try: {match: POST /try, fields: {user: header.x_user, n: int(header.x_n)}}
  other: {match: POST /other}
  failed: {is: try, when: 'status == 401'}
  ok: {is: try, when: 'status == 200'}
)" + reload + "policies:\n";
  for (const Drawn& policy : drawn) out += policy.yaml();
  return out;
}

/// A gate with all that it needs, and its way to the store.
struct Replica {
  Replica(const std::vector<Drawn>& drawn, store::SharedStore& store, bool late,
          const policies::Sharing& sharing)
      : world(yaml_of(drawn, "")), way(store, late) {
    gate.use_store(way, sharing, milliseconds{5});
    gate.use(world.set_);
    gate.report_to(&rows, nullptr);
  }
  policies::World world;
  Way way;
  telemetry::Metrics metrics{1};
  Shared shared{world.bank, world.lists, world.secret, world.stats};
  Gate gate{shared, 0, GateLimits{}, metrics.cells(0), nullptr};
  Rows rows;
};

/// One run: the gates, the model beside them.
class Run {
 public:
  Run(std::uint64_t seed, RealStore* real) : random_(seed), is_real_(real != nullptr) {
    drawn_ = {Drawn::draw(random_, "a", 1), Drawn::draw(random_, "b", 2)};
    if (draw(3) == 0 && drawn_[0].can_have_twin()) drawn_[1] = Drawn::twin(random_, drawn_[0], "b");
    if (draw(3) == 0) drawn_.push_back(Drawn::draw_score(random_, "total"));
    std::shuffle(drawn_.begin(), drawn_.end(), random_);
    if (real != nullptr) real->now = &now;
    store::SharedStore& store = real != nullptr ? static_cast<store::SharedStore&>(*real) : memory_;
    const milliseconds lifetime{3'600'000};
    SCOPED_TRACE(policies());
    for (std::uint64_t i = 0; i < kReplicas; ++i) {
      const policies::Sharing sharing{2 * seed + i, "run" + std::to_string(seed) + ".", false,
                                      lifetime, lifetime};
      replicas_.push_back(std::make_unique<Replica>(drawn_, store, real == nullptr, sharing));
    }
    model_ = std::make_unique<Model>(drawn_);
  }

  std::string policies() const { return yaml_of(drawn_, ""); }

  void step() {
    const unsigned what = draw(100);
    if (what < 55 || (what < 82 && open_.empty())) {
      begin();
    } else if (what < 82) {
      end();
    } else if (what < 91) {
      now += milliseconds{draw(3'000)};
      history += "  time +\n";
    } else if (what < 95) {
      reload();
    } else if (!is_real_) {
      turn_redis();
    }
    settle_down();
    compare_lists();
  }

  TimePoint now = from_ms(1'800'000'000'000);
  std::string history;

 private:
  struct Open {
    Ticket* ticket;
    Try request;
    std::size_t replica;
    std::unique_ptr<Session> session;
  };
  unsigned draw(unsigned below) { return static_cast<unsigned>(random_() % below); }
  Here here(std::size_t replica) const { return {replica, !replicas_[replica]->way.is_away}; }

  void settle_down() {
    for (int round = 0; round < 10; ++round) {
      for (const auto& replica : replicas_) {
        replica->way.deliver();
        replica->gate.tick(now);
      }
    }
    for (const auto& replica : replicas_) EXPECT_TRUE(replica->way.asked.empty());
  }

  void turn_redis() {
    Way& way = replicas_[draw(kReplicas)]->way;
    way.is_away = !way.is_away;
    way.knows_it = draw(2) == 0;
    history += &way == &replicas_[0]->way ? "  replica 0: " : "  replica 1: ";
    history += way.is_away ? "Redis away\n" : "Redis is back\n";
  }

  void begin() {
    Try request;
    request.id = ++ids_;
    request.other = draw(5) == 0;
    request.user = draw(3);
    request.amount = 1 + static_cast<int>(draw(3));
    const std::size_t at = draw(kReplicas);
    Replica& replica = *replicas_[at];
    history += "  request " + std::to_string(request.id) + " at " + std::to_string(at) +
               (request.other ? " /other" : " /try") + " user " + std::to_string(request.user) +
               " n " + std::to_string(request.amount);
    policies::TestRequest sent(request.other ? "POST /other" : "POST /try");
    sent.header("x-user", "u" + std::to_string(request.user))
        .header("x-n", std::to_string(request.amount));
    auto session = std::make_unique<Session>();
    replica.rows.values.clear();
    Decision judgement;
    for (int round = 0; round < 10; ++round) {
      judgement = judge_or_park(replica.gate, sent.view(now), now, false, *session);
      if (judgement.effect.kind != Effect::Kind::wait) break;
      replica.way.deliver();
      replica.gate.tick(now);
    }
    replica.gate.unpark(*session);
    const Model::Said said = model_->judge(request, now, here(at), replica.rows.values);
    history += said.passes ? " passes\n" : " is refused\n";
    EXPECT_EQ(judgement.effect.kind == Effect::Kind::pass, said.passes);
    for (const auto& [policy, value] : replica.rows.values) {
      const auto expected = said.values.find(policy);
      if (expected == said.values.end()) continue;
      EXPECT_NEAR(value, expected->second, 1e-9) << "the reading of " << policy;
    }
    if (judgement.ticket != nullptr) {
      open_.push_back({judgement.ticket, request, at, std::move(session)});
    } else if (said.passes) {
      model_->forget(request.id, here(at));
    }
  }

  void end() {
    const std::size_t which = draw(static_cast<unsigned>(open_.size()));
    Open open = std::move(open_[which]);
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(which));
    const auto how = static_cast<pairs::How>(draw(5));
    history += "  end of " + std::to_string(open.request.id) + ": " + pairs::name_of(how) + "\n";
    Replica& replica = *replicas_[open.replica];
    replica.rows.values.clear();
    End end = End::complete;
    switch (how) {
      case pairs::How::failed_401:
      case pairs::How::ok_200: {
        Answer answer;
        answer.status = how == pairs::How::ok_200 ? 200 : 401;
        replica.gate.answered(*open.ticket, answer, now);
        replica.way.deliver();
        replica.gate.tick(now);
        break;
      }
      case pairs::How::aborted:
        end = End::aborted;
        break;
      case pairs::How::upstream_failed:
        end = End::upstream_failed;
        break;
      case pairs::How::not_sent:
        end = End::not_sent;
        break;
    }
    replica.gate.finish(*open.ticket, end, now);
    settle_down();
    const auto expected = model_->end(open.request, how, now, here(open.replica));
    for (const auto& [policy, value] : replica.rows.values) {
      const auto found = expected.find(policy);
      ASSERT_NE(found, expected.end()) << policy << " reads " << value << " at the answer";
      EXPECT_EQ(value, found->second) << "what has settled of " << policy;
    }
  }

  /// The same policies compiled again, sometimes in another order, sometimes beside a list that is
  /// new: every index differs, no count does.
  void reload() {
    const std::size_t at = draw(kReplicas);
    history += "  reload of " + std::to_string(at) + "\n";
    std::vector<Drawn> order = drawn_;
    if (draw(2) == 0) std::swap(order[0], order[1]);
    Replica& replica = *replicas_[at];
    replica.world.use(yaml_of(order, draw(2) == 0 ? "lists: {vip: {of: ip, kind: allow}}\n" : ""));
    replica.gate.use(replica.world.set_);
  }

  void compare_lists() {
    for (std::size_t at = 0; at < kReplicas; ++at) {
      policies::World& world = replicas_[at]->world;
      for (const policies::List& list : world.set_->lists) {
        if (!list.owner) continue;
        const bool listed = world.lists.find(list.id, key_of(world, list), now).listed;
        EXPECT_EQ(listed, model_->is_listed(list.name, at, now)) << list.name << " at " << at;
      }
    }
  }
  /// The one key of the test, as the list has it.
  static Hash128 key_of(const policies::World& world, const policies::List& list) {
    KeyBuilder builder;
    builder.start();
    builder.add_address(*Address::parse("203.0.113.7"));
    return builder.hash(world.secret).owned_by(list.identity);
  }

  std::mt19937_64 random_;
  bool is_real_;
  std::vector<Drawn> drawn_;
  store::MemoryStore memory_{{std::uint64_t{1} << 20, 1'000}, [this] { return now; }};
  std::vector<std::unique_ptr<Replica>> replicas_;
  std::unique_ptr<Model> model_;
  std::vector<Open> open_;
  int ids_ = 0;
};

/// A number of the environment.
std::optional<std::uint64_t> given(const char* name) {
  const char* const text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  return std::strtoull(text, nullptr, 10);
}

void run_all(std::uint64_t runs, std::uint64_t steps, RealStore* real) {
  const auto repeated = given("WEIR_PAIRS_SEED");
  const std::uint64_t first = repeated ? *repeated : ::weir::test::new_seed();
  std::cout << "seed " << first << '\n';
  runs = given("WEIR_PAIRS_RUNS").value_or(repeated ? 1 : runs);
  steps = given("WEIR_PAIRS_STEPS").value_or(steps);
  for (std::uint64_t seed = first; seed < first + runs; ++seed) {
    Run run(seed, real);
    for (std::uint64_t step = 0; step < steps && !testing::Test::HasFailure(); ++step) run.step();
    if (testing::Test::HasFailure()) {
      ADD_FAILURE() << "WEIR_PAIRS_SEED=" << seed << "\n" << run.policies() << run.history;
      return;
    }
  }
}

TEST(RandomPairs, DoWhatTheContractSays) { run_all(400, 80, nullptr); }

TEST(RandomPairs, DoWhatTheContractSaysWithARealRedis) {
  RealStore redis;
  run_all(40, 60, &redis);
}

}  // namespace
}  // namespace weir::gate::random_pairs_test
