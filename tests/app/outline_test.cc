#include "app/tools/outline.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace weir::app::outline_test {
namespace {

TEST(Outline, indents_what_is_nested_and_shortens_numbers) {
  EXPECT_EQ(
      outline(boost::json::parse(
          R"({"version":"1","uptime_seconds":8.656,"draining":false,"next":null,"load":{"ok":true,
                "problems":[],"empty":{},"at":{"x":1}},"key":["a",2],
                "rows":[{"name":"p","of":["ip"]},{"name":"q\u001b[31m","more":{"y":0.5}},7]})")),
      "version: 1\n"
      "uptime_seconds: 8.656\n"
      "draining: false\n"
      "next: -\n"
      "load:\n"
      "  ok: true\n"
      "  problems: none\n"
      "  empty: none\n"
      "  at:\n"
      "    x: 1\n"
      "key: a, 2\n"
      "rows:\n"
      "  - name: p\n"
      "    of: ip\n"
      "  - name: q\\u001b[31m\n"
      "    more:\n"
      "      y: 0.5\n"
      "  - 7\n");
  EXPECT_EQ(outline(boost::json::parse("3")), "3\n");
}

}  // namespace
}  // namespace weir::app::outline_test
