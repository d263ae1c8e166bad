#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "replay/input.h"

namespace weir::replay {

/// Cuts an input into lines where they lie: no copy but at a chunk's end. LF or CRLF ends a line;
/// the last one may have no end. A byte order mark at the start is dropped.
class LineReader {
 public:
  static constexpr std::size_t kLineMax = std::size_t{1} << 20;
  /// Bytes after every line that may be read, whatever they hold (vector instructions do).
  static constexpr std::size_t kPadding = 64;

  explicit LineReader(const std::string& path);

  /// The next line, without its end; it lives until the next call. False: there is none.
  bool next(std::string_view& line);
  /// Whether the line that next() gave is longer than kLineMax; then only its beginning is there.
  bool cut() const noexcept { return cut_; }
  std::uint64_t number() const noexcept { return number_; }           ///< of it, from 1
  std::uint64_t last() const noexcept { return number_ + further_; }  ///< of its record's last line

  /// The record continues in the next line: `text` becomes both, with the end between them as it
  /// is. False: there is none, or both are too long; nothing has changed.
  bool extend(std::string_view& text);
  /// Takes all extensions back: the next line is the one after that of next().
  void retract();

  /// The whole lines that come next, with their ends, up to `most` bytes; at least one. Empty: the
  /// next one is longer, or has no end. next() still returns them, unless they are skipped:
  /// pass() skips so many bytes of them, and does not count their lines. Valid until another
  /// call.
  std::string_view ahead(std::size_t most);
  void pass(std::size_t bytes) noexcept { second_ = at_ += bytes; }

  const Input& input() const noexcept { return input_; }

 private:
  bool refill();
  void pass_over();
  bool find_end(std::size_t from, std::size_t& end);
  std::string_view trimmed(std::size_t begin, std::size_t end) const;

  Input input_;
  std::vector<char> buffer_;
  std::vector<char> overlong_;  // the beginning of a line that is cut
  std::size_t record_ = 0;      // of the line that next() gave, and of its extensions
  std::size_t at_ = 0;          // of the next line
  std::size_t end_ = 0;         // of the bytes that have been read
  std::size_t second_ = 0;      // where the line after that of next() begins
  std::uint64_t number_ = 0, further_ = 0;
  bool ended_ = false, cut_ = false;
};

}  // namespace weir::replay
