#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "gate/gate.h"
#include "tests/gate/pairs_model.h"
#include "tests/gate/slow_store.h"
#include "tests/policies/world.h"
#include "tests/store/world.h"
#include "tests/support/redis_server.h"

// Two policies at a time, drawn from every combination of what policies can say about counting and
// remembering, with requests one after the other and open at once, answers, aborts, failures and
// reloads in between. Verdicts, readings and lists are compared with a naive model of the contract
// (docs/accuracy.md; tests/gate/pairs_model.h). WEIR_PAIRS_SEED repeats one run.
namespace weir::gate::random_pairs_test {
namespace {

using pairs::Drawn;
using pairs::Model;
using pairs::Try;

struct Session final : Waiter {
  void resume(TimePoint) override {}
};

/// Answers at once, from a real Redis that is told the time.
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

/// What the gate says of readings: by policy, within one call.
struct Rows final : policies::RowSink {
  void reading(const Row& row) override {
    values[row.policy->name] = row.value.is_number() ? row.value.as_number().as_real() : -1;
  }
  void verdict(const Row&, const policies::Rung&, std::size_t, std::optional<Number>) override {}
  std::map<std::string, double> values;
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

/// One run: a gate, the model beside it.
class Run {
 public:
  Run(std::uint64_t seed, RealStore* real) : random_(seed) {
    drawn_ = {Drawn::draw(random_, "a", 1), Drawn::draw(random_, "b", 2)};
    world_ = std::make_unique<policies::World>(yaml_of(drawn_, ""));
    slow_ = std::make_unique<SlowStore>(now);
    if (real != nullptr) real->now = &now;
    store::SharedStore& store = real != nullptr ? static_cast<store::SharedStore&>(*real) : *slow_;
    shared_ = std::make_unique<Shared>(world_->bank, world_->lists, world_->secret, world_->stats);
    gate_ = std::make_unique<Gate>(*shared_, 0, GateLimits{}, metrics_.cells(0), nullptr);
    const milliseconds lifetime{3'600'000};
    gate_->share(store, {seed, "run" + std::to_string(seed) + ".", false, lifetime, lifetime},
                 milliseconds{5});
    gate_->use(world_->set_);
    gate_->report_to(&rows_, nullptr);
    model_ = std::make_unique<Model>(drawn_);
  }

  std::string policies() const { return yaml_of(drawn_, ""); }

