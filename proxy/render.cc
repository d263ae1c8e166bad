#include "proxy/render.h"

#include <array>
#include <charconv>
#include <ctime>

namespace weir::proxy {
namespace {

// Statuses of our own errors have a body; it is text of ours alone, so nothing needs escaping.
#define WEIR_STATUSES(X)                    \
  X(200, "OK")                              \
  X(204, "No Content")                      \
  X(301, "Moved Permanently")               \
  X(302, "Found")                           \
  X(303, "See Other")                       \
  X(307, "Temporary Redirect")              \
  X(308, "Permanent Redirect")              \
  X(400, "Bad Request")                     \
  X(401, "Unauthorized")                    \
  X(402, "Payment Required")                \
  X(403, "Forbidden")                       \
  X(404, "Not Found")                       \
  X(405, "Method Not Allowed")              \
  X(406, "Not Acceptable")                  \
  X(408, "Request Timeout")                 \
  X(409, "Conflict")                        \
  X(410, "Gone")                            \
  X(413, "Content Too Large")               \
  X(414, "URI Too Long")                    \
  X(415, "Unsupported Media Type")          \
  X(417, "Expectation Failed")              \
  X(418, "I'm a teapot")                    \
  X(421, "Misdirected Request")             \
  X(422, "Unprocessable Content")           \
  X(423, "Locked")                          \
  X(425, "Too Early")                       \
  X(428, "Precondition Required")           \
  X(429, "Too Many Requests")               \
  X(431, "Request Header Fields Too Large") \
  X(451, "Unavailable For Legal Reasons")   \
  X(500, "Internal Server Error")           \
  X(501, "Not Implemented")                 \
  X(502, "Bad Gateway")                     \
  X(503, "Service Unavailable")             \
  X(504, "Gateway Timeout")                 \
  X(505, "HTTP Version Not Supported")

struct Status {
  int code;
  std::string_view reason;
  std::string_view problem;
};
constexpr std::array kStatuses = {
#define WEIR_ROW(code, reason) \
  Status{code, reason,         \
         "{\"type\":\"about:blank\",\"title\":\"" reason "\",\"status\":" #code "}\n"},
    WEIR_STATUSES(WEIR_ROW)
#undef WEIR_ROW
};

const Status* find(int code) noexcept {
  for (const Status& status : kStatuses) {
    if (status.code == code) return &status;
  }
  return nullptr;
}

void append_number(std::string& out, std::uint64_t n) {
  std::array<char, 20> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), n).ptr;
  out.append(text.data(), static_cast<std::size_t>(end - text.data()));
}

}  // namespace

std::string_view DateText::at(TimePoint now) noexcept {
  const std::int64_t second = to_ms(now) / 1000;
  if (second != second_) {
    second_ = second;
    const std::time_t t = second;
    std::tm parts{};
    gmtime_r(&t, &parts);
    std::strftime(text_, sizeof(text_), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  }
  return {text_, sizeof(text_) - 1};
}

std::string_view reason_phrase(int status) noexcept {
  const Status* found = find(status);
  return found == nullptr ? std::string_view{} : found->reason;
}

void append_answer(std::string& out, const LocalAnswer& answer, std::string_view date) {
  out += "HTTP/1.1 ";
  append_number(out, static_cast<std::uint64_t>(answer.status));
  out += ' ';
  out += reason_phrase(answer.status);
  out += "\r\nDate: ";
  out += date;
  out += "\r\n";
  const bool no_body = answer.status == 204 || answer.status == 304;
  if (!no_body) {
    if (!answer.content_type.empty()) {
      out += "Content-Type: ";
      out += answer.content_type;
      out += "\r\n";
    }
    out += "Content-Length: ";
    append_number(out, answer.content_type.empty() ? 0 : answer.body.size());
    out += "\r\n";
  }
  out += answer.lines;
  if (!answer.keep_alive) {
    out += "Connection: close\r\n";
  } else if (answer.http_1_0) {
    out += "Connection: keep-alive\r\n";
  }
  out += "\r\n";
  if (!no_body && !answer.head_only && !answer.content_type.empty()) out += answer.body;
}

void fill_problem(LocalAnswer& answer, int status) noexcept {
  answer.status = status;
  const Status* found = find(status);
  if (found == nullptr) return;
  answer.content_type = "application/problem+json";
  answer.body = found->problem;
}

LocalAnswer render(const Effect& effect) noexcept {
  LocalAnswer answer;
  answer.status = effect.status;
  answer.lines = effect.response_headers;
  answer.content_type = effect.content_type;
  answer.body = effect.body;
  answer.keep_alive = !effect.close;
  return answer;
}

}  // namespace weir::proxy
