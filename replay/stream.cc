#include "replay/stream.h"

#include <cstring>

namespace weir::replay {
namespace {

/// A value in quotes may hold line feeds, but a stray quote must not swallow the file.
constexpr std::size_t kRecordMost = std::size_t{256} << 10;

}  // namespace

Stream::Stream(std::string path, std::unique_ptr<Format> format, bool header, std::uint64_t most)
    : path_(std::move(path)), format_(std::move(format)), lines_(path_, most), header_(header) {}

void Stream::fault(std::size_t column, std::string_view why) {
  ++bad_;
  if (faults_.size() < kFaultsShown) faults_.push_back({lines_.number(), column, std::string(why)});
}

/// The rest of a record of several lines. If that makes no good row, its first line alone is bad,
/// and reading goes on behind it: a stray quote must not swallow what follows.
bool Stream::extend(std::string_view& text) {
  const Format::Fault open = format_->fault();
  Format::Got got = Format::Got::more;
  while (got == Format::Got::more) {
    const std::size_t before = text.size();
    if (text.size() > kRecordMost || !lines_.extend(text)) break;
    // Only a quote can close a quote: do not read it all again for every line in between.
    if (std::memchr(text.data() + before, '"', text.size() - before) != nullptr) {
      got = format_->read(text, row_);
    }
  }
  if (got == Format::Got::row) return true;
  lines_.retract();
  fault(open.column, open.why);
  return false;
}

bool Stream::next() {
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
    const Format::Got got = format_->read(text, row_);
    if (got == Format::Got::skip) continue;
    if (got == Format::Got::more && !extend(text)) continue;
    if (got == Format::Got::bad) {
      fault(format_->fault().column, format_->fault().why);
      continue;
    }
    ++rows_;
    text_ = text;
    return true;
  }
  return false;
}

}  // namespace weir::replay
