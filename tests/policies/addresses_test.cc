#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>

#include "policies/set/text_keys.h"
#include "tests/policies/world.h"
#include "tests/support/seed.h"

// An address is one type everywhere: each spelling in a request, a record, a list, a table or
// a mask, means the same caller.
namespace weir::policies::addresses_test {
namespace {

constexpr char kEvents[] = R"(
events:
  rec:  {source: {csv: [ip, user, client, ts], time: {field: ts, as: seconds}}}
  told: {source: {json: true, time: {field: ts, as: seconds}}}
  page: {match: GET /page}
  back: {match: GET /back}
)";

const char* const kSpellings[] = {"203.0.113.7",      "::ffff:203.0.113.7",   "::FFFF:203.0.113.7",
                                  "::ffff:cb00:7107", "64:ff9b::203.0.113.7", "64:ff9b::cb00:7107"};
const char* const kNeighbours[] = {"2001:db8:1:2::3", "2001:0DB8:1:2:0:0:0:3",
                                   "2001:db8:1:2:ffff::"};

class Readings final : public RowSink {
 public:
  void reading(const Row& row) override { last[row.policy->name] = row.value; }
  void verdict(const Row&, const Rung&, std::size_t, std::optional<Number>) override {}
  std::map<std::string, Value> last;
};

struct Addresses : testing::Test {
  /// Judges a record of the event whose columns have these values.
  std::string record(World& world, std::string_view event, std::string_view ip,
                     RowSink* rows = nullptr, std::string_view user = "ann") {
    const PolicySet& set = *world.set_;
    std::vector<Preset> values;
    const auto preset = [&](std::string_view column, std::string_view text) {
      const auto slot = set.slots.find("column " + std::string(event) + "." + std::string(column));
      if (slot) values.push_back({*slot, Value::text(text)});
    };
    preset("ip", ip);
    preset("client", ip);
    preset("user", user);
    const auto index = std::find_if(set.events.begin(), set.events.end(),
                                    [&](const Event& e) { return e.name == event; });
    JudgeOptions options;
    options.rows = rows;
    const Record row{static_cast<EventIndex>(index - set.events.begin()), world.now, values};
    const Verdict& verdict = world.start(row, options);
    const Action effect = verdict.effect;
    // A record's event has already happened: it resets at once.
    if (world.last->is_open()) world.answer(*world.last, 0);
    const ActionRow& action = row_of(effect);
    return effect == Action::none   ? "pass"
           : action.verdict.empty() ? std::string(action.name)
                                    : std::string(action.verdict);
  }
};

TEST_F(Addresses, RecordsBanTheCallerOfRequests) {
  for (const char* event : {"rec", "told"}) {
    for (const auto& [spellings, other] :
         {std::pair{std::vector<const char*>(std::begin(kSpellings), std::end(kSpellings)),
                    "203.0.113.8"},
          std::pair{std::vector<const char*>(std::begin(kNeighbours), std::end(kNeighbours)),
                    "2001:db8:1:3::3"}}) {
      for (const char* asks : spellings) {
        World world(
            std::string(kEvents) + "policies: [{name: p, watch: " + event +
            ", guard: request, key: ip, window: 10m, then: [{over: 2, do: deny, for: 1h}]}]\n");
        for (std::size_t i = 0; i < 3; ++i) record(world, event, spellings[i % spellings.size()]);
        EXPECT_EQ(world.send(TestRequest("GET /", asks)), "deny") << event << " " << asks;
        EXPECT_EQ(world.send(TestRequest("GET /", other)), "pass") << event << " " << other;
      }
    }
  }
}

TEST_F(Addresses, ARecordWithoutThresholdBansToo) {
  World world(std::string(kEvents) +
              "  bad: {is: rec, when: 'user == \"bad\"'}\npolicies: [{name: p, watch: bad, guard: "
              "page, key: ip, then: [{if: 'event == \"bad\"', do: deny, for: 1h}]}]\n");
  EXPECT_EQ(world.send(TestRequest("GET /page", "203.0.113.7")), "pass");
  record(world, "rec", "::ffff:203.0.113.7", nullptr, "bad");
  EXPECT_EQ(world.send(TestRequest("GET /page", "203.0.113.7")), "deny");
}

TEST_F(Addresses, ListsAreAskedForWhateverEventHasTheAddress) {
  for (const char* entry : {"203.0.113.7", "203.0.113.0/24", "'::ffff:203.0.113.7'"}) {
    World world(
        std::string(kEvents) + "lists: {office: {of: ip, kind: gray, entries: [" + entry +
        "]}}\npolicies:\n"
        "  - {name: r, watch: [rec, told], when: 'inList(\"office\", ip)', then: [{if: 'true', do: "
        "challenge}]}\n"
        "  - {name: b, watch: request, when: 'inList(\"office\", query.ip)', then: [{if: 'true', "
        "do: challenge}]}\n");
    for (const char* ip : kSpellings) {
      for (const char* event : {"rec", "told"})
        EXPECT_EQ(record(world, event, ip), "challenge") << entry << " " << event << " " << ip;
      const std::string line = "GET /?ip=" + std::string(ip);
      EXPECT_EQ(world.send(TestRequest(line, "192.0.2.1")), "challenge") << entry << " " << ip;
    }
    EXPECT_EQ(record(world, "rec", "203.0.112.7"), "pass");
    EXPECT_EQ(world.send(TestRequest("GET /?ip=unknown", "192.0.2.1")), "pass");
  }
}

TEST_F(Addresses, AResetEmptiesWhateverEventBringsIt) {
  const std::string policy =
      "key: ip, window: 10m, charge: always, then: [{over: 2, do: flag}]}]\n";
  {
    World world(std::string(kEvents) + "policies: [{name: p, watch: rec, reset: back, " + policy);
    record(world, "rec", "::ffff:203.0.113.7");
    record(world, "rec", "203.0.113.7");
    world.send(TestRequest("GET /back", "203.0.113.7"));
    EXPECT_EQ(record(world, "rec", "203.0.113.7"), "pass");
  }
  {
    World world(std::string(kEvents) + "policies: [{name: p, watch: page, reset: rec, " + policy);
    for (int i = 0; i < 2; ++i) world.send(TestRequest("GET /page", "2001:db8:1:2::3"));
    record(world, "rec", "2001:db8:1:2::ffff");
    EXPECT_EQ(world.send(TestRequest("GET /page", "2001:db8:1:2::3")), "pass");
  }
}

TEST_F(Addresses, TablesAndComparisonsKnowEverySpelling) {
  World world(std::string(kEvents) + R"(
tables: {room: {by: [ip], values: {203.0.113.7: 1, "*": 100}}}
policies:
  - {name: t, watch: [rec, told], key: user, window: 10m, then: [{at: room, do: flag}]}
  - {name: e, watch: rec, when: 'ip == "203.0.113.7"', then: [{if: 'true', do: challenge}]}
  - {name: c, watch: rec, when: 'address(client) == ip', then: [{if: 'true', do: delay, hold: 1s}]}
  - {name: x, watch: request, when: 'query.ip == "203.0.113.7"', then: [{if: 'true', do: flag}]}
)");
  for (const char* ip : kSpellings) {
    EXPECT_EQ(record(world, "rec", ip, nullptr, ip), "challenge") << ip;
    EXPECT_EQ(record(world, "told", ip, nullptr, ip), "flag") << ip;
  }
  EXPECT_EQ(record(world, "rec", "203.0.113.8"), "delay");
}

TEST_F(Addresses, LastRemembersAnAddress) {
  World world(std::string(kEvents) + R"(
policies: [{name: p, watch: [rec, page], metric: last(ip), window: 1h, then: [{if: 'value != null && value != ip', do: flag}]}]
)");
  EXPECT_EQ(record(world, "rec", "203.0.113.7"), "pass");
  EXPECT_EQ(record(world, "rec", "::ffff:203.0.113.7"), "pass");
  EXPECT_EQ(world.send(TestRequest("GET /page", "203.0.113.7")), "pass");
  EXPECT_EQ(world.send(TestRequest("GET /page", "203.0.113.8")), "flag");
  EXPECT_EQ(record(world, "rec", "203.0.113.8"), "pass");
}

TEST_F(Addresses, WhatIsNoAddressIsMissing) {
  World world(std::string(kEvents) + R"(
policies:
  - {name: skip, watch: rec, key: ip, window: 1h, then: [{over: 1, do: flag}]}
  - {name: same, watch: rec, key: ip/24, missing: same, window: 1h, then: [{over: 2, do: challenge}]}
)");
  for (const char* text : {"unknown", "203.0.113", "203.0.113.7 ", "[::1]", "fe80::1%eth0"}) {
    const bool third = std::string_view(text) != "unknown" && std::string_view(text) != "203.0.113";
    EXPECT_EQ(record(world, "rec", text), third ? "challenge" : "pass") << text;
  }
}

TEST_F(Addresses, EventsThatDifferInTypeCannotShareAKey) {
  const auto problems_of = [](const std::string& policy) {
    config::Problems problems;
    const config::Model model = config::parse(
        {{"t.yaml",
          "weir: 1\nevents:\n  a: {match: GET /a, fields: {client: ip}}\n  b: {match: GET /b, "
          "fields: {client: query.client}}\n  c: {match: GET /c, fields: {client: "
          "address(query.client)}}\n" +
              policy}},
        {}, problems);
    const auto set = problems.has_errors() ? nullptr : compile(model, problems);
    std::string out;
    for (const auto& problem : problems.all()) {
      if (problem.severity == config::Problem::Severity::error) out += problem.message + "\n";
    }
    return out;
  };
  const std::string rest = "key: client, window: 1m, then: [{over: 1, do: flag}]}]\n";
  EXPECT_EQ(problems_of("policies: [{name: p, watch: [a, c], " + rest), "");
  for (const std::string& policy : {"policies: [{name: p, watch: [a, b], " + rest,
                                    "policies: [{name: p, watch: [b, a], " + rest,
                                    "policies: [{name: p, watch: a, guard: b, " + rest,
                                    "policies: [{name: p, watch: a, reset: b, " + rest,
                                    std::string("lists: {l: {of: client, kind: gray}}\n"),
                                    std::string("policies: [{name: p, sequence: [a, b], within: "
                                                "1m, key: client, then: [{do: flag}]}]\n")}) {
    EXPECT_NE(problems_of(policy).find("are never the same key"), std::string::npos)
        << policy << problems_of(policy);
  }
}

TEST_F(Addresses, APolicyListsWholeNetworksOfAMaskedList) {
  World world(std::string(kEvents) + R"(
lists:
  nets: {of: "ip/24,56", kind: deny, entries: [198.51.100.7, 192.0.2.0/28]}
policies:
  - {name: p, watch: [page, rec], key: ip, window: 1m, then: [{over: 1, do: graylist, list: nets, for: 1h}]}
  - {name: q, watch: rec, when: 'inList("nets", ip)', then: [{if: 'true', do: challenge}]}
)");
  const auto get = [&](const char* ip) { return world.send(TestRequest("GET /", ip)); };
  EXPECT_EQ(get("198.51.100.7"), "deny");
  EXPECT_EQ(get("198.51.100.8"), "pass") << "an entry of the file covers what it says";
  EXPECT_EQ(get("192.0.2.15"), "deny");
  EXPECT_EQ(get("192.0.2.16"), "pass");
  for (int i = 0; i < 2; ++i) world.send(TestRequest("GET /page", "203.0.113.7"));
  EXPECT_EQ(get("203.0.113.200"), "deny");
  EXPECT_EQ(get("203.0.114.7"), "pass");
  for (int i = 0; i < 2; ++i) record(world, "rec", "2001:db8:0:1::1");
  EXPECT_EQ(get("2001:db8:0:ff::"), "deny");
  EXPECT_EQ(get("2001:db8:0:100::"), "pass");
  const List& list = *world.set_->find_list("nets");
  const std::string_view person[] = {"203.0.113.77"};
  EXPECT_TRUE(
      world.lists
          .find(list.id, list_key(*world.set_, list, person, world.secret).value(), world.now)
          .listed);
}

TEST_F(Addresses, AListOfOtherNetworksIsAnotherList) {
  const auto kept = [](const char* of) {
    World world("lists: {l: {of: '" + std::string(of) + "', kind: gray}}\n");
    return world.set_->find_list("l")->kept_as;
  };
  EXPECT_EQ(kept("ip"), kept("ip/32,64"));
  EXPECT_NE(kept("ip"), kept("ip/24"));
  EXPECT_NE(kept("ip/24"), kept("ip/24,56"));
}

/// One of the ways to write an address of the given network.
std::string spelled(std::mt19937& random, unsigned network) {
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  if (network % 2 == 0) {
    const std::string four = "203.0.113." + std::to_string(network);
    const char* const prefix[] = {"", "::ffff:", "64:ff9b::"};
    return prefix[below(3)] + four;
  }
  char text[64];
  const char* const form[] = {"2001:db8:0:%x::%x", "2001:0db8:0000:%04X:0:0:0:%x"};
  std::snprintf(text, sizeof text, form[below(2)], network, below(4) + 1);
  return text;
}

TEST_F(Addresses, CountAsANaiveListOfEventsDoes) {
  const unsigned seed = ::weir::test::new_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  World world(std::string(kEvents) + R"(
policies:
  - {name: each, watch: [rec, told, page], key: ip, window: {last: 20s, exact: true}, then: [{over: 900, do: flag}]}
  - {name: nets, watch: [rec, told, page], key: "ip/24,56", window: {last: 20s, exact: true}, then: [{over: 900, do: flag}]}
  - {name: many, watch: [rec, told, page], metric: distinct(ip), window: {last: 20s, exact: true}, then: [{over: 900, do: flag}]}
  - {name: more, watch: [rec, told, page], metric: 'distinct(has(ip) ? ip : ip)', window: {last: 20s, exact: true}, then: [{over: 900, do: flag}]}
  - {name: seen, watch: [rec, told, page], metric: exists(ip), window: {last: 20s, exact: true}, then: [{over: 900, do: flag}]}
views:
  - {name: callers, watch: [rec, told, page], metric: distinct(ip), window: {every: 1h}}
)");
  struct Happened {
    TimePoint at;
    unsigned network;
  };
  std::deque<Happened> naive;
  std::set<unsigned> all;
  const TimePoint start = world.now;
  for (int i = 0; i < 2000; ++i) {
    world.now += milliseconds{random() % 1000};
    const auto network = static_cast<unsigned>(random() % 12);
    const std::string ip = spelled(random, network);
    while (!naive.empty() && naive.front().at <= world.now - milliseconds{20'000})
      naive.pop_front();
    const auto same = [&](const Happened& e) { return e.network == network; };
    const bool seen = std::any_of(naive.begin(), naive.end(), same);
    naive.push_back({world.now, network});
    if (world.now - start < milliseconds{500'000}) all.insert(network);
    Readings rows;
    const auto door = static_cast<unsigned>(random() % 3);
    if (door == 2) {
      TestRequest request("GET /page", ip);
      JudgeOptions options;
      options.rows = &rows;
      world.start(request.view(world.now), options);
    } else {
      record(world, door == 0 ? "rec" : "told", ip, &rows);
    }
    std::set<unsigned> distinct;
    for (const Happened& e : naive) distinct.insert(e.network);
    const auto count = [&](auto&& of) {
      return static_cast<std::int64_t>(std::count_if(naive.begin(), naive.end(), of));
    };
    ASSERT_EQ(rows.last["each"].as_integer(), count(same)) << i << " " << ip;
    // All IPv4 networks of the test are one /24, all IPv6 networks one /56.
    ASSERT_EQ(rows.last["nets"].as_integer(),
              count([&](const Happened& e) { return e.network % 2 == network % 2; }))
        << i << " " << ip;
    ASSERT_EQ(rows.last["many"].as_integer(), static_cast<std::int64_t>(distinct.size()))
        << i << " " << ip;
    ASSERT_EQ(rows.last["more"].as_integer(), static_cast<std::int64_t>(distinct.size()))
        << i << " " << ip;
    ASSERT_EQ(rows.last["seen"].as_integer(), seen ? 1 : 0) << i << " " << ip;
  }
  const auto results = world.set_->find_view("callers")->live->results(1);
  EXPECT_NE(results.running.find("12"), std::string::npos) << results.running;
}

}  // namespace
}  // namespace weir::policies::addresses_test
