// Several metrics, places, releases, late amounts: policies beyond a count and a
// threshold.
#include <filesystem>
#include <fstream>

#include "config/load.h"
#include "config/text/render.h"
#include "policies/set/describe.h"
#include "tests/policies/world.h"

namespace weir::policies::language_test {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr const char* kShop = R"(
fields: {user: header.x_user}
events:
  order: {match: POST /order}
  pay:   {match: POST /pay}
  paid:  {is: pay, when: status == 200}
)";

TestRequest by(const std::string& line, const std::string& user) {
  TestRequest request(line);
  request.header("X-User", user);
  return request;
}

TEST(Metrics, RungsCompareSeveralNumbersByName) {
  World world(std::string(kShop) + R"(
policies:
  - name: orders-without-pay
    watch: order
    key: user
    metrics:
      orders: {watch: order, window: 1h}
      pays:   {watch: pay, window: 1h}
    then: [{if: 'orders > 4 && pays == 0', do: deny}]
)");
  for (int i = 1; i <= 4; ++i) EXPECT_EQ(world.send(by("POST /order", "anna")), "pass") << i;
  EXPECT_EQ(world.send(by("POST /order", "anna")), "deny") << "the judged order counts itself";
  EXPECT_EQ(world.send(by("POST /order", "bert")), "pass");
  EXPECT_EQ(world.send(by("POST /pay", "anna")), "pass") << "a pay is counted, not judged";
  for (int i = 1; i <= 10; ++i) EXPECT_EQ(world.send(by("POST /order", "anna")), "pass") << i;
  world.now += minutes(61);
  EXPECT_EQ(world.send(by("POST /order", "anna")), "pass")
      << "the pay is forgotten, and so are the orders";
}

TEST(Metrics, EachMayHaveAKeyAndAFilterOfItsOwn) {
  World world(std::string(kShop) + R"(
policies:
  - name: share-of-failed-pays
    watch: pay
    key: user
    metrics:
      mine: {watch: pay, window: 1h}
      all:  {watch: pay, key: ip, window: 1h}
      big:  {watch: pay, when: 'int(query.sum) > 100', window: 1h}
    then: [{if: 'mine * 2 > all && all >= 4 && big == 1', do: deny}]
)");
  EXPECT_EQ(world.send(by("POST /pay?sum=500", "anna")), "pass");
  EXPECT_EQ(world.send(by("POST /pay?sum=5", "bert")), "pass");
  EXPECT_EQ(world.send(by("POST /pay?sum=5", "anna")), "pass");
  EXPECT_EQ(world.send(by("POST /pay?sum=5", "anna")), "deny") << "3 of 4, one of them big";
  EXPECT_EQ(world.send(by("POST /pay?sum=5", "bert")), "pass");
}

TEST(Metrics, OutcomesAreComparedWhenTheyAreSettled) {
  World world(std::string(kShop) + R"(
policies:
  - name: refused-cards
    watch: order
    key: user
    metrics:
      tries: {watch: pay, window: 1h}
      right: {watch: paid, window: 1h}
    then: [{if: 'tries >= 3 && right == 0', do: challenge}]
)");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(world.send(by("POST /pay", "anna"), 402), "pass");
  EXPECT_EQ(world.send(by("POST /order", "anna")), "challenge");
  EXPECT_EQ(world.send(by("POST /pay", "anna"), 200), "pass");
  EXPECT_EQ(world.send(by("POST /order", "anna")), "pass");
}

