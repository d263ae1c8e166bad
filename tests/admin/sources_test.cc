#include "api_fixture.h"
#include "policies/set/bulk_text.h"

/// Entries of files and of the configuration that no search by text finds.
namespace weir::test::sources_test {

constexpr std::string_view kConfig = R"(weir: 1
fields: {user: header.x_user_id}
lists:
  feed: {of: ip, kind: deny, file: feed.txt}
  pairs: {of: [user, ip], kind: deny, file: pairs.csv}
  fixed_pairs: {of: [user, ip], kind: deny, entries: [{key: [bob, 192.0.2.7], why: ticket}, {key: [eve, 192.0.2.8]}]}
  office: {of: ip, kind: allow, entries: [{key: 10.0.0.0/8, why: the office}]}
  banned: {of: ip, kind: deny}
  nested: {of: ip, kind: allow, entries: [172.16.0.0/24, 172.16.0.0/12]}
  cut: {of: ip, kind: deny, file: cut.txt}
  subnets: {of: header.x_subnet, kind: deny}
events:
  login: {match: POST /login}
policies: []
)";

struct SourcesTest : ApiTest {
  SourcesTest() : ApiTest(kConfig) {
    auto made = compile_text(kConfig);
    EXPECT_TRUE(made->attach(process.bank, process.lists, process.secret, &process.patterns));
    for (policies::List& list : made->lists) {
      if (!list.file) continue;
      policies::BulkText read = policies::read_bulk_list(
          list,
          list.name == "feed"  ? "198.51.100.0/24 # feed partner\n192.0.2.66\n"
          : list.name == "cut" ? "172.16.0.0/12, 2030-01-01\n172.17.0.0/16\n"
                               : "alice,192.0.2.77\nmallory,192.0.2.78\n",
          process.secret, process.now, 10);
      EXPECT_TRUE(read.entries) << list.name;
      list.bulk = std::make_shared<limiter::BulkSlot>();
      static_cast<void>(list.bulk->put(std::move(read.entries)));
    }
    process.set = std::move(made);
  }

  bool covers(const char* list, const char* network) {
    const json::value body =
        get("/v1/lists/" + std::string(list) + "/entries?key=" + std::string(network));
    EXPECT_EQ(body.at("key"), json::value(json::array{network}));
    return body.at("listed").as_bool();
  }

  static std::string text(const json::value& of) { return json::serialize(of); }

  /// The lists that a search finds entries of, and the keys of these.
  std::string found(const std::string& query) {
    std::string out;
    const json::value body = get("/v1/entries?search=" + query);
    for (const json::value& entry : body.at("entries").as_array()) {
      out += out.empty() ? "" : "; ";
      out += entry.at("list").as_string();
      for (const json::value& part : entry.at("key").as_array())
        out.append(" ").append(std::string(part.as_string()));
    }
    return out;
  }
};

TEST_F(SourcesTest, ASearchForAWholeKeyFindsItInFilesToo) {
  EXPECT_EQ(found("192.0.2.66"), "feed 192.0.2.66");
  EXPECT_EQ(found("%20198.51.100.5"), "") << "no address: a blank is before it";
  EXPECT_EQ(found("198.51.100.5"), "feed 198.51.100.0/24");
  EXPECT_EQ(found("alice,192.0.2.77"), "pairs alice 192.0.2.77");
  EXPECT_EQ(found("alice,%20192.0.2.77"), "pairs alice 192.0.2.77");
  EXPECT_EQ(found("alice"), "");
  EXPECT_EQ(get("/v1/entries?search=alice").at("in_source"), json::value(6));
  EXPECT_EQ(get("/v1/lists/pairs?search=mallory,192.0.2.78").at("entries").as_array().size(), 1U);
  EXPECT_EQ(get("/v1/lists/banned").at("in_source"), json::value(0));
}

