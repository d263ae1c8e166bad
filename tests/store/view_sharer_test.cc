#include "store/views/view_sharer.h"

#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "limiter/views/view_delta.h"
#include "store/redis/scripts.h"
#include "tests/store/world.h"
#include "tests/support/redis_server.h"

namespace weir::store::view_sharer_test {
namespace {

using test::World;
using weir::test::RedisServer;

const HashSecret kSecret = HashSecret::from_bytes({7});

/// A view of counts without an end, as a list of its events.
class ListView final : public limiter::SharedView, public limiter::ChunkSink {
 public:
  ListView() : delta_(spec_) {}

  void count(const std::string& key, int times = 1) {
    KeyBuilder builder;
    builder.start();
    builder.add_text(key);
    limiter::ViewEvent event;
    event.at = Clock::wall();
    event.parts = builder.bytes();
    event.key = kSecret.hash(event.parts);
    for (int i = 0; i < times; ++i) delta_.add(event);
    counts[key] += times;
    total += times;
  }

  const limiter::ViewSpec& spec() const noexcept override { return spec_; }
  void take_delta(std::size_t most, std::vector<std::string>& out) override {
    delta_.take(most, out);
  }
  bool absorb(std::string_view chunk, const PaneFilter& wanted) override {
    wanted_ = &wanted;
    return limiter::read_chunk(chunk, limiter::ViewShape::of(spec_), *this);
  }
  void begin_again() override {
    ++restarts;
    counts.clear();
    total = 0;
    std::vector<std::string> chunks;
    delta_.take(1'000'000, chunks);
    const PaneFilter all = [](std::int64_t) { return true; };
    for (const std::string& chunk : chunks) {
      absorb(chunk, all);
      delta_.absorb(chunk, kSecret);
    }
  }
  void take_all(std::size_t most, std::size_t pane_most, Panes& panes,
                std::vector<std::string>& delta) override {
    limiter::ViewDelta all(spec_);
    limiter::ViewPane pane;
    pane.start = limiter::Spans(spec_).pane(0).start;
    pane.events = pane.whole.events = total;
    all.add(pane);
    for (const auto& [key, count] : counts) {
      KeyBuilder builder;
      builder.start();
      builder.add_text(key);
      limiter::ViewPart part;
      part.events = count;
      all.add(pane.start, builder.hash(kSecret), builder.bytes(), part);
    }
    all.take_apart(most, pane_most, panes);
    delta_.take(most, delta);
  }
  void heard(const limiter::ViewSharing& sharing) override { state = sharing; }

  std::map<std::string, std::int64_t> counts;
  std::int64_t total = 0;
  int restarts = 0;
  limiter::ViewSharing state;

 private:
  bool on_pane(const limiter::ViewPane& pane) override {
    if (!(*wanted_)(pane.start)) return false;
    total += pane.whole.events;
    return true;
  }
  void on_key(std::string_view parts, const limiter::ViewPart& part) override {
    counts[std::string(parts.substr(sizeof(std::uint32_t)))] += part.events;
  }
  void on_member(std::string_view, const Hash128&) override {}
  void on_register(std::string_view, std::uint32_t) override {}

