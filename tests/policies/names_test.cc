#include "policies/lang/extractors/names.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "policies/lang/extractors/name_path.h"
#include "tests/support/seed.h"

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
      {{"user_id\0", 8}, "user_id", NameMatch::other},  // fastjson2
      {{"userId\0x", 8}, "user_id", NameMatch::other},
      {{"\0user_id", 8}, "user_id", NameMatch::no},
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
      {"user_id+", "user_id_", NameMatch::other},  // PHP
      {"user_id%20", "user_id_", NameMatch::other},
      {"user_id.", "user_id_", NameMatch::other},
      {"+user_id", "_user_id", NameMatch::no},
      {"user_id+[]", "user_id_", NameMatch::container},
      {"%c2%a0user_id", "user_id", NameMatch::other},  // Python trims it, Node the next one
      {"\xa0user_id\xa0", "user_id", NameMatch::other},
      {"user_id%e3%80%80", "user_id", NameMatch::other},
      {"%ef%bb%bfuser_id", "user_id", NameMatch::other},
      {"user_id%1f", "user_id", NameMatch::other},
      {"?user_id", "user_id", NameMatch::other},  // URLSearchParams
      {"??user_id", "user_id", NameMatch::other},
      {"%3fuser_id", "user_id", NameMatch::other},
      {"?user_id[]", "user_id", NameMatch::container},
      {"?user_idx", "user_id", NameMatch::no},
      {"user?id", "user_id", NameMatch::no},
      {"user_id?", "user_id", NameMatch::no},
      {".user_id", "user_id", NameMatch::other},  // qs with points
      {"%2euser_id", "user_id", NameMatch::other},
      {"?.User-Id", "user_id", NameMatch::other},
      {".user_id[]", "user_id", NameMatch::container},
      {".user_idx", "user_id", NameMatch::no},
      {"_user_id", "user_id", NameMatch::no},
      {"user_id.0", "user_id", NameMatch::container},
      {"user_id.", "user_id", NameMatch::container},
      {"user_id%2E12", "user_id", NameMatch::container},
      {"user_id.%30", "user_id", NameMatch::container},
      {"user_id.0[x]", "user_id", NameMatch::container},
      {"user_id.0.x", "user_id", NameMatch::container},
      {".user_id.0", "user_id", NameMatch::container},
      {"user.id.0", "user_id", NameMatch::container},
      {"connect.sid.0", "connect.sid", NameMatch::container},
      {"user_id0", "user_id", NameMatch::no},
      {"user_id.x", "user_id", NameMatch::no},
      {"user_id.0x", "user_id", NameMatch::no},
      {"user_idx.0", "user_id", NameMatch::no},
      {"user.email", "user", NameMatch::no},
  };
  for (const Case& c : cases) EXPECT_EQ(match_form_name(c.name, c.wanted), c.match) << c.name;
}

PathMatch match_path(std::string_view name, std::string_view path) {
  std::vector<PathStep> steps;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string step(path.substr(0, slash));
    const bool index = step.front() >= '0' && step.front() <= '9';
    steps.push_back(
        {index ? "" : step, index ? static_cast<std::uint32_t>(std::stoul(step)) : 0, index});
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return match_form_path(name, steps);
}

