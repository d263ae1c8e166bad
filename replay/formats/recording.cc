#include "policies/lang/extractors.h"
#include "policies/lang/extractors/arena.h"
#include "policies/lang/extractors/json.h"
#include "policies/set/recorded.h"
#include "replay/formats.h"

/// Reads the files of `weir serve --record` (gate/recorder.h): values of slots under their
/// canonical text, so that other policies can use them too. Fields that the recording policies did
/// not read are missing.
namespace weir::replay {
namespace {

using policies::Preset;
using policies::Slot;

constexpr std::string_view kBrokenRecording = "broken JSON, or no recording of weir";
constexpr std::string_view kNoTs = "it has no time: ts";
constexpr std::string_view kNoWholeRequest = "it has no path, method and ip of a request";
constexpr std::string_view kNoEvent = "the configuration has no such event";

class Recording final : public Format {
 public:
  explicit Recording(const policies::PolicySet& set)
      : set_(set), fields_(policies::recorded_fields(set)), ip_(set.slots.find("ip")) {
    for (std::size_t i = 0; i < set.slots.size(); ++i) {
      const auto id = static_cast<policies::SlotId>(i);
      const Slot& slot = set.slots[id];
      const bool attribute = slot.kind == Slot::Kind::attribute &&
                             slot.extractor->form != policies::ArgumentForm::index &&
                             slot.extractor->name != "ip";
      if (!attribute && slot.kind != Slot::Kind::column && slot.kind != Slot::Kind::computed) {
        continue;
      }
      auto& side = slot.side == policies::Side::answer ? answer_ : request_;
      side.push_back(
          {id, {{slot.side == policies::Side::answer ? "answer" : "fields"}, {slot.text}}});
    }
  }

  Got read(std::string_view text, Row& row) override {
    arena_.reset();
    body_.reset();
    text_ = text;
    row = {};
    row.recorded = true;
    const policies::Extracted time = find(path("ts"));
    if (time.why == policies::MissReason::unreadable) return bad(0, kBrokenRecording);
    if (!time.value.is(Type::integer)) return bad(0, kNoTs);
    row.time = from_ms(time.value.as_integer());
    if (const Value event = find(path("event")).value; !event.is_null()) {
      row.event = event_named(event);
      if (!row.event) return bad(text.find("\"event\""), kNoEvent);
    }
    const Value ip = find(path("ip")).value;
    row.has_request = !ip.is_null();
    const bool good = row.has_request ? read_request(ip, row) : row.event.has_value();
    if (!good) return bad(0, kNoWholeRequest);
    const Value own = find(path("time")).value;
    row.own_time = own.is(Type::integer) ? from_ms(own.as_integer()) : row.time;
    row.request.time = row.own_time;
    const Value status = find(path("status")).value;
    if (status.is(Type::integer) && status.as_integer() > 0 && status.as_integer() < 1000) {
      row.answer.status = static_cast<int>(status.as_integer());
    }
    row.aborted = find(path("aborted")).value.is_true();
    fill(request_, request_values_);
    fill(answer_, answer_values_);
    if (ip_ && ip.is(Type::text) && ip.as_text().empty()) {
      request_values_.push_back({*ip_, Value::null()});
    }
    row.values = request_values_;
    row.answered = answer_values_;
    return Got::row;
  }

 private:
  struct Wanted {
    policies::SlotId slot;
    std::vector<policies::PathStep> path;
  };

  std::span<const policies::PathStep> path(std::string_view name) {
    word_[0].name = name;
    return word_;
  }
  policies::Extracted find(std::span<const policies::PathStep> at) {
    return body_.find(arena_, BodyState::complete, text_, {&kJsonType, 1}, at);
  }

  std::optional<policies::EventIndex> event_named(const Value& name) const {
    if (!name.is(Type::text)) return std::nullopt;
    for (std::size_t i = 0; i < set_.events.size(); ++i) {
      if (set_.events[i].name == name.as_text()) return static_cast<policies::EventIndex>(i);
    }
    return std::nullopt;
  }

  /// An event that was reported by its name may lack a method, a path or a caller.
  bool read_request(const Value& ip, Row& row) {
    const Value method = find(path("method")).value;
    const Value normal = find(path("path")).value;
    if (!ip.is(Type::text)) return false;
    if (const auto client = Address::parse(ip.as_text())) {
      row.request.client = *client;
    } else if (!ip.as_text().empty()) {
      return false;
    }
    if (method.is(Type::text)) row.request.method = method.as_text();
    if (normal.is(Type::text)) row.request.path = normal.as_text();
    return row.event || (method.is(Type::text) && normal.is(Type::text));
  }

  void fill(const std::vector<Wanted>& wanted, std::vector<Preset>& out) {
    out.clear();
    for (const Wanted& each : wanted) {
      const Value value = find(each.path).value;
      if (value.is_null() || value.is(Type::json) || value.is(Type::list)) continue;
      if (!fits_recorded(set_.slots[each.slot], fields_.find(each.slot), value)) continue;
      out.push_back({each.slot, value});
    }
  }

  const policies::PolicySet& set_;
  policies::RecordedFields fields_;
  std::optional<policies::SlotId> ip_;
  std::vector<Wanted> request_, answer_;
  std::vector<Preset> request_values_, answer_values_;
  std::vector<policies::PathStep> word_{{}};
  policies::Arena arena_;
  policies::BodyReader body_;
  std::string_view text_;
};

}  // namespace

std::unique_ptr<Format> make_recording(const policies::PolicySet& set) {
  return std::make_unique<Recording>(set);
}

}  // namespace weir::replay
