#include "replay/rows.h"

#include "core/chars/csv.h"
#include "core/json_numbers.h"
#include "core/text.h"
#include "core/words.h"

namespace weir::replay {
namespace {

constexpr std::size_t kPiece = std::size_t{64} << 10;

void append_integer(std::string& out, std::int64_t value) {
  append_json_number(out, Number{value});
}

}  // namespace

void append_value(std::string& out, const Value& value) {
  if (value.is_number()) {
    append_json_number(out, value.as_number());
  } else if (value.is(Type::boolean)) {
    out += value.as_boolean() ? "true" : "false";
  } else if (value.is(Type::text)) {
    append_json(out, value.as_text());
  } else {
    out += "null";
  }
}

std::string_view match_word(limiter::MatchKind kind) noexcept {
  switch (kind) {
    case limiter::MatchKind::timeout:
      return "timeout";
    case limiter::MatchKind::unmatched:
      return "unmatched";
    case limiter::MatchKind::matched:
      break;
  }
  return "matched";
}

void append_pattern(std::string& out, const policies::MatchedPattern& match) {
  out += "{\"type\":\"pattern\",\"policy\":";
  append_json(out, match.policy->name);
  out += ",\"key\":[";
  for (std::size_t i = 0; i < match.key.size(); ++i) {
    if (i != 0) out += ',';
    append_json(out, match.key[i]);
  }
  out += "],\"ts\":";
  append_integer(out, to_ms(match.fires));
  out += ",\"kind\":\"";
  out += match_word(match.kind);
  out += "\",\"events\":[";
  for (std::size_t i = 0; i < match.events.size(); ++i) {
    out += i == 0 ? "{\"event\":" : ",{\"event\":";
    append_json(out, match.events[i].name);
    out += ",\"line\":";
    append_integer(out, static_cast<std::int64_t>(match.events[i].line));
    out += ",\"ts\":";
    append_integer(out, to_ms(match.events[i].ts));
    out += '}';
  }
  out += "]}";
}

RowWriter::RowWriter(Out out, std::vector<bool> readings, Form form)
    : out_(std::move(out)), readings_(std::move(readings)), form_(form) {
  if (form_ == Form::csv) buffer_ = "type,policy,event,line,ts,key,value,do,rung,limit,shadow\n";
}

RowWriter::RowWriter(RowPieces& pieces, std::vector<bool> readings, Form form)
    : readings_(std::move(readings)), form_(form), pieces_(&pieces) {}

std::string& RowWriter::place_of(Kind kind) {
  if (pieces_ != nullptr) return pieces_->text;
  return kind == Kind::reading      ? buffer_
         : kind == Kind::verdict    ? verdicts_
         : kind == Kind::remembered ? remembered_
         : kind == Kind::listed     ? listed_
                                    : patterns_;
}

void RowWriter::written(Kind kind, std::size_t begin, std::size_t policy, bool answered) {
  if (pieces_ == nullptr) return;
  const std::uint32_t rank = static_cast<std::uint32_t>(kind) << 20 |
                             static_cast<std::uint32_t>(answered ? 1 : 0) << 17 |
                             static_cast<std::uint32_t>(policy);
  pieces_->add(step_, 0, rank, begin);
}

/// `verdict,login-per-ip,login,7,1714521600762,203.0.113.7,6`: the columns that both rows have.
void RowWriter::csv_head(std::string& out, std::string_view type, const Row& row) const {
  out.append(type).append(",");
  append_csv_cell(out, row.policy->name);
  out += ',';
  append_csv_cell(out, row.event->name);
  out += ',';
  append_integer(out, static_cast<std::int64_t>(line_));
  out += ',';
  append_integer(out, to_ms(time_));
  out += ',';
  std::string key;
  bool first = true;
  for (const Value& part : row.key->parts()) {
    if (!first) key += ", ";
    first = false;
    append_canonical(key, part);
  }
  append_csv_cell(out, key);
  out += ',';
  std::string value;
  const bool is_real = row.value.is(Type::real);
  const Value told = is_real ? Value::number(row.value.as_number().finite()) : row.value;
  if (append_canonical(value, told)) append_csv_cell(out, value);
}

void RowWriter::head(std::string& out, std::string_view type, const Row& row) const {
  out += "{\"type\":\"";
  out += type;
  out += "\",\"policy\":";
  append_json(out, row.policy->name);
  out += ",\"event\":";
  append_json(out, row.event->name);
  out += ",\"line\":";
  append_integer(out, static_cast<std::int64_t>(line_));
  out += ",\"ts\":";
  append_integer(out, to_ms(time_));
  out += ",\"key\":[";
  std::string text;
  bool first = true;
  for (const Value& part : row.key->parts()) {
    if (!first) out += ',';
    first = false;
    text.clear();
    if (append_canonical(text, part)) {
      append_json(out, text);
    } else {
      out += "null";
    }
  }
  out += ']';
}

void RowWriter::reading(const Row& row) {
  if (!readings_[row.policy->index]) return;
  std::string& out = place_of(Kind::reading);
  const std::size_t begin = out.size();
  if (form_ == Form::csv) {
    csv_head(out, "reading", row);
    out += ",,,,\n";
  } else {
    head(out, "reading", row);
    out += ",\"value\":";
    append_value(out, row.value);
    out += "}\n";
  }
  written(Kind::reading, begin, row.policy->index, row.answered);
}

void RowWriter::rung_row(std::string& out, std::string_view type, const Row& row,
                         const policies::Rung& rung, std::size_t index,
                         std::optional<Number> limit) const {
  if (form_ == Form::csv) {
    csv_head(out, type, row);
    out.append(",").append(row_of(rung.action).name).append(",");
    append_integer(out, static_cast<std::int64_t>(index));
    out += ',';
    if (limit) append_json_number(out, *limit);
    out += rung.shadow ? ",true\n" : ",\n";
    return;
  }
  head(out, type, row);
  out += ",\"value\":";
  append_value(out, row.value);
  out += ",\"do\":\"";
  out += row_of(rung.action).name;
  out += "\",\"rung\":";
  append_integer(out, static_cast<std::int64_t>(index));
  out += ",\"limit\":";
  if (limit) {
    append_json_number(out, *limit);
  } else {
    out += "null";
  }
  // Enforced ones are as documented; a shadow's verdict must not look like one.
  if (rung.shadow) out += ",\"shadow\":true";
  out += "}\n";
}

void RowWriter::verdict(const Row& row, const policies::Rung& rung, std::size_t index,
                        std::optional<Number> limit) {
  std::string& out = place_of(Kind::verdict);
  const std::size_t begin = out.size();
  rung_row(out, "verdict", row, rung, index, limit);
  written(Kind::verdict, begin, row.policy->index, row.answered);
}

void RowWriter::remembered(const Row& row, const policies::Rung& rung, std::size_t index,
                           std::optional<Number> limit) {
  std::string& out = place_of(Kind::remembered);
  const std::size_t begin = out.size();
  rung_row(out, "remembered", row, rung, index, limit);
  written(Kind::remembered, begin, row.policy->index, row.answered);
}

void RowWriter::listed(const Row& row, const policies::List& list) {
  std::string& out = place_of(Kind::listed);
  const std::size_t begin = out.size();
  const std::string_view action = row_of(list.effect).name;
  if (form_ == Form::csv) {
    csv_head(out, "listed", row);
    out.append(",").append(action).append(list.shadow ? ",,,true\n" : ",,,\n");
  } else {
    head(out, "listed", row);
    out += ",\"list\":";
    append_json(out, list.name);
    out.append(",\"do\":\"").append(action).append("\"");
    out += list.shadow ? ",\"shadow\":true}\n" : "}\n";
  }
  written(Kind::listed, begin, row.policy->index, row.answered);
}

void RowWriter::pattern(const policies::MatchedPattern& match, bool answered) {
  if (form_ == Form::csv) return;  // its rungs have verdicts
  std::string& out = place_of(Kind::pattern);
  const std::size_t begin = out.size();
  append_pattern(out, match);
  out += '\n';
  written(Kind::pattern, begin, 0, answered);  // in the order in which they come
}

void RowWriter::end() {
  buffer_ += verdicts_;
  buffer_ += remembered_;
  buffer_ += listed_;
  buffer_ += patterns_;
  listed_.clear();
  verdicts_.clear();
  remembered_.clear();
  patterns_.clear();
  if (buffer_.size() >= kPiece) flush();
}

void RowWriter::line(std::string_view json) {
  if (form_ == Form::csv) return;
  buffer_ += json;
  buffer_ += '\n';
  if (buffer_.size() >= kPiece) flush();
}

void RowWriter::timed(TimePoint time, std::uint32_t rank, std::string_view json) {
  if (pieces_ == nullptr) return line(json);
  if (form_ == Form::csv) return;
  const std::size_t begin = pieces_->text.size();
  pieces_->text.append(json).append("\n");
  pieces_->add(step_, to_ms(time), rank, begin);
}

void RowWriter::lines(std::string_view text) {
  buffer_ += text;
  if (buffer_.size() >= kPiece) flush();
}

void RowWriter::flush() {
  if (!buffer_.empty()) out_(buffer_);
  buffer_.clear();
}

}  // namespace weir::replay