TEST_F(SourcesTest, ASearchForAnAddressFindsTheNetworkThatCoversIt) {
  EXPECT_EQ(found("10.1.2.3"), "office 10.0.0.0/8");
  EXPECT_EQ(found("10.0.0.0"), "office 10.0.0.0/8") << "once, though both searches find it";
  EXPECT_EQ(found("bob,192.0.2.7"), "fixed_pairs bob 192.0.2.7");
  ASSERT_EQ(call("POST", "/v1/lists/banned/entries", R"({"key":"2001:db8::7","for":"1h"})").status,
            201);
  EXPECT_EQ(found("2001:db8::9"), "banned 2001:db8::") << "IPv6 is listed by its network";
}

TEST_F(SourcesTest, ASearchForANetworkFindsWhatCoversItAndWhatLiesInIt) {
  EXPECT_EQ(found("198.51.100.0/24"), "feed 198.51.100.0/24") << "the line itself";
  EXPECT_EQ(found("198.51.100.64/26"), "feed 198.51.100.0/24") << "the line that covers it";
  EXPECT_EQ(found("198.51.0.0/16"), "feed 198.51.100.0/24") << "a line that lies in it";
  EXPECT_EQ(found("198.51.100.77/24"), "feed 198.51.100.0/24") << "host bits do not matter";
  EXPECT_EQ(found("::ffff:198.51.100.0/120"), "feed 198.51.100.0/24");
  EXPECT_EQ(found("192.0.2.64/26"), "feed 192.0.2.66")
      << "of keys of several parts from files only hashes are kept";
  EXPECT_EQ(found("192.0.2.0/28"), "fixed_pairs bob 192.0.2.7; fixed_pairs eve 192.0.2.8");
  EXPECT_EQ(found("10.0.0.0/8"), "office 10.0.0.0/8");
  EXPECT_EQ(found("10.20.0.0/16"), "office 10.0.0.0/8");
  EXPECT_EQ(found("0.0.0.0/5"), "") << "10.0.0.0/8 lies outside";
  EXPECT_EQ(found("203.0.113.0/24"), "");
  EXPECT_EQ(found("172.18.0.0%20-%20172.31.255.255"),
            "cut 172.18.0.0 - 172.31.255.255; nested 172.16.0.0/12")
      << "a range as entries show it";
}

TEST_F(SourcesTest, ASearchForANetworkFindsEntriesOfAddressesInIt) {
  for (const char* const key : {"203.0.113.9", "203.0.114.1", "2001:db8::7", "2001:db9::1"}) {
    ASSERT_EQ(call("POST", "/v1/lists/banned/entries",
                   R"({"for":"1h","key":")" + std::string(key) + R"("})")
                  .status,
              201);
  }
  EXPECT_EQ(found("203.0.113.0/24"), "banned 203.0.113.9");
  EXPECT_EQ(found("2001:db8::/32"), "banned 2001:db8::");
  EXPECT_EQ(found("2001:db8::/64"), "banned 2001:db8::");
  EXPECT_EQ(found("2001:db8::5:0/112"), "banned 2001:db8::") << "lies in the /64 that is listed";
  EXPECT_EQ(found("2001:db8:0:1::/64"), "");
  const std::string both = found("2001:db8::/31");  // in the order of their hashes
  EXPECT_NE(both.find("banned 2001:db8::"), std::string::npos) << both;
  EXPECT_NE(both.find("banned 2001:db9::"), std::string::npos) << both;
}

TEST_F(SourcesTest, ASearchForANetworkGoesOnByPages) {
  std::string after, all;
  for (int i = 0; i < 10; ++i) {
    const json::value page = get("/v1/entries?search=172.16.0.0/12&limit=1" + after);
    EXPECT_LE(page.at("entries").as_array().size(), 1U);
    for (const json::value& entry : page.at("entries").as_array())
      all.append(entry.at("key").at(0).as_string()).append("; ");
    if (page.at("next").is_null()) break;
    after = "&after=" + std::string(page.at("next").as_string());
  }
  EXPECT_EQ(all,
            "172.16.0.0/16; 172.17.0.0/16; 172.18.0.0 - 172.31.255.255; 172.16.0.0/24; "
            "172.16.0.0/12; ");
}

