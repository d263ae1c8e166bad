#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/model.h"

namespace weir::config {

/// One error of the configuration. Loading collects all of them, and then fails as a whole.
struct Problem {
  enum class Severity : std::uint8_t { error, warning };
  Severity severity = Severity::error;
  Where where;
  std::string message;  ///< `unknown key "windw" in a policy`
  std::string hint;     ///< `did you mean "window"?`; may be empty
};

/// Collects problems; the order of report is that of the files.
class Problems {
 public:
  void error(Where where, std::string message, std::string hint = {});
  void warning(Where where, std::string message, std::string hint = {});
  bool has_errors() const noexcept { return errors_ != 0; }
  std::size_t errors() const noexcept { return errors_; }
  std::size_t warnings() const noexcept { return all_.size() - errors_; }
  const std::vector<Problem>& all() const noexcept { return all_; }
  /// The first `most`, errors before warnings; valid until a problem is added.
  std::vector<const Problem*> first(std::size_t most) const;
  void sort();  ///< by file, line, column; duplicates go

 private:
  std::vector<Problem> all_;
  std::size_t errors_ = 0;
};

/// `User-Agent` -> `user_agent`: how words are compared that people may have spelt otherwise.
std::string lower_word(std::string_view text);

/// The allowed word that `found` most likely means, by edit distance; empty if none is near.
std::string_view nearest(std::string_view found, const std::vector<std::string_view>& allowed);

/// `did you mean "window"?`, or the allowed words, or nothing where there are too many.
std::string suggest(std::string_view found, const std::vector<std::string_view>& allowed);

}  // namespace weir::config
