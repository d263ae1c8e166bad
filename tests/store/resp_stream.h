#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/origin_server.h"

/// RESP by blocking streams, for peers between a store and Redis, or in its place.
namespace weir::store::test {

/// The end of the value that begins at `from`, a command or an answer. Nothing: it is not whole.
inline std::optional<std::size_t> end_of_value(std::string_view bytes, std::size_t from) {
  const std::size_t line = bytes.find("\r\n", from);
  if (line == bytes.npos) return std::nullopt;
  long long number = 0;
  std::from_chars(bytes.data() + from + 1, bytes.data() + line, number);
  std::size_t at = line + 2;
  if (bytes[from] == '$' && number >= 0) at += static_cast<std::size_t>(number) + 2;
  if (at > bytes.size()) return std::nullopt;
  for (; bytes[from] == '*' && number > 0; --number) {
    const auto end = end_of_value(bytes, at);
    if (!end) return std::nullopt;
    at = *end;
  }
  return at;
}

/// The next command or answer, as it is on the wire. Empty: the stream has ended.
inline std::string next_value(weir::test::Stream& stream) {
  for (;;) {
    if (const auto end = end_of_value(stream.buffer(), 0)) {
      std::string out = stream.buffer().substr(0, *end);
      stream.buffer().erase(0, *end);
      return out;
    }
    if (!stream.fill()) return {};
  }
}

/// The words of a command.
inline std::vector<std::string> words_of(std::string_view command) {
  std::vector<std::string> out;
  for (std::size_t at = command.find("\r\n") + 2; at < command.size();) {
    const std::size_t begin = command.find("\r\n", at) + 2, end = *end_of_value(command, at);
    out.emplace_back(command.substr(begin, end - 2 - begin));
    at = end;
  }
  return out;
}

}  // namespace weir::store::test
