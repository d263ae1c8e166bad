#include "policies/lang/extractors/name_path.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "policies/lang/extractors/name_text.h"

namespace weir::policies {
namespace {

using namespace name_text;

// A name that means a path has these beside characters.
constexpr char32_t kBoundary = 0xfffffffe;    ///< between two steps
constexpr char32_t kAnyElement = 0xfffffffd;  ///< `[]`

/// How a `.` is read: PHP makes an underscore of it, and of a blank.
enum class Dots : std::uint8_t { separate, are_underscores };

/// A name as its steps: characters and marks. Separators inside a step are left out, at both ends
/// each is an underscore; blanks are left out. Brackets before the first step count for nothing.
template <class Source>
class Steps {
 public:
  Steps(Source source, Dots dots) noexcept : source_(source), dots_(dots) {}

  char32_t next() noexcept {
    if (underscores_ == 0 && mark_ == kEnd && letter_ == kEnd) read();
    if (underscores_ > 0) return --underscores_, U'_';
    char32_t& first = mark_ != kEnd ? mark_ : letter_;
    return std::exchange(first, kEnd);
  }
  /// There was text after a `]`.
  bool has_rest() const noexcept { return has_rest_; }
  /// The name ends with a point.
  bool ends_with_point() const noexcept { return after_point_; }

 private:
  /// Reads up to the next character that counts.
  void read() noexcept {
    const bool php = dots_ == Dots::are_underscores;
    std::uint32_t run = 0;
    bool boundary = false;
    for (char32_t c = source_.next(); c != kEnd; c = source_.next()) {
      if (c == U'[' || c == U']' || (c == U'.' && !php)) {
        const bool any = c == U']' && opened_ && named_;
        opened_ = c == U'[';
        closed_ = c == U']';
        after_point_ = c == U'.';
        boundary = boundary || named_;
        if (!any) continue;
        inside_ = false;
        underscores_ = run;
        mark_ = kAnyElement;
        return;
      }
      const bool blank = is_trimmed(c);
      if ((blank && !(php && inside_)) || (!named_ && is_passed_over(c))) continue;
      opened_ = after_point_ = false;
      has_rest_ = has_rest_ || (closed_ && c != U'.');
      closed_ = false;
      const bool separator = blank || c == U'_' || c == U'-' || c == U'.';
      if (separator && inside_ && !boundary) {
        ++run;
        continue;
      }
      named_ = true;
      inside_ = !separator || (inside_ && !boundary);
      underscores_ = boundary ? run : 0;
      mark_ = boundary ? kBoundary : kEnd;
      letter_ = separator ? U'_' : fold_case(c);
      return;
    }
    underscores_ = run;
  }

  Source source_;
  Dots dots_;
  bool named_ = false;   // the first step has begun
  bool inside_ = false;  // a letter of this step was read
  bool opened_ = false;  // just after a `[`
  bool closed_ = false;  // just after a `]`
  bool after_point_ = false;
  bool has_rest_ = false;
  // The next characters, in this order.
  std::uint32_t underscores_ = 0;
  char32_t mark_ = kEnd, letter_ = kEnd;
};

/// Reads one step as an index of a list; `next` becomes the character after it.
template <class Source>
PathMatch match_index(Steps<Source>& steps, char32_t& next, std::uint32_t wanted) noexcept {
  if (next == kAnyElement) {
    next = steps.next();
    return PathMatch::container;
  }
  std::uint64_t index = 0;
  bool any = false;
  for (; next >= U'0' && next <= U'9'; next = steps.next()) {
    any = true;
    if (index <= UINT32_MAX) index = index * 10 + (next - U'0');
  }
  if (!any) return PathMatch::no;
  if (wanted != 0) return PathMatch::container;
  return index == 0 ? PathMatch::field : PathMatch::elsewhere;
}

bool are_indices(std::span<const PathStep> path) noexcept {
  return std::all_of(path.begin(), path.end(), [](const PathStep& step) { return step.is_index; });
}

/// Whether the name has the steps of the path. `begun`: the first of them.
template <class Source>
PathMatch match_steps(Steps<Source>& steps, std::span<const PathStep> path, bool& begun) noexcept {
  PathMatch out = PathMatch::field;
  char32_t next = steps.next();
  for (std::size_t k = 0; k < path.size(); ++k) {
    if (k > 0 && next == kBoundary) next = steps.next();
    if (path[k].is_index) {
      const PathMatch got = match_index(steps, next, path[k].index);
      if (got == PathMatch::no) return got;
      if (out != PathMatch::container && got != PathMatch::field) out = got;
    } else {
      Folded step(PlainText(path[k].name), Brackets::letters, true);
      for (char32_t c = step.next(); c != kEnd; c = step.next(), next = steps.next()) {
        if (next != c) return PathMatch::no;
      }
    }
    if (next != kEnd && next != kBoundary && next != kAnyElement) return PathMatch::no;
    begun = true;
    if (next != kEnd) continue;
    // The name ends here. A field that comes twice is a list to some.
    const auto rest = path.subspan(k + 1);
    if (rest.empty()) return out;
    return are_indices(rest) ? PathMatch::container : PathMatch::no;
  }
  return PathMatch::container;
}

template <class Source>
PathMatch match(Source source, std::span<const PathStep> path, Dots dots) noexcept {
  Steps steps(source, dots);
  bool begun = false;
  const PathMatch out = match_steps(steps, path, begun);
  if (!begun) return PathMatch::no;
  while (steps.next() != kEnd) {
  }
  const bool list = out == PathMatch::field && steps.ends_with_point();
  return list || steps.has_rest() ? PathMatch::container : out;
}

}  // namespace

PathMatch match_form_path(std::string_view encoded, std::span<const PathStep> path) noexcept {
  if (!may_match(encoded, path.front().name)) return PathMatch::no;
  const PathMatch out = match(EncodedText(encoded), path, Dots::separate);
  if (out != PathMatch::no) return out;
  return match(EncodedText(encoded), path, Dots::are_underscores);
}

bool is_flat_path(std::string_view member, std::span<const PathStep> path) noexcept {
  member = member.substr(0, member.find('\0'));
  return member.find_first_of(".[") != std::string_view::npos &&
         match(PlainText(member), path, Dots::separate) != PathMatch::no;
}

}  // namespace weir::policies
