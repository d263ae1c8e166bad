#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "net/http/chunked.h"
#include "tests/support/head_cases.h"
#include "tests/support/seed.h"

namespace weir::net::http_chunked_test {
namespace {

/// Decodes input given in the pieces that end at `ends`: "BODY+REST" (what follows the message),
/// "refused: WORD" or "incomplete: BODY".
std::string decode(std::string_view bytes, const std::vector<std::size_t>& ends,
                   const ChunkLimits& limits) {
  ChunkedDecoder decoder{limits};
  std::string body;
  std::size_t at = 0;
  for (const std::size_t end : ends) {
    const std::vector<char> piece(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                                  bytes.begin() + static_cast<std::ptrdiff_t>(end));
    std::string_view input{piece.data(), piece.size()};
    while (!input.empty() && !decoder.done()) {
      const ChunkedDecoder::Step step = decoder.next(input);
      if (step.refusal != HttpRefusal::none) {
        return "refused: " + std::string{http_refusal_row(step.refusal).word};
      }
      EXPECT_GT(step.used, 0u);
      body += step.data;
      input.remove_prefix(step.used);
    }
    at = end - input.size();
    if (decoder.done()) break;
  }
  if (!decoder.done()) return "incomplete: " + body;
  return body + "+" + std::string{bytes.substr(at)};
}

struct Case {
  std::string bytes;
  std::string outcome;
};

void expect_all(const std::vector<Case>& cases, const ChunkLimits& limits = {}) {
  for (const Case& c : cases) {
    SCOPED_TRACE(test::escaped(c.bytes));
    const std::size_t size = c.bytes.size();
    EXPECT_EQ(decode(c.bytes, {size}, limits), c.outcome) << "whole";
    std::vector<std::size_t> each;
    for (std::size_t i = 0; i <= size; ++i) each.push_back(i);
    EXPECT_EQ(decode(c.bytes, each, limits), c.outcome) << "byte by byte";
    for (std::size_t i = 0; i <= size; i += size > 1000 ? 53 : 1) {
      ASSERT_EQ(decode(c.bytes, {i, size}, limits), c.outcome) << "cut at " << i;
    }
  }
}

const std::string kEnd = "0\r\n\r\n";
std::string chunk(const std::string& line) { return line + "\r\nhello\r\n" + kEnd; }

TEST(Chunked, Bodies) {
  expect_all({
      {kEnd, "+"},
      {kEnd + "GET /", "+GET /"},
      {"5\r\nhello\r\n" + kEnd, "hello+"},
      {"5\r\nhello\r\n6\r\n world\r\n" + kEnd + "x", "hello world+x"},
      {"00000005\r\nhello\r\n000\r\n\r\n", "hello+"},
      {"A\r\n0123456789\r\na\r\n0123456789\r\n" + kEnd, "01234567890123456789+"},
      {"2\r\n\r\n\r\n" + kEnd, "\r\n+"},
      {"5\r\nhel", "incomplete: hel"},
      {"5\r\nhello\r\n", "incomplete: hello"},
      {"5\r\nhello\r\n0\r\n", "incomplete: hello"},
      {"5\r\nhello\r\n0\r\n\r", "incomplete: hello"},
      {"", "incomplete: "},
  });
}

TEST(Chunked, Sizes) {
  for (const std::string line : {"",
                                 " 5",
                                 "5 ",
                                 "\t5",
                                 "+5",
                                 "-5",
                                 "0x5",
                                 "5h",
                                 "x",
                                 "g",
                                 "5,5",
                                 "\"5\"",
                                 "5 5",
                                 "5\x0b",
                                 "8000000000000000",
                                 "fffffffffffffffff",
                                 "ffffffffffffffff",
                                 "10000000000000005",
                                 "00000000000000005",
                                 "\xd9\xa5",
                                 "5\x7f"}) {
    expect_all({{chunk(line), "refused: chunk-size"}});
  }
  expect_all({{std::string("5\0\r\nhello\r\n0\r\n\r\n", 15), "refused: chunk-size"},
              {"7fffffffffffffff\r\nabc", "incomplete: abc"},
              {"0000000000000005\r\nhello\r\n" + kEnd, "hello+"},
              {"5\nhello\r\n" + kEnd, "refused: chunk-size"},
              {"5\rhello\r\n" + kEnd, "refused: line-end"},
              {"5\r\r\nhello\r\n" + kEnd, "refused: line-end"},
              {"\r\n5\r\nhello\r\n" + kEnd, "refused: chunk-size"}});
}

TEST(Chunked, Ends) {
  expect_all({
      {"5\r\nhelloX\r\n" + kEnd, "refused: chunk-end"},
      {"5\r\nhello\n" + kEnd, "refused: chunk-end"},
      {"5\r\nhello\rX", "refused: chunk-end"},
      {"5\r\nhello\r\r\n", "refused: chunk-end"},
      {"5\r\nhello0\r\n\r\n", "refused: chunk-end"},
      {"4\r\nhello\r\n" + kEnd, "refused: chunk-end"},
      {"6\r\nhello\r\n" + kEnd, "refused: chunk-end"},
      {"0\r\n\n", "refused: trailer"},
      {"0\n\n", "refused: chunk-size"},
      {"0\r\n\rX", "refused: trailer"},
  });
}

TEST(Chunked, Extensions) {
  for (const std::string extension : {";a", ";a=b", ";a=b;c;d=e", ";a=\"b c\"",
                                      ";a=\"\\\"\\\\;\t\xc3\xa4\"", ";a=\"\";b", ";ieof"}) {
    expect_all({{chunk("5" + extension), "hello+"}});
  }
  for (const std::string extension :
       {";",           ";;",          ";a;",       ";=b",          ";a=",     ";a=;b",
        ";a b",        "; a",         ";a =b",     ";a= b",        ";a=b ",   ";a=\"b",
        ";a=\"b\"c",   ";a=\"b\nc\"", ";a\n",      ";a=b\n",       ";a=\x01", ";a=\"\x01\"",
        ";a=\"\x7f\"", ";a=b=c",      ";\xc3\xa4", ";a=\"\\\x01\""}) {
    expect_all({{chunk("5" + extension), "refused: chunk-extension"}});
  }
  expect_all({{"5;a\rX", "refused: line-end"},
              {"5;a=\"b\r\nhello\r\n" + kEnd, "refused: chunk-extension"},
              {"0;a=b\r\n\r\n", "+"}});
}

TEST(Chunked, Trailers) {
  expect_all({
      {"0\r\nA: b\r\n\r\nx", "+x"},
      {"0\r\nA: b\r\nX-User-Id:7\r\nEmpty:\r\n\r\n", "+"},
      {"0\r\nContent-Length: 5\r\nHost: b\r\n\r\n", "+"},
      {"0\r\nA: \xc3\xa4\t\r\n\r\n", "+"},
      {"0\r\nA : b\r\n\r\n", "refused: trailer"},
      {"0\r\n: b\r\n\r\n", "refused: trailer"},
      {"0\r\nA\r\n\r\n", "refused: trailer"},
      {"0\r\nA: b\n\r\n", "refused: trailer"},
      {"0\r\nA: b\r\n c\r\n\r\n", "refused: trailer"},
      {"0\r\n A: b\r\n\r\n", "refused: trailer"},
      {"0\r\nA: b\rc\r\n\r\n", "refused: trailer"},
      {"0\r\nA: \x01\r\n\r\n", "refused: trailer"},
      {"0\r\nGET / HTTP/1.1\r\n\r\n", "refused: trailer"},
      {std::string("0\r\nA: \0\r\n\r\n", 11), "refused: trailer"},
  });
}

TEST(Chunked, Limits) {
  const auto line = [](std::size_t bytes) { return "5;" + std::string(bytes - 2, 'e'); };
  expect_all(
      {{chunk(line(256)), "hello+"},
       {chunk(line(257)), "refused: chunk-line-too-long"},
       {"0\r\nA: " + std::string(4096 - 7, 'b') + "\r\n\r\n", "+"},
       {"0\r\nA: " + std::string(4096 - 6, 'b') + "\r\n\r\n", "refused: trailers-too-large"}});
  std::string many;
  for (int i = 0; i < 65; ++i) many += line(255) + "\r\nhello\r\n";  // 254 bytes of extension each
  expect_all({{many, "refused: chunk-extensions-too-long"}});
  expect_all({{"5;ab\r\nhello\r\n1;abc\r\nx\r\n" + kEnd, "hellox+"},
              {"5;ab\r\nhello\r\n1;abcd\r\nx\r\n" + kEnd, "refused: chunk-extensions-too-long"}},
             {.line = 6, .extensions = 7});
}

TEST(Chunked, DataIsAtTheEndOfWhatWasUsed) {
  ChunkedDecoder decoder;
  const std::string_view bytes = "5\r\nhello\r\n0\r\n\r\n";
  const ChunkedDecoder::Step step = decoder.next(bytes);
  EXPECT_EQ(step.used, 8u);
  EXPECT_EQ(step.data.data() + step.data.size(), bytes.data() + step.used);
  EXPECT_EQ(decoder.next(bytes.substr(8)).used, 7u);
  EXPECT_TRUE(decoder.done());
  EXPECT_EQ(decoder.next("x").used, 0u);
}

TEST(Chunked, ChunkHeads) {
  std::array<char, 18> out;
  const auto head = [&out](std::uint64_t size) {
    return std::string{out.data(), write_chunk_head(out, size)};
  };
  EXPECT_EQ(head(1), "1\r\n");
  EXPECT_EQ(head(15), "f\r\n");
  EXPECT_EQ(head(16), "10\r\n");
  EXPECT_EQ(head(0xabcde), "abcde\r\n");
  EXPECT_EQ(head(~std::uint64_t{0}), "ffffffffffffffff\r\n");
}

TEST(Chunked, WhatIsWrittenIsReadBackUnderRandomSplits) {
  const auto seed = ::weir::test::new_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random{seed};
  const auto upto = [&random](std::size_t n) { return random() % (n + 1); };
  for (int round = 0; round < 500; ++round) {
    std::string body;
    std::string wire;
    for (std::size_t n = upto(8); n-- > 0;) {
      std::string data(1 + upto(upto(1) ? 5 : 5000), '\0');
      for (char& c : data) c = static_cast<char>(random());
      std::array<char, 18> head;
      wire.append(head.data(), write_chunk_head(head, data.size()));
      wire.append(data).append(kChunkEnd);
      body += data;
    }
    wire += kLastChunk;
    std::vector<std::size_t> ends;
    for (std::size_t at = 0; at < wire.size();) {
      at = std::min(wire.size(), at + 1 + upto(upto(1) ? 3 : 2000));
      ends.push_back(at);
    }
    ASSERT_EQ(decode(wire, ends, {}), body + "+");
  }
}

}  // namespace
}  // namespace weir::net::http_chunked_test
