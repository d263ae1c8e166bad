#include "app/support/text_diff.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace weir::app {
namespace {

constexpr std::size_t kLinesMax = 2'000;
constexpr std::size_t kAround = 3;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

struct Line {
  char mark = ' ';  // ' ', '-' or '+'
  std::string_view text;
};

}  // namespace

std::string text_diff(std::string_view before, std::string_view after) {
  if (before == after) return {};
  const auto a = lines_of(before), b = lines_of(after);
  std::size_t head = 0, tail = 0;
  while (head < a.size() && head < b.size() && a[head] == b[head]) ++head;
  while (tail < a.size() - head && tail < b.size() - head &&
         a[a.size() - 1 - tail] == b[b.size() - 1 - tail])
    ++tail;
  const std::size_t n = a.size() - head - tail, m = b.size() - head - tail;
  if (n > kLinesMax || m > kLinesMax) return "(too much has changed to be shown)\n";

  // Longest common subsequence of the lines between, from the end.
  std::vector<std::uint16_t> table((n + 1) * (m + 1), 0);
  const auto at = [&](std::size_t i, std::size_t j) -> std::uint16_t& {
    return table[i * (m + 1) + j];
  };
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t j = m; j-- > 0;) {
      at(i, j) = a[head + i] == b[head + j] ? static_cast<std::uint16_t>(at(i + 1, j + 1) + 1)
                                            : std::max(at(i + 1, j), at(i, j + 1));
    }
  }
  std::vector<Line> lines;
  for (std::size_t i = 0; i < head; ++i) lines.push_back({' ', a[i]});
  for (std::size_t i = 0, j = 0; i < n || j < m;) {
    if (i < n && j < m && a[head + i] == b[head + j]) {
      lines.push_back({' ', a[head + i]});
      ++i;
      ++j;
    } else if (i < n && (j == m || at(i + 1, j) >= at(i, j + 1))) {
      lines.push_back({'-', a[head + i++]});
    } else {
      lines.push_back({'+', b[head + j++]});
    }
  }
  for (std::size_t i = a.size() - tail; i < a.size(); ++i) lines.push_back({' ', a[i]});

  std::string out;
  std::size_t shown = 0;  // up to this line
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].mark == ' ') continue;
    const std::size_t from = std::max(shown, i < kAround ? 0 : i - kAround);
    if (from > shown) out += "@@ line " + std::to_string(from + 1) + "\n";
    std::size_t to = i + 1;
    for (std::size_t k = i; k < lines.size() && k < to + kAround; ++k) {
      if (lines[k].mark != ' ') to = k + 1;
    }
    to = std::min(lines.size(), to + kAround);
    for (std::size_t k = from; k < to; ++k) (out += lines[k].mark).append(lines[k].text) += '\n';
    shown = to;
    i = to - 1;
  }
  return out;
}

}  // namespace weir::app
