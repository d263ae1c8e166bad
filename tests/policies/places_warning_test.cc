#include <gtest/gtest.h>

#include "config/load.h"
#include "policies/set/compile.h"

/// Which policies by the answer are warned of for the places that requests in flight hold.
namespace weir::policies::places_warning_test {
namespace {

bool is_warned(const std::string& yaml) {
  config::Loaded loaded = config::load_text("t.yaml", "weir: 1\n" + yaml);
  EXPECT_TRUE(loaded.model) << yaml;
  if (!loaded.model) return false;
  EXPECT_NE(compile(*loaded.model, loaded.problems), nullptr) << yaml;
  return config::render_human(loaded.problems, loaded.views(), false)
             .find("how many requests of a key are in flight") != std::string::npos;
}

std::string policy(const std::string& watched, const std::string& rung = "{over: 5, do: deny}") {
  return "policies: [{name: p, key: ip, window: 1m, then: [" + rung + "], " + watched + "}]\n";
}

TEST(PlacesWarning, WhereAnyPageHoldsAPlace) {
  const std::string missed = "events: {missed: {is: request, when: status == 404}}\n";
  EXPECT_TRUE(is_warned(missed + policy("watch: missed")));
  EXPECT_TRUE(is_warned(missed + policy("watch: missed", "{over: 5, do: challenge}")));
  EXPECT_TRUE(is_warned(policy("watch: request, when: status == 404")));
  EXPECT_TRUE(
      is_warned("events: {page: {match: GET /*}, missed: {is: page, when: status == 404}}\n" +
                policy("watch: missed")));
}

TEST(PlacesWarning, NotWhereACallerHasOneSuchRequestAtATimeOrNoneIsRefused) {
  const std::string missed = "events: {missed: {is: request, when: status == 404}}\n";
  EXPECT_FALSE(is_warned(
      "events: {login: {match: POST /login}, failed: {is: login, when: status == 401}}\n" +
      policy("watch: failed")));
  EXPECT_FALSE(is_warned(policy("watch: request, when: 'status == 401 && path == \"/login\"'")));
  EXPECT_FALSE(is_warned(missed + policy("watch: missed", "{over: 5, do: flag}")));
  EXPECT_FALSE(is_warned(policy("watch: request")));
  EXPECT_FALSE(is_warned("fields: {bad: 'status == 404 ? 1 : 0'}\n" +
                         policy("watch: request, metric: sum(bad)")));
}

}  // namespace
}  // namespace weir::policies::places_warning_test
