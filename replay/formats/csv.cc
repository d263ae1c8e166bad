#include <algorithm>
#include <cstring>

#include "replay/formats.h"
#include "replay/record_time.h"

/// Comma-separated values as RFC 4180 has them, and as they come: CRLF or LF, no last line end,
/// quotes inside a value that does not begin with one. Values are views into the text; only a
/// doubled quote makes a copy.
namespace weir::replay {
namespace {

using config::SourceDef;
using policies::Preset;

constexpr std::string_view kFew = "fewer values than columns";
constexpr std::string_view kMany = "more values than columns";
constexpr std::string_view kEmptyTime = "the time is empty";
constexpr std::string_view kBadTime = "this is no such time";
constexpr std::string_view kQuote = "text behind a closing quote";
constexpr std::string_view kOpen = "a quote that nothing closes";

class Csv final : public Format {
 public:
  Csv(const SourceDef& source, std::string_view event, const policies::SlotTable& slots)
      : time_(source), fields_(source.columns.size()) {
    const auto index = [&](std::string_view name) {
      const auto found = std::find_if(source.columns.begin(), source.columns.end(),
                                      [&](const config::Text& c) { return c.value == name; });
      return static_cast<std::size_t>(found - source.columns.begin());
    };
    time_column_ = index(source.time_field.value);
    for (const UsedColumn& used : used_columns(slots, event)) {
      const std::size_t column = index(used.name);
      if (column == fields_.size()) continue;  // `event` or `time` where no column has the name
      columns_.push_back(column);
      presets_.push_back({used.slot, {}});
    }
  }

  Got read(std::string_view text, Row& row) override {
    const bool quoted = std::memchr(text.data(), '"', text.size()) != nullptr;
    if (const Got got = quoted ? split_quoted(text) : split(text); got != Got::row) return got;
    const std::string_view time = fields_[time_column_];
    const auto offset = [&] {
      return std::less_equal<>{}(text.data(), time.data()) &&
                     std::less_equal<>{}(time.data(), text.data() + text.size())
                 ? static_cast<std::size_t>(time.data() - text.data())
                 : 0;
    };
    if (time.empty()) return bad(offset(), kEmptyTime);
    const auto at = time_.read(time);
    if (!at) return bad(offset(), kBadTime);
    row.time = *at;
    Preset* preset = presets_.data();
    for (const std::size_t column : columns_) {
      const std::string_view field = fields_.data()[column];
      preset++->value = field.empty() ? Value::null() : Value::text(field);
    }
    row.values = presets_;
    return Got::row;
  }

 private:
  Got split(std::string_view text) {
    const char* at = text.data();
    const char* const end = at + text.size();
    std::string_view* field = fields_.data();
    for (std::string_view* const last = field + fields_.size() - 1; field != last; ++field) {
      const char* comma = at;
      while (comma != end && *comma != ',') ++comma;
      if (comma == end) return bad(text.size(), kFew);
      *field = {at, static_cast<std::size_t>(comma - at)};
      at = comma + 1;
    }
    *field = {at, static_cast<std::size_t>(end - at)};
    const void* more = std::memchr(at, ',', field->size());
    if (more == nullptr) return Got::row;
    return bad(static_cast<std::size_t>(static_cast<const char*>(more) - text.data()), kMany);
  }

  Got split_quoted(std::string_view text) {
    if (scratch_.size() < text.size()) scratch_.resize(2 * text.size());
    char* room = scratch_.data();
    std::size_t at = 0;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      if (at > text.size()) return bad(text.size(), kFew);
      if (at == text.size() || text[at] != '"') {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        fields_[i] = text.substr(at, comma - at);
        at = comma + 1;
        continue;
      }
      const std::size_t from = at + 1;
      std::size_t close = text.find('"', from);
      if (close == std::string_view::npos) return open(at);
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
          if (close == std::string_view::npos) return open(at);
        }
        fields_[i] = {begin, static_cast<std::size_t>(room - begin)};
      } else {
        fields_[i] = text.substr(from, close - from);
      }
      at = close + 1;
      if (at < text.size() && text[at] != ',') return bad(at, kQuote);
      ++at;
    }
    return at <= text.size() ? bad(at - 1, kMany) : Got::row;
  }

  Got open(std::size_t at) {
    bad(at, kOpen);
    return Got::more;
  }

  RecordTime time_;
  std::size_t time_column_ = 0;
  std::vector<std::string_view> fields_;
  std::vector<std::size_t> columns_;
  std::vector<Preset> presets_;
  std::vector<char> scratch_;
};

}  // namespace

std::unique_ptr<Format> make_csv(const SourceDef& source, std::string_view event,
                                 const policies::SlotTable& slots) {
  return std::make_unique<Csv>(source, event, slots);
}

}  // namespace weir::replay
