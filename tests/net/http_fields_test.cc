#include <gtest/gtest.h>

#include "net/http/fields.h"

namespace weir::net::http_fields_test {
namespace {

TEST(MediaType, IsWithoutParametersAndBlanks) {
  EXPECT_EQ(media_type("application/json"), "application/json");
  EXPECT_EQ(media_type("Application/JSON ; charset=utf-8"), "Application/JSON");
  EXPECT_EQ(media_type("text/plain\t;x"), "text/plain");
  for (const char* none : {"", ";charset=utf-8", "  ;", "\t"})
    EXPECT_EQ(media_type(none), "") << none;
}

}  // namespace
}  // namespace weir::net::http_fields_test