TEST_F(SourcesTest, ASearchForAKeyGoesOnByPages) {
  ASSERT_EQ(call("POST", "/v1/lists/banned/entries", R"({"key":"192.0.2.66","for":"1h"})").status,
            201);
  std::string after, all;
  for (int i = 0; i < 10; ++i) {
    const json::value page = get("/v1/entries?search=192.0.2.66&limit=1" + after);
    EXPECT_LE(page.at("entries").as_array().size(), 1U);
    for (const json::value& entry : page.at("entries").as_array())
      all.append(entry.at("list").as_string()).append(" ");
    if (page.at("next").is_null()) break;
    after = "&after=" + std::string(page.at("next").as_string());
  }
  EXPECT_EQ(all, "feed banned ");
}

TEST_F(SourcesTest, WhySaysWhichFilesAWordIsNotLookedForIn) {
  const json::value body = get("/v1/why?key=alice");
  EXPECT_EQ(body.at("complete"), json::value(false));
  EXPECT_EQ(json::serialize(body.at("unsearched")),
            R"([{"list":"pairs","source":"pairs.csv","of":["user","ip"],"entries":2}])");
  EXPECT_EQ(body.at("summary"),
            json::value("alice is on no list that could be searched, and nothing counts it"));
  const json::value whole = get("/v1/why?key=alice&key=192.0.2.77");
  EXPECT_EQ(whole.at("complete"), json::value(true));
  EXPECT_EQ(whole.at("effect"), json::value("deny"));
}

TEST_F(SourcesTest, WhyFindsAWordInKeysOfTheConfiguration) {
  const json::value body = get("/v1/why?key=bob");
  ASSERT_EQ(body.at("entries").as_array().size(), 1U);
  EXPECT_EQ(body.at("entries").at(0).at("key"), json::value({"bob", "192.0.2.7"}));
  EXPECT_EQ(body.at("entries").at(0).at("why"), json::value("ticket"));
  EXPECT_EQ(get("/v1/why?key=192.0.2.8").at("entries").at(0).at("key"),
            json::value({"eve", "192.0.2.8"}));
}

TEST_F(SourcesTest, WhyNamesTheLineThatListsAKey) {
  const json::value body = get("/v1/why?key=198.51.100.5");
  EXPECT_EQ(body.at("entries").at(0).at("key"), json::value(json::array{"198.51.100.0/24"}));
  EXPECT_EQ(body.at("entries").at(0).at("how"),
            json::value("the entry 198.51.100.0/24 comes from feed.txt: take it out there; weir "
                        "notices the change"));
}

TEST_F(SourcesTest, ANetworkIsLookedForAsAWhole) {
  EXPECT_TRUE(covers("feed", "198.51.100.0/24"));
  EXPECT_TRUE(covers("feed", "198.51.100.64/26"));
  EXPECT_EQ(get("/v1/lists/feed/entries?key=198.51.100.64/26").at("entries").at(0).at("key"),
            json::value(json::array{"198.51.100.0/24"}))
      << "the line that covers it";
  EXPECT_FALSE(covers("feed", "198.51.0.0/16"));
  EXPECT_FALSE(covers("feed", "192.0.2.0/24"));
  EXPECT_TRUE(covers("office", "10.0.0.0/8"));
  EXPECT_TRUE(covers("office", "10.20.0.0/16"));
  EXPECT_FALSE(covers("office", "2001:db8::/32"));
}

