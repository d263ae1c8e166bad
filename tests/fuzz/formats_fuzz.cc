#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "config/load.h"
#include "core/key.h"
#include "replay/formats.h"
#include "replay/lines.h"

/// The readers of records, on any lines: values are views into the line or the reader's own memory
/// (the sanitizers see to that), times are in range, and a fault names a place in the line.
namespace {

using weir::replay::Format;

constexpr const char* kConfig = R"(weir: 1
events:
  csv: {source: {csv: [a, _, b, ts], time: {field: ts, as: seconds}}}
  csvp: {source: {csv: [ts, a], time: {field: ts, as: '%Y/%m/%d %I:%M:%S %p %z %a %j'}}}
  log: {source: {log: combined}}
  logq: {source: {log: '%v %U%q [%t] %m "%{X-Y}i" %b', time: {as: '%d %B %y %T %Z'}}}
  json: {source: {json: true, time: {field: ts, as: millis}}}
)";

struct Readers {
  weir::policies::SlotTable slots;
  std::vector<std::unique_ptr<Format>> all;

  Readers() {
    const weir::config::Loaded loaded = weir::config::load_text("fuzz.yaml", kConfig);
    if (!loaded.model) std::abort();
    for (const char* event : {"csv", "csvp", "log", "logq", "json"}) {
      for (const char* column :
           {"a", "b", "ts", "ip", "url", "path", "query", "user_agent", "x_y", "method"}) {
        slots.column(event, column, weir::Type::text);
      }
    }
    for (const auto& event : loaded.model->events) {
      all.push_back(weir::replay::make_record_format(*event.source, event.name.value, slots));
    }
    std::string problem;
    static const weir::policies::PolicySet set;
    all.push_back(weir::replay::make_request_format("", set, problem));
    all.push_back(
        weir::replay::make_request_format("%v:%p %h %t \"%r\" %>s %O %{Cookie}i", set, problem));
  }
};

std::uint64_t touch(std::string_view text) {
  std::uint64_t sum = text.size();
  for (const char c : text) sum = sum * 31 + static_cast<unsigned char>(c);
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Readers readers;
  [[maybe_unused]] static volatile std::uint64_t sink;
  if (size == 0) return 0;
  Format& format = *readers.all[data[0] % readers.all.size()];
  // A line of its own memory, with the padding that readers may look at.
  const std::string_view all(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::vector<char> memory(all.begin(), all.end());
  memory.resize(all.size() + weir::replay::LineReader::kPadding);
  weir::replay::Row row;
  const Format::Got got = format.read({memory.data(), all.size()}, row);
  if (got != Format::Got::row) {
    if (format.fault().column < 1 || format.fault().column > all.size() + 1 ||
        format.fault().why.empty())
      std::abort();
    return 0;
  }
  if (weir::to_ms(row.time) < 0 || weir::to_ms(row.time) > 253'402'300'799'999) std::abort();
  std::string text;
  for (const auto& preset : row.values) weir::append_canonical(text, preset.value);
  std::uint64_t sum = touch(text);
  for (const std::string_view view : {row.request.method, row.request.target, row.request.path,
                                      row.request.query, row.request.host}) {
    sum += touch(view);
  }
  for (const auto& field : row.request.headers) sum += touch(field.name) + touch(field.value);
  for (const auto& field : row.answer.headers) sum += touch(field.name) + touch(field.value);
  sink = sum;
  return 0;
}
