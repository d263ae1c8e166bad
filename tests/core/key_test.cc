#include "core/key.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir::key_test {
namespace {

std::string key_of(const std::vector<Value>& parts) {
  KeyBuilder builder;
  builder.start();
  for (const Value& part : parts) EXPECT_TRUE(builder.add(part));
  return std::string(builder.bytes());
}

TEST(KeyBuilder, PartsDoNotRunIntoEachOther) {
  EXPECT_NE(key_of({Value::text("a_b"), Value::text("c")}),
            key_of({Value::text("a"), Value::text("b_c")}));
  EXPECT_NE(key_of({Value::text("ab"), Value::text("")}),
            key_of({Value::text("a"), Value::text("b")}));
  EXPECT_NE(key_of({Value::text("")}), key_of({}));
}

TEST(KeyBuilder, PartsAreCanonicalText) {
  EXPECT_EQ(key_of({Value::integer(1)}), key_of({Value::text("1")}));
  EXPECT_EQ(key_of({Value::real(1.0)}), key_of({Value::integer(1)}));
  EXPECT_EQ(key_of({Value::real(0.1)}), key_of({Value::text("0.1")}));
}

TEST(KeyBuilder, RefusesWhatIsNoKeyPart) {
  KeyBuilder builder;
  builder.start();
  builder.add_text("x");
  const std::string before(builder.bytes());
  EXPECT_FALSE(builder.add(Value::null()));
  EXPECT_FALSE(builder.add(Value::error()));
  EXPECT_FALSE(builder.add(Value::list({})));
  EXPECT_FALSE(builder.add(Value::json({})));
  EXPECT_EQ(builder.bytes(), before);
}

TEST(HashSecret, HashesDependOnTheSecretAndOnNothingElse) {
  const auto one = HashSecret::from_bytes({1});
  const auto two = HashSecret::from_bytes({2});
  EXPECT_EQ(one.hash("key"), HashSecret::from_bytes({1}).hash("key"));
  EXPECT_NE(one.hash("key"), two.hash("key"));
  EXPECT_NE(one.hash("key"), one.hash("kez"));
  EXPECT_NE(HashSecret::random().bytes(), HashSecret::random().bytes());
}

}  // namespace
}  // namespace weir::key_test
