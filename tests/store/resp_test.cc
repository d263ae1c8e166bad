#include <gtest/gtest.h>

#include <random>
#include <string>

#include "store/resp/resp_guard.h"
#include "store/resp/resp_reader.h"
#include "store/resp/resp_writer.h"

namespace weir::store::resp_test {
namespace {

struct Case {
  const char* name;
  std::string bytes;
  bool admitted;
};

std::string nested(int depth) {
  std::string out;
  for (int i = 0; i < depth; ++i) out += "*1\r\n";
  return out + ":1\r\n";
}

TEST(RespGuard, AdmitsRepliesAndNothingElse) {
  const Case cases[] = {
      {"a status", "+OK\r\n", true},
      {"an error", "-ERR no\r\n", true},
      {"the least integer", ":-9223372036854775808\r\n", true},
      {"an integer of twenty digits", ":12345678901234567890\r\n", false},
      {"an integer without digits", ":\r\n", false},
      {"a string with line ends in it", "$4\r\na\r\nb\r\n", true},
      {"an empty string", "$0\r\n\r\n", true},
      {"no string", "$-1\r\n", true},
      {"a string of less than none", "$-2\r\n", false},
      {"a string that is longer than it says", "$1\r\nab\r\n", false},
      {"a header of 2 GB", "$2147483647\r\n", false},
      {"a header beyond 64 bits", "$99999999999999999999\r\n", false},
      {"an array of 2^31", "*2147483648\r\n", false},
      {"the array that costs hiredis 34 GB", "*4294967295\r\n", false},
      {"many arrays that are too much together", "*2\r\n*200000\r\n", true},
      {"an empty array", "*0\r\n", true},
      {"no array", "*-1\r\n", true},
      {"arrays as deep as a reply of ours is", nested(5), true},
      {"arrays deeper than any reply", nested(9), false},
      {"a type of RESP 3", "%1\r\n", false},
      {"HTTP", "HTTP/1.1 400 Bad Request\r\n", false},
      {"a line feed alone", "+OK\n", false},
      {"a status without end", "+" + std::string(20'000, 'x'), false},
  };
  for (const Case& c : cases) {
    RespGuard whole;
    EXPECT_EQ(whole.admit(c.bytes), c.admitted) << c.name;
    RespGuard bytewise;
    bool good = true;
    for (const char byte : c.bytes) good = good && bytewise.admit({&byte, 1});
    EXPECT_EQ(good, c.admitted) << c.name << ", byte by byte";
  }
  RespGuard late;
  EXPECT_FALSE(late.admit("*2\r\n*200000\r\n:1\r\n"
                          "*200000\r\n") &&
               late.admit("*200000\r\n"));
}

TEST(RespGuard, SaysWhereRepliesEnd) {
  RespGuard guard;
  ASSERT_TRUE(guard.admit("*2\r\n$3\r\nabc\r\n"));
  EXPECT_FALSE(guard.between_replies());
  ASSERT_TRUE(guard.admit("*-1\r\n"));
  EXPECT_TRUE(guard.between_replies());
}

TEST(RespReader, ReadsWhateverTheSplit) {
  const std::string bytes = "*4\r\n:-7\r\n$5\r\nhello\r\n*2\r\n$-1\r\n+in\r\n-ERR x\r\n+next\r\n";
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    RespReader reader;
    std::vector<std::string> said;
    for (const std::string_view piece :
         {std::string_view(bytes).substr(0, cut), std::string_view(bytes).substr(cut)}) {
      ASSERT_TRUE(reader.feed(piece));
      while (reader.next() == RespReader::Step::reply) {
        const Reply& reply = reader.reply();
        if (reply.size() == 1) {
          said.emplace_back(reply.text());
          continue;
        }
        ASSERT_EQ(reply.size(), 7U) << cut;
        EXPECT_EQ(reply[1].integer, -7);
        EXPECT_EQ(reply.text(reply[2]), "hello");
        EXPECT_EQ(reply[3].length, 2U);
        EXPECT_EQ(reply[4].type, Reply::Type::nil);
        EXPECT_EQ(reply[5].type, Reply::Type::status);
        EXPECT_EQ(reply.text(reply[6]), "ERR x");
        said.emplace_back("array");
      }
    }
    EXPECT_EQ(said, (std::vector<std::string>{"array", "next"})) << cut;
  }
}

TEST(RespReader, StaysBoundedByTheGuard) {
  RespReader reader;
  EXPECT_FALSE(reader.feed("*4294967295\r\n"));
  RespReader number;
  ASSERT_TRUE(number.feed(":9999999999999999999\r\n"));
  EXPECT_EQ(number.next(), RespReader::Step::broken) << "beyond 64 bits";
}

TEST(RespWriter, NeverLetsTextBecomeACommand) {
  std::string out;
  append_command(out, {"GET", "a\r\n*1\r\n$8\r\nFLUSHALL\r\n"});
  EXPECT_EQ(out, "*2\r\n$3\r\nGET\r\n$21\r\na\r\n*1\r\n$8\r\nFLUSHALL\r\n\r\n");
}

}  // namespace
}  // namespace weir::store::resp_test