TEST(Metrics, WhatLooksBackIsSettledOnTheEventsBefore) {
  World world(std::string(kShop) + R"(
lists: {changed: {of: user, kind: gray, effect: none}, same: {of: user, kind: gray, effect: none}}
policies:
  - name: new-card
    watch: paid
    key: user
    metrics:
      known: {watch: paid, metric: exists(query.card), window: {events: 5, last: 1h}}
      last_card: {watch: paid, metric: last(query.card), window: 1h}
    then:
      - {if: 'known == 0 && query.card != last_card', do: graylist, list: changed, for: 1h}
      - {if: 'known == 1 && query.card == last_card', do: graylist, list: same, for: 1h}
)");
  const auto size = [&](const std::string& list) {
    return world.lists.size(*world.lists.by_name(list + " of user"));
  };
  EXPECT_EQ(world.send(by("POST /pay?card=c1", "anna")), "pass");
  EXPECT_EQ(size("changed"), 1U) << "nothing was there before, and null is not c1";
  EXPECT_EQ(size("same"), 0U);
  EXPECT_EQ(world.send(by("POST /pay?card=c1", "anna")), "pass");
  EXPECT_EQ(size("same"), 1U);
  EXPECT_EQ(world.send(by("POST /pay?card=c1", "bert"), 402), "pass");
  EXPECT_EQ(world.send(by("POST /pay?card=c2", "carl")), "pass");
  EXPECT_EQ(world.send(by("POST /pay?card=c2", "carl")), "pass");
  EXPECT_EQ(size("changed"), 2U) << "anna and carl, once each; bert's failed";
  EXPECT_EQ(size("same"), 2U);
}

TEST(Metrics, AMissingKeyIsANullValueAndARungThatReadsItDoesNotHold) {
  World world(R"(
fields: {user: header.x_user}
policies:
  - name: p
    watch: request
    key: ip
    metrics: {of_user: {watch: request, key: user, window: 1h}}
    then: [{if: 'of_user >= 0', do: flag}]
)");
  EXPECT_EQ(world.send(by("GET /", "anna")), "flag");
  EXPECT_EQ(world.send(TestRequest("GET /")), "pass");
}

TEST(Amounts, AreReservedByAnEstimateAndSettledByTheAnswer) {
  World world(R"(
events: {ask: {match: POST /ask}}
policies:
  - name: tokens
    watch: ask
    key: ip
    metric: sum(response.body.usage)
    reserve: '100'
    window: {every: 1d}
    then: [{over: 1000, do: deny}]
)");
  const auto usage = [&](int tokens) {
    auto judged = world.judge(TestRequest("POST /ask"));
    if (judged.judgement) {
      world.answer(*judged.judgement, 200, "{\"usage\": " + std::to_string(tokens) + "}");
    }
    return judged.effect;
  };
  EXPECT_EQ(usage(850), "pass");
  EXPECT_EQ(usage(20), "pass") << "850 and the estimate of 100 fit";
  EXPECT_EQ(usage(130), "pass") << "870 and 100 fit; what it really was is counted";
  EXPECT_EQ(usage(1), "deny") << "1000 and 100 do not";
  // Ten at once: only as many as the estimate lets in.
  World other(R"(
events: {ask: {match: POST /ask}}
policies:
  - name: tokens
    watch: ask
    metric: sum(int(response.header.x_cost))
    reserve: '100'
    window: {every: 1d}
    then: [{over: 350, do: deny}]
)");
  int passed = 0;
  for (int i = 0; i < 10; ++i) {
    if (other.judge(TestRequest("POST /ask"), false).effect == "pass") ++passed;
  }
  EXPECT_EQ(passed, 3);
}

TEST(Lists, AnEventReleasesTheEntryOfItsKey) {
  World world(R"(
fields: {user: header.x_user}
events:
  solve:   {match: POST /captcha}
  solved:  {is: solve, when: status == 200}
  comment: {match: POST /comment}
lists: {suspects: {of: user, kind: gray, effect: challenge, release: solved}}
policies:
  - {name: p, watch: comment, key: user, window: 1m, then: [{over: 1, do: graylist, list: suspects, for: 1h}]}
)");
  EXPECT_EQ(world.send(by("POST /comment", "anna")), "pass");
  EXPECT_EQ(world.send(by("POST /comment", "anna")), "challenge");
  world.now += minutes(5);
  EXPECT_EQ(world.send(by("GET /", "anna")), "challenge") << "a named list acts on every request";
  EXPECT_EQ(world.send(by("POST /captcha", "bert"), 200), "pass");
  EXPECT_EQ(world.send(by("GET /", "anna")), "challenge");
}

