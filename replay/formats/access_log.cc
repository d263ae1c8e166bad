#include <algorithm>
#include <functional>
#include <utility>

#include "config/text/time_form.h"
#include "core/assert.h"
#include "core/chars/parse.h"
#include "policies/lang/extractors.h"
#include "replay/formats.h"
#include "replay/formats/log_splitter.h"
#include "replay/formats/request_target.h"

/// Lines of access logs, as records (`source: {log: ...}`) and as the HTTP requests that they
/// describe.
namespace weir::replay {
namespace {

using config::LogFormat;

constexpr std::string_view kNoRequest = "no HTTP request";
constexpr std::string_view kNoAddress = "the caller is not an address";
constexpr std::string_view kBadPath = "a path that the proxy refuses";
constexpr std::string_view kBadStatus = "this is not a status";

std::optional<int> status_of(std::string_view text) noexcept {
  if (text.size() == 3) [[likely]] {
    const auto digit = [&](std::size_t i) { return static_cast<unsigned char>(text[i]) - '0'; };
    const int a = digit(0), b = digit(1), c = digit(2);
    if (a >= 0 && a <= 9 && b >= 0 && b <= 9 && c >= 0 && c <= 9) return a * 100 + b * 10 + c;
  }
  const auto code = parse_whole<int>(text);
  return code && *code >= 0 && *code <= 999 ? code : std::nullopt;
}

/// How the times of this format are written.
RecordTime time_of(const LogFormat& format) {
  TimePattern::Problem problem;
  const std::string_view form = format.time_form.empty() ? config::kLogTime : format.time_form;
  const auto compiled = config::parse_time_form(form, problem);
  WEIR_ASSERT(compiled.has_value());  // the compiler of the format has seen it
  return RecordTime(*compiled);
}

class AccessLog final : public Format {
 public:
  AccessLog(LogFormat format, const config::SourceDef& source, std::string_view event,
            const policies::SlotTable& slots)
      : splitter_(std::move(format), RecordTime(source.time)) {
    for (const UsedColumn& used : used_columns(slots, event)) {
      const auto found =
          std::find(splitter_.columns().begin(), splitter_.columns().end(), used.name);
      if (found == splitter_.columns().end()) continue;  // `event` or `time`
      columns_.push_back(static_cast<std::size_t>(found - splitter_.columns().begin()));
      presets_.push_back({used.slot, {}});
    }
    splitter_.want_only(columns_);
  }

  Got read(std::string_view text, Row& row) override {
    if (!splitter_.split(text)) return bad(splitter_.offset(), splitter_.why());
    row.time = splitter_.time();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string_view value = splitter_[columns_[i]];
      presets_[i].value = value.data() == nullptr ? Value::null() : Value::text(value);
    }
    row.values = presets_;
    return Got::row;
  }

 private:
  LogSplitter splitter_;
  std::vector<std::size_t> columns_;
  std::vector<policies::Preset> presets_;
};

/// Builds requests. Columns that the format lacks stay unknown, which is null in expressions.
class RequestLog final : public Format {
 public:
  /// `formats`: the longer one first, if there are two. `recording`: reads the lines that begin
  /// with a brace; null: they are lines like others.
  RequestLog(std::vector<LogFormat> formats, std::unique_ptr<Format> recording,
             const policies::PolicySet& set)
      : tolerant_(formats.size() > 1), recording_(std::move(recording)), parts_(set) {
    const Reads reads(set);
    // A combined line is a common one and two headers, which the policies may not read.
    if (tolerant_ && !reads.headers) formats.erase(formats.begin(), formats.end() - 1);
    for (const LogFormat& format : formats) kinds_.emplace_back(format, reads);
  }

