#include "policies/lang/extractors/json.h"

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/stream_parser.hpp>

#include "policies/lang/extractors/arena.h"
#include "replay/formats.h"
#include "replay/record_time.h"

/// One JSON object per line. Values keep their types; expressions can look into objects and arrays.
/// A repeated name has no value, because readers take different ones.
namespace weir::replay {
namespace {

using policies::Extracted;
using policies::PathStep;

constexpr std::string_view kBrokenJson = "broken JSON";
constexpr std::string_view kNoObject = "this is not a JSON object";
constexpr std::string_view kNoSuchTime = "it has no such time";
constexpr std::string_view kTimeIsNone =
    "its time is unreadable, or not between 1970 and the year 9999";

class JsonLines final : public Format {
 public:
  JsonLines(const config::SourceDef& source, std::string_view event,
            const policies::SlotTable& slots)
      : time_(source.time), time_path_{{source.time_field.value}} {
    for (const UsedColumn& used : used_columns(slots, event)) {
      paths_.push_back({{used.name}});
      presets_.push_back({used.slot, {}});
    }
  }

  Got read(std::string_view text, Row& row) override {
    arena_.reset();
    body_.reset();
    text_ = text;
    const Extracted time = find(time_path_);
    if (time.why != policies::MissReason::none) return refuse(time.why);
    const auto at = time.value.is_number()      ? time_.from_number(time.value.as_number())
                    : time.value.is(Type::text) ? time_.read(time.value.as_text())
                                                : std::nullopt;
    if (!at) return bad(place_of_time(), kTimeIsNone);
    row.time = *at;
    for (std::size_t i = 0; i < paths_.size(); ++i) {
      const Extracted got = find(paths_[i]);
      presets_[i].value = got.value;
      // A record without `time` or `event` of its own uses the built-in meaning.
    }
    present_.clear();
    for (const policies::Preset& preset : presets_) {
      if (!preset.value.is_null()) present_.push_back(preset);
    }
    row.values = present_;
    return Got::row;
  }

 private:
  Extracted find(std::span<const PathStep> path) {
    return body_.find(arena_, BodyState::complete, text_, {&kJsonType, 1}, path);
  }

  std::size_t place_of_time() const {
    const std::size_t at = text_.find("\"" + time_path_.front().name + "\"");
    return at == std::string_view::npos ? 0 : at;
  }

  Got refuse(policies::MissReason why) {
    const bool object =
        !text_.empty() && text_[std::min(text_.find_first_not_of(" \t"), text_.size() - 1)] == '{';
    if (why != policies::MissReason::unreadable) {
      return object ? bad(place_of_time(), kNoSuchTime) : bad(0, kNoObject);
    }
    // The fast parser reports no place: a slow one does, for the few lines that people look at.
    boost::json::stream_parser parser;
    boost::json::error_code error;
    const std::size_t used = parser.write_some(text_.data(), text_.size(), error);
    if (!error && parser.done() && used == text_.size())
      return bad(place_of_time(), kTimeIsNone);  // the number exceeds every double
    const std::size_t past = error == boost::json::error::extra_data ? 1 : 0;
    return bad(std::min(used >= past ? used - past : 0, text_.size()), kBrokenJson);
  }

  RecordTime time_;
  std::vector<PathStep> time_path_;
  std::vector<std::vector<PathStep>> paths_;
  std::vector<policies::Preset> presets_, present_;
  policies::Arena arena_;
  policies::BodyReader body_;
  std::string_view text_;
};

}  // namespace

std::unique_ptr<Format> make_json(const config::SourceDef& source, std::string_view event,
                                  const policies::SlotTable& slots) {
  return std::make_unique<JsonLines>(source, event, slots);
}

}  // namespace weir::replay