TEST(Lists, AReleaseThatTheListItselfChallengesStillCounts) {
  World world(R"(
fields: {user: header.x_user}
events: {solve: {match: POST /captcha}, solved: {is: solve, when: status == 200}}
lists: {suspects: {of: user, kind: gray, effect: flag, release: solved, entries: []}}
policies:
  - {name: p, watch: request, key: user, window: 1m, then: [{over: 1, do: graylist, list: suspects, for: 1h}]}
)");
  EXPECT_EQ(world.send(by("GET /", "anna")), "pass");
  EXPECT_EQ(world.send(by("GET /", "anna")), "gray");
  world.now += minutes(2);
  EXPECT_EQ(world.send(by("GET /", "anna")), "gray");
  world.now += minutes(2);
  EXPECT_EQ(world.send(by("POST /captcha", "anna"), 500), "gray");
  world.now += minutes(2);
  EXPECT_EQ(world.send(by("POST /captcha", "anna"), 200), "gray");
  EXPECT_EQ(world.send(by("POST /other", "bert")), "pass");
  world.now += minutes(2);
  EXPECT_EQ(world.send(by("GET /", "anna")), "pass") << "released";
}

TEST(Rungs, ForWindowEndsWithTheWindow) {
  World world(R"(
policies:
  - {name: p, watch: request, key: ip, window: {every: 1h}, then: [{over: 1, do: graylist, for: window}]}
)");
  world.now = from_ms(1'714'521'600'000 + 50 * 60'000);  // ten minutes before the hour
  EXPECT_EQ(world.send(TestRequest("GET /")), "pass");
  EXPECT_EQ(world.send(TestRequest("GET /")), "gray");
  world.now += minutes(10) - milliseconds(1);
  EXPECT_EQ(world.send(TestRequest("GET /")), "gray");
  world.now += milliseconds(1);
  EXPECT_EQ(world.send(TestRequest("GET /")), "pass")
      << "a new hour, and the entry has ended with the old one";
}

TEST(Keys, AGeohashCellIsAPartLikeAnyOther) {
  World world(R"(
events:
  call: {match: GET /taxi, fields: {lat: double(query.lat), east: double(query.lon)}}
policies:
  - name: crowd
    watch: call
    key: [{near: {lon: east, lat, cell: 5}}]
    window: 1h
    then: [{over: 1, do: flag}]
)");
  EXPECT_EQ(world.send(TestRequest("GET /taxi?lat=32.080306&lon=118.909199")), "pass");
  EXPECT_EQ(world.send(TestRequest("GET /taxi?lat=32.0804&lon=118.9093")), "flag");
  EXPECT_EQ(world.send(TestRequest("GET /taxi?lat=32.2&lon=118.9")), "pass") << "another cell";
  EXPECT_EQ(world.send(TestRequest("GET /taxi?lat=91&lon=0")), "pass")
      << "no place: the key is missing";
}

TEST(Keys, TheNameOfTheEventIsThatOfEachPolicy) {
  World world(R"(
fields: {what: event + "!"}
events:
  buy: {match: POST /buy}
policies:
  - {name: all, watch: request, key: [event, what], window: 1h, then: [{over: 100, do: flag}]}
  - {name: buys, watch: buy, key: [event, what], window: 1h, then: [{over: 100, do: flag}]}
)");
  world.send(TestRequest("POST /buy"));
  world.send(TestRequest("GET /"));
  const auto count = [&](const char* policy, std::string_view event) {
    const Policy& p = *world.set_->find_policy(policy);
    const Counter& counter = world.set_->counters[p.counters[0]];
    KeyBuilder builder;
    builder.start();
    builder.add_text(event);
    builder.add_text(std::string(event) + "!");
    const Hash128 key = builder.hash(world.secret).owned_by(counter.what);
    return world.bank.peek(counter.id, key, world.now).value.integer();
  };
  EXPECT_EQ(count("all", "request"), 2);
  EXPECT_EQ(count("buys", "buy"), 1);
  EXPECT_EQ(count("buys", "request"), 0);
}

TEST(Tables, StandInCsvFilesAndAreLookedUpInExpressions) {
  const auto directory = std::filesystem::temp_directory_path() / "weir_language_test";
  std::filesystem::create_directories(directory);
  std::ofstream(directory / "limits.csv")
      << "ocpc,os,limit\r\nbaidu,android,3000\n\"a \"\"b\"\"\",*,7\n# note\n*,*,unlimited";
  std::ofstream(directory / "weir.yaml") << R"(weir: 1
tables: {gold: {by: [ocpc, os], file: limits.csv}}
events:
  reward:
    match: POST /reward
    fields: {ocpc: query.ocpc, os: query.os, left: 'lookup("gold", query.ocpc, "ios")'}
policies:
  - {name: p, watch: reward, then: [{if: 'lookup("gold", ocpc, os) == 3000', do: flag}, {if: left == 7, do: deny}]}
)";
  config::Loaded loaded = config::load_file((directory / "weir.yaml").string(), {});
  ASSERT_TRUE(loaded.model) << config::render_human(loaded.problems, loaded.views(), false);
  const config::TableNode& root = loaded.model->tables[0].values;
  ASSERT_EQ(root.children.size(), 3U);
  World world("policies: []\n");
  world.use(*loaded.model);
  EXPECT_EQ(world.send(TestRequest("POST /reward?ocpc=baidu&os=android")), "flag");
  EXPECT_EQ(world.send(TestRequest("POST /reward?ocpc=baidu&os=ios")), "pass");
  EXPECT_EQ(world.send(TestRequest("POST /reward?ocpc=a%20%22b%22&os=ios")), "deny");

  std::ofstream(directory / "limits.csv")
      << "ocpc,os,limit\nbaidu,android\nbaidu,ios,many\nx,y,1\nx,y,2\n\"";
  loaded = config::load_file((directory / "weir.yaml").string(), {});
  EXPECT_EQ(config::render_human(loaded.problems, {}, false).empty(), false);
  std::string told;
  for (const auto& problem : loaded.problems.all()) told += problem.message + "\n";
  EXPECT_EQ(told,
            "limits.csv:2: this line has 2 columns, and 3 are wanted: the fields of \"by\", then "
            "the limit\n"
            "limits.csv:3: \"many\" is not a limit: a number or unlimited\n"
            "limits.csv:6: a quote that does not end\n"
            "limits.csv:5: these values are in a line before this one\n");

  // Some editors begin a file with a byte order mark.
  std::ofstream(directory / "limits.csv")
      << "\xEF\xBB\xBF"
      << "ocpc,os,limit\n# of last year: baidu,ios,5\nbaidu,ios,7\n";
  loaded = config::load_file((directory / "weir.yaml").string(), {});
  EXPECT_EQ(loaded.problems.all().size(), 0U);
  ASSERT_EQ(loaded.model->tables[0].values.children.size(), 1U);
  EXPECT_EQ(loaded.model->tables[0].values.children[0].value.value, "baidu");

  std::ofstream(directory / "limits.csv") << "os,ocpc,limit\nios,baidu,7\n";
  loaded = config::load_file((directory / "weir.yaml").string(), {});
  ASSERT_EQ(loaded.problems.all().size(), 1U);
  EXPECT_EQ(
      loaded.problems.all().front().message,
      "limits.csv:1: \"limit\" is not a limit: a number or unlimited; a header names the fields "
      "of \"by\", in their order");
  std::filesystem::remove_all(directory);
}

