#include "app/tools/ctl/ctl_replicas.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace weir::app::ctl_replicas_test {
namespace {

TEST(CtlReplicas, AddressesHaveAPort) {
  struct Case {
    const char* list;
    std::vector<std::string> doors;
  };
  const Case cases[] = {
      {"127.0.0.1", {"127.0.0.1:8481"}},
      {"127.0.0.1:9,127.0.0.2:9", {"127.0.0.1:9", "127.0.0.2:9"}},
      {"127.0.0.1:9,127.0.0.1:9", {"127.0.0.1:9"}},
      {"[::1]:9,::1,[::1]", {"[::1]:9", "[::1]:8481"}},
      {"unix:/run/weir/admin.sock,127.0.0.1", {"unix:/run/weir/admin.sock", "127.0.0.1:8481"}},
  };
  for (const Case& each : cases) {
    std::string problem;
    EXPECT_EQ(replica_doors(each.list, problem), each.doors) << each.list << problem;
  }
  std::string problem;
  EXPECT_TRUE(replica_doors(",", problem).empty());
  EXPECT_EQ(problem, "--replicas names no replica");
}

TEST(CtlReplicas, EqualAnswersAreShownOnce) {
  EXPECT_EQ(replicas_text({{"a:1", 0, {}, "same\n"}, {"b:1", 4, {}, ""}, {"c:1", 0, {}, "same\n"}}),
            "== a:1, c:1\nsame\n== b:1\nno answer, exit code 4\n");
}

TEST(CtlReplicas, StatusSaysWhoIsBehind) {
  const auto status = [](const char* hash, const char* loaded) {
    return boost::json::parse(
        std::string(R"({"version":"1","uptime_seconds":1,"policies":3,"draining":false,)") +
        R"("overrides":[{"policy":"p","text":"shadow"}],"config":{"hash":")" + hash +
        R"(","loaded":")" + loaded + "\"}}");
  };
  const std::string text =
      replicas_text({{"a:1", 0, status("old", "2026-11-21T08:00:00.000Z"), "x"},
                     {"b:1", 0, status("new", "2026-11-21T09:00:00.000Z"), "y"},
                     {"c:1", 4, {}, ""}});
  EXPECT_NE(text.find("a:1      1        old"), std::string::npos) << text;
  EXPECT_NE(text.find("behind"), std::string::npos) << text;
  EXPECT_NE(text.find("in force"), std::string::npos) << text;
  EXPECT_NE(text.find("does not answer"), std::string::npos) << text;
  EXPECT_NE(text.find("p shadow"), std::string::npos) << text;
}

}  // namespace
}  // namespace weir::app::ctl_replicas_test