  static limiter::ViewSpec endless() {
    limiter::ViewSpec spec;
    spec.endless = true;
    return spec;
  }
  const limiter::ViewSpec spec_ = endless();
  limiter::ViewDelta delta_;
  const PaneFilter* wanted_ = nullptr;
};

struct Replica {
  Replica(World& w, const RedisServer& redis, std::uint64_t origin,
          milliseconds fold_age = milliseconds{0})
      : world(w), view(std::make_shared<ListView>()) {
    Settings settings = test::unix_settings(redis.path());
    settings.timeout = milliseconds{1'000};
    sharer = std::make_unique<ViewSharer>(world.worker, kSecret, settings, origin, fold_age);
    world.turn([&] {
      sharer->use({{"hot items", {1, 2}, view}});
      sharer->start();
    });
  }
  ~Replica() {
    world.turn([&] { sharer.reset(); });
  }
  bool up() const { return view->state.up; }

  World& world;
  std::shared_ptr<ListView> view;
  std::unique_ptr<ViewSharer> sharer;
};

class ViewSharerTest : public testing::Test {
 protected:
  bool agree(const std::vector<const Replica*>& replicas, std::int64_t total) {
    return world.until(
        [&] {
          for (const Replica* replica : replicas) {
            if (!replica->up() || replica->view->total != total ||
                replica->view->counts != replicas.front()->view->counts) {
              return false;
            }
          }
          return true;
        },
        milliseconds{15'000});
  }
  /// More than the log may have before it is folded.
  static void count_much(Replica& replica, const std::string& prefix) {
    for (int i = 0; i < 20'000; ++i) replica.view->count(prefix + std::to_string(i) + "-item");
  }

  /// The key of the only base.
  std::string base() const {
    std::string stem = "weir:view:hot%20items:{";
    limiter::append_hashed_key(stem, kSecret.hash("view").owned_by({1, 2}));
    return stem + "}:all";
  }

  /// The log has gone into the base.
  bool is_folded() {
    return redis.integer({"EXISTS", base()}) == 1 &&
           redis.integer({"ZCARD", base().substr(0, base().size() - 4) + ":order"}) < 4;
  }

  RedisServer redis;
  World world;
};

TEST_F(ViewSharerTest, AllReplicasHaveTheCountsOfAll) {
  ASSERT_TRUE(redis.running());
  Replica a(world, redis, 1), b(world, redis, 2), c(world, redis, 3);
  a.view->count("x", 5);
  b.view->count("x", 7);
  b.view->count("y");
  c.view->count("z", 2);
  EXPECT_TRUE(agree({&a, &b, &c}, 15)) << a.view->state.why;
  EXPECT_EQ(a.view->counts["x"], 12);
  EXPECT_EQ(a.view->state.replicas, 3u);
  EXPECT_EQ(a.view->state.silent, 0u);
  EXPECT_EQ(a.view->state.pending, 0u);
  for (const std::string& name : redis.words({"KEYS", "*"})) {
    EXPECT_EQ(name.find("weir:view:hot%20items:{"), 0u) << name;
    EXPECT_GT(redis.integer({"PTTL", name}), 0) << name;
  }
}

TEST_F(ViewSharerTest, WhatADeadReplicaHasToldStaysForThoseThatComeLater) {
  ASSERT_TRUE(redis.running());
  auto a = std::make_unique<Replica>(world, redis, 1);
  Replica b(world, redis, 2);
  count_much(*a, "a");
  count_much(b, "b");
  ASSERT_TRUE(agree({a.get(), &b}, 40'000));
  a.reset();
  ASSERT_TRUE(world.until([&] { return is_folded(); }));
  b.view->count("later", 3);
  Replica c(world, redis, 3);
  EXPECT_TRUE(agree({&b, &c}, 40'003));
  EXPECT_EQ(c.view->counts["b7-item"], 1);
  EXPECT_EQ(c.view->restarts, 0);
}

TEST_F(ViewSharerTest, ABaseOfLongKeysIsReadByThoseThatComeLater) {
  ASSERT_TRUE(redis.running());
  Replica a(world, redis, 1);
  const std::string path(7'500, 'x');
  for (int i = 1; i <= 1'200; ++i) a.view->count(path + std::to_string(i), i);  // 9 MB of keys
  std::int64_t chunks = 0, bytes = 0;
  ASSERT_TRUE(world.until(
      [&] {
        bytes = 0;
        chunks = std::max<std::int64_t>(0, redis.integer({"HLEN", base()}) - 1);
        for (std::int64_t i = 1; i <= chunks; ++i)
          bytes += redis.integer({"HSTRLEN", base(), std::to_string(i)});
        return is_folded() && bytes > 5 << 20;
      },
      milliseconds{15'000}));
  EXPECT_LE(bytes, 7 << 20);
  Replica b(world, redis, 2);
  EXPECT_TRUE(world.until([&] { return b.up() && b.view->counts[path + "1200"] == 1'200; }));
  EXPECT_EQ(b.view->total, a.view->total);

  // One that is too large is read in part: it may stay for long.
  const std::string junk(1'000'000, '?');
  for (int i = 1; i <= 12; ++i) redis.integer({"HSET", base(), std::to_string(chunks + i), junk});
  Replica c(world, redis, 3);
  EXPECT_TRUE(world.until([&] { return c.up() && c.view->counts[path + "1200"] == 1'200; }));
  EXPECT_EQ(c.view->total, a.view->total);
}

TEST_F(ViewSharerTest, AReplicaThatWasAwayForLongIsToldEverythingAgain) {
  ASSERT_TRUE(redis.running());
  World elsewhere;  // its loop does not turn for a while
  Replica a(world, redis, 1), b(elsewhere, redis, 2);
  b.view->count("b", 4);
  ASSERT_TRUE(elsewhere.until([&] { return b.up() && b.view->state.sent > 0; }));
  b.view->count("b", 2);
  count_much(a, "a");
  ASSERT_TRUE(world.until([&] { return is_folded(); }));
  ASSERT_TRUE(elsewhere.until([&] { return b.view->restarts == 1 && b.up(); }))
      << b.view->restarts << ' ' << b.view->state.why << ' ' << b.view->total;
  ASSERT_TRUE(elsewhere.until([&] { return b.view->total == 20'006; }));
  EXPECT_TRUE(world.until([&] { return a.view->total == 20'006; }));
  EXPECT_EQ(b.view->counts, a.view->counts);
}

TEST_F(ViewSharerTest, ARedisThatHangsMakesNothingCountTwice) {
  ASSERT_TRUE(redis.running());
  Replica a(world, redis, 1), b(world, redis, 2);
  a.view->count("x");
  ASSERT_TRUE(agree({&a, &b}, 1));
  redis.pause();  // calls reach it, and are answered after their deadlines
  a.view->count("x", 10);
  b.view->count("x", 20);
  ASSERT_TRUE(world.until([&] { return !a.up() && !b.up(); }));
  EXPECT_FALSE(a.view->state.why.empty());
  a.view->count("y", 3);
  redis.resume();
  EXPECT_TRUE(agree({&a, &b}, 34)) << a.view->total << ' ' << b.view->total;
  EXPECT_EQ(b.view->counts["y"], 3);
}

TEST_F(ViewSharerTest, ARedisThatHasForgottenEverythingIsToldWhatIsNew) {
  ASSERT_TRUE(redis.running());
  Replica a(world, redis, 1), b(world, redis, 2);
  a.view->count("x", 5);
  b.view->count("y", 6);
  ASSERT_TRUE(agree({&a, &b}, 11));
  redis.kill();
  a.view->count("x", 100);
  ASSERT_TRUE(world.until([&] { return !a.up() && !b.up(); }));
  b.view->count("z", 1'000);
  redis.start();
  EXPECT_TRUE(agree({&a, &b}, 1'111)) << a.view->total << ' ' << b.view->total;
  Replica c(world, redis, 3);
  EXPECT_TRUE(agree({&a, &b, &c}, 1'111)) << "the store was filled again: " << c.view->total;
}

TEST_F(ViewSharerTest, WhatWasToldLongAgoComesBackToARedisThatHasForgottenIt) {
  ASSERT_TRUE(redis.running());
  const milliseconds age = ViewSync::kFoldAge;
  Replica a(world, redis, 1, age), b(world, redis, 2, age);
  count_much(a, "a");
  b.view->count("x", 5);
  ASSERT_TRUE(agree({&a, &b}, 20'005));
  a.view->count("x", 7);
  ASSERT_EQ(redis.text({"FLUSHALL"}), "+OK");  // its connections stay
  b.view->count("y", 30);
  ASSERT_TRUE(agree({&a, &b}, 20'042)) << a.view->total << ' ' << b.view->total;
  ASSERT_TRUE(world.until([&] { return redis.integer({"EXISTS", base()}) == 1; }));
  Replica c(world, redis, 3);
  EXPECT_TRUE(agree({&a, &b, &c}, 20'042)) << c.view->total;
  EXPECT_EQ(c.view->counts["a19999-item"], 1);
}

/// One replica's side without its loop: a test controls its calls and its answers.
struct ByHand {
  ByHand(World& w, RedisStore& s, const std::string& stem, std::uint64_t origin)
      : world(w), store(s), sync(view, stem, kSecret, origin, milliseconds{0}) {}

  struct Call final : ScriptCall {
    void on_answer(const Reply& reply) override {
      answer = reply;
      heard = true;
    }
    void on_failure(limiter::SharedError error, std::string_view text) override {
      ADD_FAILURE() << limiter::row_of(error).name << ": " << text;
      heard = true;
    }
    Reply answer;
    bool heard = false;
  };
  /// The store does what the call asks for; where it is not `heard` the answer is lost.
  void call(TimePoint now, bool heard = true) {
    Call call;
    const ViewSync::Question question = sync.ask(call.words, now, Clock::wall());
    call.script = &view_script();
    call.keys = question.keys;
    call.count = question.words;
    world.turn([&] { ASSERT_TRUE(store.call(call)); });
    ASSERT_TRUE(world.until([&] { return call.heard; }));
    if (heard) {
      ASSERT_TRUE(sync.answered(call.answer, now));
    } else {
      sync.failed(now, "lost");
    }
  }
  /// Runs until all is sent and received.
  void run(TimePoint& now) {
    for (int i = 0; i < 30; ++i) call(now += ViewSync::kInterval);
  }

  World& world;
  RedisStore& store;
  ListView view;
  ViewSync sync;
};

/// The store says that it has the piece, and then what makes no sense.
TEST(ViewSyncAnswer, ThatEndsInNonsenseIsStillHeardToItsHead) {
  ListView view;
  ViewSync sync(view, "stem", kSecret, 1, milliseconds{0});
  TimePoint now = from_ms(1'000'000);
  const auto numbers = [](Reply& out, std::initializer_list<std::int64_t> all) {
    for (const std::int64_t n : all) out.add(Reply::Type::integer).integer = n;
  };
  const auto exchange = [&](std::int64_t number) {
    Reply out;
    out.add(Reply::Type::array);
    numbers(out, {1'000'000});
    out.add_text(Reply::Type::string, std::string(16, 'e'));
    numbers(out, {0, 0, number, 0, 1, 0});
    return out;
  };
  std::string words;
  sync.ask(words, now, now);
  ASSERT_TRUE(sync.answered(exchange(0), now));
  sync.ask(words, now, now);
  Reply bases;
  bases.add(Reply::Type::array);
  numbers(bases, {1'000'000, 1, 0, 0});
  ASSERT_TRUE(sync.answered(bases, now));
  sync.ask(words, now, now);
  Reply log = exchange(0);
  numbers(log, {0});
  ASSERT_TRUE(sync.answered(log, now));
  view.count("x");
  now += ViewSync::kInterval;
  sync.hurry(now);
  sync.ask(words, now, now);
  EXPECT_FALSE(sync.idle());
  Reply nonsense = exchange(1);
  numbers(nonsense, {1, 0});
  nonsense.add_text(Reply::Type::string, std::string(32, 'p'));
  EXPECT_FALSE(sync.answered(nonsense, now));
  EXPECT_TRUE(sync.idle()) << "the store has the piece";
}

TEST_F(ViewSharerTest, WhatAReplicaSentBeforeALongSilenceCountsOnce) {
  ASSERT_TRUE(redis.running());
  const auto store = test::connected(world, test::unix_settings(redis.path()));
  const std::string stem = base().substr(0, base().size() - 4);
  for (const bool arrives : {true, false}) {
    redis.text({"FLUSHALL"});
    TimePoint now = from_ms(1'000'000);
    ByHand a(world, *store, stem, 1), b(world, *store, stem, 2);
    a.view.count("before");
    a.run(now);
    b.run(now);
    for (int i = 0; i < 20'000; ++i) a.view.count("a" + std::to_string(i) + "-item");
    if (arrives) {
      a.call(now, false);
      redis.integer({"HSET", stem, "f", "0"});  // it was asked to fold, and has not heard of that
    } else {
      std::string nothing;
      a.sync.ask(nothing, now, Clock::wall());
      a.sync.not_sent(now, "away");
    }
    b.run(now);  // reads it, and folds the log
    if (arrives) {
      ASSERT_TRUE(is_folded());
      ASSERT_EQ(b.view.total, 20'001);
    }
    // An hour later the store has forgotten the silent one.
    ASSERT_EQ(redis.integer({"HDEL", stem, "o" + std::string("\1\0\0\0\0\0\0\0", 8)}), 1);
    now += std::chrono::hours{2};
    a.view.count("after", 5);
    a.run(now);
    b.run(now);
    ByHand late(world, *store, stem, 3);
    late.run(now);
    for (ByHand* one : {&a, &b, &late}) EXPECT_EQ(one->view.total, 20'006);
  }
}

TEST_F(ViewSharerTest, TheLastCountsAreToldBeforeTheEnd) {
  ASSERT_TRUE(redis.running());
  auto a = std::make_unique<Replica>(world, redis, 1);
  Replica b(world, redis, 2);
  ASSERT_TRUE(agree({a.get(), &b}, 0));
  a->view->count("x", 5);
  bool told = false;
  world.turn([&] { a->sharer->flush([&] { told = true; }); });
  ASSERT_TRUE(world.until([&] { return told; }, milliseconds{400}));
  a.reset();
  EXPECT_TRUE(agree({&b}, 5));
}

}  // namespace
}  // namespace weir::store::view_sharer_test
