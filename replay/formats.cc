#include "replay/formats.h"

namespace weir::replay {
namespace {

struct FormatRow {
  config::SourceDef::Format format;
  std::string_view name;
  std::string_view help;
  /// The loader has checked the source: this cannot fail.
  std::unique_ptr<Format> (*make)(const config::SourceDef& source, std::string_view event,
                                  const policies::SlotTable& slots);
};

constexpr FormatRow kRows[] = {
    {config::SourceDef::Format::csv, "csv", "comma-separated values", make_csv},
    {config::SourceDef::Format::log, "log", "access logs in Apache's formats", make_access_log},
    {config::SourceDef::Format::json, "json", "one JSON object per line", make_json},
};

}  // namespace

policies::Record record_of(const Row& row, policies::EventIndex event) {
  policies::Record record{event, row.time, row.values};
  if (!row.recorded) return record;
  record.event = row.event.value_or(event);
  record.time = row.own_time;
  if (row.has_request) record.request = &row.request;
  return record;
}

std::unique_ptr<Format> make_record_format(const config::SourceDef& source, std::string_view event,
                                           const policies::SlotTable& slots) {
  for (const FormatRow& row : kRows) {
    if (row.format == source.format) return row.make(source, event, slots);
  }
  return nullptr;
}

std::vector<UsedColumn> used_columns(const policies::SlotTable& slots, std::string_view event) {
  std::vector<UsedColumn> out;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const policies::Slot& slot = slots[static_cast<policies::SlotId>(i)];
    if (slot.kind != policies::Slot::Kind::column || slot.source != event) continue;
    out.push_back({slot.argument.name, static_cast<policies::SlotId>(i)});
  }
  return out;
}

}  // namespace weir::replay