  Got read(std::string_view text, Row& row) override {
    if (text.starts_with('{') && recording_ != nullptr) {
      const Got got = recording_->read(text, row);
      return got == Got::bad ? bad(recording_->fault().column - 1, recording_->fault().why) : got;
    }
    if (std::exchange(row.recorded, false)) row = {};
    // Lines of one file are mostly of one kind: the one that fitted last is tried first.
    Kind* kind = &kinds_[last_];
    if (!kind->splitter.split(text, tolerant_)) {
      std::size_t furthest = kind->splitter.offset();
      std::string_view why = kind->splitter.why();
      for (std::size_t i = 0; i < kinds_.size(); ++i) {
        if (i == last_) continue;
        if (kinds_[i].splitter.split(text, tolerant_)) {
          kind = &kinds_[last_ = i];
          return build(*kind, text, row);
        }
        if (kinds_[i].splitter.offset() > furthest) {
          furthest = kinds_[i].splitter.offset();
          why = kinds_[i].splitter.why();
        }
      }
      return bad(furthest, why);
    }
    // A combined line fits the common format as well, with its end left over.
    if (tolerant_ && last_ != 0 && kinds_[0].splitter.split(text, true)) kind = &kinds_[last_ = 0];
    return build(*kind, text, row);
  }

 private:
  /// The fields that the policies read, besides those that every request has.
  struct Reads {
    explicit Reads(const policies::PolicySet& set) {
      for (std::size_t id = 0; id < set.slots.size(); ++id) {
        const policies::Slot& slot = set.slots[static_cast<policies::SlotId>(id)];
        if (slot.kind != policies::Slot::Kind::attribute) continue;
        const std::string_view name = slot.extractor->name;
        headers = headers || name == "header" || name == "cookie" || name == "body";
        answer = answer || name.starts_with("response.");
      }
    }
    bool headers = false, answer = false;
  };

  /// A format, and the columns in it that policies read.
  struct Kind {
    Kind(const LogFormat& format, Reads reads) : splitter(format, time_of(format)) {
      // A header's column never has one of these names.
      const auto column = [&](std::string_view name) {
        const auto found = std::find(format.columns.begin(), format.columns.end(), name);
        return found == format.columns.end()
                   ? kNone
                   : static_cast<std::size_t>(found - format.columns.begin());
      };
      ip = column("ip");
      method = column("method");
      url = column("url");
      host = column("host");
      status = column("status");
      query = column("query");
      if (reads.answer) bytes = column("bytes");
      for (const LogFormat::Header& header : format.headers) {
        if (header.of_answer ? reads.answer : reads.headers)
          (header.of_answer ? answers : headers).push_back({header.name, header.column});
      }
      std::vector<std::size_t> wanted{ip, method, url, host, status, bytes, query};
      for (const Named& named : headers) wanted.push_back(named.column);
      for (const Named& named : answers) wanted.push_back(named.column);
      splitter.want_only(wanted);
    }
    struct Named {
      std::string name;
      std::size_t column;
    };
    static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
    LogSplitter splitter;
    std::size_t ip = kNone, method = kNone, url = kNone, host = kNone, status = kNone,
                bytes = kNone, query = kNone;
    std::vector<Named> headers, answers;
  };

  /// The offset of `part` in `text`; 0: it is not a view of it.
  static std::size_t offset_of(std::string_view text, std::string_view part) {
    const std::less<> before;
    const bool inside =
        !before(part.data(), text.data()) && before(part.data(), text.data() + text.size());
    return inside ? static_cast<std::size_t>(part.data() - text.data()) : 0;
  }

  /// The URL with the query of a column of its own, which begins with `?` (`%q`) or not (`$args`).
  std::string_view with_query(std::string_view url, std::string_view query) {
    if (query.empty() || query == "-" || url.find('?') != std::string_view::npos) return url;
    if (query.starts_with('?')) query.remove_prefix(1);
    target_.assign(url).append("?").append(query);
    return target_;
  }

  Got build(const Kind& kind, std::string_view text, Row& row) {
    const LogSplitter& line = kind.splitter;
    const auto value = [&](std::size_t column) {
      return column == Kind::kNone ? std::string_view{} : line[column];
    };
    row.time = line.time();
    // The other fields, which no access log contains, keep the values from the construction
    // (read()).
    Request& request = row.request;
    request.time = row.time;
    request.path = request.query = {};
    request.method = value(kind.method);
    request.target = with_query(value(kind.url), value(kind.query));
    if (request.method.empty() || request.target.empty()) return bad(0, kNoRequest);
    const auto client = Address::parse(value(kind.ip));
    if (!client) return bad(offset_of(text, value(kind.ip)), kNoAddress);
    request.client = *client;
    const RequestTarget::Taken taken = parts_.take(value(kind.host), request);
    if (taken == RequestTarget::Taken::none) return bad(offset_of(text, value(kind.url)), kBadPath);
    row.refused = taken == RequestTarget::Taken::refused;
    request.headers = {};
    if (!kind.headers.empty()) request.headers = collect(kind.headers, line, headers_, 0);
    return take_answer(kind, text, row);
  }

