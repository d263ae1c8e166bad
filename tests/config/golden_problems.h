#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "config/load.h"
#include "tests/support/golden.h"

/// Configurations with a mistake each, and its message: a golden file for each section.
namespace weir::config::golden_problems {

struct Mistake {
  std::string_view name;
  std::string_view text;
};

inline std::string shown(const Loaded& loaded) {
  const std::string out = render_human(loaded.problems, loaded.views(), false);
  return out.empty() ? "(no problems)\n" : out;
}

/// A golden file holds each case's name and its message.
inline void expect_golden(std::string_view file, const std::vector<Mistake>& cases) {
  std::string all;
  for (const Mistake& c : cases) {
    all += "## " + std::string(c.name) + "\n" +
           shown(load_text("weir.yaml", "weir: 1\n" + std::string(c.text))) + "\n";
  }
  const std::string difference =
      test::compare_golden(WEIR_SOURCE_DIR, "config/" + std::string(file), all);
  EXPECT_TRUE(difference.empty()) << difference;
}

/// A policy around a few lines of its own.
inline std::string policy(std::string_view lines) {
  return "policies:\n  - name: p\n    watch: request\n" + std::string(lines);
}

inline void expect_golden_policies(std::string_view file, const std::vector<Mistake>& cases) {
  std::vector<std::string> texts;
  for (const Mistake& c : cases) texts.push_back(policy(c.text));
  std::vector<Mistake> whole;
  for (std::size_t i = 0; i < cases.size(); ++i) whole.push_back({cases[i].name, texts[i]});
  expect_golden(file, whole);
}

}  // namespace weir::config::golden_problems
