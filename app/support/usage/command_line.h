#pragma once

#include <string>
#include <string_view>
#include <vector>

/// Command lines that messages show, made of the words that the user has given.
namespace weir::app {

/// Whether a word looks like the name of a configuration: it ends with .yaml or .yml.
bool is_configuration(std::string_view word);

/// Whether a word looks like the address of an app: a port, HOST:PORT or a URL.
bool is_app(std::string_view word);
/// Such a word as a URL: `3000` is `http://127.0.0.1:3000`.
std::string app_url(const std::string& word);

/// `weir` and these words, quoted as a shell needs it.
std::string weir_line(const std::vector<std::string>& words);

}  // namespace weir::app
