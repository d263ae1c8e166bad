#pragma once

#include <string>
#include <string_view>
#include <vector>

/// The recipes that are built into the program: config/recipes, each with its cases.
namespace weir::app {

struct Recipe {
  std::string name;            ///< `login`
  std::string_view text;       ///< login.yaml
  std::string_view case_text;  ///< login_test.yaml
  std::string about;           ///< its first comment line, without the full stop
};

/// By name.
const std::vector<Recipe>& recipes();
/// Null: there is none of this name.
const Recipe* find_recipe(std::string_view name);
/// `no recipe "logn"; did you mean "login"?`
std::string no_recipe(std::string_view name);

/// The start configuration of `weir dev`.
std::string_view dev_defaults();

}  // namespace weir::app
