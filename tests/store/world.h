#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "limiter/exchange/shared_key.h"
#include "net/worker_pool.h"
#include "store/redis/redis_store.h"
#include "store/shared_store.h"

namespace weir::store::test {

/// A worker whose loop the test turns itself.
class World {
 public:
  World() : worker(0) { worker.reactor().start(); }
  ~World() { worker.reactor().stop(); }

  /// Runs `what` as a turn of the loop.
  void turn(const std::function<void()>& what) {
    worker.reactor().begin_turn();
    what();
    worker.reactor().end_turn();
  }
  /// Turns the loop until `done`; false: not within the limit.
  bool until(const std::function<bool()>& done, milliseconds limit = milliseconds(10'000)) {
    const Clock clock;
    const TimePoint end = clock.now() + limit;
    while (!done()) {
      const milliseconds left = end - clock.now();
      if (left <= milliseconds(0)) return false;
      worker.io().restart();
      worker.io().run_one_for(std::min(left, milliseconds(20)));
    }
    return true;
  }

  net::Worker worker;
};

/// Operations whose replies the test awaits.
struct Ask final : Batch {
  std::deque<limiter::SharedOp> all;
  std::deque<std::vector<limiter::SharedPart>> parts;
  std::deque<std::string> keys;
  std::vector<limiter::SharedOp> list;
  std::vector<limiter::SharedReply> answers;
  int told = 0;

  limiter::SharedOp& add(limiter::SharedVerb verb, std::vector<limiter::SharedPart> what,
                         std::string key) {
    parts.push_back(std::move(what));
    keys.push_back(std::move(key));
    limiter::SharedOp& op = all.emplace_back();
    op.verb = verb;
    op.parts = parts.back();
    op.key = keys.back();
    return op;
  }
  void on_replies() override { ++told; }

  /// Submits and waits; the answers are in `answers`.
  void run(World& world, SharedStore& store, milliseconds deadline = milliseconds(5'000)) {
    list.assign(all.begin(), all.end());
    answers.resize(list.size());
    ops = list;
    replies = answers;
    told = 0;
    bool there = false;
    world.turn([&] { there = store.submit(*this, world.worker.now() + deadline); });
    if (!there) {
      ASSERT_TRUE(world.until([&] { return told > 0; }, deadline + milliseconds(2'000)));
    }
  }
  void clear() {
    all.clear();
    parts.clear();
    keys.clear();
  }
};

inline Settings unix_settings(const std::string& path) {
  Settings out;
  Endpoint endpoint;
  endpoint.path = path;
  out.endpoints = {endpoint};
  out.timeout = milliseconds(2'000);  // a loaded machine is no broken server
  out.budget = milliseconds(1'000);
  return out;
}

/// A store that is connected.
inline std::unique_ptr<RedisStore> connected(World& world, const Settings& settings,
                                             milliseconds limit = milliseconds(20'000)) {
  auto store = std::make_unique<RedisStore>(world.worker, settings, 42);
  world.turn([&] { store->start(); });
  EXPECT_TRUE(world.until([&] { return store->stats().up; }, limit)) << store->why();
  return store;
}

}  // namespace weir::store::test
