#include <algorithm>

#include "config/text/units.h"
#include "core/chars/ascii.h"
#include "core/chars/parse.h"
#include "core/http_status.h"
#include "core/key.h"
#include "core/text.h"
#include "policies/lang/extractors/arena.h"
#include "policies/lang/extractors/json.h"
#include "replay/formats.h"
#include "replay/formats/csv_splitter.h"
#include "replay/formats/log_time.h"
#include "replay/formats/request_target.h"
#include "replay/record_time.h"

/// JSON lines and csv files as HTTP requests (`--map`). The request is put together as the proxy
/// would have got it (headers, cookies, a JSON body), so that the policies read it by the same
/// code.
namespace weir::replay {
namespace {

using policies::PathStep;
using MappedPart = Mapping::Part;

constexpr std::string_view kNoMappedTime = "it has no time";
constexpr std::string_view kUnknownTime =
    "its time has an unknown format: say ts.seconds, ts.millis, "
    "ts.micros, ts.nanos or a pattern such as 'ts.%d.%m.%Y %H:%M:%S'";
constexpr std::string_view kNoMappedRequest = "it has no method and path";
constexpr std::string_view kNoMappedAddress = "the caller is not an address";
constexpr std::string_view kNoMappedStatus = "this is not a status";
constexpr std::string_view kBadPath = "a path that the proxy refuses";
constexpr std::string_view kNoMappedJson = "this is not a JSON object";

class Mapped final : public Format {
 public:
  Mapped(std::shared_ptr<MappedColumns> columns, const policies::PolicySet& set)
      : columns_(std::move(columns)), values_(columns_->mapping.fields.size()), parts_(set) {
    for (const Mapping::Field& field : columns_->mapping.fields) {
      if (field.form) take_form(*field.form);
      whole_.push_back({{field.source}});
      auto& path = paths_.emplace_back();
      for (std::size_t from = 0; from <= field.source.size();) {
        const std::size_t dot = std::min(field.source.find('.', from), field.source.size());
        path.push_back({field.source.substr(from, dot - from)});
        from = dot + 1;
      }
    }
    texts_.resize(values_.size());
  }

  bool stands_alone(std::string_view text) const override {
    return columns_->known && (columns_->is_json || text.find('"') == std::string_view::npos);
  }

  Got read(std::string_view text, Row& row) override {
    if (!columns_->known) {  // the first line of the file names the columns
      columns_->known = true;
      columns_->is_json = text.starts_with('{');
      if (!columns_->is_json) return read_header(text);
    }
    if (!columns_->problem.empty()) return bad(0, columns_->problem);
    const Got got = columns_->is_json ? read_json(text) : read_csv(text);
    return got == Got::row ? build(row) : got;
  }

 private:
  // The values of the line.

  Got read_header(std::string_view text) {
    std::size_t columns = 1;
    bool quoted = false;  // by quotes that begin a name: a comma in them ends none
    char before = ',';
    for (const char c : text) {
      if (c == '"' && (quoted || before == ',' || before == '"')) quoted = !quoted;
      if (c == ',' && !quoted) ++columns;
      before = c;
    }
    CsvSplitter names(columns);
    if (names.split(text) != CsvSplitter::Got::row) {
      columns_->problem = "the first line has no names of columns: " + std::string(names.why());
      return bad(names.offset(), columns_->problem);
    }
    std::string all;
    for (std::size_t i = 0; i < names.size(); ++i)
      all += (i == 0 ? "" : ", ") + std::string(names[i]);
    for (const Mapping::Field& field : columns_->mapping.fields) {
      const auto* const end = names.data() + names.size();
      const auto* const found = std::find(names.data(), end, field.source);
      if (found == end && columns_->problem.empty()) {
        columns_->problem =
            "the first line names no column \"" + field.source + "\"; it has " + all;
      }
      if (found != end && std::find(found + 1, end, field.source) != end) {
        columns_->problem = "the first line names the column \"" + field.source + "\" twice";
      }
      columns_->places.push_back(static_cast<std::size_t>(found - names.data()));
    }
    columns_->count = names.size();
    return columns_->problem.empty() ? Got::skip : bad(0, columns_->problem);
  }

  Got read_csv(std::string_view text) {
    if (!splitter_) splitter_.emplace(columns_->count);
    if (const auto got = splitter_->split(text); got != CsvSplitter::Got::row) {
      bad(splitter_->offset(), splitter_->why());
      return got == CsvSplitter::Got::more ? Got::more : Got::bad;
    }
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const std::string_view value = (*splitter_)[columns_->places[i]];
      values_[i] = value.empty() ? Value::null() : Value::text(value);
    }
    return Got::row;
  }