TEST(Names, OfFormsStandForPaths) {
  struct PathCase {
    std::string_view name, path;
    PathMatch match;
  };
  const PathCase cases[] = {
      {"user[email]", "user/email", PathMatch::field},
      {"user%5Bemail%5D", "user/email", PathMatch::field},
      {"user.email", "user/email", PathMatch::field},      // Spring, ASP.NET
      {"[user][email]", "user/email", PathMatch::field},   // older Rack
      {"user]email", "user/email", PathMatch::container},  // older Rack
      {"User[E-Mail]", "user/email", PathMatch::field},
      {"+user[email]", "user/email", PathMatch::field},
      {"user[email%00x]", "user/email", PathMatch::field},
      {"user[email", "user/email", PathMatch::field},
      {"us.er[email]", "us_er/email", PathMatch::field},  // PHP
      {"us+er[email]", "us_er/email", PathMatch::field},
      {"user+[email]", "user_/email", PathMatch::field},
      {"us.er.email", "us_er/email", PathMatch::no},
      {"user[_id]", "user/_id", PathMatch::field},
      {"user[id_]", "user/id_", PathMatch::field},
      {"user[_id]", "user/id", PathMatch::no},
      {"user[id]", "user/_id", PathMatch::no},
      {"user_[id]", "user/id", PathMatch::no},
      {"user_email", "user/email", PathMatch::no},
      {"useremail", "user/email", PathMatch::no},
      {"user", "user/email", PathMatch::no},
      {"user[]", "user/email", PathMatch::no},
      {"user[mail]", "user/email", PathMatch::no},
      {"user[email2]", "user/email", PathMatch::no},
      {"other[user][email]", "user/email", PathMatch::no},
      {"user[email][]", "user/email", PathMatch::container},
      {"user[email][x]", "user/email", PathMatch::container},
      {"user.email.x", "user/email", PathMatch::container},
      {"user[email]x", "user/email", PathMatch::container},       // PHP drops the x
      {"user[a]b[email]", "user/a/email", PathMatch::container},  // qs drops the b
      {"user[x]y", "user/email", PathMatch::container},
      {"owner[x]y", "user/email", PathMatch::no},
      {"us.er[email]x", "us_er/email", PathMatch::container},
      {"a[b][c][d]", "a/b/c/d", PathMatch::field},
      {"a[b].c", "a/b/c", PathMatch::field},
      {"items[0][sku]", "items/0/sku", PathMatch::field},
      {"items[0].sku", "items/0/sku", PathMatch::field},
      {"items[00][sku]", "items/0/sku", PathMatch::field},
      {"items[0].name", "items/0/sku", PathMatch::no},
      {"items[1][sku]", "items/0/sku", PathMatch::elsewhere},
      {"items[99999999999999999999][sku]", "items/0/sku", PathMatch::elsewhere},
      {"items[1][sku]", "items/1/sku", PathMatch::container},
      {"items[5][sku]", "items/1/sku", PathMatch::container},
      {"items[][sku]", "items/0/sku", PathMatch::container},
      {"items[%20][sku]", "items/0/sku", PathMatch::container},
      {"items[a][sku]", "items/0/sku", PathMatch::no},
      {"items[0]", "items/0", PathMatch::field},
      {"items[]", "items/0", PathMatch::container},
      {"items", "items/0", PathMatch::container},
      {"?user[email]", "user/email", PathMatch::field},
      {"??user.email", "user/email", PathMatch::field},
      {".user[email]", "user/email", PathMatch::field},
      {".user.email", "user/email", PathMatch::field},
      {"user.email.0", "user/email", PathMatch::container},
      {"user.email.", "user/email", PathMatch::container},
      {"user[email].", "user/email", PathMatch::container},
      {"user?[email]", "user/email", PathMatch::no},
      {"user.", "user/email", PathMatch::no},
      {"items", "items/0/sku", PathMatch::no},
      {"%5b%5d", "user/email", PathMatch::no},
      {"", "user/email", PathMatch::no},
  };
  for (const PathCase& c : cases)
    EXPECT_EQ(match_path(c.name, c.path), c.match) << c.name << " for " << c.path;
}

TEST(Names, OfJsonMayBeAWholePath) {
  const PathStep steps[] = {{"user", 0, false}, {"email", 0, false}};
  for (const char* name : {"user.email", "user[email]", "User.Email", "user[\"email\"]"})
    EXPECT_EQ(is_flat_path(name, steps), name[5] != '"') << name;
  for (const char* name : {"user", "user_email", "useremail", "user.mail", ".", "["})
    EXPECT_FALSE(is_flat_path(name, steps)) << name;
}

// Names are mostly turned down by their first character; with that escaped they never are.
TEST(Names, MeanTheSameEscapedAsBare) {
  const unsigned seed = ::weir::test::new_seed();
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
