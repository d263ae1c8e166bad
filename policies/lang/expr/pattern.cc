#include "policies/lang/expr/pattern.h"

#include <re2/re2.h>

#include <algorithm>
#include <vector>

#include "core/chars/ascii.h"

namespace weir::policies::expr {
namespace {

constexpr std::int64_t kMemoryMax = std::int64_t{1} << 20;  // program and automata of one pattern

/// Reads the pattern once, left to right. For each group it keeps three facts about the current
/// alternative: whether something must already have been consumed, whether `$` was passed, and
/// whether the alternative is impossible. A group is impossible if all of its alternatives are.
class Shape {
 public:
  explicit Shape(std::string_view pattern) noexcept : rest_(pattern) {}

  bool impossible() {
    groups_.push_back({});
    while (!rest_.empty()) {
      if (!step()) return false;  // something this reader does not know: claim nothing
    }
    if (groups_.size() != 1) return false;
    end_alternative();
    return groups_[0].all_impossible;
  }

 private:
  struct Group {
    bool consumed_before = false, ended_before = false;  // where the group began
    bool consumed = consumed_before, ended = ended_before, impossible = false;
    bool all_impossible = true, always_consumes = true, always_ends = true;
  };

  char take() noexcept {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  void end_alternative() {
    Group& g = groups_.back();
    g.all_impossible &= g.impossible;
    if (!g.impossible) {
      g.always_consumes &= g.consumed;
      g.always_ends &= g.ended;
    }
    g.consumed = g.consumed_before;
    g.ended = g.ended_before;
    g.impossible = false;
  }

  bool step() {
    const char c = take();
    switch (c) {
      case '(':
        return open();
      case ')':
        return close();
      case '|':
        end_alternative();
        return true;
      case '^':
        assert_begin();
        return true;
      case '$':
        groups_.back().ended = true;
        return true;
      case '[':
        return skip_class() && atom(true);
      case '\\':
        return escape();
      default:
        return atom(true);
    }
  }

  void assert_begin() { groups_.back().impossible |= groups_.back().consumed; }

  bool escape() {
    if (rest_.empty()) return false;
    const char c = take();
    if (c == 'A') return assert_begin(), true;
    if (c == 'z') return groups_.back().ended = true, true;
    if (c == 'b' || c == 'B') return true;
    if (c == 'Q' || c == 'C') return false;
    if ((c == 'p' || c == 'P' || c == 'x') && !rest_.empty() && rest_.front() == '{') {
      rest_.remove_prefix(std::min(rest_.size(), rest_.find('}') + 1));
    } else if (c == 'p' || c == 'P') {
      rest_.remove_prefix(std::min<std::size_t>(rest_.size(), 1));
    } else if (c == 'x') {
      rest_.remove_prefix(std::min<std::size_t>(rest_.size(), 2));
    } else if (c >= '0' && c <= '7') {
      return false;
    }
    return atom(true);
  }

  bool open() {
    if (rest_.starts_with("?:")) {
      rest_.remove_prefix(2);
    } else if (rest_.starts_with("?P<")) {
      rest_.remove_prefix(std::min(rest_.size(), rest_.find('>') + 1));
    } else if (rest_.starts_with("?")) {
      return false;  // flags change what ^, $ and . mean
    }
    groups_.push_back(Group{groups_.back().consumed, groups_.back().ended});
    return true;
  }

  bool close() {
    if (groups_.size() < 2) return false;
    end_alternative();
    const Group inner = groups_.back();
    groups_.pop_back();
    const bool optional = quantifier_allows_none();
    Group& g = groups_.back();
    if (inner.all_impossible) {
      g.impossible |= !optional;
      return true;
    }
    if (optional) return true;
    if (inner.always_consumes) consume();
    if (inner.always_ends) g.ended = true;
    return true;
  }

  bool atom(bool consumes) {
    if (!quantifier_allows_none() && consumes) consume();
    return true;
  }

  void consume() {
    Group& g = groups_.back();
    g.impossible |= g.ended;
    g.consumed = true;
  }

  /// Skips a quantifier; whether it lets the thing before it be left out.
  bool quantifier_allows_none() {
    bool none = false;
    while (!rest_.empty()) {
      const char c = rest_.front();
      if (c == '*' || c == '?') {
        none = true;
      } else if (c == '{' && rest_.size() > 1 && ascii::is_digit(rest_[1])) {
        none |= rest_[1] == '0';
        rest_.remove_prefix(std::min(rest_.size() - 1, rest_.find('}')));
      } else if (c != '+') {
        break;
      }
      rest_.remove_prefix(1);
    }
    return none;
  }

  bool skip_class() {
    if (!rest_.empty() && rest_.front() == '^') take();
    for (bool first = true; !rest_.empty(); first = false) {
      const char c = take();
      if (c == ']' && !first) return true;
      if (c == '\\' && !rest_.empty()) take();
      if (c == '[' && rest_.starts_with(":")) {
        const std::size_t end = rest_.find(":]");
        if (end != std::string_view::npos) rest_.remove_prefix(end + 2);
      }
    }
    return false;
  }

  std::string_view rest_;
  std::vector<Group> groups_;
};

re2::RE2::Options options() {
  re2::RE2::Options out(re2::RE2::Quiet);
  out.set_max_mem(kMemoryMax);
  out.set_never_capture(true);
  return out;
}

}  // namespace

std::unique_ptr<re2::RE2> compile_pattern(std::string_view pattern, std::string& error) {
  auto out =
      std::make_unique<re2::RE2>(re2::StringPiece(pattern.data(), pattern.size()), options());
  if (out->ok()) return out;
  error = out->error();
  return nullptr;
}

bool matches_nothing(const re2::RE2& compiled) {
  static const int failing_size = re2::RE2("[^\\x00-\\x{10FFFF}]", options()).ProgramSize();
  static const int empty_size = re2::RE2("", options()).ProgramSize();
  if (failing_size != empty_size && compiled.ProgramSize() == failing_size) return true;
  return Shape(compiled.pattern()).impossible();
}

}  // namespace weir::policies::expr
