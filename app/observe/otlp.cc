#include "app/observe/otlp.h"

#include <array>

#include "core/text.h"

namespace weir::app {
namespace {

using telemetry::RequestFacts;

// SpanKind of OTLP.
constexpr int kServer = 2, kClient = 3;
constexpr int kStatusError = 2;

template <std::size_t N>
void append_id(std::string& out, std::string_view name, const std::array<std::uint8_t, N>& bytes) {
  std::array<char, 2 * N> digits;
  telemetry::put_hex(digits.data(), bytes.data(), N);
  out.append("\"").append(name).append("\":\"").append(digits.data(), digits.size()).append("\",");
}

void append_time(std::string& out, std::string_view name, FineTime time) {
  out.append("\"").append(name).append("\":\"");
  out.append(std::to_string(time.time_since_epoch().count())).append("000\",");
}

/// The attributes of one span, by the semantic conventions for HTTP where they have a name.
class Attributes {
 public:
  explicit Attributes(std::string& out) : out_(out) { out_ += "\"attributes\":["; }
  Attributes& text(std::string_view name, std::string_view value) {
    if (value.empty()) return *this;
    begin(name);
    out_ += "\"stringValue\":";
    append_json(out_, value);
    out_ += "}}";
    return *this;
  }
  Attributes& number(std::string_view name, std::int64_t value) {
    begin(name);
    out_.append("\"intValue\":\"").append(std::to_string(value)).append("\"}}");
    return *this;
  }
  void end() { out_ += ']'; }

 private:
  void begin(std::string_view name) {
    out_.append(first_ ? "" : ",").append("{\"key\":\"").append(name).append("\",\"value\":{");
    first_ = false;
  }
  std::string& out_;
  bool first_ = true;
};

/// `error.type` of a span that failed: the status, or how the exchange ended if there was none.
std::string error_type(const RequestFacts& facts, bool answered) {
  return answered && facts.status >= 400 ? std::to_string(facts.status)
                                         : std::string(telemetry::name_of(facts.end));
}

void append_server_span(std::string& out, const RequestFacts& facts) {
  out += '{';
  append_id(out, "traceId", facts.trace.trace_id);
  append_id(out, "spanId", facts.trace.span_id);
  if (facts.parent != decltype(facts.parent){}) append_id(out, "parentSpanId", facts.parent);
  std::string name(facts.method.view());
  if (!facts.route.view().empty()) name.append(" ").append(facts.route.view());
  out += "\"name\":";
  append_json(out, name);
  out.append(",\"kind\":").append(std::to_string(kServer)).append(",");
  append_time(out, "startTimeUnixNano", facts.begun);
  append_time(out, "endTimeUnixNano", facts.begun + std::chrono::microseconds{facts.total_us});
  const bool failed = facts.status >= 500 || facts.end == telemetry::RequestEnd::cut ||
                      facts.end == telemetry::RequestEnd::drained;
  Attributes attributes(out);
  attributes.text("http.request.method", facts.method.view())
      .text("url.path", facts.path.view())
      .text("url.scheme", "http")  // of the hop to weir, which has no TLS of its own
      .text("server.address", facts.host.view())
      .text("client.address", facts.client.to_string())
      .text("user_agent.original", facts.user_agent.view())
      .text("weir.request_id", facts.request_id.view())
      .text("weir.route", facts.route.view())
      .text("weir.verdict", facts.verdict.view())
      .text("weir.policy", facts.policy.view())
      .text("weir.end", telemetry::name_of(facts.end))
      .number("weir.judge_us", facts.judge_us)
      .number("weir.wait_us", facts.wait_us);
  if (facts.status != 0) attributes.number("http.response.status_code", facts.status);
  if (failed) attributes.text("error.type", error_type(facts, true));
  attributes.end();
  if (failed) out.append(",\"status\":{\"code\":").append(std::to_string(kStatusError)).append("}");
  out += '}';
}

void append_client_span(std::string& out, const RequestFacts& facts) {
  out += ",{";
  append_id(out, "traceId", facts.trace.trace_id);
  append_id(out, "spanId", facts.client_span);
  append_id(out, "parentSpanId", facts.trace.span_id);
  out += "\"name\":";
  append_json(out, facts.method.view());
  out.append(",\"kind\":").append(std::to_string(kClient)).append(",");
  const FineTime sent = facts.begun + std::chrono::microseconds{facts.sent_us};
  append_time(out, "startTimeUnixNano", sent);
  append_time(out, "endTimeUnixNano", facts.begun + std::chrono::microseconds{facts.total_us});
  Attributes attributes(out);
  attributes.text("http.request.method", facts.method.view()).text("peer.service", facts.upstream);
  if (facts.first_byte_us != RequestFacts::kNever) {
    attributes.number("http.response.status_code", facts.status)
        .number("weir.first_byte_us", facts.first_byte_us);
  }
  if (facts.connect_us != RequestFacts::kNever)
    attributes.number("weir.connect_us", facts.connect_us);
  const bool answered = facts.first_byte_us != RequestFacts::kNever;
  const bool failed = !answered || facts.status >= 500;
  if (failed) attributes.text("error.type", error_type(facts, answered));
  attributes.end();
  if (failed) out.append(",\"status\":{\"code\":").append(std::to_string(kStatusError)).append("}");
  out += '}';
}

}  // namespace

void append_spans(std::string& out, const RequestFacts& facts, bool first) {
  if (!first) out += ',';
  append_server_span(out, facts);
  if (facts.sent_us != RequestFacts::kNever) append_client_span(out, facts);
}

std::string spans_head(const SpanSource& source) {
  std::string out = R"({"resourceSpans":[{"resource":{)";
  Attributes(out)
      .text("service.name", source.service)
      .text("service.version", source.version)
      .end();
  out += R"(},"scopeSpans":[{"scope":{"name":"weir"},"spans":[)";
  return out;
}

std::string_view spans_tail() noexcept { return "]}]}]}"; }

}  // namespace weir::app