  /// The fields that the line has, after the first `taken` of `into`.
  static std::span<const HeaderField> collect(const std::vector<Kind::Named>& names,
                                              const LogSplitter& line,
                                              std::vector<HeaderField>& into, std::size_t taken) {
    if (into.size() < taken + names.size()) into.resize(taken + names.size());
    HeaderField* at = into.data() + taken;
    for (const Kind::Named& header : names) {
      const std::string_view value = line[header.column];
      if (value.data() != nullptr) *at++ = {header.name, value};
    }
    return {into.data(), at};
  }

  Got take_answer(const Kind& kind, std::string_view text, Row& row) {
    row.answer.status = 0;
    row.answer.headers = {};
    const std::string_view status =
        kind.status == Kind::kNone ? std::string_view{} : kind.splitter[kind.status];
    if (status.data() != nullptr) {
      const std::optional<int> code = status_of(status);
      if (!code) return bad(offset_of(text, status), kBadStatus);
      row.answer.status = *code;
    }
    const bool sized = kind.bytes != Kind::kNone && kind.splitter[kind.bytes].data() != nullptr;
    if (sized) {
      if (answer_headers_.empty()) answer_headers_.resize(1);
      answer_headers_.front() = {"content-length", kind.splitter[kind.bytes]};
    }
    if (sized || !kind.answers.empty())
      row.answer.headers = collect(kind.answers, kind.splitter, answer_headers_, sized ? 1 : 0);
    return Got::row;
  }

  bool tolerant_;
  std::unique_ptr<Format> recording_;
  std::vector<Kind> kinds_;
  std::size_t last_ = 0;
  std::vector<HeaderField> headers_, answer_headers_;
  std::string target_;
  RequestTarget parts_;
};

}  // namespace

std::unique_ptr<Format> make_access_log(const config::SourceDef& source, std::string_view event,
                                        const policies::SlotTable& slots) {
  LogFormat::Problem problem;
  auto format = LogFormat::compile(source.pattern.value, problem);
  WEIR_ASSERT(format.has_value());  // the loader has seen it
  return std::make_unique<AccessLog>(std::move(*format), source, event, slots);
}

namespace {

std::optional<LogFormat> request_log_format(std::string_view text, std::string& problem) {
  LogFormat::Problem wrong;
  auto format = LogFormat::compile(text, wrong);
  if (!format) {
    problem = wrong.message + (wrong.hint.empty() ? "" : "; " + wrong.hint);
    return std::nullopt;
  }
  for (const std::string_view needed : {"ip", "method", "url"}) {
    if (std::find(format->columns.begin(), format->columns.end(), needed) != format->columns.end())
      continue;
    problem = "requests need their caller, method and URL: %h and \"%r\", or %m and %U";
    return std::nullopt;
  }
  return format;
}

}  // namespace

std::string wrong_request_format(std::string_view format) {
  std::string problem;
  static_cast<void>(request_log_format(format, problem));
  return problem;
}

std::unique_ptr<Format> make_request_format(std::string_view format, const policies::PolicySet& set,
                                            std::string& problem) {
  std::vector<LogFormat> formats;
  std::unique_ptr<Format> recording;
  if (format.empty()) recording = make_recording(set);
  for (const std::string_view text : format.empty()
                                         ? std::vector<std::string_view>{"combined", "common"}
                                         : std::vector<std::string_view>{format}) {
    auto compiled = request_log_format(text, problem);
    if (!compiled) return nullptr;
    formats.push_back(std::move(*compiled));
  }
  return std::make_unique<RequestLog>(std::move(formats), std::move(recording), set);
}

}  // namespace weir::replay
