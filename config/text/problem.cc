#include "config/text/problem.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "config/text/edit_distance.h"
#include "config/text/secrets.h"
#include "core/chars/ascii.h"

namespace weir::config {
namespace {

auto order(const Problem& p) {
  return std::tie(p.where.file, p.where.line, p.where.column, p.severity, p.message);
}

}  // namespace

std::string lower_word(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    c = ascii::lower(c);
    if (c == '-') c = '_';
  }
  return out;
}

namespace {

/// A bit for each letter of the text; letters may share one.
std::uint64_t letters_of(std::string_view text) noexcept {
  std::uint64_t out = 0;
  for (const char c : text) out |= std::uint64_t{1} << (static_cast<unsigned char>(c) % 64);
  return out;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t bound) {
  if (a.size() > b.size() + bound || b.size() > a.size() + bound) return bound + 1;
  // An edit takes one letter away and adds one, at most. Most words differ in more.
  if (static_cast<std::size_t>(std::popcount(letters_of(a) ^ letters_of(b))) > 2 * bound)
    return bound + 1;
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return std::min(last[b.size()], bound + 1);
}

void Problems::error(Where where, std::string message, std::string hint) {
  all_.push_back(
      {Problem::Severity::error, where, without_secrets_of_message(message), std::move(hint)});
  ++errors_;
}

void Problems::warning(Where where, std::string message, std::string hint) {
  all_.push_back(
      {Problem::Severity::warning, where, without_secrets_of_message(message), std::move(hint)});
}

std::vector<const Problem*> Problems::first(std::size_t most) const {
  std::vector<const Problem*> out;
  for (const auto severity : {Problem::Severity::error, Problem::Severity::warning}) {
    for (const Problem& problem : all_) {
      if (out.size() >= most) return out;
      if (problem.severity == severity) out.push_back(&problem);
    }
  }
  return out;
}

void Problems::sort() {
  std::stable_sort(all_.begin(), all_.end(),
                   [](const Problem& a, const Problem& b) { return order(a) < order(b); });
  const auto last = std::unique(all_.begin(), all_.end(), [](const Problem& a, const Problem& b) {
    return order(a) == order(b);
  });
  all_.erase(last, all_.end());
  errors_ = static_cast<std::size_t>(std::count_if(all_.begin(), all_.end(), [](const Problem& p) {
    return p.severity == Problem::Severity::error;
  }));
}

std::string_view nearest(std::string_view found, const std::vector<std::string_view>& allowed) {
  constexpr std::size_t kLongest = 64;
  if (found.empty() || found.size() > kLongest) return {};
  const std::string wanted = lower_word(found);
  const std::size_t bound = found.size() <= 2   ? 0
                            : found.size() <= 4 ? 1
                            : found.size() <= 5 ? 2
                                                : 3;
  std::string_view best;
  std::size_t best_distance = bound + 1;
  for (const std::string_view word : allowed) {
    if (word.size() > kLongest) continue;
    const std::size_t d = edit_distance(wanted, lower_word(word), bound);
    if (d < best_distance) {
      best = word;
      best_distance = d;
    }
  }
  return best;
}

std::string suggest(std::string_view found, const std::vector<std::string_view>& allowed) {
  constexpr std::size_t kListedMax = 16;
  if (const std::string_view word = nearest(found, allowed); !word.empty()) {
    return "did you mean \"" + std::string(word) + "\"?";
  }
  if (allowed.empty() || allowed.size() > kListedMax) return {};
  std::string out = allowed.size() == 1 ? "allowed is " : "allowed are ";
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    if (i != 0) out += i + 1 == allowed.size() ? " and " : ", ";
    out += allowed[i];
  }
  return out;
}

}  // namespace weir::config
