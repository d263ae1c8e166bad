#include "app/support/recipes.h"

#include <algorithm>

#include "config/text/problem.h"
#include "embedded/recipes.h"

namespace weir::app {
namespace {

constexpr std::string_view kDefaults = "dev_defaults.yaml";
constexpr std::string_view kCases = "_test.yaml";

std::string_view file_text(std::string_view name) {
  for (const auto& [known, text] : embedded::recipes::files()) {
    if (known == name) return text;
  }
  return {};
}

std::string first_comment(std::string_view text) {
  const std::size_t at = text.find("# ");
  if (at == std::string_view::npos) return {};
  std::string_view line = text.substr(at + 2);
  line = line.substr(0, line.find('\n'));
  if (line.ends_with('.')) line.remove_suffix(1);
  return std::string(line);
}

}  // namespace

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> kRecipes = [] {
    std::vector<Recipe> out;
    for (const auto& file : embedded::recipes::files()) {
      if (file.name == kDefaults || file.name.ends_with(kCases) || !file.name.ends_with(".yaml")) {
        continue;
      }
      Recipe recipe;
      recipe.name = file.name.substr(0, file.name.size() - std::string_view(".yaml").size());
      recipe.text = file.text;
      recipe.case_text = file_text(recipe.name + std::string(kCases));
      recipe.about = first_comment(file.text);
      out.push_back(std::move(recipe));
    }
    std::sort(out.begin(), out.end(),
              [](const Recipe& a, const Recipe& b) { return a.name < b.name; });
    return out;
  }();
  return kRecipes;
}

const Recipe* find_recipe(std::string_view name) {
  for (const Recipe& recipe : recipes()) {
    if (recipe.name == name) return &recipe;
  }
  return nullptr;
}

std::string no_recipe(std::string_view name) {
  std::vector<std::string_view> known;
  for (const Recipe& recipe : recipes()) known.push_back(recipe.name);
  const std::string_view near = config::nearest(name, known);
  return "no recipe \"" + std::string(name) + "\"; " +
         (near.empty() ? "\"weir init\" lists them"
                       : "did you mean \"" + std::string(near) + "\"?");
}

std::string_view dev_defaults() { return file_text(kDefaults); }

}  // namespace weir::app
