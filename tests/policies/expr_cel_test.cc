#include <cmath>
#include <fstream>
#include <sstream>

#include "tests/policies/expr_support.h"

/// docs/expressions.md lists every difference from CEL as a row; each row is true.
namespace weir::policies::test::expr_cel_test {
namespace {

constexpr std::string_view kBody =
    R"({"gold":12,"rate":2.5,"none":null,"tags":["x",3],"nested":{"a":1},"obj":{},"dup":1,"dup":2})";

struct Row {
  int line = 0;
  std::string expression, weir;
};

std::string between_ticks(std::string cell) {
  while (!cell.empty() && cell.front() == ' ') cell.erase(0, 1);
  while (!cell.empty() && cell.back() == ' ') cell.pop_back();
  const bool ticks = cell.size() > 1 && cell.front() == '`' && cell.back() == '`';
  return ticks ? cell.substr(1, cell.size() - 2) : cell;
}

std::vector<Row> rows() {
  std::vector<Row> out;
  std::ifstream page(WEIR_SOURCE_DIR "/docs/expressions.md");
  int number = 0;
  for (std::string line; std::getline(page, line);) {
    ++number;
    if (!line.starts_with("| `")) continue;
    std::vector<std::string> cells;
    std::istringstream parts(line.substr(1));
    for (std::string cell; std::getline(parts, cell, '|');) cells.push_back(cell);
    EXPECT_EQ(cells.size(), 4U) << line;
    if (cells.size() == 4)
      out.push_back({number, between_ticks(cells[0]), between_ticks(cells[2])});
  }
  return out;
}

TEST(ExprCel, EveryRowOfThePageIsTrue) {
  const std::vector<Row> all = rows();
  ASSERT_GE(all.size(), 40U);
  RequestData data;
  data.body(kBody);
  for (const Row& row : all) {
    SlotTable table;
    Scope scope(table, "login");
    config::Problems problems;
    const auto expression = compile_expression(text_at(row.expression), scope, problems);
    std::string came = "*refused*";
    if (expression) {
      Frame frame;
      const Lists lists;
      frame.begin(table, data.request, &lists);
      came = show(expression->eval(frame));
    }
    EXPECT_EQ(came, row.weir) << "docs/expressions.md:" << row.line << ": " << row.expression
                              << "\n"
                              << report(problems);
  }
}

}  // namespace
}  // namespace weir::policies::test::expr_cel_test
