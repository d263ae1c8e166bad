#include "policies/lang/extractors/names.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace weir::policies::names_test {
namespace {

struct Case {
  std::string_view name, wanted;
  NameMatch match;
};

TEST(Names, OfJsonIgnoreCaseAndSeparatorsInside) {
  const Case cases[] = {
      {"user_id", "user_id", NameMatch::exact},
      {"USER_ID", "user_id", NameMatch::other},
      {"userId", "user_id", NameMatch::other},
      {"user-id", "user_id", NameMatch::other},
      {"user__id", "user_id", NameMatch::other},
      {"user_id", "userId", NameMatch::other},
      {"_user_id", "user_id", NameMatch::no},
      {"user_id_", "user_id", NameMatch::no},
      {"_id", "id", NameMatch::no},
      {"id", "_id", NameMatch::no},
      {"_ID", "_id", NameMatch::other},
      {"user.id", "user_id", NameMatch::no},
      {"user id", "user_id", NameMatch::no},
      {"user_i", "user_id", NameMatch::no},
      {"user_idx", "user_id", NameMatch::no},
      {"", "user_id", NameMatch::no},
      {"", "", NameMatch::exact},
      {"u\xc5\xbf"
       "er_id",
       "user_id", NameMatch::other},
      {"\xe2\x84\xaa"
       "ey",
       "key", NameMatch::other},
      {"\xc3\x89"
       "t\xc3\xa9",
       "\xc3\xa9t\xc3\xa9", NameMatch::other},
      {"\xff"
       "user_id",
       "user_id", NameMatch::no},
  };
  for (const Case& c : cases) EXPECT_EQ(match_json_name(c.name, c.wanted), c.match) << c.name;
}

TEST(Names, OfFormsAreWhatSomeApplicationTakesForThem) {
  const Case cases[] = {
      {"user_id", "user_id", NameMatch::exact},
      {"user%5fid", "user_id", NameMatch::exact},
      {"a+b", "a b", NameMatch::exact},
      {"a%2Bb", "a+b", NameMatch::exact},
      {"a+b", "a+b", NameMatch::no},
      {"user.id", "user_id", NameMatch::other},
      {"user+id", "user_id", NameMatch::other},
      {"%20+user_id", "user_id", NameMatch::other},
      {"user_id+", "user_id", NameMatch::other},
      {"user[id", "user_id", NameMatch::other},
      {"user%5Bid", "user_id", NameMatch::other},
      {"user[id]", "user_id", NameMatch::no},
      {"user[id]", "user", NameMatch::container},
      {"user[]", "user", NameMatch::container},
      {"[user]", "user", NameMatch::container},
      {"[user", "_user", NameMatch::other},
      {"user%00[id]", "user", NameMatch::other},
      {"user[id]", "user[id]", NameMatch::exact},
      {"user%5bid%5d", "user[id]", NameMatch::exact},
      {"user.id", "user[id]", NameMatch::other},
      {"user[ID]", "user[id]", NameMatch::other},
      {"user[id][]", "user[id]", NameMatch::container},
      {"user[id2]", "user[id]", NameMatch::no},
      {"items[]", "items[]", NameMatch::exact},
      {"connect.sid", "connect.sid", NameMatch::exact},
      {"connect_sid", "connect.sid", NameMatch::other},
      {"!user", "user", NameMatch::other},
      {"_user", "user", NameMatch::no},
      {".user", "_user", NameMatch::other},
      {"%u0075ser", "user", NameMatch::other},
      {"%u00", "u00", NameMatch::no},
      {"%", "%", NameMatch::exact},
      {"u%c5%bfer", "user", NameMatch::other},
      {"u%c5", "u", NameMatch::no},
  };
  for (const Case& c : cases) EXPECT_EQ(match_form_name(c.name, c.wanted), c.match) << c.name;
}

// Names are mostly turned down by their first character; with that escaped they never are.
TEST(Names, MeanTheSameEscapedAsBare) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  constexpr std::string_view kLetters = "aAbB_.-[] !0kK\xc5\xbf";
  const auto word = [&] {
    std::string out;
    for (std::size_t k = random() % 5; k > 0; --k)
      out.push_back(kLetters[random() % kLetters.size()]);
    return out;
  };
  for (int k = 0; k < 200'000; ++k) {
    const std::string name = word(), wanted = word();
    std::string escaped;
    for (const char c : name) {
      constexpr std::string_view kHex = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(c);
      escaped += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
    ASSERT_EQ(match_form_name(escaped, wanted), match_form_name(name, wanted))
        << name << " for " << wanted;
    ASSERT_EQ(match_form_name(escaped, name), NameMatch::exact) << name;
  }
}

}  // namespace
}  // namespace weir::policies::names_test
