#include "net/outbox.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir::net::outbox_test {
namespace {

struct Line : Sender {
  Line(Outbox& o, std::vector<std::string>& s) : outbox(o), said(s) {}
  bool say(std::string text) {
    const iovec parts[2] = {{text.data(), text.size() / 2},
                            {text.data() + text.size() / 2, text.size() - text.size() / 2}};
    return outbox.put(*this, parts, text.size());
  }
  void send_now(std::string_view bytes) override {
    said.emplace_back(bytes);
    if (!answer.empty()) say(std::exchange(answer, {}));
  }
  Outbox& outbox;
  std::vector<std::string>& said;
  std::string answer;
};

struct OutboxTest : testing::Test {
  Outbox outbox;
  std::vector<std::string> said;
  Line a{outbox, said}, b{outbox, said};
};

TEST_F(OutboxTest, SendsInTheOrderInWhichItWasPutOff) {
  EXPECT_FALSE(outbox.flush());
  ASSERT_TRUE(a.say("one") && b.say("two") && a.say("three"));
  EXPECT_TRUE(said.empty());
  EXPECT_TRUE(outbox.flush());
  EXPECT_EQ(said, (std::vector<std::string>{"one", "two", "three"}));
  EXPECT_FALSE(outbox.flush());
}

TEST_F(OutboxTest, SendsWhatIsPutOffWhileItSends) {
  a.answer = "four";
  ASSERT_TRUE(a.say("one") && b.say("two"));
  EXPECT_TRUE(outbox.flush());
  EXPECT_EQ(said, (std::vector<std::string>{"one", "two", "four"}));
}

TEST_F(OutboxTest, SendsOneSendersWritesBeforeTheOthers) {
  ASSERT_TRUE(a.say("one") && b.say("two") && a.say("three"));
  outbox.flush(a);
  EXPECT_EQ(said, (std::vector<std::string>{"one", "three"}));
  EXPECT_TRUE(outbox.flush());
  EXPECT_EQ(said, (std::vector<std::string>{"one", "three", "two"}));
}

TEST_F(OutboxTest, ForgetsWhoIsGone) {
  ASSERT_TRUE(a.say("one") && b.say("two") && a.say("three"));
  outbox.forget(a);
  EXPECT_TRUE(outbox.flush());
  EXPECT_EQ(said, std::vector<std::string>{"two"});
}

TEST_F(OutboxTest, RefusesWhatIsLargeOrTooMuchAndHasRoomAgainAfterwards) {
  EXPECT_FALSE(a.say(std::string(Outbox::kWriteMax + 1, 'x')));
  std::size_t large = 0;
  while (a.say(std::string(Outbox::kWriteMax, 'x'))) ++large;
  EXPECT_EQ(large, (std::size_t{64} << 10) / Outbox::kWriteMax);
  EXPECT_TRUE(outbox.flush());
  EXPECT_EQ(said.size(), large);
  std::size_t small = 0;
  while (a.say("x")) ++small;
  EXPECT_EQ(small, Outbox::kWrites);
  EXPECT_TRUE(outbox.flush());
  EXPECT_TRUE(a.say("x"));
}

}  // namespace
}  // namespace weir::net::outbox_test
