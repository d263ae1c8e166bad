#include "app/tools/ctl/ctl_view.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace weir::app::ctl_view_test {
namespace {

TEST(CtlView, ViewsAreATable) {
  const auto answer = boost::json::parse(R"json({"views":[
    {"name":"hot","metric":"count","by":["path","ip"],"window":"every 1h","share":"redis","keys":12,"events":345,"dropped":0},
    {"name":"visitors","metric":"distinct(ip)","by":[],"window":"every 1d","share":"local","keys":1,"events":7,"dropped":2}]
})json");
  EXPECT_EQ(views_table(answer),
            "NAME      METRIC        BY        WINDOW    SHARE  KEYS  EVENTS  DROPPED\n"
            "hot       count         path, ip  every 1h  redis  12    345     0\n"
            "visitors  distinct(ip)            every 1d  local  1     7       2\n");
  EXPECT_EQ(views_table(boost::json::parse(R"json({"views":[]})json")),
            "no views are configured\n");
}

TEST(CtlView, WindowsHaveAHeadingAndAlignedRows) {
  const auto answer = boost::json::parse(R"json({"name":"hot","windows":[
    {"start":1795219200000,"end":1795219800000,"complete":true,"total":130,"rows":[["/北京","a",128],["/b\u001b[2J","bb",2]]}],
    "running":{"start":1795219500000,"end":1795220100000,"complete":false,"total":0.5,"rows":[[0.5]]}})json");
  EXPECT_EQ(view_windows(answer),
            "2026-11-21T00:00:00.000Z to 2026-11-21T00:10:00.000Z  total 130\n"
            "  /北京          a   128\n"
            "  /b\\u001b[2J  bb  2\n"
            "2026-11-21T00:05:00.000Z to 2026-11-21T00:15:00.000Z  total 0.5  (running)\n"
            "  0.5\n");
  EXPECT_EQ(view_windows(boost::json::parse(R"json({"windows":[],"running":null})json")),
            "nothing has happened yet\n");
}

TEST(CtlView, ASharedOneSaysOfWhomAndWhatIsMissing) {
  const auto shown = [](std::string_view sharing) {
    return view_windows(boost::json::parse(R"({"windows":[],"running":null,"sharing":)" +
                                           std::string(sharing) + "}"));
  };
  EXPECT_EQ(shown(R"({"up":true,"why":"","age_ms":870,"replicas":3,"silent":0})"),
            "of 3 replicas, 0.8 s old\nnothing has happened yet\n");
  EXPECT_EQ(shown(R"({"up":false,"why":"Redis is away","age_ms":12345,"replicas":3,"silent":1})"),
            "of 3 replicas, 12.3 s old; 1 silent: what they counted last is missing; "
            "incomplete: Redis is away\nnothing has happened yet\n");
  EXPECT_EQ(shown("null"), "nothing has happened yet\n");
}

TEST(CtlView, AnAnswerOfAnotherShapeIsNoCrash) {
  for (const char* text :
       {"null", "[]", "{}", R"({"views":{}})", R"({"windows":[1,{"rows":[1]}]})"}) {
    EXPECT_FALSE(views_table(boost::json::parse(text)).empty());
    EXPECT_FALSE(view_windows(boost::json::parse(text)).empty());
  }
}

}  // namespace
}  // namespace weir::app::ctl_view_test
