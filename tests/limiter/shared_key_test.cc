#include "limiter/exchange/shared_key.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace weir::limiter::shared_key_test {
namespace {

std::string readable(std::initializer_list<const char*> parts) {
  std::string out;
  ReadableKey key(out);
  for (const char* part : parts) part == nullptr ? key.add_missing() : key.add_text(part);
  key.end();
  return out;
}

TEST(SharedKey, ReadableOnesAreInjectiveAndNeverEmpty) {
  EXPECT_EQ(readable({"10.0.0.1", "ann@x.org"}), "10.0.0.1,ann@x.org");
  EXPECT_EQ(readable({"a}b{c d\n"}), "a%7Db%7Bc%20d%0A");
  const std::vector<std::string> all = {
      readable({}),         readable({""}),          readable({"", ""}),     readable({nullptr}),
      readable({"~"}),      readable({"%"}),         readable({"!"}),        readable({"a,b"}),
      readable({"a", "b"}), readable({"a_b", "c"}),  readable({"a", "b_c"}), readable({"%7E"}),
      readable({",", ""}),  readable({nullptr, ""}), readable({"", nullptr})};
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), all.size());
  for (const std::string& key : all) {
    EXPECT_FALSE(key.empty());
    EXPECT_EQ(key.find_first_of("{}"), key.npos) << key;
  }
}

TEST(SharedKey, HashedOnesKeepAllBits) {
  std::set<std::string> all;
  for (unsigned bit = 0; bit < 64; ++bit) {
    for (const Hash128& hash :
         {Hash128{std::uint64_t{1} << bit, 0}, Hash128{0, std::uint64_t{1} << bit}}) {
      std::string out;
      append_hashed_key(out, hash);
      EXPECT_EQ(out.size(), 22U);
      all.insert(out);
    }
  }
  EXPECT_EQ(all.size(), 128U);
  EXPECT_EQ(HashSecret::from_text("a").bytes(), HashSecret::from_text("a").bytes());
  EXPECT_NE(HashSecret::from_text("a").bytes(), HashSecret::from_text("b").bytes());
}

}  // namespace
}  // namespace weir::limiter::shared_key_test
