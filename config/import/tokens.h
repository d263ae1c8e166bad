#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// The words of other programs' files. Any bytes will do; linear in the text.
namespace weir::config {

/// A word, `;` or a brace of an nginx file, without quotes and comments.
struct NginxToken {
  enum class Kind : std::uint8_t { word, end, open, close };
  Kind kind = Kind::word;
  std::string text;
  std::size_t line = 1;
};

std::vector<NginxToken> nginx_tokens(std::string_view text);

/// A line of an HAProxy file that has words.
struct HaproxyLine {
  std::size_t number = 1;
  std::vector<std::string> words;
};

std::vector<HaproxyLine> haproxy_lines(std::string_view text);

}  // namespace weir::config
