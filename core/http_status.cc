#include "core/http_status.h"

#include <array>

namespace weir {
namespace {

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
  std::string_view problem;  ///< of our text alone, so nothing needs escaping
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

}  // namespace

std::string_view reason_phrase(int status) noexcept {
  const Status* found = find(status);
  return found == nullptr ? std::string_view{} : found->reason;
}

std::string_view problem_body(int status) noexcept {
  const Status* found = find(status);
  return found == nullptr ? std::string_view{} : found->problem;
}

}  // namespace weir
