#include "replay/rows.h"

#include "core/text.h"
#include "policies/actions.h"

namespace weir::replay {
namespace {

constexpr std::size_t kPiece = std::size_t{64} << 10;

void append_integer(std::string& out, std::int64_t value) { append_number(out, Number{value}); }

}  // namespace

void append_number(std::string& out, Number number) {
  if (!number.is_finite()) {
    out += "null";
    return;
  }
  char buffer[32];
  out.append(buffer, number.to_chars(buffer));
}

void append_value(std::string& out, const Value& value) {
  if (value.is_number()) {
    append_number(out, value.as_number());
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

RowWriter::RowWriter(Out out, std::vector<bool> readings)
    : out_(std::move(out)), readings_(std::move(readings)) {}

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
  out += "],\"value\":";
  append_value(out, row.value);
}

void RowWriter::reading(const Row& row) {
  if (!readings_[row.policy->index]) return;
  head(buffer_, "reading", row);
  buffer_ += "}\n";
}

void RowWriter::verdict(const Row& row, const policies::Rung& rung, std::size_t index,
                        std::optional<Number> limit) {
  head(verdicts_, "verdict", row);
  verdicts_ += ",\"do\":\"";
  verdicts_ += policies::action_row(rung.action).name;
  verdicts_ += "\",\"rung\":";
  append_integer(verdicts_, static_cast<std::int64_t>(index));
  verdicts_ += ",\"limit\":";
  if (limit) {
    append_number(verdicts_, *limit);
  } else {
    verdicts_ += "null";
  }
  // Enforced ones are as documented; what only a shadow finds must not pass for one.
  if (rung.shadow) verdicts_ += ",\"shadow\":true";
  verdicts_ += "}\n";
}

void RowWriter::pattern(const policies::MatchedPattern& match) {
  append_pattern(patterns_, match);
  patterns_ += '\n';
}

void RowWriter::end() {
  buffer_ += verdicts_;
  buffer_ += patterns_;
  verdicts_.clear();
  patterns_.clear();
  if (buffer_.size() >= kPiece) flush();
}

void RowWriter::line(std::string_view json) {
  buffer_ += json;
  buffer_ += '\n';
  if (buffer_.size() >= kPiece) flush();
}

void RowWriter::flush() {
  if (!buffer_.empty()) out_(buffer_);
  buffer_.clear();
}

}  // namespace weir::replay
