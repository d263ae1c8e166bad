#pragma once

#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace weir::store {

/// Commands as RESP. Everything is an argument with its length: no text can become a command.
inline void append_count(std::string& out, char type, std::size_t n) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof(digits), n).ptr;
  out += type;
  out.append(digits, end);
  out += "\r\n";
}
inline void append_bulk(std::string& out, std::string_view bytes) {
  append_count(out, '$', bytes.size());
  out += bytes;
  out += "\r\n";
}
inline void append_command(std::string& out, std::initializer_list<std::string_view> words) {
  append_count(out, '*', words.size());
  for (const std::string_view word : words) append_bulk(out, word);
}

}  // namespace weir::store
