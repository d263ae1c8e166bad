#include "app/tools/dev_watch.h"

#include <gtest/gtest.h>

#include "config/parse.h"

namespace weir::app::dev_watch_test {
namespace {

config::Model model() {
  config::Problems problems;
  config::Model out = config::parse({{"t.yaml", R"(weir: 1
events:
  login: {match: POST /api/login}
  login_failed: {is: login, when: status == 401}
  refused: {is: request, when: status == 403}
policies:
  - {name: all, watch: request, key: ip, window: 1m, then: [{over: 5, do: flag}]}
  - {name: refused, watch: refused, key: ip, window: 1m, then: [{over: 5, do: flag}]}
  - {name: login, watch: login_failed, key: ip, window: 1m, then: [{over: 5, do: flag}]}
)"}},
                                    {}, problems);
  EXPECT_FALSE(problems.has_errors());
  return out;
}

/// `seconds` looks, with one more answer each.
std::string look_for(DevWatch& watch, DevWatch::Sample& sample, int seconds) {
  std::string out;
  for (int i = 0; i < seconds; ++i) {
    ++sample.answers;
    out += watch.look(sample);
  }
  return out;
}

TEST(DevWatch, NamesWhatNoRequestHasBeen) {
  DevWatch watch(model(), "http://127.0.0.1:3000");
  DevWatch::Sample sample{0, 0, {{"all", 4}}};
  EXPECT_EQ(look_for(watch, sample, 9), "");
  EXPECT_EQ(look_for(watch, sample, 1),
            "  Of 10 requests none was what login watches: login_failed (POST /api/login, when "
            "status == 401).\n"
            "  If the app has other routes or fields, \"weir init RECIPE\" writes a recipe to "
            "change.\n");
  EXPECT_EQ(look_for(watch, sample, 30), "") << "once";
}

TEST(DevWatch, IsSilentWhereEventsCome) {
  DevWatch watch(model(), "http://127.0.0.1:3000");
  DevWatch::Sample sample{0, 0, {{"login", 1}}};
  EXPECT_EQ(look_for(watch, sample, 40), "");
}

TEST(DevWatch, WaitsForRequests) {
  DevWatch watch(model(), "http://127.0.0.1:3000");
  const DevWatch::Sample few{3, 0, {}};
  for (int i = 0; i < 100; ++i) EXPECT_EQ(watch.look(few), "");
}

TEST(DevWatch, SaysWhenTheAppGoesAndWhenItIsBack) {
  DevWatch watch(model(), "http://127.0.0.1:3000");
  DevWatch::Sample sample{0, 0, {{"login", 1}}};
  EXPECT_EQ(look_for(watch, sample, 2), "");
  ++sample.failures;
  EXPECT_EQ(look_for(watch, sample, 1),
            "  Nobody answers at http://127.0.0.1:3000: requests get 503.\n");
  ++sample.failures;
  EXPECT_EQ(look_for(watch, sample, 1), "");
  EXPECT_EQ(watch.look(sample), "") << "nobody asked";
  EXPECT_EQ(look_for(watch, sample, 1), "  The app at http://127.0.0.1:3000 answers again.\n");
  EXPECT_EQ(look_for(watch, sample, 1), "");
}

}  // namespace
}  // namespace weir::app::dev_watch_test
