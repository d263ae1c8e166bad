#include "policies/set/views.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/policies/world.h"

namespace weir::policies::views_test {
namespace {

constexpr std::int64_t kStart = 1'800'000'000'000;  // a multiple of 10 s

/// Results of a view so far, the running one last, without what is the same in all.
std::vector<std::string> shown(const World& world, std::string_view name) {
  const View* view = world.set_->find_view(name);
  EXPECT_NE(view, nullptr);
  auto results = view->live->results(LiveView::kResultsMax);
  if (!results.running.empty()) results.complete.push_back(results.running);
  for (std::string& line : results.complete) line = line.substr(line.find("\"complete\""));
  return results.complete;
}

using Lines = std::vector<std::string>;

TEST(Views, CountRequestsByKeyAndShowTheRunningWindow) {
  World world(R"(
views:
  - {name: hot, watch: request, when: 'method == "GET"', by: path, window: {every: 10s}, top: 2}
)");
  for (const char* line : {"GET /b", "GET /a?x=1", "GET /a?x=2", "POST /a", "GET /c"}) {
    EXPECT_EQ(world.send(TestRequest(line)), "pass");
  }
  EXPECT_EQ(shown(world, "hot"),
            Lines{R"("complete":false,"total":4,"rows":[["/a",2],["/b",1]]})"});
  world.now += milliseconds{10'000};
  world.send(TestRequest("GET /z"));
  world.set_->views[0].advance(world.now, world.now);
  EXPECT_EQ(shown(world, "hot").size(), 1u) << "a window stays open for a second";
  world.now += LiveView::kGrace;
  world.set_->views[0].advance(world.now, world.now);
  EXPECT_EQ(shown(world, "hot"), (Lines{R"("complete":true,"total":4,"rows":[["/a",2],["/b",1]]})",
                                        R"("complete":false,"total":1,"rows":[["/z",1]]})"}));
}

TEST(Views, NobodyWaitsWhileAWindowIsMadeAndNothingIsLost) {
  limiter::ViewSpec spec;
  spec.length = spec.hop = milliseconds{10'000};
  LiveView view("v", spec);
  limiter::ViewEvent event;
  event.at = from_ms(kStart);
  view.observe(event);
  event.at += milliseconds{10'000};
  bool made = false;
  view.advance(event.at, [&](const limiter::ViewWindow&) {
    made = true;
    std::thread worker([&] {
      for (std::size_t i = 0; i < ViewInbox::kEventsMax; ++i) view.observe(event);
    });
    worker.join();  // forever, if it waited for the view
  });
  EXPECT_TRUE(made);
  EXPECT_EQ(view.stats().counted.events, 1 + ViewInbox::kEventsMax);
  view.observe(event);
  EXPECT_EQ(view.stats().counted.events, 2 + ViewInbox::kEventsMax);
}

TEST(Views, WorkersThatMeetLoseNothing) {
  constexpr std::size_t kEach = 30'000;
  limiter::ViewSpec spec;
  spec.length = spec.hop = milliseconds{1};
  LiveView view("v", spec);
  std::vector<std::thread> workers;
  for (std::uint64_t w = 0; w < 3; ++w) {
    workers.emplace_back([&view, w] {
      const std::string parts(100, static_cast<char>('a' + w));
      limiter::ViewEvent event;
      event.key = {w, w};
      event.parts = parts;
      for (std::size_t i = 0; i < kEach; ++i) {
        event.at = from_ms(kStart + static_cast<std::int64_t>(i / 100));
        view.observe(event);
      }
    });
  }
  std::uint64_t counted = 0;
  const auto sink = [&](const limiter::ViewWindow& window) {
    counted += static_cast<std::uint64_t>(window.total.integer());
  };
  // Nothing comes too late: the watermark stays before them all until the end.
  for (int i = 0; i < 200; ++i) view.advance(from_ms(kStart - 1), sink);
  for (std::thread& worker : workers) worker.join();
  view.flush(sink);
  EXPECT_EQ(counted, 3 * kEach);
  EXPECT_EQ(view.stats().counted.late, 0u);
}

TEST(Views, CountWhatTheAnswerTellsAndWhenItTellsIt) {
  World world(R"(
events:
  login: {match: POST /login, fields: {user: header.x_user}}
  login_failed: {is: login, when: 'status == 401'}
views:
  - {name: failed, watch: login_failed, by: user, window: {every: 10s}}
  - {name: status, watch: login, by: [status], window: {every: 10s}}
  - {name: slow, watch: login, when: 'status >= 500', window: {every: 10s}}
  - {name: bytes, watch: login, metric: sum(response.body.n), window: {every: 10s}}
)");
  const auto login = [] { return TestRequest("POST /login").header("X-User", "ann"); };
  world.send(login(), 401);
  auto open = world.judge(login());
  ASSERT_TRUE(open.judgement);
  EXPECT_EQ(shown(world, "failed"), Lines{R"("complete":false,"total":1,"rows":[["ann",1]]})"});
  world.answer(*open.judgement, 200, R"({"n": 41})");
  EXPECT_EQ(shown(world, "failed"), Lines{R"("complete":false,"total":1,"rows":[["ann",1]]})"});
  EXPECT_EQ(shown(world, "status"),
            Lines{R"("complete":false,"total":2,"rows":[["200",1],["401",1]]})"});
  EXPECT_EQ(shown(world, "slow"), Lines{});
  EXPECT_EQ(shown(world, "bytes"), Lines{R"("complete":false,"total":41,"rows":[[41]]})"});
  EXPECT_EQ(world.set_->find_view("bytes")->live->stats().missing, 1u)
      << "the first answer had no body";
}

TEST(Views, AnAnswerCountsAtTheTimeOfItsRequest) {
  World world(R"(
views:
  - {name: ok, watch: request, when: 'status == 200', window: {last: 20s, hop: 10s}}
)");
  auto open = world.judge(TestRequest("GET /"));
  world.now += milliseconds{12'000};
  world.answer(*open.judgement, 200);
  const auto results = world.set_->views[0].live->results(1);
  EXPECT_NE(results.running.find("\"end\":" + std::to_string(kStart + 10'000)), std::string::npos)
      << results.running;
}

TEST(Views, PoliciesJudgeBeforeViewsCount) {
  World world(R"(
events:
  click: {match: GET /ad, fields: {user: query.user}}
lists:
  cheats: {of: user, kind: gray, effect: none}
policies:
  - name: too-many
    watch: click
    key: user
    window: {calendar: day, tz: Asia/Shanghai}
    then: [{over: 2, do: graylist, list: cheats, for: 1d}]
views:
  - {name: clicks, watch: click, when: 'not inList("cheats", user)', by: user, window: {every: 10s}}
)");
  for (int i = 0; i < 5; ++i) world.send(TestRequest("GET /ad?user=eve"));
  world.send(TestRequest("GET /ad?user=bob"));
  EXPECT_EQ(shown(world, "clicks"),
            Lines{R"("complete":false,"total":3,"rows":[["eve",2],["bob",1]]})"})
      << "the third click was listed by the time the view looked";
}

TEST(Views, CountAllowedAndRefusedRequestsToo) {
  World world(R"(
lists:
  office: {of: ip, kind: allow, entries: [10.0.0.0/8]}
  bad: {of: ip, kind: deny, entries: [192.0.2.1]}
policies:
  - {name: p, watch: request, key: ip, window: 1m, reset: fine, then: [{over: 1, do: deny}]}
events:
  fine: {match: GET /fine}
views:
  - {name: all, watch: request, by: ip, window: {every: 10s}}
  - {name: answered, watch: request, by: status, window: {every: 10s}}
)");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(world.send(TestRequest("GET /", "10.1.1.1")), "exempt");
    EXPECT_EQ(world.send(TestRequest("GET /", "192.0.2.1")), "deny");
    world.send(TestRequest("GET /", "203.0.113.9"));
  }
  EXPECT_EQ(
      shown(world, "all"),
      Lines{
          R"("complete":false,"total":9,"rows":[["10.1.1.1",3],["192.0.2.1",3],["203.0.113.9",3]]})"});
  EXPECT_EQ(shown(world, "answered"), Lines{R"("complete":false,"total":4,"rows":[["200",4]]})"})
      << "what was refused has no answer of the app";
  // The allowed one's answers must not reset what others have counted.
  EXPECT_EQ(world.send(TestRequest("GET /fine", "10.1.1.1")), "exempt");
  EXPECT_EQ(world.send(TestRequest("GET /", "203.0.113.9")), "deny");
}

TEST(Views, OfSeveralEventsARequestCountsOnce) {
  World world(R"(
events:
  buy: {match: POST /buy, fields: {what: '"buy"'}}
  pay: {match: POST /*, fields: {what: '"pay"'}}
  failed: {is: buy, when: 'status >= 500'}
views:
  - {name: v, watch: [buy, pay, failed], by: what, window: {every: 10s}}
)");
  world.send(TestRequest("POST /buy"), 500);
  world.send(TestRequest("POST /pay"));
  EXPECT_EQ(shown(world, "v"),
            Lines{R"("complete":false,"total":2,"rows":[["buy",1],["pay",1]]})"});
}

TEST(Views, WhatIsMissingIsNotCountedButSaid) {
  World world(R"(
views:
  - {name: v, watch: request, by: header.x_user, metric: sum(int(query.n)), window: {every: 10s}}
  - {name: d, watch: request, metric: 'distinct(header.x_user, ip)', window: {every: 10s}}
)");
  world.send(TestRequest("GET /?n=3").header("X-User", "a"));
  world.send(TestRequest("GET /?n=3"));
  world.send(TestRequest("GET /?n=x").header("X-User", "a"));
  EXPECT_EQ(shown(world, "v"), Lines{R"("complete":false,"total":3,"rows":[["a",3]]})"});
  EXPECT_EQ(world.set_->find_view("v")->live->stats().missing, 2u);
  EXPECT_EQ(shown(world, "d"), Lines{R"("complete":false,"total":1,"rows":[[1]]})"});
  EXPECT_EQ(world.set_->find_view("d")->live->stats().missing, 1u);
}

TEST(Views, PerANewFieldBecomesTheFirstPartOfTheKey) {
  World world(R"(
views:
  - {name: v, watch: request, by: query.item, window: {every: 10s}, top: {n: 1, per: query.kind}}
)");
  for (const char* target :
       {"/?item=1&kind=a", "/?item=1&kind=a", "/?item=2&kind=a", "/?item=3&kind=b"}) {
    world.send(TestRequest(std::string("GET ") + target));
  }
  EXPECT_EQ(shown(world, "v"),
            Lines{R"("complete":false,"total":4,"rows":[["a","1",2],["b","3",1]]})"});
}

TEST(Views, AddressesAreMaskedAndPlacesAreCells) {
  World world(R"(
events:
  at: {match: GET /at, fields: {lon: double(query.lon), lat: double(query.lat)}}
views:
  - {name: nets, watch: request, by: ip/24, window: {every: 10s}}
  - {name: cells, watch: at, by: {near: {lon, lat, cell: 5}}, window: {every: 10s}}
)");
  world.send(TestRequest("GET /at?lon=118.909199&lat=32.080306", "203.0.113.9"));
  world.send(TestRequest("GET /at?lon=118.909199&lat=32.080306", "203.0.113.200"));
  world.send(TestRequest("GET /", "2001:db8:1:2:3::4"));
  EXPECT_EQ(
      shown(world, "nets"),
      Lines{R"("complete":false,"total":3,"rows":[["203.0.113.0",2],["2001:db8:1:2::",1]]})"});
  EXPECT_EQ(shown(world, "cells"), Lines{R"("complete":false,"total":2,"rows":[["wtsw9",2]]})"});
}

TEST(Views, SurviveAReloadThatLeavesThemAsTheyAre) {
  const std::string same =
      "views:\n  - {name: v, watch: request, by: path, window: {every: 10s}}\n";
  World world(same);
  world.send(TestRequest("GET /a"));
  world.use(same + "  - {name: w, watch: request, window: {every: 10s}}\n");
  world.send(TestRequest("GET /a"));
  EXPECT_EQ(shown(world, "v"), Lines{R"("complete":false,"total":2,"rows":[["/a",2]]})"});
  EXPECT_EQ(shown(world, "w"), Lines{R"("complete":false,"total":1,"rows":[[1]]})"});
  world.use("views:\n  - {name: v, watch: request, by: path, window: {every: 10s}, top: 3}\n");
  EXPECT_EQ(shown(world, "v"), Lines{}) << "another view, if by the same name";
}

TEST(Views, ADryJudgementCountsNothing) {
  World world("views:\n  - {name: v, watch: request, window: {every: 10s}}\n");
  JudgeOptions dry;
  dry.dry = true;
  TestRequest request("GET /");
  world.start(request.view(world.now), dry);
  EXPECT_EQ(shown(world, "v"), Lines{});
}

TEST(Views, KeepToTheirShareOfMemory) {
  World world(R"(
limits: {views: 1MiB}
views:
  - {name: v, watch: request, by: query.k, window: {last: 10s, hop: 1s}}
  - {name: w, watch: request, window: {every: 10s}}
)");
  for (int i = 0; i < 20'000; ++i)
    world.judge(TestRequest("GET /?k=key-number-" + std::to_string(i)));
  const auto stats = world.set_->find_view("v")->live->stats();
  EXPECT_LE(stats.counted.bytes, std::uint64_t{1} << 19);
  EXPECT_GT(stats.counted.dropped, 15'000u);
  EXPECT_GT(stats.counted.keys, 500u);
  EXPECT_EQ(stats.limit, std::uint64_t{1} << 19);
}

TEST(Views, FollowTheWallClockIfTheirWindowsDo) {
  World world(R"(
views:
  - {name: fixed, watch: request, window: {every: 10s}}
  - {name: sliding, watch: request, window: {last: 10s, hop: 10s}}
)");
  world.wall_offset = milliseconds{3'600'000};
  world.send(TestRequest("GET /"));
  const auto start = [&](std::string_view name) {
    const std::string line = world.set_->find_view(name)->live->results(0).running;
    return std::stoll(line.substr(line.find("\"start\":") + 8));
  };
  EXPECT_EQ(start("sliding"), kStart);
  EXPECT_EQ(start("fixed"), kStart + 3'600'000);
}

TEST(Views, ManyWorkersCountIntoOneView) {
  World world("views:\n  - {name: v, watch: request, by: path, window: {last: 10s, hop: 1s}}\n");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&world, t] {
      Driver driver(world.bank, world.lists, world.secret);
      Judgement judgement;
      driver.use(load_on_worker(world.set_, world.stats, 0));
      for (int i = 0; i < 2'000; ++i) {
        const TimePoint at = world.now + milliseconds{i};
        TestRequest request("GET /" + std::to_string((i + t) % 7));
        driver.start(judgement, request.view(at), {at, at}, {});
        if (i % 100 == 0) world.set_->views[0].live->results(3);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto stats = world.set_->views[0].live->stats();
  EXPECT_EQ(stats.counted.events, 8'000u);
  EXPECT_EQ(stats.counted.keys, 7u);
}

}  // namespace
}  // namespace weir::policies::views_test
