#include "api_fixture.h"

namespace weir::test::lineage_test {

TEST_F(ApiTest, LineageSaysWhatCountersAndListsAreKnownBy) {
  const json::value body = get("/v1/lineage");
  const json::array& rows = body.at("lineage").as_array();
  const auto row_of = [&](std::string_view kind, std::string_view owner) -> const json::value* {
    for (const json::value& row : rows) {
      if (row.at("kind").as_string() == kind && row.at("owner").as_string() == owner) return &row;
    }
    return nullptr;
  };
  const json::value* const counter = row_of("counter", "per-ip");
  ASSERT_NE(counter, nullptr) << json::serialize(body);
  EXPECT_EQ(counter->at("text"), json::value("count over the last 10m"));
  EXPECT_EQ(counter->at("identity").as_string().size(), 32U);
  EXPECT_EQ(counter->at("length_ms"), json::value(600'000));
  EXPECT_EQ(counter->at("form"), json::value("count_ring"));
  EXPECT_TRUE(body.at("closed").as_array().empty()) << "nothing has been changed";
  const json::value* const list = row_of("list", "office");
  ASSERT_NE(list, nullptr) << json::serialize(body);
  EXPECT_EQ(list->at("text"), json::value("list of ip"));
}

}  // namespace weir::test::lineage_test
