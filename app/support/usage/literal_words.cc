#include "app/support/usage/literal_words.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

namespace weir::app {
namespace {

/// How a value in brackets begins while CLI11 parses it. No word of a user has this control
/// character before a bracket.
constexpr std::string_view kMarked = "\x01[";

bool is_in_brackets(std::string_view value) {
  return value.starts_with('[') && value.ends_with(']');
}

std::string marked(std::string word) {
  const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
  const std::size_t value = equals == std::string::npos ? 0 : equals + 1;
  if (is_in_brackets(std::string_view(word).substr(value))) word.insert(value, 1, kMarked.front());
  return word;
}

void take_marks_off(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    option->transform(literal_message);
  }
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    take_marks_off(*command);
}

}  // namespace

void parse_literally(CLI::App& app, int argc, const char* const* argv) {
  take_marks_off(app);
  std::vector<std::string> words;
  for (int i = argc; --i > 0;) words.push_back(marked(argv[i]));  // CLI11 wants the last one first
  app.parse(std::move(words));
}

std::string literal_message(std::string message) {
  for (std::size_t at = 0; (at = message.find(kMarked, at)) != std::string::npos;)
    message.erase(at, 1);
  return message;
}

}  // namespace weir::app
