#include "store/redis/pending_batches.h"

#include <gtest/gtest.h>

#include <array>

namespace weir::store::pending_batches_test {
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

TEST(PendingBatches, NobodyIsNotifiedWhileABatchIsSubmitted) {
  net::Wheel wheel(kStart);
  PendingBatches pending(wheel);
  Waiting before, now;
  const OpRef flying = pending.open(before, kLate);
  pending.submitted(flying);

  // The connection drops while another batch is gathered: both end.
  const OpRef gathered = pending.open(now, kLate);
  pending.answered(flying, kStart);
  pending.answered(gathered, kStart);
  EXPECT_EQ(before.notified, 0) << "who submits is in the middle of something";
  EXPECT_EQ(pending.batch(gathered), nullptr) << "who submits sees that it is finished";
  pending.submitted(gathered);
  EXPECT_EQ(now.notified, 0);

  wheel.advance(kStart + 2 * net::Wheel::kTick);
  EXPECT_EQ(before.notified, 1);
  EXPECT_EQ(pending.timed_out(), 0U);
  EXPECT_EQ(pending.waiting(), 0U);
  wheel.advance(kLate);
  EXPECT_EQ(before.notified, 1);
  EXPECT_EQ(now.notified, 0);
}

TEST(PendingBatches, ABatchIsNotifiedAtItsLastReplyOrAtItsDeadline) {
  net::Wheel wheel(kStart);
  PendingBatches pending(wheel);
  Waiting answered, late, cancelled;
  const OpRef first = pending.open(answered, kLate);
  pending.submitted(first);
  const OpRef second = pending.open(late, kLate);
  pending.submitted(second);
  pending.submitted(pending.open(cancelled, kLate));
  pending.answered(first, kStart + milliseconds{3});
  EXPECT_EQ(answered.notified, 1);
  EXPECT_EQ(answered.replied_at, kStart + milliseconds{3});
  pending.cancel(cancelled);
  wheel.advance(kLate + net::Wheel::kTick);
  EXPECT_EQ(answered.notified, 1);
  EXPECT_EQ(late.notified, 1);
  EXPECT_EQ(late.replied_at, kLate + net::Wheel::kTick);
  EXPECT_EQ(cancelled.notified, 0);
  EXPECT_EQ(pending.timed_out(), 1U);
  EXPECT_EQ(pending.batch(second), nullptr);
}

}  // namespace
}  // namespace weir::store::pending_batches_test
