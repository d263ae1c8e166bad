#include <algorithm>
#include <functional>

#include "replay/formats.h"
#include "replay/formats/csv_splitter.h"
#include "replay/record_time.h"

/// Comma-separated values as the records of an event.
namespace weir::replay {
namespace {

using config::SourceDef;
using policies::Preset;

constexpr std::string_view kEmptyTime = "the time is empty";
constexpr std::string_view kBadTime = "the time does not have this format";

class Csv final : public Format {
 public:
  Csv(const SourceDef& source, std::string_view event, const policies::SlotTable& slots)
      : time_(source.time), fields_(source.columns.size()) {
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

  bool stands_alone(std::string_view text) const override {
    return text.find('"') == std::string_view::npos;
  }

  Got read(std::string_view text, Row& row) override {
    if (const auto got = fields_.split(text); got != CsvSplitter::Got::row) {
      bad(fields_.offset(), fields_.why());
      return got == CsvSplitter::Got::more ? Got::more : Got::bad;
    }
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
  RecordTime time_;
  std::size_t time_column_ = 0;
  CsvSplitter fields_;
  std::vector<std::size_t> columns_;
  std::vector<Preset> presets_;
};

}  // namespace

std::unique_ptr<Format> make_csv(const SourceDef& source, std::string_view event,
                                 const policies::SlotTable& slots) {
  return std::make_unique<Csv>(source, event, slots);
}

}  // namespace weir::replay
