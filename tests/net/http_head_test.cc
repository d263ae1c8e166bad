#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "net/http/head.h"
#include "tests/support/head_cases.h"

namespace weir::net::http_head_test {
namespace {

using test::expect_outcome;
using test::HeadCase;

/// The decision about a head, in words.
std::string decision(const RequestHead& head) {
  std::string out{head.method};
  out += " ";
  out += head.target;
  if (head.asterisk) out += " (server)";
  out += head.http_1_0 ? " 1.0" : " 1.1";
  out += " host=" + std::string{head.host};
  if (head.authority != head.host) out += "(" + std::string{head.authority} + ")";
  if (head.framing == Framing::length) out += " length=" + std::to_string(head.content_length);
  if (head.framing == Framing::chunked) out += " chunked";
  out += head.keep_alive ? " keep" : " close";
  if (head.expect_continue) out += " expect";
  if (head.websocket) out += " websocket=" + std::string{head.websocket_key};
  return out;
}

test::MakeHeadReader reader(HeadLimits limits = {}) {
  return [limits] {
    auto head = std::make_shared<RequestHead>();
    auto progress = std::make_shared<HeadProgress>();
    return [=](std::string_view bytes) -> std::string {
      switch (parse_request_head(bytes, limits, *progress, *head)) {
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

const std::string kTop = "GET / HTTP/1.1\r\nHost: a\r\n";
const std::string kPost = "POST / HTTP/1.1\r\nHost: a\r\n";
const std::string kHandshake =
    "GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\n";
const std::string kKey = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
const std::string kVersion13 = "Sec-WebSocket-Version: 13\r\n";

std::string line(const std::string& request_line) { return request_line + "\r\nHost: a\r\n\r\n"; }
std::string get(const std::string& lines) { return kTop + lines + "\r\n"; }
std::string post(const std::string& lines) { return kPost + lines + "\r\n"; }
std::string host(const std::string& value) {
  return "GET / HTTP/1.1\r\nHost: " + value + "\r\n\r\n";
}
std::string repeat(const std::string& text, std::size_t n) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i) out += text;
  return out;
}
std::string nul(std::string text) {  // '@' stands for a NUL byte
  for (char& c : text) c = c == '@' ? '\0' : c;
  return text;
}

void expect_all(const std::vector<HeadCase>& cases, HeadLimits limits = {}) {
  for (const HeadCase& c : cases) expect_outcome(reader(limits), c);
}

TEST(RequestHead, RequestLine) {
  expect_all({
      {line("GET / HTTP/1.1"), "GET / 1.1 host=a keep"},
      {line("GET / HTTP/1.0"), "GET / 1.0 host=a close"},
      {line("DELETE /a/b?c=d&e HTTP/1.1"), "DELETE /a/b?c=d&e 1.1 host=a keep"},
      {line("PROPFIND /dav HTTP/1.1"), "PROPFIND /dav 1.1 host=a keep"},
      {line("M-SEARCH / HTTP/1.1"), "M-SEARCH / 1.1 host=a keep"},
      {line("GET /%7Euser/|{}\"<>^`\\ HTTP/1.1"), "GET /%7Euser/|{}\"<>^`\\ 1.1 host=a keep"},
      {line("GET //x HTTP/1.1"), "GET //x 1.1 host=a keep"},
      {line("GET /?http://b/ HTTP/1.1"), "GET /?http://b/ 1.1 host=a keep"},
      {line("OPTIONS * HTTP/1.1"), "OPTIONS * (server) 1.1 host=a keep"},
      {line("OPTIONS /x HTTP/1.1"), "OPTIONS /x 1.1 host=a keep"},
      {"\r\n" + line("GET / HTTP/1.1"), "GET / 1.1 host=a keep"},
      {"\r\n\r\n" + line("GET / HTTP/1.1"), "refused: method"},
      {"\n" + line("GET / HTTP/1.1"), "refused: line-end"},
      {" " + line("GET / HTTP/1.1"), "refused: method"},
      {"\r" + line("GET / HTTP/1.1"), "refused: line-end"},
      {line(" / HTTP/1.1"), "refused: method"},
      {line("get / HTTP/1.1"), "refused: method"},
      {line("Get / HTTP/1.1"), "refused: method"},
      {line("GE:T / HTTP/1.1"), "refused: method"},
      {line("GET\t/ HTTP/1.1"), "refused: method"},
      {line("G\x80T / HTTP/1.1"), "refused: method"},
      {nul(line("G@T / HTTP/1.1")), "refused: control-byte"},
      {line(std::string(32, 'M') + " / HTTP/1.1"), std::string(32, 'M') + " / 1.1 host=a keep"},
      {line(std::string(33, 'M') + " / HTTP/1.1"), "refused: method-too-long"},
      {line("CONNECT a:443 HTTP/1.1"), "refused: connect"},
      {line("CONNECT / HTTP/1.1"), "refused: connect"},
      {line("GET  / HTTP/1.1"), "refused: request-line"},
      {line("GET /  HTTP/1.1"), "refused: request-line"},
      {line("GET / HTTP/1.1 "), "refused: request-line"},
      {line("GET / x HTTP/1.1"), "refused: request-line"},
      {line("GET /"), "refused: request-line"},
      {line("GET / "), "refused: request-line"},
      {line("GET"), "refused: method"},
      {line("GET / http/1.1"), "refused: request-line"},
      {line("GET / HTTP/11"), "refused: request-line"},
      {line("GET / HTTP/1."), "refused: request-line"},
      {line("GET / HTTP/1.10"), "refused: request-line"},
      {line("GET / HTTP/01.1"), "refused: request-line"},
      {line("GET / HTTP/1,1"), "refused: request-line"},
      {line("GET / HTTP /1.1"), "refused: request-line"},
      {line("GET / XTTP/1.1"), "refused: request-line"},
      {line("GET / HTTP/1.2"), "refused: version"},
      {line("GET / HTTP/0.9"), "refused: version"},
      {line("GET / HTTP/2.0"), "refused: version"},
      {line("GET / HTTP/9.9"), "refused: version"},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "refused: version"},
      {"GET / HTTP/1.1\nHost: a\n\n", "refused: line-end"},
      {"GET / HTTP/1.1\nHost: a\r\n\r\n", "refused: line-end"},
      {"GET / HTTP/1.1\rHost: a\r\n\r\n", "refused: line-end"},
      {"GET /\nHost: a\r\n\r\n", "refused: line-end"},
      {"GET / HTTP/1.1\r\r\nHost: a\r\n\r\n", "refused: line-end"},
      {line("GET /\x7f HTTP/1.1"), "refused: control-byte"},
      {line("GET /\x01 HTTP/1.1"), "refused: control-byte"},
      {nul(line("GET /@ HTTP/1.1")), "refused: control-byte"},
      {line("GET /\tx HTTP/1.1"), "refused: target"},
      {line("GET /\xc3\xa4 HTTP/1.1"), "refused: target"},
      {line("GET /#x HTTP/1.1"), "refused: fragment"},
      {line("GET /?a#x HTTP/1.1"), "refused: fragment"},
      {line("GET # HTTP/1.1"), "refused: fragment"},
      {line("GET * HTTP/1.1"), "refused: target"},
      {line("OPTIONS ** HTTP/1.1"), "refused: target"},
      {line("GET x HTTP/1.1"), "refused: target"},
      {line("GET ?x HTTP/1.1"), "refused: target"},
      {line("GET a:80 HTTP/1.1"), "refused: target"},
      {line("GET ../x HTTP/1.1"), "refused: target"},
  });
}

TEST(RequestHead, AbsoluteForm) {
  const std::string plain = "\r\nHost: a.example:81\r\n\r\n";
  expect_all({
      {"GET http://a.example:81/x?y HTTP/1.1" + plain,
       "GET /x?y 1.1 host=a.example(a.example:81) keep"},
      {"GET HTTP://A.Example:81/x HTTP/1.1" + plain,
       "GET /x 1.1 host=a.example(a.example:81) keep"},
      {"GET https://a.example:81/ HTTP/1.1" + plain, "GET / 1.1 host=a.example(a.example:81) keep"},
      {"GET http://a.example:81 HTTP/1.1" + plain, "GET / 1.1 host=a.example(a.example:81) keep"},
      {"OPTIONS http://a.example:81 HTTP/1.1" + plain,
       "OPTIONS * (server) 1.1 host=a.example(a.example:81) keep"},
      {"GET http://a.example:81//b/x HTTP/1.1" + plain,
       "GET //b/x 1.1 host=a.example(a.example:81) keep"},
      {"GET http://a.example:81?x HTTP/1.1" + plain, "refused: target"},
      {"GET http://a.example/x HTTP/1.1" + plain, "refused: target-authority"},
      {"GET http://b.example:81/x HTTP/1.1" + plain, "refused: target-authority"},
      {"GET http://u@a.example:81/x HTTP/1.1" + plain, "refused: target-authority"},
      {"GET http:///x HTTP/1.1" + plain, "refused: target-authority"},
      {"GET http://a.example:81\\@b/x HTTP/1.1" + plain, "refused: target-authority"},
      {"GET http:/a.example:81/x HTTP/1.1" + plain, "refused: target"},
      {"GET ftp://a.example:81/x HTTP/1.1" + plain, "refused: target"},
      {"GET http://a.example:81/x HTTP/1.1\r\n\r\n", "refused: host-missing"},
      {"GET http://a/x HTTP/1.0\r\n\r\n", "refused: target-authority"},
  });
}

TEST(RequestHead, FieldLines) {
  expect_all({
      {get("A:\r\n"), "GET / 1.1 host=a keep"},
      {get("A: \t \r\n"), "GET / 1.1 host=a keep"},
      {get("A:b\r\nA: \tc d\t \r\n"), "GET / 1.1 host=a keep"},
      {get("A: \"\x80\xff\ttab\"\r\n"), "GET / 1.1 host=a keep"},
      {get("!#$%&'*+-.^_`|~09azAZ: x\r\n"), "GET / 1.1 host=a keep"},
      {get("A: http://x:y/?z:\r\n"), "GET / 1.1 host=a keep"},
      {get("A-Name-That-Is-Longer-Than-One-Block-Of-Sixteen: x\r\n"), "GET / 1.1 host=a keep"},
      {get("A: b\nC: d\r\n"), "refused: line-end"},
      {get("A: b\rC: d\r\n"), "refused: line-end"},
      {get("A: b\r\r\n"), "refused: line-end"},
      {kTop + "A: b\r\n\n", "refused: line-end"},
      {kTop + "A: b\n\r\n", "refused: line-end"},
      {kTop + "\n", "refused: line-end"},
      {kTop + "\rX", "refused: line-end"},
      {get("A: b\x01\r\n"), "refused: control-byte"},
      {get("A: b\x0b\r\n"), "refused: control-byte"},
      {get("A: b\x0c\r\n"), "refused: control-byte"},
      {get("A: b\x1f\r\n"), "refused: control-byte"},
      {get("A: b\x7f\r\n"), "refused: control-byte"},
      {get("A: \x1b[31m\r\n"), "refused: control-byte"},
      {nul(get("A: b@c\r\n")), "refused: control-byte"},
      {nul(get("A@: b\r\n")), "refused: control-byte"},
      {nul(get("A: @\r\n")), "refused: control-byte"},
      {get("A: b\r\n c\r\n"), "refused: obs-fold"},
      {get("A: b\r\n\tc\r\n"), "refused: obs-fold"},
      {get(" A: b\r\n"), "refused: obs-fold"},
      {"GET / HTTP/1.1\r\n Host: a\r\n\r\n", "refused: obs-fold"},
      {"GET / HTTP/1.1\r\n\tHost: a\r\nHost: a\r\n\r\n", "refused: obs-fold"},
      {kTop + " \r\n\r\n", "refused: obs-fold"},
      {get("A : b\r\n"), "refused: blank-before-colon"},
      {get("A\t: b\r\n"), "refused: blank-before-colon"},
      {get("A B: c\r\n"), "refused: blank-before-colon"},
      {post("Content-Length : 5\r\n"), "refused: blank-before-colon"},
      {post("Transfer-Encoding : chunked\r\n"), "refused: blank-before-colon"},
      {get(": b\r\n"), "refused: field-name"},
      {get("A\r\n"), "refused: field-name"},
      {get("A\r\nB: c\r\n"), "refused: field-name"},
      {get("A\nB: c\r\n"), "refused: line-end"},
      {get("A(: b\r\n"), "refused: field-name"},
      {get("A\"B: b\r\n"), "refused: field-name"},
      {get("A/B: b\r\n"), "refused: field-name"},
      {get("A[1]: b\r\n"), "refused: field-name"},
      {get("A@B: b\r\n"), "refused: field-name"},
      {get("\x80: b\r\n"), "refused: field-name"},
      {get("A\xc3\xa4: b\r\n"), "refused: field-name"},
      {get("{A}: b\r\n"), "refused: field-name"},
      {get("A;B: b\r\n"), "refused: field-name"},
      {get("A\x7f: b\r\n"), "refused: control-byte"},
      {get("A\x01: b\r\n"), "refused: control-byte"},
      {get("\rA: b\r\n"), "refused: line-end"},
      {post("\x0b"
            "Content-Length: 5\r\n"),
       "refused: control-byte"},
      {post("Content-Length\x01: 5\r\n"), "refused: control-byte"},
      {post("X: x\nContent-Length: 5\r\n"), "refused: line-end"},
  });
}

TEST(RequestHead, TheHostOfAnAuthorityIsThatOfTheHead) {
  for (const std::string text : {"a.example",
                                 "A.Example",
                                 "a.example.",
                                 "A.example.:80",
                                 "a_b-c~d:65535",
                                 "127.0.0.1:8080",
                                 "[::1]",
                                 "[2001:DB8::1]:80",
                                 "",
                                 "a b",
                                 "a,b",
                                 "a%41",
                                 ".",
                                 ".a",
                                 "a..b",
                                 "a..",
                                 ":80",
                                 "a:",
                                 "a:b",
                                 "a:65536",
                                 "::1",
                                 "[::1",
                                 "[]",
                                 "[::1]80",
                                 "[a]"}) {
    RequestHead head;
    HeadProgress progress;
    const std::string bytes = host(text);
    const bool good =
        parse_request_head(bytes, HeadLimits{}, progress, head) == HeadStatus::complete;
    const std::optional<std::string> word = host_word_of(text);
    ASSERT_EQ(word.has_value(), good) << text;
    if (good) {
      EXPECT_EQ(*word, head.host) << text;
    }
  }
  EXPECT_TRUE(host_word_of(std::string(255, 'h')));
  EXPECT_FALSE(host_word_of(std::string(256, 'h')));
}

TEST(RequestHead, Host) {
  expect_all({
      {host("a.example"), "GET / 1.1 host=a.example keep"},
      {host("A.Example"), "GET / 1.1 host=a.example(A.Example) keep"},
      {host("a.example."), "GET / 1.1 host=a.example(a.example.) keep"},
      {host("a.example.:80"), "GET / 1.1 host=a.example(a.example.:80) keep"},
      {host("a_b-c~d:65535"), "GET / 1.1 host=a_b-c~d(a_b-c~d:65535) keep"},
      {host("127.0.0.1:8080"), "GET / 1.1 host=127.0.0.1(127.0.0.1:8080) keep"},
      {host("[::1]"), "GET / 1.1 host=[::1] keep"},
      {host("[2001:DB8::1]:80"), "GET / 1.1 host=[2001:db8::1]([2001:DB8::1]:80) keep"},
      {"GET / HTTP/1.1\r\nhOsT:a\r\n\r\n", "GET / 1.1 host=a keep"},
      {"GET / HTTP/1.0\r\n\r\n", "GET / 1.0 host= close"},
      {host(std::string(255, 'h')), "GET / 1.1 host=" + std::string(255, 'h') + " keep"},
      {host(std::string(256, 'h')), "refused: host-invalid"},
      {"GET / HTTP/1.1\r\n\r\n", "refused: host-missing"},
      {"GET / HTTP/1.1\r\nHosts: a\r\n\r\n", "refused: host-missing"},
      {"GET / HTTP/1.1\r\nX-Forwarded-Host: a\r\n\r\n", "refused: host-missing"},
      {get("Host: a\r\n"), "refused: host-repeated"},
      {get("Host: b\r\n"), "refused: host-repeated"},
      {get("hoST:\r\n"), "refused: host-repeated"},
      {"GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", "refused: host-repeated"},
      {host(""), "refused: host-invalid"},
      {"GET / HTTP/1.0\r\nHost:\r\n\r\n", "refused: host-invalid"},
      {host("a b"), "refused: host-invalid"},
      {host("a,b"), "refused: host-invalid"},
      {host("a/b"), "refused: host-invalid"},
      {host("a\\b"), "refused: host-invalid"},
      {host("a@b"), "refused: host-invalid"},
      {host("a?b"), "refused: host-invalid"},
      {host("a#b"), "refused: host-invalid"},
      {host("a%41"), "refused: host-invalid"},
      {host("\xc3\xa4"), "refused: host-invalid"},
      {host("http://a"), "refused: host-invalid"},
      {host("."), "refused: host-invalid"},
      {host(".a"), "refused: host-invalid"},
      {host("a..b"), "refused: host-invalid"},
      {host("a.."), "refused: host-invalid"},
      {host(":80"), "refused: host-invalid"},
      {host("a:"), "refused: host-invalid"},
      {host("a:b"), "refused: host-invalid"},
      {host("a:80:80"), "refused: host-invalid"},
      {host("a:65536"), "refused: host-invalid"},
      {host("a:000080"), "refused: host-invalid"},
      {host("a:+80"), "refused: host-invalid"},
      {host("::1"), "refused: host-invalid"},
      {host("[::1"), "refused: host-invalid"},
      {host("[]"), "refused: host-invalid"},
      {host("[::1]80"), "refused: host-invalid"},
      {host("[::1%25eth0]"), "refused: host-invalid"},
      {host("[127.0.0.1]"), "refused: host-invalid"},
      {host("[a]"), "refused: host-invalid"},
  });
}

TEST(RequestHead, Framing) {
  const std::string te = "Transfer-Encoding: chunked\r\n";
  const std::string cl = "Content-Length: 5\r\n";
  expect_all({
      {post(cl), "POST / 1.1 host=a length=5 keep"},
      {get(cl), "GET / 1.1 host=a length=5 keep"},
      {post("Content-Length: 0\r\n"), "POST / 1.1 host=a length=0 keep"},
      {post("content-LENGTH:\t007 \r\n"), "POST / 1.1 host=a length=7 keep"},
      {post("Content-Length: 9223372036854775807\r\n"),
       "POST / 1.1 host=a length=9223372036854775807 keep"},
      {post(te), "POST / 1.1 host=a chunked keep"},
      {post("transfer-encoding:Chunked\r\n"), "POST / 1.1 host=a chunked keep"},
      {get(te), "GET / 1.1 host=a chunked keep"},
      {"POST / HTTP/1.0\r\n" + cl + "\r\n", "POST / 1.0 host= length=5 close"},
      {post(""), "POST / 1.1 host=a keep"},
      {post(cl + te), "refused: content-length-with-coding"},
      {post(te + cl), "refused: content-length-with-coding"},
      {post(te + "Content-Length: 0\r\n"), "refused: content-length-with-coding"},
      {post(cl + cl), "refused: content-length-repeated"},
      {post(cl + "Content-Length: 6\r\n"), "refused: content-length-repeated"},
      {post("Content-Length: 0\r\ncontent-length: 0\r\n"), "refused: content-length-repeated"},
      {post("Content-Length:\r\n"), "refused: content-length-invalid"},
      {post("Content-Length: +5\r\n"), "refused: content-length-invalid"},
      {post("Content-Length: -5\r\n"), "refused: content-length-invalid"},
      {post("Content-Length: 5 5\r\n"), "refused: content-length-invalid"},
      {post("Content-Length: 5, 5\r\n"), "refused: content-length-invalid"},
      {post("Content-Length: 5,\r\n"), "refused: content-length-invalid"},
      {post("Content-Length: 0x5\r\n"), "refused: content-length-invalid"},
      {post("Content-Length: 5.0\r\n"), "refused: content-length-invalid"},
      {post("Content-Length: 1e3\r\n"), "refused: content-length-invalid"},
      {post("Content-Length: \"5\"\r\n"), "refused: content-length-invalid"},
      {post("Content-Length: five\r\n"), "refused: content-length-invalid"},
      {post("Content-Length: \xd9\xa5\r\n"), "refused: content-length-invalid"},
      {post("Content-Length: 9223372036854775808\r\n"), "refused: content-length-invalid"},
      {post("Content-Length: 18446744073709551621\r\n"), "refused: content-length-invalid"},
      {post("Content-Length: 99999999999999999999999\r\n"), "refused: content-length-invalid"},
      {post(te + te), "refused: transfer-coding"},
      {post(te + "Transfer-Encoding: identity\r\n"), "refused: transfer-coding"},
      {post("Transfer-Encoding: identity\r\n"), "refused: transfer-coding"},
      {post("Transfer-Encoding: gzip, chunked\r\n"), "refused: transfer-coding"},
      {post("Transfer-Encoding: chunked, gzip\r\n"), "refused: transfer-coding"},
      {post("Transfer-Encoding: chunked, chunked\r\n"), "refused: transfer-coding"},
      {post("Transfer-Encoding: chunked,\r\n"), "refused: transfer-coding"},
      {post("Transfer-Encoding: ,chunked\r\n"), "refused: transfer-coding"},
      {post("Transfer-Encoding: xchunked\r\n"), "refused: transfer-coding"},
      {post("Transfer-Encoding: chunkedx\r\n"), "refused: transfer-coding"},
      {post("Transfer-Encoding: \"chunked\"\r\n"), "refused: transfer-coding"},
      {post("Transfer-Encoding: chunked;q=1\r\n"), "refused: transfer-coding"},
      {post("Transfer-Encoding: chu nked\r\n"), "refused: transfer-coding"},
      {post("Transfer-Encoding:\r\n"), "refused: transfer-coding"},
      {post("Transfer-Encoding: \x0b"
            "chunked\r\n"),
       "refused: control-byte"},
      {post("Transfer-Encoding: chunked\x80\r\n"), "refused: transfer-coding"},
      {post("Transfer-Encoding:\r\n chunked\r\n"), "refused: obs-fold"},
      {post("Transfer-Encoding: identity\r\n" + cl), "refused: transfer-coding"},
      {"POST / HTTP/1.0\r\nHost: a\r\n" + te + "\r\n", "refused: transfer-coding-in-http-1.0"},
      {"POST / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n" + te + "\r\n",
       "refused: transfer-coding-in-http-1.0"},
      // Aliases are no framing; hop_headers drops them.
      {post("Transfer_Encoding: chunked\r\n"), "POST / 1.1 host=a keep"},
      {post("Content_Length: 5\r\n"), "POST / 1.1 host=a keep"},
  });
}

TEST(RequestHead, ConnectionAndExpect) {
  const std::string cl = "Content-Length: 5\r\n";
  const std::string expect = "Expect: 100-continue\r\n";
  const std::string http10 = "POST / HTTP/1.0\r\nHost: a\r\n";
  expect_all({
      {get("Connection: close\r\n"), "GET / 1.1 host=a close"},
      {get("Connection: x, CLOSE ,y\r\n"), "GET / 1.1 host=a close"},
      {get("Connection: keep-alive\r\nConnection: close\r\n"), "GET / 1.1 host=a close"},
      {get("Connection: keep-alive\r\n"), "GET / 1.1 host=a keep"},
      {get("Connection:\r\n"), "GET / 1.1 host=a keep"},
      {get("Connection: , ,\r\n"), "GET / 1.1 host=a keep"},
      {get("Connection: closed\r\n"), "GET / 1.1 host=a keep"},
      {http10 + "Connection: Keep-Alive\r\n\r\n", "POST / 1.0 host=a keep"},
      {http10 + "Connection: keep-alive, close\r\n\r\n", "POST / 1.0 host=a close"},
      {get("Connection: close;x\r\n"), "refused: connection-options"},
      {get("Connection: a b\r\n"), "refused: connection-options"},
      {get("Connection: \"close\"\r\n"), "refused: connection-options"},
      {get("Connection: clos\xe9\r\n"), "refused: connection-options"},
      {get("Connection: " + repeat("a,", 31) + "\r\n"), "GET / 1.1 host=a keep"},
      {get("Connection: " + repeat("a,", 40) + "\r\n"), "refused: connection-options"},
      {get("Connection: " + repeat(",", 40) + "\r\n"), "refused: connection-options"},
      {get(repeat("Connection: a\r\n", 33)), "refused: connection-options"},
      {post(cl + expect), "POST / 1.1 host=a length=5 keep expect"},
      {post("Transfer-Encoding: chunked\r\nExpect: 100-Continue\r\n"),
       "POST / 1.1 host=a chunked keep expect"},
      {post(expect), "POST / 1.1 host=a keep"},
      {post("Content-Length: 0\r\n" + expect), "POST / 1.1 host=a length=0 keep"},
      {http10 + cl + expect + "\r\n", "POST / 1.0 host=a length=5 close"},
      {http10 + cl + "Expect: tea\r\n\r\n", "POST / 1.0 host=a length=5 close"},
      {post(cl + "Expect: tea\r\n"), "refused: expectation"},
      {post(cl + "Expect:\r\n"), "refused: expectation"},
      {post(cl + expect + "Expect: tea\r\n"), "refused: expectation"},
      {post(cl + "Expect: 100-continue, tea\r\n"), "refused: expectation"},
  });
}

TEST(RequestHead, Websocket) {
  const std::string good = kHandshake + kKey + kVersion13;
  const std::string plain = "GET /ws 1.1 host=a keep";
  const auto handshake = [](const std::string& top, const std::string& rest) {
    return top + "Host: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" + rest + "\r\n";
  };
  expect_all({
      {good + "\r\n", plain + " websocket=dGhlIHNhbXBsZSBub25jZQ=="},
      {good + "Content-Length: 0\r\n\r\n",
       "GET /ws 1.1 host=a length=0 keep websocket=dGhlIHNhbXBsZSBub25jZQ=="},
      {good + "Content-Length: 3\r\n\r\n", "GET /ws 1.1 host=a length=3 keep"},
      {good + "Transfer-Encoding: chunked\r\n\r\n", "GET /ws 1.1 host=a chunked keep"},
      {good + kKey + "\r\n", plain},
      {good + kVersion13 + "\r\n", plain},
      {good + "Upgrade: websocket\r\n\r\n", plain},
      {kHandshake + kKey + "\r\n", plain},
      {kHandshake + kVersion13 + "\r\n", plain},
      {kHandshake + kKey + "Sec-WebSocket-Version: 8\r\n\r\n", plain},
      {kHandshake + kVersion13 + "Sec-WebSocket-Key: short==\r\n\r\n", plain},
      {kHandshake + kVersion13 + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZ!==\r\n\r\n", plain},
      {handshake("POST /ws HTTP/1.1\r\n", kKey + kVersion13), "POST /ws 1.1 host=a keep"},
      {handshake("GET /ws HTTP/1.0\r\n", kKey + kVersion13), "GET /ws 1.0 host=a close"},
      {"GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n" + kKey + kVersion13 + "\r\n", plain},
      {"GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\n"
       "HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n",
       plain},
  });
}

TEST(RequestHead, Limits) {
  const auto path = [](std::size_t n) { return "/" + std::string(n - 1, 'p'); };
  const HeadLimits defaults;
  const std::size_t most = defaults.start_line - std::string_view{"GET  HTTP/1.1"}.size();
  const auto top = [](std::size_t fields) {
    return kTop + repeat("A: b\r\n", fields - 1) + "\r\n";
  };
  const auto sized = [](std::size_t size) {
    const std::string head = kTop + "A: \r\n\r\n";
    return kTop + "A: " + std::string(size - head.size(), 'v') + "\r\n\r\n";
  };
  expect_all({
      {line("GET " + path(most) + " HTTP/1.1"), "GET " + path(most) + " 1.1 host=a keep"},
      {"\r\n" + line("GET " + path(most) + " HTTP/1.1"), "GET " + path(most) + " 1.1 host=a keep"},
      {line("GET " + path(most + 1) + " HTTP/1.1"), "refused: target-too-long"},
      {"\r\n" + line("GET " + path(most + 1) + " HTTP/1.1"), "refused: target-too-long"},
      {line("GET " + path(most + 9000) + " HTTP/1.1"), "refused: target-too-long"},
      {"GET " + path(9000), "refused: target-too-long"},
      {"GET " + path(9000) + "\x01", "refused: target-too-long"},
      {top(100), "GET / 1.1 host=a keep"},
      {top(101), "refused: too-many-fields"},
      {sized(32 << 10), "GET / 1.1 host=a keep"},
      {sized((32 << 10) + 1), "refused: head-too-large"},
      {kTop + "A: " + std::string(40'000, 'v'), "refused: head-too-large"},
      {kTop + std::string(40'000, 'n'), "refused: head-too-large"},
  });
  expect_all({{get("A: b\r\n"), "GET / 1.1 host=a keep"},
              {get("A: b\r\nC: d\r\n"), "refused: too-many-fields"},
              {get("A: " + std::string(100, 'b') + "\r\n"), "refused: head-too-large"},
              {line("GET /23456 HTTP/1.1"), "GET /23456 1.1 host=a keep"},
              {line("GET /234567 HTTP/1.1"), "refused: target-too-long"},
              {line("GET /2345678 HTTP/1.1"), "refused: target-too-long"}},
             {.start_line = 19, .fields = 2, .head = 100});
}

TEST(RequestHead, Incomplete) {
  expect_all({
      {"", "incomplete"},
      {"\r\n", "incomplete"},
      {"G", "incomplete"},
      {"GET / HTTP/1.1\r\n", "incomplete"},
      {"GET / HTTP/1.1\r\nHost: a\r\n\r", "incomplete"},
      {"GET / HTTP/1.1\r\nHost: a\r\nA: b\r\n", "incomplete"},
  });
}

TEST(RequestHead, SizeAndViews) {
  const std::string bytes =
      "\r\nPOST /x HTTP/1.1\r\nHost: a\r\nEmpty:\r\nX_User-Id: 7 \r\nContent-Length: "
      "4\r\n\r\nbodyGET /";
  RequestHead head;
  HeadProgress progress;
  ASSERT_EQ(parse_request_head(bytes, {}, progress, head), HeadStatus::complete);
  EXPECT_EQ(std::string_view{bytes}.substr(head.size, 4), "body");
  EXPECT_EQ(head.method_id, Method::post);
  ASSERT_EQ(head.fields.count, 4u);
  EXPECT_EQ(head.fields.fields[1].value, "");
  EXPECT_EQ(head.fields.fields[2].name, "X_User-Id");
  EXPECT_EQ(head.fields.fields[2].value, "7");
  EXPECT_EQ(head.fields.kinds[2], FieldKind::odd_name);
  EXPECT_EQ(head.fields.find("x_user-id"), &head.fields.fields[2]);
  EXPECT_EQ(head.fields.find(FieldKind::host)->value, "a");
  EXPECT_EQ(head.fields.find("nope"), nullptr);
  const std::string_view last{
      head.fields.line_begin(3),
      static_cast<std::size_t>(head.fields.line_end(3) - head.fields.line_begin(3))};
  EXPECT_EQ(last, "Content-Length: 4\r\n");
}

TEST(RequestHead, ConnectionNamesFieldsButNotTheProtectedOnes) {
  const std::string bytes =
      get("Connection: x-a, x_b, TE, keep-alive\r\n"
          "X-A: 1\r\nX-B: 2\r\nX_b: 3\r\nX-Forwarded-For: 1.2.3.4\r\nX-Real-IP: 1.2.3.4\r\n"
          "Content-Length: 2\r\n");
  RequestHead head;
  HeadProgress progress;
  ASSERT_EQ(parse_request_head(bytes, {}, progress, head), HeadStatus::complete);
  const std::vector<FieldKind> kinds(head.fields.kinds.begin(),
                                     head.fields.kinds.begin() + head.fields.count);
  EXPECT_EQ(kinds, (std::vector{FieldKind::host, FieldKind::connection,
                                FieldKind::named_in_connection, FieldKind::plain,
                                FieldKind::named_in_connection, FieldKind::x_forwarded_for,
                                FieldKind::x_forwarded_other, FieldKind::content_length}));
  EXPECT_EQ(head.content_length, 2u);
  EXPECT_EQ(head.fields.find("x-a"), nullptr) << "nobody may read what ends here";
  EXPECT_EQ(head.fields.find("x_b"), nullptr);
  ASSERT_NE(head.fields.find("x-b"), nullptr);
  EXPECT_EQ(head.fields.find("x-b")->value, "2");
  EXPECT_EQ(std::string_view(head.fields.line_begin(2), 4), "X-A:");
  for (const std::string option : {"Host", "content-length", "X-Forwarded-For", "X-Real-IP",
                                   "expect", "X-Weir-Verdict", "cf-connecting-ip"}) {
    head.refusal = HttpRefusal::none;
    progress = {};
    const std::string ended = get("Connection: keep-alive, " + option + "\r\n");
    ASSERT_EQ(parse_request_head(ended, {}, progress, head), HeadStatus::refused) << option;
    EXPECT_EQ(head.refusal, HttpRefusal::connection_options) << option;
  }
}

TEST(RequestHead, MaxForwardsIsOfTraceAndOptions) {
  const auto read = [](const std::string& method, const std::string& lines) {
    const std::string bytes = method + " / HTTP/1.1\r\nHost: a\r\n" + lines + "\r\n";
    RequestHead head;
    HeadProgress progress;
    EXPECT_EQ(parse_request_head(bytes, {}, progress, head), HeadStatus::complete) << lines;
    return head.max_forwards;
  };
  EXPECT_EQ(read("TRACE", "Max-Forwards: 0\r\n"), 0u);
  EXPECT_EQ(read("OPTIONS", "max-forwards: 010\r\n"), 10u);
  EXPECT_EQ(read("OPTIONS", "Max-Forwards: 99999999999\r\n"), 0x7fffffffu);
  EXPECT_EQ(read("OPTIONS", ""), std::nullopt);
  EXPECT_EQ(read("OPTIONS", "Max-Forwards: -1\r\n"), std::nullopt);
  EXPECT_EQ(read("OPTIONS", "Max-Forwards: 0\r\nMax-Forwards: 1\r\n"), std::nullopt);
  EXPECT_EQ(read("GET", "Max-Forwards: 0\r\n"), std::nullopt);
}

/// The cost of a head that drips in byte by byte: no re-parsing from the start at each byte.
TEST(RequestHead, ResumesWhereItStopped) {
  const std::string bytes = get("A: " + std::string(30'000, 'v') + "\r\n");
  RequestHead head;
  HeadProgress progress;
  std::uint32_t before = 0;
  for (std::size_t i = 1; i < bytes.size(); ++i) {
    ASSERT_EQ(parse_request_head({bytes.data(), i}, {}, progress, head), HeadStatus::incomplete);
    ASSERT_GE(progress.scanned, before);
    ASSERT_GE(progress.scanned + 1, i);
    before = progress.scanned;
  }
  EXPECT_EQ(parse_request_head(bytes, {}, progress, head), HeadStatus::complete);
}

TEST(HttpRefusal, EveryRowHasAStatusAndAWord) {
  for (int i = 1; i <= static_cast<int>(HttpRefusal::unasked_upgrade); ++i) {
    const HttpRefusalRow& row = http_refusal_row(static_cast<HttpRefusal>(i));
    EXPECT_GE(row.status, 400);
    EXPECT_FALSE(row.word.empty());
    EXPECT_EQ(row.detail.empty(), row.status == 502) << row.word;  // a client hears of its own only
    EXPECT_EQ(row.detail.find_first_of("\"\\\n"), std::string_view::npos) << row.word;
  }
  EXPECT_EQ(http_refusal_row(HttpRefusal::target_too_long).status, 414);
  EXPECT_EQ(http_refusal_row(HttpRefusal::head_too_large).status, 431);
  EXPECT_EQ(http_refusal_row(HttpRefusal::too_many_fields).status, 431);
  EXPECT_EQ(http_refusal_row(HttpRefusal::connect).status, 405);
  EXPECT_EQ(http_refusal_row(HttpRefusal::version).status, 505);
  EXPECT_EQ(http_refusal_row(HttpRefusal::expectation).status, 417);
  EXPECT_EQ(http_refusal_row(HttpRefusal::method_too_long).status, 501);
}

}  // namespace
}  // namespace weir::net::http_head_test
