#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace weir::replay {

/// Splits records of comma-separated values as RFC 4180 has them, and as they come: quotes inside a
/// value that does not begin with one. Values are views into the text; only a doubled quote makes a
/// copy. Keeps its memory. Not thread-safe.
class CsvSplitter {
 public:
  explicit CsvSplitter(std::size_t columns) : fields_(columns) {}

  enum class Got : std::uint8_t {
    row,
    more,  ///< a quote is open at the end of the text
    bad,   ///< offset() and why() say what
  };
  /// The values are valid until the next call, and as long as `text`.
  Got split(std::string_view text);
  std::string_view operator[](std::size_t column) const noexcept { return fields_[column]; }
  const std::string_view* data() const noexcept { return fields_.data(); }
  std::size_t size() const noexcept { return fields_.size(); }
  std::size_t offset() const noexcept { return offset_; }
  std::string_view why() const noexcept { return why_; }

 private:
  Got plain(std::string_view text);
  Got quoted(std::string_view text);
  Got fail(Got got, std::size_t offset, std::string_view why) {
    offset_ = offset;
    why_ = why;
    return got;
  }

  std::vector<std::string_view> fields_;
  std::vector<char> scratch_;
  std::size_t offset_ = 0;
  std::string_view why_;
};

}  // namespace weir::replay
