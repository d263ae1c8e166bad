#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/text/log_format.h"
#include "core/clock.h"
#include "replay/record_time.h"

namespace weir::replay {

/// Cuts lines of an access log into columns, as a LogFormat says. Values are views into the line,
/// or until the next one into what the escapes of a value in quotes mean; one without data() is
/// null. Not thread-safe.
class LogSplitter {
 public:
  LogSplitter(config::LogFormat format, RecordTime time);
  LogSplitter(LogSplitter&&) = default;

  /// `tail`: text after the last value's end is allowed. False: offset() and why() locate the
  /// error. LineReader::kPadding bytes after the line must be readable.
  bool split(std::string_view line, bool tail = false);

  /// Only these columns will be read, by index: the others need not be cut out. All, until it is
  /// called.
  void want_only(const std::vector<std::size_t>& columns);

  const std::vector<std::string>& columns() const noexcept { return format_.columns; }
  std::string_view operator[](std::size_t column) const noexcept {
    return values_.data()[column];  // the format's own: no check for each value of each line
  }
  TimePoint time() const noexcept { return at_; }
  std::size_t offset() const noexcept { return offset_; }
  std::string_view why() const noexcept { return why_; }

 private:
  /// Text of the format that a line must hold, its first bytes as a word.
  struct Literal {
    explicit Literal(std::string_view text = {}) noexcept;
    /// `here`: kPadding bytes of it can be read.
    bool stands_at(const char* here) const noexcept;
    std::string_view text;  // the format's
    std::uint64_t word = 0, mask = 0;
  };
  /// A value of the format and the text after it, with all facts that splitting needs computed
  /// beforehand.
  struct Step {
    config::LogFormat::Item::Kind kind{};
    bool dash_is_null = false;
    bool quoted = false;  // a value between quotes
    bool last = false;    // a value that no literal ends
    bool wanted = true;   // one of its columns is read
    bool path = true;     // of a URL: also its path
    char stop = 0;        // the end of a value
    std::size_t column = 0;
    Literal behind;
  };
  bool fail(std::size_t offset, std::string_view why) noexcept {
    offset_ = offset;
    why_ = why;
    return false;
  }
  bool take_literal(const Literal& literal, std::string_view line, std::size_t& at) noexcept;
  bool take_time(std::string_view line, std::size_t& at) noexcept;
  static std::size_t columns_of(const Step& step) noexcept;
  std::string_view unescaped(std::string_view value, std::size_t line_size);
  void put(const Step& step, std::string_view value) noexcept;
  static void put_request(std::string_view* values, std::string_view value, bool path) noexcept;
  static void put_url(std::string_view* values, std::string_view url, bool path) noexcept;

  config::LogFormat format_;
  Literal front_;  // text before the first value
  std::vector<Step> steps_;
  RecordTime time_;
  std::vector<std::string_view> values_;
  std::string unescaped_;
  bool has_unescaped_ = false;  // this line
  TimePoint at_{};
  std::size_t offset_ = 0;
  std::string_view why_;
};

}  // namespace weir::replay