/// A policy over `GET /v?...` whose rung flags where `condition` holds.
std::string flagging(const std::string& metric, const std::string& window,
                     const std::string& condition) {
  return "events:\n  v: {match: GET /v, fields: {n: int(query.n), city: query.city}}\npolicies:\n"
         "  - {name: p, watch: v, key: ip, metric: " +
         metric + ", window: " + window + ", then: [{if: '" + condition + "', do: flag}]}\n";
}

TEST(Kinds, ALeakyBucketHasNoOtherMetricThanItsLevel) {
  for (const char* metric : {"avg(n)", "min(n)", "max(n)", "exists(city)", "last(n)"}) {
    config::Loaded loaded = config::load_text(
        "test.yaml", "weir: 1\n" + flagging(metric, "{leaky: 3, drain: 1s}", "value != null"));
    ASSERT_TRUE(loaded.model);
    EXPECT_EQ(compile(*loaded.model, loaded.problems), nullptr) << metric;
    ASSERT_EQ(loaded.problems.all().size(), 1U) << metric;
    const config::Problem& problem = loaded.problems.all().front();
    EXPECT_EQ(problem.message, "a leaky bucket has a level, and nothing else to read");
    EXPECT_EQ(problem.where.line, 5U);
  }
}

TEST(Kinds, AFixedWindowThatIsTooLongSaysWhatIsAllowed) {
  const auto told = [](const std::string& metric, const std::string& window) {
    config::Loaded loaded =
        config::load_text("test.yaml", "weir: 1\n" + flagging(metric, window, "value != null"));
    EXPECT_TRUE(loaded.model);
    if (loaded.model) compile(*loaded.model, loaded.problems);
    std::string out;
    for (const config::Problem& problem : loaded.problems.all())
      out += problem.message + " | " + problem.hint + "\n";
    return out;
  };
  EXPECT_EQ(told("count", "{every: 366d}"), "");
  EXPECT_EQ(told("count", "{every: 31d, from: first}"), "");
  EXPECT_EQ(told("count", "{every: 32d, from: first}"),
            "a window from the key's first event has at most 31d | leave out \"from: first\": then "
            "it may have up to 366d\n");
  EXPECT_EQ(told("max(n)", "{every: 32d, from: first}"),
            "a window from the key's first event has at most 31d | write every: 31d or less; only "
            "counts and sums may have up to 366d\n");
  EXPECT_EQ(told("avg(n)", "{every: 32d}"),
            "a window of avg has at most 31d | write every: 31d or less; only counts and sums may "
            "have up to 366d\n");
}

