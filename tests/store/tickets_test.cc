#include "store/redis/tickets.h"

#include <gtest/gtest.h>

#include <array>

namespace weir::store::tickets_test {
namespace {

constexpr TimePoint kStart = from_ms(1'000'000);
constexpr TimePoint kLate = kStart + milliseconds{5'000};

struct Waiting final : Batch {
  Waiting() {
    ops = room_ops;
    replies = room_replies;
  }
  void on_replies() override { ++notified; }

  std::array<limiter::SharedOp, 1> room_ops;
  std::array<limiter::SharedReply, 1> room_replies;
  int notified = 0;
};

TEST(Tickets, NobodyIsNotifiedWhileABatchIsSubmitted) {
  net::Wheel wheel(kStart);
  Tickets tickets(wheel);
  Waiting before, now;
  const OpRef flying = tickets.open(before, kLate);
  tickets.submitted(flying);

  // The connection drops while another batch is gathered: both end.
  const OpRef gathered = tickets.open(now, kLate);
  tickets.answered(flying, kStart);
  tickets.answered(gathered, kStart);
  EXPECT_EQ(before.notified, 0) << "who submits is in the middle of something";
  EXPECT_EQ(tickets.batch(gathered), nullptr) << "who submits sees that it is finished";
  tickets.submitted(gathered);
  EXPECT_EQ(now.notified, 0);

  wheel.advance(kStart + 2 * net::Wheel::kTick);
  EXPECT_EQ(before.notified, 1);
  EXPECT_EQ(tickets.timed_out(), 0U);
  EXPECT_EQ(tickets.waiting(), 0U);
  wheel.advance(kLate);
  EXPECT_EQ(before.notified, 1);
  EXPECT_EQ(now.notified, 0);
}

TEST(Tickets, ABatchIsNotifiedAtItsLastReplyOrAtItsDeadline) {
  net::Wheel wheel(kStart);
  Tickets tickets(wheel);
  Waiting answered, late, cancelled;
  const OpRef first = tickets.open(answered, kLate);
  tickets.submitted(first);
  const OpRef second = tickets.open(late, kLate);
  tickets.submitted(second);
  tickets.submitted(tickets.open(cancelled, kLate));
  tickets.answered(first, kStart + milliseconds{3});
  EXPECT_EQ(answered.notified, 1);
  EXPECT_EQ(answered.replied_at, kStart + milliseconds{3});
  tickets.cancel(cancelled);
  wheel.advance(kLate + net::Wheel::kTick);
  EXPECT_EQ(answered.notified, 1);
  EXPECT_EQ(late.notified, 1);
  EXPECT_EQ(late.replied_at, kLate + net::Wheel::kTick);
  EXPECT_EQ(cancelled.notified, 0);
  EXPECT_EQ(tickets.timed_out(), 1U);
  EXPECT_EQ(tickets.batch(second), nullptr);
}

}  // namespace
}  // namespace weir::store::tickets_test
