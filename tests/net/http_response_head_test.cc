#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "net/http/response_head.h"
#include "tests/support/head_cases.h"

namespace weir::net::http_response_head_test {
namespace {

using test::expect_outcome;
using test::HeadCase;

std::string decision(const ResponseHead& head) {
  std::string out = std::to_string(head.status);
  out += " '" + std::string{head.reason} + "'";
  if (head.http_1_0) out += " 1.0";
  if (head.interim()) out += " interim";
  if (head.upgraded) out += " upgraded";
  switch (head.framing) {
    case Framing::none:
      out += " none";
      break;
    case Framing::length:
      out += " length";
      break;
    case Framing::chunked:
      out += " chunked";
      break;
    case Framing::until_close:
      out += " until-close";
      break;
  }
  if (head.has_content_length) out += "=" + std::to_string(head.content_length);
  return out + (head.keep_alive ? " keep" : " close");
}

test::MakeHeadReader reader(AnsweredRequest request, HeadLimits limits = {}) {
  return [request, limits] {
    auto head = std::make_shared<ResponseHead>();
    auto progress = std::make_shared<HeadProgress>();
    return [=](std::string_view bytes) -> std::string {
      switch (parse_response_head(bytes, request, limits, *progress, *head)) {
        case HeadStatus::incomplete:
          return "incomplete";
        case HeadStatus::refused:
          return "refused: " + std::string{http_refusal_row(head->refusal).word};
        default:
          return decision(*head);
      }
    };
  };
}

void expect_all(const std::vector<HeadCase>& cases, AnsweredRequest request = {},
                HeadLimits limits = {}) {
  for (const HeadCase& c : cases) expect_outcome(reader(request, limits), c);
}

std::string ok(const std::string& lines) { return "HTTP/1.1 200 OK\r\n" + lines + "\r\n"; }
std::string status(const std::string& line, const std::string& lines = "Content-Length: 0\r\n") {
  return line + "\r\n" + lines + "\r\n";
}

const std::string kLength = "Content-Length: 5\r\n";
const std::string kChunked = "Transfer-Encoding: chunked\r\n";

TEST(ResponseHead, StatusLine) {
  expect_all({
      {status("HTTP/1.1 200 OK"), "200 'OK' length=0 keep"},
      {status("HTTP/1.1 200 "), "200 '' length=0 keep"},
      {status("HTTP/1.1 200"), "200 '' length=0 keep"},
      {status("HTTP/1.1 404 Not \t\xc3\xa4 Found "), "404 'Not \t\xc3\xa4 Found ' length=0 keep"},
      {status("HTTP/1.1 599 x"), "599 'x' length=0 keep"},
      {status("HTTP/1.0 200 OK"), "200 'OK' 1.0 length=0 close"},
      {status("HTTP/1.1 099 x"), "refused: status-line"},
      {status("HTTP/1.1 600 x"), "refused: status-line"},
      {status("HTTP/1.1 999 x"), "refused: status-line"},
      {status("HTTP/1.1 20 x"), "refused: status-line"},
      {status("HTTP/1.1 2000 x"), "refused: status-line"},
      {status("HTTP/1.1 +20 x"), "refused: status-line"},
      {status("HTTP/1.1  200 x"), "refused: status-line"},
      {status("HTTP/1.1\t200 x"), "refused: status-line"},
      {status("HTTP/1.1 200\tx"), "refused: status-line"},
      {status("HTTP/1.1 200x"), "refused: status-line"},
      {status("HTTP/1.2 200 OK"), "refused: status-line"},
      {status("HTTP/2 200 OK"), "refused: status-line"},
      {status("HTTP/2.0 200 OK"), "refused: status-line"},
      {status("http/1.1 200 OK"), "refused: status-line"},
      {status("ICY 200 OK"), "refused: status-line"},
      {status(" HTTP/1.1 200 OK"), "refused: status-line"},
      {"\r\n" + status("HTTP/1.1 200 OK"), "refused: status-line"},
      {"<html>hello</html>", "refused: status-line"},
      {status("HTTP/1.1 200 O\x01K"), "refused: control-byte"},
      {status(std::string("HTTP/1.1 200 O\0K", 16)), "refused: control-byte"},
      {status("HTTP/1.1 200 O\rK"), "refused: line-end"},
      {"HTTP/1.1 200 OK\nContent-Length: 0\n\n", "refused: line-end"},
      {"HTTP/1.1 200\nContent-Length: 0\r\n\r\n", "refused: status-line"},
  });
}

TEST(ResponseHead, FieldLines) {
  expect_all({
      {ok(kLength + "A:\r\nB: c\r\n"), "200 'OK' length=5 keep"},
      {ok(kLength + "A: b\r\n c\r\n"), "refused: obs-fold"},
      {ok(kLength + "A : b\r\n"), "refused: blank-before-colon"},
      {ok(kLength + "A\r\n"), "refused: field-name"},
      {ok(kLength + "A b\r\n"), "refused: blank-before-colon"},
      {ok(kLength + "<A>: b\r\n"), "refused: field-name"},
      {ok(kLength + ": b\r\n"), "refused: field-name"},
      {ok(kLength + "A: b\nSet-Cookie: c\r\n"), "refused: line-end"},
      {ok(kLength + "A: b\rSet-Cookie: c\r\n"), "refused: line-end"},
      {ok(kLength + std::string("A: b\0c\r\n", 8)), "refused: control-byte"},
      {ok(kLength + "A: \x7f\r\n"), "refused: control-byte"},
  });
  expect_all({{ok("A: b\r\n" + kLength), "refused: too-many-fields"},
              {ok("A: " + std::string(90, 'b') + "\r\n"), "refused: head-too-large"}},
             {}, {.fields = 1, .head = 100});
}

TEST(ResponseHead, Framing) {
  expect_all({
      {ok(kLength), "200 'OK' length=5 keep"},
      {ok(kChunked), "200 'OK' chunked keep"},
      {ok("Transfer-Encoding: CHUNKED\r\n"), "200 'OK' chunked keep"},
      {ok(""), "200 'OK' until-close close"},
      {ok("Connection: keep-alive\r\n"), "200 'OK' until-close close"},
      {ok(kLength + "Connection: close\r\n"), "200 'OK' length=5 close"},
      {status("HTTP/1.0 200 OK", kLength), "200 'OK' 1.0 length=5 close"},
      {status("HTTP/1.0 200 OK", kLength + "Connection: keep-alive\r\n"),
       "200 'OK' 1.0 length=5 keep"},
      {status("HTTP/1.0 200 OK", ""), "200 'OK' 1.0 until-close close"},
      {status("HTTP/1.1 204 No Content", ""), "204 'No Content' none keep"},
      {status("HTTP/1.1 204 No Content", "Content-Length: 0\r\n"), "204 'No Content' none=0 keep"},
      {status("HTTP/1.1 204 No Content", kLength), "204 'No Content' none=5 close"},
      {status("HTTP/1.1 204 No Content", kChunked), "204 'No Content' none close"},
      {status("HTTP/1.1 304 Not Modified", kLength), "304 'Not Modified' none=5 keep"},
      {status("HTTP/1.1 304 Not Modified", kChunked), "304 'Not Modified' none keep"},
      {status("HTTP/1.1 100 Continue", ""), "100 'Continue' interim none keep"},
      {status("HTTP/1.1 103 Early Hints", "Link: x\r\n"), "103 'Early Hints' interim none keep"},
      {ok(kLength + kLength), "refused: content-length-repeated"},
      {ok(kLength + "Content-Length: 6\r\n"), "refused: content-length-repeated"},
      {ok("Content-Length: 5, 5\r\n"), "refused: content-length-invalid"},
      {ok("Content-Length: +5\r\n"), "refused: content-length-invalid"},
      {ok("Content-Length: -5\r\n"), "refused: content-length-invalid"},
      {ok("Content-Length:\r\n"), "refused: content-length-invalid"},
      {ok("Content-Length: 5 \x0b\r\n"), "refused: control-byte"},
      {ok("Content-Length: 9223372036854775808\r\n"), "refused: content-length-invalid"},
      {ok("Content-Length: 184467440737095516160\r\n"), "refused: content-length-invalid"},
      {ok(kLength + kChunked), "refused: content-length-with-coding"},
      {ok(kChunked + kLength), "refused: content-length-with-coding"},
      {ok(kChunked + kChunked), "refused: transfer-coding"},
      {ok("Transfer-Encoding: gzip, chunked\r\n"), "refused: transfer-coding"},
      {ok("Transfer-Encoding: identity\r\n"), "refused: transfer-coding"},
      {ok("Transfer-Encoding:\r\n"), "refused: transfer-coding"},
      {status("HTTP/1.0 200 OK", kChunked), "refused: transfer-coding-in-http-1.0"},
      {status("HTTP/1.1 204 No Content", kLength + kLength), "refused: content-length-repeated"},
  });
}

TEST(ResponseHead, AnswersToHeadHaveNoBody) {
  expect_all({{ok(kLength), "200 'OK' none=5 keep"},
              {ok(kChunked), "200 'OK' none keep"},
              {ok(""), "200 'OK' none keep"},
              {ok(kLength + kLength), "refused: content-length-repeated"}},
             {.head = true});
}

TEST(ResponseHead, SwitchingProtocols) {
  const std::string line = "HTTP/1.1 101 Switching Protocols";
  const std::string upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\n";
  const std::string accept = "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n";
  const std::string refused = "refused: unasked-upgrade";
  expect_all({{status(line, upgrade + accept), refused}, {status(line, ""), refused}});
  expect_all(
      {{status(line, upgrade + accept), "101 'Switching Protocols' upgraded none close"},
       {status(line, upgrade), refused},
       {status(line, upgrade + accept + accept), refused},
       {status(line, upgrade + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOO=\r\n"), refused},
       {status(line, "Upgrade: websocket\r\n" + accept), refused},
       {status(line, "Upgrade: h2c\r\nConnection: Upgrade\r\n" + accept), refused},
       {status("HTTP/1.0 101 x", upgrade + accept), refused},
       {status("HTTP/1.1 403 Forbidden"), "403 'Forbidden' length=0 keep"}},
      {.websocket_key = "dGhlIHNhbXBsZSBub25jZQ=="});  // the example of RFC 6455, 1.3
}

TEST(ResponseHead, Incomplete) {
  expect_all({{"", "incomplete"},
              {"HTTP/1.1 2", "incomplete"},
              {"HTTP/1.1 200 OK\r", "incomplete"},
              {"HTTP/1.1 200 OK\r\nA: b\r\n", "incomplete"}});
}

}  // namespace
}  // namespace weir::net::http_response_head_test