TEST(Kinds, ARateIsNotToldAsABucket) {
  const auto told = [](const std::string& yaml) {
    config::Loaded loaded = config::load_text("test.yaml", "weir: 1\n" + yaml);
    std::string out;
    const auto set = loaded.model ? compile(*loaded.model, loaded.problems) : nullptr;
    for (const config::Problem& problem : loaded.problems.all()) out += problem.message + "\n";
    if (set != nullptr) {
      for (const Counter& counter : set->counters) out += counter_text(counter) + "\n";
    }
    return out;
  };
  const std::string window = "{rate: 600/m, burst: 20}";
  EXPECT_EQ(told(flagging("count", window, "value > 5")),
            "count over a rate of 10/s with a burst of 20\n");
  EXPECT_EQ(told(flagging("count", "{rate: 1/15m, burst: 2}", "value > 1")),
            "count over a rate of 4/h with a burst of 2\n");
  for (const std::string& yaml :
       {flagging("avg(n)", window, "value > 5"), flagging("last(n)", window, "value != null"),
        std::string("policies: [{name: p, watch: request, key: ip, clock: event, window: ") +
            window + ", then: [{do: deny}]}]\n",
        std::string("policies: [{name: p, watch: request, key: ip, window: ") + window +
            ", then: [{over: 30, do: deny}]}]\n"}) {
    const std::string text = told(yaml);
    EXPECT_NE(text, "") << yaml;
    EXPECT_EQ(text.find("bucket"), std::string::npos) << text;
    EXPECT_EQ(text.find("leaky"), std::string::npos) << text;
  }
}