  void step() {
    const unsigned what = draw(100);
    if (what < 55 || (what < 85 && open_.empty())) {
      begin();
    } else if (what < 85) {
      end();
    } else if (what < 95) {
      now += milliseconds{draw(3'000)};
      history += "  time +\n";
    } else {
      reload();
    }
    settle_down();
    compare_lists();
  }

  TimePoint now = from_ms(1'800'000'000'000);
  std::string history;

 private:
  struct Open {
    Ticket* ticket;
    int id;
    std::unique_ptr<Session> session;
  };
  unsigned draw(unsigned below) { return static_cast<unsigned>(random_() % below); }

  void settle_down() {
    for (int round = 0; round < 10; ++round) {
      slow_->deliver();
      gate_->tick(now);
    }
    EXPECT_TRUE(slow_->asked.empty());
  }

  void begin() {
    Try request;
    request.id = ++ids_;
    request.other = draw(5) == 0;
    request.user = draw(3);
    request.amount = 1 + static_cast<int>(draw(3));
    history += "  request " + std::to_string(request.id) + (request.other ? " /other" : " /try") +
               " user " + std::to_string(request.user) + " n " + std::to_string(request.amount);
    policies::TestRequest sent(request.other ? "POST /other" : "POST /try");
    sent.header("x-user", "u" + std::to_string(request.user))
        .header("x-n", std::to_string(request.amount));
    auto session = std::make_unique<Session>();
    rows_.values.clear();
    Judgement judgement;
    for (int round = 0; round < 10; ++round) {
      judgement = gate_->judge(sent.view(now), now, false, *session);
      if (judgement.effect.kind != Effect::Kind::wait) break;
      ASSERT_TRUE(gate_->park(*session, now));
      slow_->deliver();
      gate_->tick(now);
    }
    gate_->unpark(*session);
    const Model::Said said = model_->judge(request, now);
    history += said.passes ? " passes\n" : " is refused\n";
    EXPECT_EQ(judgement.effect.kind == Effect::Kind::pass, said.passes);
    for (const auto& [policy, value] : rows_.values) {
      const auto expected = said.values.find(policy);
      ASSERT_NE(expected, said.values.end()) << policy << " reads " << value;
      EXPECT_EQ(value, expected->second) << "the reading of " << policy;
    }
    if (judgement.ticket != nullptr) {
      open_.push_back({judgement.ticket, request.id, std::move(session)});
    } else if (said.passes) {
      model_->forget(request.id);
    }
  }

  void end() {
    const std::size_t which = draw(static_cast<unsigned>(open_.size()));
    Open open = std::move(open_[which]);
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(which));
    const auto how = static_cast<pairs::How>(draw(5));
    history += "  end of " + std::to_string(open.id) + ": " + pairs::name_of(how) + "\n";
    rows_.values.clear();
    End end = End::complete;
    switch (how) {
      case pairs::How::failed_401:
      case pairs::How::ok_200: {
        Answer answer;
        answer.status = how == pairs::How::ok_200 ? 200 : 401;
        gate_->answered(*open.ticket, answer, now);
        slow_->deliver();
        gate_->tick(now);
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
    gate_->finish(*open.ticket, end, now);
    settle_down();
    const auto expected = model_->end(open.id, how, now);
    for (const auto& [policy, value] : rows_.values) {
      const auto found = expected.find(policy);
      ASSERT_NE(found, expected.end()) << policy << " reads " << value << " at the answer";
      EXPECT_EQ(value, found->second) << "what has settled of " << policy;
    }
  }

  /// The same policies compiled anew, sometimes in another order, sometimes beside a list that is
  /// new: every index differs, no count does.
  void reload() {
    history += "  reload\n";
    std::vector<Drawn> order = drawn_;
    if (draw(2) == 0) std::swap(order[0], order[1]);
    world_->use(yaml_of(order, draw(2) == 0 ? "lists: {vip: {of: ip, kind: allow}}\n" : ""));
    gate_->use(world_->set_);
    model_->order_as(order);
  }

  void compare_lists() {
    for (const policies::List& list : world_->set_->lists) {
      if (!list.owner) continue;
      const bool listed = world_->lists.find(list.id, key_of(list), now).listed;
      EXPECT_EQ(listed, model_->is_listed(list.name, now)) << list.name;
    }
  }
  /// The one key of the test, as the list has it.
  Hash128 key_of(const policies::List& list) const {
    KeyBuilder builder;
    builder.start();
    builder.add_address(*Address::parse("203.0.113.7"));
    return builder.hash(world_->secret).owned_by(list.identity);
  }

  std::mt19937_64 random_;
  std::vector<Drawn> drawn_;
  std::unique_ptr<policies::World> world_;
  std::unique_ptr<SlowStore> slow_;
  telemetry::Metrics metrics_{1};
  std::unique_ptr<Shared> shared_;
  std::unique_ptr<Gate> gate_;
  std::unique_ptr<Model> model_;
  Rows rows_;
  std::vector<Open> open_;
  int ids_ = 0;
};

std::uint64_t first_seed() {
  const char* const given = std::getenv("WEIR_PAIRS_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
}

void run_all(int runs, int steps, RealStore* real) {
  const bool one = std::getenv("WEIR_PAIRS_SEED") != nullptr;
  const std::uint64_t first = first_seed();
  std::cout << "seed " << first << '\n';
  for (int i = 0; i < (one ? 1 : runs); ++i) {
    const std::uint64_t seed = first + static_cast<std::uint64_t>(i);
    Run run(seed, real);
    for (int step = 0; step < steps && !testing::Test::HasFailure(); ++step) run.step();
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