TEST_F(SourcesTest, ANetworkIsFoundWhereOthersCutIt) {
  EXPECT_TRUE(covers("nested", "172.16.0.0/12")) << "though a smaller one is before it";
  EXPECT_TRUE(covers("nested", "172.16.0.0/24"));
  EXPECT_TRUE(covers("cut", "172.16.0.0/12")) << "of three ranges without a gap";
  EXPECT_TRUE(covers("cut", "172.17.0.0/16"));
  EXPECT_FALSE(covers("cut", "172.0.0.0/8"));
  const json::value why = get("/v1/why?key=172.20.0.5");
  EXPECT_NE(
      text(why.at("entries")).find("an entry that covers 172.18.0.0 - 172.31.255.255 comes from"),
      std::string::npos)
      << text(why);
}

TEST_F(SourcesTest, ANetworkThatIsOneKeyIsFound) {
  ASSERT_EQ(call("POST", "/v1/lists/banned/entries", R"({"key":"2001:db8::7","for":"1h"})").status,
            201);
  EXPECT_TRUE(covers("banned", "2001:db8::/64"));
  EXPECT_TRUE(covers("banned", "2001:db8::/80"));
  EXPECT_FALSE(covers("banned", "2001:db8::/63"));
  EXPECT_FALSE(covers("banned", "2001:db8:0:1::/64"));
}

TEST_F(SourcesTest, ATextThatLooksLikeANetworkIsAKey) {
  ASSERT_EQ(
      call("POST", "/v1/lists/subnets/entries", R"({"key":"203.0.113.0/24","for":"1h"})").status,
      201);
  EXPECT_EQ(get("/v1/why?key=203.0.113.0/24").at("listed"), json::value(true));
}

TEST_F(SourcesTest, ANetworkIsNoKeyAnywhereElse) {
  const Reply reply = call("GET", "/v1/why?key=203.0.113.0/24");
  EXPECT_EQ(reply.status, 400);
  EXPECT_NE(detail(reply).find("is a network: ask for an address in it"), std::string::npos)
      << detail(reply);
  // An error in a network has the same words everywhere.
  for (const auto& [text, fault] : std::initializer_list<std::pair<std::string, std::string>>{
           {"203.0.113.7/24", "the bits after the prefix must be zero: 203.0.113.0/24"},
           {"203.0.113.0/33", "a prefix has 0 to 32 bits"},
           {"2001:db8::/129", "a prefix has 0 to 128 bits"},
           {"::ffff:203.0.113.0/24", "a prefix of an IPv4 address in IPv6 has 97 to 128 bits"}}) {
    const std::string said = "\"" + text + "\" is not a network: " + fault;
    EXPECT_EQ(detail(call("GET", "/v1/why?key=" + text)), said);
    EXPECT_EQ(detail(call("GET", "/v1/lists/banned/entries?key=" + text)), said);
    EXPECT_EQ(detail(call("DELETE", "/v1/lists/banned/entries?key=" + text)), said);
    EXPECT_EQ(
        detail(call("POST", "/v1/lists/banned/entries", R"({"for":"1h","key":")" + text + R"("})")),
        said);
    EXPECT_EQ(detail(call("POST", "/v1/lists/banned/import",
                          R"({"entries":[{"for":"1h","key":")" + text + R"("}]})")),
              "entry 1: " + said);
  }
  const std::string banned = "/v1/lists/banned/";
  EXPECT_NE(detail(call("POST", banned + "entries", R"({"key":"1.2.3.0/24","for":"1h"})"))
                .find("is a network"),
            std::string::npos);
  EXPECT_NE(
      detail(call("POST", banned + "import", R"({"entries":[{"key":"1.2.3.0/24","for":"1h"}]})"))
          .find("is a network"),
      std::string::npos);
}

TEST_F(SourcesTest, AnEmptyKeyIsNoQuestion) {
  for (const char* const path : {"/v1/why?key=", "/v1/why?key=&key="}) {
    const Reply reply = call("GET", path);
    EXPECT_EQ(reply.status, 400);
    EXPECT_EQ(detail(reply), "the key is empty");
  }
}

}  // namespace weir::test::sources_test
