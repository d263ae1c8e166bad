#include "policies/set/recorded.h"

#include <gtest/gtest.h>

#include "tests/policies/world.h"

namespace weir::policies::recorded_test {
namespace {

TEST(Recorded, WhatOnlySaysWhoItWasIsHashedAndWhatIsReadIsPlain) {
  World world(R"(
fields: {user: header.x_user, city: header.x_city}
events:
  login: {match: POST /login, fields: {account: body.name.lowerAscii(), gold: int(body.gold), os: header.x_os}}
  failed: {is: login, when: 'status == 401 && response.header.x_why != "typo"'}
lists:
  gray_users: {of: user, kind: gray}
  offices: {of: city, kind: allow, trusted: true, entries: [Paris]}
tables: {limits: {by: os, values: {ios: 5, "*": 9}}}
policies:
  - {name: a, watch: failed, key: [ip, account], window: 1m, then: [{over: limits, do: flag}]}
  - {name: b, watch: login, key: header.x_device, metric: sum(gold), window: 1m, then: [{over: 5, do: flag}]}
  - {name: c, watch: login, key: header.x_model, metric: distinct(header.x_sim), window: 1m,
     when: 'header.x_model != "tv"', then: [{over: 5, do: flag}]}
  - {name: d, watch: login, key: user, metric: last(header.x_town), window: 1m,
     then: [{if: value != null, do: flag}]}
)");
  const RecordedFields fields = recorded_fields(*world.set_);
  EXPECT_EQ(fields.text(*world.set_, true),
            "ip, header.x_user, body.name.lowerAscii(), header.x_device, header.x_sim");
  EXPECT_EQ(fields.text(*world.set_, false),
            "method, path, time, status, header.x_city, body.gold, header.x_os, header.x_model, "
            "header.x_town, "
            "response.header.x_why");
}

TEST(Recorded, AnAddressThatAnExpressionOrAnEntryLooksIntoStaysPlain) {
  const std::string head = "policies: [{name: a, watch: request, key: ip, window: 1m, ";
  const std::string tail = "then: [{over: 2, do: flag}]}]\n";
  World hashed(head + tail);
  EXPECT_FALSE(recorded_fields(*hashed.set_).plain_ip);
  World read(head + "when: '!cidr(ip, \"10.0.0.0/8\")', " + tail);
  EXPECT_TRUE(recorded_fields(*read.set_).plain_ip);
  World listed(head + tail + "lists: {office: {of: ip, kind: allow, entries: [10.0.0.0/8]}}\n");
  EXPECT_TRUE(recorded_fields(*listed.set_).plain_ip);
}

TEST(Recorded, WhatIsComparedWithSomethingPlainIsPlainToo) {
  const std::string events =
      "fields: {user: header.x_user}\n"
      "events:\n"
      "  login: {match: POST /login, fields: {user: body.name.lowerAscii()}}\n"
      "  pay: {match: POST /pay}\n";
  const auto hashed = [&](const std::string& more) {
    World world(events + more);
    return recorded_fields(*world.set_).text(*world.set_, true);
  };
  EXPECT_EQ(
      hashed("policies: [{name: a, watch: [login, pay], key: user, window: 1m, missing: skip, "
             "then: [{over: 2, do: flag}]}]\n"),
      "ip, header.x_user, body.name.lowerAscii()");
  EXPECT_EQ(
      hashed("policies: [{name: a, watch: [login, pay], key: user, window: 1m, missing: skip, "
             "then: [{over: 2, do: flag, if: 'header.x_user != \"u\"'}]}]\n"),
      "ip");
  const std::string list =
      "lists: {new: {of: user, kind: gray}}\n"
      "policies:\n"
      "  - {name: a, watch: login, key: ip, window: 1m, then: [{over: 2, do: graylist, list: new, "
      "for: 1m}]}\n";
  EXPECT_EQ(hashed(list), "ip, header.x_user, body.name.lowerAscii()");
  EXPECT_EQ(
      hashed(list + "  - {name: b, watch: pay, then: [{if: 'inList(\"new\", header.x_u)', do: "
                    "deny}]}\n"),
      "ip")
      << "what an expression asks a list for is compared with all that is on it";
}

TEST(Recorded, TheSubjectOfASampleIsWhatEachEventCallsIt) {
  World world(R"(
fields: {user: header.x_user}
events: {login: {match: POST /login, fields: {user: body.name}}}
policies: [{name: a, watch: [login, request], key: user, window: 1m, missing: skip, then: [{over: 2, do: flag}]}]
)");
  const RecordedFields fields = recorded_fields(*world.set_, "user");
  EXPECT_TRUE(fields.subject_known);
  EXPECT_EQ(world.set_->slots[*fields.subject[kRequestEvent]].text, "header.x_user");
  EXPECT_EQ(world.set_->slots[*fields.subject[1]].text, "body.name");
  EXPECT_FALSE(recorded_fields(*world.set_, "nobody").subject_known);
}

}  // namespace
}  // namespace weir::policies::recorded_test
