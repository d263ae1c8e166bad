#include "core/chars/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::csv_test {
namespace {

using ::testing::ElementsAre;

std::string cell_of(std::string_view text) {
  std::string out;
  append_csv_cell(out, text);
  return out;
}

TEST(Csv, QuotesACellOnlyWhereItHasTo) {
  EXPECT_EQ(cell_of("alice"), "alice");
  EXPECT_EQ(cell_of(""), "");
  EXPECT_EQ(cell_of("-12.5"), "-12.5");
  EXPECT_EQ(cell_of("a,b"), "\"a,b\"");
  EXPECT_EQ(cell_of("a \"b\""), "\"a \"\"b\"\"\"");
  EXPECT_EQ(cell_of(" a"), "\" a\"");
  EXPECT_EQ(cell_of("a\nb"), "\"a\nb\"");
}

TEST(Csv, FormulasGetAQuoteThatTellsThemApart) {
  EXPECT_EQ(cell_of("=1+1"), "\"'=1+1\"");
  EXPECT_EQ(cell_of("'=1+1"), "\"''=1+1\"");
  EXPECT_EQ(cell_of("@x"), "\"'@x\"");
  EXPECT_EQ(cell_of("'plain"), "'plain");
}

TEST(Csv, TakesOneRecordAfterTheOther) {
  std::string_view rest = "a,\"b, \"\"c\"\"\",\r\n\"two\nlines\"\n\nlast";
  std::vector<std::string> cells;
  EXPECT_TRUE(take_csv_record(rest, cells));
  EXPECT_THAT(cells, ElementsAre("a", "b, \"c\"", ""));
  EXPECT_TRUE(take_csv_record(rest, cells));
  EXPECT_THAT(cells, ElementsAre("two\nlines"));
  EXPECT_TRUE(take_csv_record(rest, cells));
  EXPECT_THAT(cells, ElementsAre(""));
  EXPECT_TRUE(take_csv_record(rest, cells));
  EXPECT_THAT(cells, ElementsAre("last"));
  EXPECT_TRUE(rest.empty());
  rest = "a\rb,\"c\"\rd\r\ne\r";
  EXPECT_TRUE(take_csv_record(rest, cells));
  EXPECT_THAT(cells, ElementsAre("a\rb", "c\rd")) << "not \"ab\", which is another key";
  EXPECT_TRUE(take_csv_record(rest, cells));
  EXPECT_THAT(cells, ElementsAre("e"));
  rest = "\"open";
  EXPECT_FALSE(take_csv_record(rest, cells));
}

}  // namespace
}  // namespace weir::csv_test
