#include "policies/explain/rate_headers.h"

#include <gtest/gtest.h>

namespace weir::policies::rate_headers_test {
namespace {

using std::chrono::minutes;

TEST(RateHeaders, PolicyItemsAreAStructuredList) {
  std::string list;
  append_policy_item(list, {"login-per-ip", Number{6}, Number{5}, minutes{10}});
  append_policy_item(list, {"gray_users", {}, {}, milliseconds{0}});
  append_policy_item(list, {"_spend", Number::real(0.1250), Number::real(3.0), milliseconds{1500}});
  EXPECT_EQ(list,
            "login-per-ip;value=6;limit=5;window=600, gray_users, "
            "\"_spend\";value=0.125;limit=3;window=1.5");
  list.clear();
  append_policy_item(list, {"login-per-ip", Number{6}, Number{5}, minutes{10}, true});
  EXPECT_EQ(list, "login-per-ip;value=6;limit=5;window=600;possible");
}

TEST(RateHeaders, NumbersStayInTheBoundsOfStructuredFields) {
  std::string list;
  append_policy_item(list,
                     {"p", Number{std::int64_t{1} << 62}, Number::real(1e300), milliseconds{0}});
  EXPECT_EQ(list, "p;value=999999999999999;limit=999999999999999");
}

TEST(RateHeaders, RetryAfterIsRoundedUpAndNeverZero) {
  for (const auto& [ms, text] :
       {std::pair{0, "1"}, {1, "1"}, {1000, "1"}, {1001, "2"}, {3'600'000, "3600"}}) {
    std::string lines;
    append_retry_after(lines, milliseconds{ms});
    EXPECT_EQ(lines, std::string("Retry-After: ") + text + "\r\n");
  }
}

TEST(RateHeaders, QuotasSpellTheDraft) {
  std::string policy, limit;
  append_quota(policy, limit, {"login-ip", 5, 0, minutes{1}, milliseconds{36'200}});
  append_quota(policy, limit, {"device", 20, 12, milliseconds{0}, milliseconds{0}});
  EXPECT_EQ(policy, "\"login-ip\";q=5;w=60, \"device\";q=20");
  EXPECT_EQ(limit, "\"login-ip\";r=0;t=37, \"device\";r=12");
}

}  // namespace
}  // namespace weir::policies::rate_headers_test
