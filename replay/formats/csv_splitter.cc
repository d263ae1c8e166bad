#include "replay/formats/csv_splitter.h"

#include <algorithm>
#include <cstring>

namespace weir::replay {
namespace {

constexpr std::string_view kFew = "fewer values than columns";
constexpr std::string_view kMany = "more values than columns";
constexpr std::string_view kQuote = "text behind a closing quote";
constexpr std::string_view kOpen = "a quote that nothing closes";

}  // namespace

CsvSplitter::Got CsvSplitter::split(std::string_view text) {
  const bool has_quotes = std::memchr(text.data(), '"', text.size()) != nullptr;
  return has_quotes ? quoted(text) : plain(text);
}

CsvSplitter::Got CsvSplitter::plain(std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  std::string_view* field = fields_.data();
  for (std::string_view* const last = field + fields_.size() - 1; field != last; ++field) {
    const char* comma = at;
    while (comma != end && *comma != ',') ++comma;
    if (comma == end) return fail(Got::bad, text.size(), kFew);
    *field = {at, static_cast<std::size_t>(comma - at)};
    at = comma + 1;
  }
  *field = {at, static_cast<std::size_t>(end - at)};
  const void* more = std::memchr(at, ',', field->size());
  if (more == nullptr) return Got::row;
  return fail(Got::bad, static_cast<std::size_t>(static_cast<const char*>(more) - text.data()),
              kMany);
}

CsvSplitter::Got CsvSplitter::quoted(std::string_view text) {
  if (scratch_.size() < text.size()) scratch_.resize(2 * text.size());
  char* room = scratch_.data();
  std::size_t at = 0;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (at > text.size()) return fail(Got::bad, text.size(), kFew);
    if (at == text.size() || text[at] != '"') {
      const std::size_t comma = std::min(text.find(',', at), text.size());
      fields_[i] = text.substr(at, comma - at);
      at = comma + 1;
      continue;
    }
    const std::size_t from = at + 1;
    std::size_t close = text.find('"', from);
    if (close == std::string_view::npos) return fail(Got::more, at, kOpen);
    if (close + 1 < text.size() && text[close + 1] == '"') {
      char* const begin = room;
      std::size_t part = from;
      for (;;) {
        const bool doubled = close + 1 < text.size() && text[close + 1] == '"';
        const std::size_t size = close - part + (doubled ? 1 : 0);
        std::memcpy(room, text.data() + part, size);
        room += size;
        if (!doubled) break;
        part = close + 2;
        close = text.find('"', part);
        if (close == std::string_view::npos) return fail(Got::more, at, kOpen);
      }
      fields_[i] = {begin, static_cast<std::size_t>(room - begin)};
    } else {
      fields_[i] = text.substr(from, close - from);
    }
    at = close + 1;
    if (at < text.size() && text[at] != ',') return fail(Got::bad, at, kQuote);
    ++at;
  }
  return at <= text.size() ? fail(Got::bad, at - 1, kMany) : Got::row;
}

}  // namespace weir::replay
