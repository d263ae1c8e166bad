#include "core/chars/ascii.h"
#include "core/json_numbers.h"
#include "core/text.h"
#include "replay/report.h"
#include "replay/rows.h"

/// The report as one JSON document.
namespace weir::replay {
namespace {

/// Writes members and items with their commas.
class JsonWriter {
 public:
  std::string out;

  JsonWriter& key(std::string_view name) {
    comma();
    append_json(out, name);
    out += ':';
    first_ = true;
    return *this;
  }
  void text(std::string_view value) { comma(), append_json(out, value), first_ = false; }
  void number(std::uint64_t value) { comma(), out += std::to_string(value), first_ = false; }
  void real(double value) { comma(), append_json_number(out, Number::real(value)), first_ = false; }
  /// A number as it is shown; none, or one that JSON can't write: null.
  void shown(std::string_view number) {
    const bool finite = !number.empty() && ascii::is_digit(number.back());
    comma(), out += finite ? number : "null", first_ = false;
  }
  void boolean(bool value) { comma(), out += value ? "true" : "false", first_ = false; }
  void begin(char bracket) { comma(), out += bracket, first_ = true; }
  void end(char bracket) { out += bracket, first_ = false; }
  void texts(const std::vector<std::string>& all) {
    begin('[');
    for (const std::string& one : all) text(one);
    end(']');
  }

