#include "replay/stream.h"

#include <cstring>
#include <utility>

namespace weir::replay {
namespace {

/// A value in quotes may hold line feeds, but a stray quote must not swallow the file.
constexpr std::size_t kRecordMax = std::size_t{256} << 10;

}  // namespace

FileStream::FileStream(std::string path, std::unique_ptr<Format> format, bool header)
    : Stream(std::move(path)), format_(std::move(format)), lines_(path_), header_(header) {
  row_ = &here_;
}

/// The rest of a record of several lines. If that makes no good row, its first line alone is bad,
/// and reading continues after it: a stray quote must not swallow what follows.
bool FileStream::extend(std::string_view& text) {
  const Format::Fault open = format_->fault();
  Format::Got got = Format::Got::more;
  while (got == Format::Got::more) {
    const std::size_t before = text.size();
    if (text.size() > kRecordMax || !lines_.extend(text)) break;
    // Only a quote can close a quote: do not read it all again for every line in between.
    if (std::memchr(text.data() + before, '"', text.size() - before) != nullptr) {
      got = format_->read(text, here_);
    }
  }
  if (got == Format::Got::row) return true;
  lines_.retract();
  fault(open.column, open.why);
  return false;
}

bool FileStream::next() {
  std::string_view text;
  while (lines_.next(text)) {
    if (header_) {
      header_ = false;
      continue;
    }
    if (text.empty()) continue;
    if (lines_.cut()) {
      fault(1, "a line of more than 1 MiB");
      continue;
    }
    const Format::Got got = format_->read(text, here_);
    if (got == Format::Got::skip) continue;
    if (got == Format::Got::more && !extend(text)) continue;
    if (got == Format::Got::bad) {
      fault(format_->fault().column, format_->fault().why);
      continue;
    }
    ++rows_;
    text_ = text;
    line_ = lines_.number();
    return true;
  }
  return false;
}

std::string_view FileStream::take_lines(std::size_t most) {
  if (header_) return {};
  const std::string_view text = lines_.ahead(most);
  if (text.empty() || !format_->stands_alone(text)) return {};
  lines_.pass(text.size());
  return text;
}

}  // namespace weir::replay