TEST(Kinds, WhatCanNeverHoldIsAnError) {
  const auto problem_of = [](const std::string& text) {
    config::Loaded loaded = config::load_text("test.yaml", "weir: 1\n" + text);
    if (loaded.model) compile(*loaded.model, loaded.problems);
    return loaded.problems.all().empty() ? std::string() : loaded.problems.all().front().message;
  };
  const std::string events =
      "events:\n  v: {match: GET /v, fields: {n: int(query.n), city: query.city}}\n"
      "  row: {source: {csv: [user, n, ts], time: {field: ts, as: seconds}}}\npolicies:\n";
  EXPECT_EQ(
      problem_of(events +
                 "  - {name: p, watch: v, key: ip, metric: last(city), window: 1m, then: [{over: "
                 "5, do: flag}]}\n"),
      "thresholds are compared with numbers, and last(city) is a string");
  EXPECT_EQ(
      problem_of(events +
                 "  - {name: p, watch: v, key: ip, metric: last(n), window: 1m, then: [{over: 5, "
                 "do: flag}]}\n"),
      "");
  EXPECT_EQ(
      problem_of(events +
                 "  - {name: p, watch: v, key: ip, metric: last(city), window: 1m, then: [{if: "
                 "'value == \"x\"', do: flag}]}\n"),
      "");
  EXPECT_EQ(
      problem_of(events +
                 "  - {name: p, watch: row, key: user, metric: in_flight, then: [{over: 1, do: "
                 "flag}]}\n"),
      "in_flight counts requests that have no answer yet; records of \"row\" have none to wait "
      "for");
}

TEST(Kinds, KeepIsAtMostWhatACounterCanHold) {
  config::Loaded loaded = config::load_text("test.yaml",
                                            "weir: 1\npolicies:\n  - {name: p, watch: request, "
                                            "key: ip, metric: distinct(path), window: 1h, keep: "
                                            "60000, then: [{over: 5, do: flag}]}\n");
  ASSERT_TRUE(loaded.model);
  EXPECT_EQ(compile(*loaded.model, loaded.problems), nullptr);
  ASSERT_EQ(loaded.problems.all().size(), 1U);
  EXPECT_EQ(loaded.problems.all().front().message, "a counter keeps 50000 of a key at most");
  EXPECT_EQ(loaded.problems.all().front().where.column, 82U);
}

TEST(Kinds, AverageMinimumAndMaximumOfNothingAreNoNumber) {
  World world(flagging("avg(n)", "1m", "value == 2.5"));
  EXPECT_EQ(world.send(TestRequest("GET /v?n=2")), "pass");
  EXPECT_EQ(world.send(TestRequest("GET /v?n=3")), "flag");
  EXPECT_EQ(world.send(TestRequest("GET /v")), "pass") << "no amount, not counted";
  world.now += minutes(2);
  EXPECT_EQ(world.send(TestRequest("GET /v?n=7")), "pass");
  World highest(flagging("max(n)", "{events: 2}", "value < 5"));
  EXPECT_EQ(highest.send(TestRequest("GET /v?n=9")), "pass");
  EXPECT_EQ(highest.send(TestRequest("GET /v?n=1")), "pass");
  EXPECT_EQ(highest.send(TestRequest("GET /v?n=1")), "flag") << "the nine is the third last";
}

TEST(Kinds, TheUsualCityIsOneOfTheLastOnes) {
  World world(flagging("exists(city)", "{events: 3, last: 3d}", "value == 0"));
  EXPECT_EQ(world.send(TestRequest("GET /v?city=rome")), "flag") << "the first is unknown";
  EXPECT_EQ(world.send(TestRequest("GET /v?city=rome")), "pass");
  EXPECT_EQ(world.send(TestRequest("GET /v?city=oslo")), "flag");
  EXPECT_EQ(world.send(TestRequest("GET /v?city=rome")), "pass");
  world.now += hours(24 * 4);
  EXPECT_EQ(world.send(TestRequest("GET /v?city=rome")), "flag");
}