 private:
  void comma() {
    if (!first_) out += ',';
    first_ = false;
  }
  bool first_ = true;
};

void write(JsonWriter& j, const FileReport& file) {
  j.begin('{');
  j.key("event").text(file.event);
  j.key("path").text(file.path);
  j.key("rows").number(file.rows);
  j.key("bad").number(file.bad);
  j.key("faults").texts(file.faults);
  j.end('}');
}

void write(JsonWriter& j, const RungReport& rung) {
  j.begin('{');
  j.key("rung").text(rung.text);
  j.key("do").text(rung.action);
  if (rung.shadow) j.key("shadow").boolean(true);
  j.key("verdicts").number(rung.verdicts);
  if (rung.limit) j.key("limit").real(*rung.limit);
  if (rung.keys_share) j.key("keys_share").real(*rung.keys_share);
  j.end('}');
}

void write(JsonWriter& j, const PolicyReport& policy) {
  j.begin('{');
  j.key("policy").text(policy.name);
  j.key("counter").text(policy.counter);
  j.key("key").text(policy.key);
  j.key("events").number(policy.events);
  j.key("keys").number(policy.keys);
  if (policy.keys_estimated) j.key("keys_estimated").boolean(true);
  j.key("keys_hit").number(policy.keys_hit);
  j.key("verdicts").number(policy.verdicts);
  j.key("missing").number(policy.missing);
  if (policy.unread > 0) j.key("unread").number(policy.unread);
  if (policy.amounts_refused > 0) j.key("amounts_refused").number(policy.amounts_refused);
  j.key("late").number(policy.late);
  for (std::size_t k = 0; policy.pattern && k < policy.matches.size(); ++k) {
    j.key(match_word(static_cast<limiter::MatchKind>(k))).number(policy.matches[k]);
  }
  if (policy.remembered > 0) j.key("remembered").number(policy.remembered);
  if (policy.listed > 0) j.key("listed").number(policy.listed);
  if (!policy.cells.empty()) {
    j.key("cells").begin('[');
    for (const CellReport& cell : policy.cells) {
      j.begin('{');
      j.key("cell").text(cell.cell);
      j.key("limit").shown(cell.limit);
      j.key("verdicts").number(cell.verdicts);
      j.end('}');
    }
    j.end(']');
  }
  j.key("rungs").begin('[');
  for (const RungReport& rung : policy.rungs) write(j, rung);
  j.end(']');
  j.key("hardest").begin('[');
  for (const KeyReport& key : policy.hardest) {
    j.begin('{');
    j.key("key").text(key.key);
    j.key("first").number(static_cast<std::uint64_t>(to_ms(key.first)));
    j.key("value").shown(key.value);
    j.key("do").text(key.rung);
    j.key("verdicts").number(key.verdicts);
    j.end('}');
  }
  j.end(']');
  j.key("histogram_of").text(policy.lowest ? "lowest" : "highest");
  j.key("histogram").begin('[');
  for (const Bar& bar : policy.bars) {
    j.begin('{');
    j.key("upto").real(bar.upto);
    j.key("keys").number(bar.keys);
    j.end('}');
  }
  j.end(']');
  j.end('}');
}

void write(JsonWriter& j, const ViewReport& view) {
  j.begin('{');
  j.key("view").text(view.name);
  j.key("columns").texts(view.columns);
  j.key("windows").number(view.windows);
  if (view.windows > 0) {
    j.key("start").number(static_cast<std::uint64_t>(to_ms(view.start)));
    j.key("end").number(static_cast<std::uint64_t>(to_ms(view.end)));
    j.key("complete").boolean(view.complete);
    j.key("total").shown(view.total);
    j.key("rows").begin('[');
    for (const auto& row : view.shown) {
      j.begin('[');
      for (std::size_t i = 0; i + 1 < row.size(); ++i) j.text(row[i]);
      j.shown(row.back());
      j.end(']');
    }
    j.end(']');
  }
  j.key("missing").number(view.missing);
  j.key("late").number(view.late);
  j.end('}');
}

void write(JsonWriter& j, const Timeline& timeline, const std::vector<Report::Effect>& effects) {
  j.begin('{');
  j.key("start").number(static_cast<std::uint64_t>(to_ms(timeline.start())));
  j.key("width").number(static_cast<std::uint64_t>(timeline.width().count()));
  for (const Report::Effect& effect : effects) {
    if (effect.events == 0) continue;
    j.key(effect.name).begin('[');
    for (const auto& column : timeline.columns()) j.number(column[effect.action]);
    j.end(']');
  }
  j.end('}');
}

void write(JsonWriter& j, const LabelReport& label) {
  j.begin('{');
  j.key("policy").text(label.policy);
  j.key("keys_hit").number(label.hit);
  j.key("confirmed").number(label.confirmed);
  j.key("labels").number(label.labels);
  if (label.precision()) j.key("precision").real(*label.precision());
  if (label.recall()) j.key("recall").real(*label.recall());
  j.end('}');
}

void write(JsonWriter& j, const Difference& d) {
  j.begin('{');
  j.key("policy").text(d.policy);
  j.key("here").boolean(d.here);
  j.key("there").boolean(d.there);
  j.key("verdicts_here").number(d.verdicts_here);
  j.key("verdicts_there").number(d.verdicts_there);
  j.key("keys_both").number(d.both);
  j.key("keys_only_here").number(d.only_here);
  j.key("keys_only_there").number(d.only_there);
  j.key("some_only_here").texts(d.keys_only_here);
  j.key("some_only_there").texts(d.keys_only_there);
  j.end('}');
}

}  // namespace

std::string report_json(const Report& report) {
  JsonWriter j;
  j.begin('{');
  j.key("rows").number(report.rows);
  j.key("bad").number(report.bad);
  if (report.refused_paths > 0) j.key("refused_paths").number(report.refused_paths);
  j.key("late").number(report.late);
  j.key("dropped").number(report.dropped);
  j.key("events").number(report.events);
  if (report.first) {
    j.key("first").number(static_cast<std::uint64_t>(to_ms(*report.first)));
    j.key("last").number(static_cast<std::uint64_t>(to_ms(*report.last)));
  }
  j.key("verdicts").begin('{');
  for (const Report::Effect& effect : report.effects) j.key(effect.name).number(effect.events);
  j.end('}');
  if (!report.timeline.columns().empty()) {
    j.key("timeline");
    write(j, report.timeline, report.effects);
  }
  if (!report.listed.empty()) {
    j.key("lists").begin('{');
    for (const Report::Listed& list : report.listed) j.key(list.list).number(list.events);
    j.end('}');
  }
  if (!report.labels.empty()) {
    j.key("labels").begin('[');
    for (const LabelReport& label : report.labels) write(j, label);
    j.end(']');
  }
  j.key("files").begin('[');
  for (const FileReport& file : report.files) write(j, file);
  j.end(']');
  j.key("policies").begin('[');
  for (const PolicyReport& policy : report.policies) write(j, policy);
  j.end(']');
  if (!report.views.empty()) {
    j.key("views").begin('[');
    for (const ViewReport& view : report.views) write(j, view);
    j.end(']');
  }
  if (!report.other.empty()) {
    j.key("against").text(report.other);
    j.key("verdicts_there").begin('{');
    for (const Report::Effect& effect : report.other_effects)
      j.key(effect.name).number(effect.events);
    j.end('}');
    j.key("differences").begin('[');
    for (const Difference& d : report.differences) write(j, d);
    j.end(']');
  }
  j.key("unknown").texts(report.unknown);
  j.end('}');
  return plain_numbers(std::move(j.out)) + "\n";
}

}  // namespace weir::replay