  Got read_json(std::string_view text) {
    arena_.reset();
    body_.reset();
    const auto find = [&](std::span<const PathStep> path) {
      return body_.find(arena_, BodyState::complete, text, {&kJsonType, 1}, path);
    };
    bool any_readable = false;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      policies::Extracted found = find(whole_[i]);
      if (found.value.is_null() && paths_[i].size() > 1) found = find(paths_[i]);
      any_readable = any_readable || found.why != policies::MissReason::unreadable;
      // An integer beyond 64 bits has no value, and neither has a repeated name.
      values_[i] = found.value.is_error() ? Value::null() : found.value;
    }
    return any_readable ? Got::row : bad(0, kNoMappedJson);
  }

  // The request that the line describes.

  /// Empty: there is none.
  std::string_view text_at(std::size_t i) {
    const Value& value = values_[i];
    if (value.is(Type::text)) return value.as_text();
    texts_[i].clear();
    return append_canonical(texts_[i], value) ? std::string_view(texts_[i]) : std::string_view{};
  }
  std::string_view text_of(MappedPart part) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (columns_->mapping.fields[i].part == part) return text_at(i);
    }
    return {};
  }
  const Value& value_of(MappedPart part) const {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (columns_->mapping.fields[i].part == part) return values_[i];
    }
    return none_;
  }

  Got build(Row& row) {
    const Value& when = value_of(MappedPart::time);
    if (when.is_null()) return bad(0, kNoMappedTime);
    const auto time = time_of(when);
    if (!time) return bad(0, wrong_time_);
    row.recorded = false;
    row.time = *time;
    Request& request = row.request;
    request = {};
    request.time = row.time;
    request.method = text_of(MappedPart::method);
    request.target = text_of(MappedPart::url);
    if (request.method.empty() || request.target.empty())
      split_line(text_of(MappedPart::request), request);
    if (request.method.empty() || request.target.empty()) return bad(0, kNoMappedRequest);
    if (const std::string_view query = text_of(MappedPart::query); !query.empty()) {
      const bool has_one = request.target.find('?') != std::string_view::npos;
      target_.assign(request.target).append(has_one ? "&" : "?");
      target_.append(query.substr(query.starts_with('?') ? 1 : 0));
      request.target = target_;
    }
    const auto client = client_of(text_of(MappedPart::ip));
    if (!client) return bad(0, kNoMappedAddress);
    request.client = *client;
    const RequestTarget::Taken taken = parts_.take(text_of(MappedPart::host), request);
    if (taken == RequestTarget::Taken::none) return bad(0, kBadPath);
    row.refused = taken == RequestTarget::Taken::refused;
    request.headers = headers(MappedPart::header, MappedPart::body, headers_, cookies_);
    request.body_state = body_of(MappedPart::body, request_body_, request.body);
    return take_mapped_answer(row);
  }

  void take_form(const TimeForm& form) {
    formed_.emplace(form);
    numbers_ = form.unit.has_value();
    wrong_time_ = numbers_ ? "its time is not a number of " + std::string(row_of(*form.unit).noun) +
                                 " between 1970 and the year 9999"
                           : "its time is not in the form " + form.pattern;
  }
  std::optional<TimePoint> time_of(const Value& when) {
    if (!formed_) return unformed_.read(when);
    if (numbers_ && when.is_number()) return formed_->from_number(when.as_number());
    return formed_->read(text_of(MappedPart::time));
  }

  /// An address, also with the port of its connection: `203.0.113.7:4711`, `[2001:db8::1]:4711`.
  static std::optional<Address> client_of(std::string_view text) {
    if (const auto address = Address::parse(text)) return address;
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos || colon + 1 == text.size()) return std::nullopt;
    if (text.find_first_not_of("0123456789", colon + 1) != std::string_view::npos)
      return std::nullopt;
    std::string_view host = text.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    return Address::parse(host);
  }

  static void split_line(std::string_view line, Request& request) {
    const std::size_t first = line.find(' ');
    if (first == std::string_view::npos) return;
    const std::size_t last = line.rfind(' ');
    request.method = line.substr(0, first);
    request.target = line.substr(first + 1, last > first ? last - first - 1 : line.size());
  }

  /// The fields of one side; a body that is made up here is JSON.
  std::span<const HeaderField> headers(MappedPart part, MappedPart body,
                                       std::vector<HeaderField>& into, std::string& cookies) {
    into.clear();
    cookies.clear();
    bool typed = false;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const Mapping::Field& field = columns_->mapping.fields[i];
      if (values_[i].is_null() || values_[i].is(Type::json)) continue;  // no text of a header
      if (field.part == part) {
        into.push_back({field.name, text_at(i)});
        typed = typed || field.name == kJsonType.name;
      } else if (field.part == MappedPart::cookie && part == MappedPart::header) {
        cookies += (cookies.empty() ? "" : "; ") + field.name + "=" + std::string(text_at(i));
      }
    }
    if (!cookies.empty()) into.push_back({"cookie", cookies});
    if (!typed && columns_->mapping.has(body)) into.push_back(kJsonType);
    return into;
  }

  /// A column has no type. Policies read mostly numbers and conditions of an answer; of a request
  /// they read mostly names, which may look like numbers.
  static void append_column(std::string& room, std::string_view text) {
    const std::size_t sign = text.starts_with('-') ? 1 : 0;
    const bool digit = text.size() > sign && ascii::is_digit(text[sign]);
    const bool padded = text.size() > sign + 1 && text[sign] == '0' &&
                        ascii::is_digit(text[sign + 1]);  // 007 is a name
    const auto number = digit && !padded ? config::parse_number(text) : config::Parsed<Number>{};
    if (number) {
      room += number.value->to_string();
    } else if (text == "true" || text == "false") {
      room += text;
    } else {
      append_json(room, text);
    }
  }

  BodyState body_of(MappedPart part, std::string& room, std::string_view& out) {
    if (!columns_->mapping.has(part)) return BodyState::not_read;
    room = "{";
    std::span<const std::string> open;  // the members around the next one
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const Mapping::Field& field = columns_->mapping.fields[i];
      if (field.part != part || values_[i].is_null()) continue;
      const auto around = std::span(field.path).first(field.path.size() - 1);
      const auto apart = std::mismatch(open.begin(), open.end(), around.begin(), around.end());
      room.append(static_cast<std::size_t>(open.end() - apart.first), '}');
      if (room.back() != '{') room += ',';
      for (auto name = apart.second; name != around.end(); ++name) {
        append_json(room, *name);
        room += ":{";
      }
      open = around;
      append_json(room, field.path.back());
      room += ':';
      if (values_[i].is(Type::json)) {
        policies::append_json_text(room, values_[i].as_json());
      } else if (values_[i].is_number() || values_[i].is(Type::boolean)) {
        room += text_at(i);
      } else if (!columns_->is_json && part == MappedPart::answer_body) {
        append_column(room, text_at(i));
      } else {
        append_json(room, text_at(i));
      }
    }
    room.append(open.size() + 1, '}');
    room.reserve(room.size() + 64);  // the reader of JSON looks beyond the end
    out = room;
    return BodyState::complete;
  }

  Got take_mapped_answer(Row& row) {
    row.answer = {};
    if (const std::string_view status = text_of(MappedPart::status); !status.empty()) {
      const auto code = parse_whole<int>(status);
      if (!code || *code < 0 || *code > 999) return bad(0, kNoMappedStatus);
      row.answer.status = *code;
    }
    static_cast<void>(
        headers(MappedPart::answer_header, MappedPart::answer_body, answer_headers_, unused_));
    if (const std::string_view bytes = text_of(MappedPart::bytes); !bytes.empty())
      answer_headers_.push_back({"content-length", bytes});
    row.answer.headers = answer_headers_;
    row.answer.body_state = body_of(MappedPart::answer_body, answer_body_, row.answer.body);
    if (row.answer.body_state == BodyState::complete)
      mark_partial(row.answer, row.request.method == "HEAD");
    return Got::row;
  }

  std::shared_ptr<MappedColumns> columns_;
  std::vector<Value> values_;
  std::vector<std::string> texts_;  // of values that are not texts
  std::vector<std::vector<PathStep>> whole_, paths_;
  std::optional<CsvSplitter> splitter_;
  policies::Arena arena_;
  policies::BodyReader body_;
  LogTime unformed_;
  std::optional<RecordTime> formed_;  // as the mapping says
  bool numbers_ = false;              // of a unit, not texts
  std::string wrong_time_{kUnknownTime};
  RequestTarget parts_;
  Value none_;
  std::string target_, cookies_, unused_, request_body_, answer_body_;
  std::vector<HeaderField> headers_, answer_headers_;
};

}  // namespace

std::unique_ptr<Format> make_mapped(std::shared_ptr<MappedColumns> columns,
                                    const policies::PolicySet& set) {
  return std::make_unique<Mapped>(std::move(columns), set);
}

}  // namespace weir::replay
