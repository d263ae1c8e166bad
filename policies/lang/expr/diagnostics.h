#pragma once

#include <cstdint>
#include <string>

#include "config/model.h"
#include "config/text/problem.h"

namespace weir::policies::expr {

/// Reports problems at their column inside the text of an expression.
class Diagnostics {
 public:
  Diagnostics(const config::Text& text, config::Problems& problems) noexcept
      : text_(text), problems_(problems) {}
  /// `begin`, `end`: bytes of the expression.
  void error(std::size_t begin, std::size_t end, std::string message, std::string hint = {});
  void warning(std::size_t begin, std::size_t end, std::string message, std::string hint = {});
  const std::string& text() const noexcept { return text_.value; }

 private:
  config::Where where(std::size_t begin, std::size_t end) const noexcept;

  const config::Text& text_;
  config::Problems& problems_;
};

}  // namespace weir::policies::expr