TEST(Kinds, LastIsTheFieldOfTheEventBefore) {
  World world(flagging("last(city)", "1h", "value != null && value != city"));
  EXPECT_EQ(world.send(TestRequest("GET /v?city=rome")), "pass");
  EXPECT_EQ(world.send(TestRequest("GET /v?city=rome")), "pass");
  EXPECT_EQ(world.send(TestRequest("GET /v?city=oslo")), "flag");
  EXPECT_EQ(world.send(TestRequest("GET /v?city=oslo")), "pass");
  EXPECT_EQ(world.send(TestRequest("GET /v?city=rome", "203.0.113.9")), "pass");
  world.now += hours(2);
  EXPECT_EQ(world.send(TestRequest("GET /v?city=rome")), "pass");
}

TEST(Kinds, ANaturalDayEndsAtMidnightOfItsZone) {
  World world(R"(
policies:
  - {name: p, watch: request, key: ip, window: {calendar: day, tz: Asia/Shanghai}, then: [{over: 2, do: deny}]}
)");
  world.now = from_ms(1'714'492'800'000 - 60'000);  // a minute before midnight in Shanghai
  EXPECT_EQ(world.send(TestRequest("GET /")), "pass");
  EXPECT_EQ(world.send(TestRequest("GET /")), "pass");
  EXPECT_EQ(world.judge(TestRequest("GET /")).response, "Retry-After: 60\r\n");
  world.now += minutes(1);
  EXPECT_EQ(world.send(TestRequest("GET /")), "pass");
}

TEST(Kinds, ALeakyBucketFiresAboveItsCapacityAndStartsEmptyAgain) {
  World world(R"(
policies:
  - {name: p, watch: request, key: ip, window: {leaky: 5, drain: 10s}, then: [{do: graylist, for: 1m}]}
)");
  for (int i = 1; i <= 5; ++i) EXPECT_EQ(world.send(TestRequest("GET /")), "pass") << i;
  EXPECT_EQ(world.send(TestRequest("GET /")), "gray");
  world.now += minutes(1);
  for (int i = 1; i <= 5; ++i)
    EXPECT_EQ(world.send(TestRequest("GET /")), "pass") << "after the fire " << i;
  world.now += seconds(20);
  EXPECT_EQ(world.send(TestRequest("GET /")), "pass");
  EXPECT_EQ(world.send(TestRequest("GET /")), "pass") << "two have drained";
  EXPECT_EQ(world.send(TestRequest("GET /")), "gray");
}

TEST(Release, ItsRequestsGetThroughTheListThatTheyLift) {
  World world(R"(
fields: {user: header.x_user}
events:
  guess: {match: POST /guess}
  captcha: {match: POST /captcha}
  solved: {is: captcha, when: status == 200}
lists:
  suspects: {of: user, kind: gray, effect: challenge, release: solved}
policies:
  - {name: guesses, watch: guess, key: user, window: 1h, then: [{over: 1, do: graylist, list: suspects, for: 1h}]}
)");
  const auto send = [&](const char* line, int status = 200) {
    return world.send(by(line, "anna"), status);
  };
  EXPECT_EQ(send("POST /guess"), "pass");
  send("POST /guess");
  EXPECT_EQ(send("GET /page"), "challenge");
  EXPECT_EQ(send("POST /captcha", 400), "pass") << "a try";
  EXPECT_EQ(send("GET /page"), "challenge") << "it was wrong";
  EXPECT_EQ(send("POST /captcha", 200), "pass");
  EXPECT_EQ(send("GET /page"), "pass");
}

}  // namespace
}  // namespace weir::policies::language_test
