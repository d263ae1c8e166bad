#include "app/tools/cases/case_store.h"

#include <algorithm>

#include "policies/judgement/count_push.h"

namespace weir::app {
namespace {

constexpr std::size_t kSyncedKeys = 4096;
constexpr std::size_t kSentAtOnce = 256;
/// No replica dies in a case: its reservations do not end by themselves.
constexpr milliseconds kHeld = std::chrono::hours{24 * 365};

struct Batch final : store::Batch {
  void on_replies() override {}  // never: the store is in memory
};

}  // namespace

CaseStore::CaseStore(const limiter::BankLimits& limits, limiter::Bank& counters)
    : ImmediateOutbox(
          [this](policies::StoreOps& operations, TimePoint now) { ask(operations, now); }),
      store_(limits, [this] { return now_; }),
      table_(kSyncedKeys),
      synced_(counters, table_),
      id_{2, 0} {
  sharing_.origin = 1;
  sharing_.reservation = sharing_.flight = kHeld;
}

bool CaseStore::is_needed_by(const policies::PolicySet& set) {
  const auto is_shared = [](const auto& each) { return each.shared != nullptr; };
  return std::any_of(set.counters.begin(), set.counters.end(), is_shared) ||
         std::any_of(set.patterns.begin(), set.patterns.end(), is_shared);
}

void CaseStore::serve(policies::Driver& driver) {
  driver.use_store(sharing_, *this);
  driver.use_synced(synced_);
}

void CaseStore::ask(policies::StoreOps& operations, TimePoint now) {
  now_ = now;
  for (std::size_t i = 0; i < operations.size(); ++i) operations[i].op.now = now;
  Batch batch;
  batch.ops = operations.ops();
  batch.replies = operations.replies();
  store_.submit(batch, now);
}

void CaseStore::exchange(TimePoint now) {
  const auto due = synced_.next(now);
  if (due && *due <= now) send_counts(now);
}

void CaseStore::advance(TimePoint now) {
  for (auto due = synced_.next(now_); due && *due <= now; due = synced_.next(now_)) {
    send_counts(std::max(*due, now_));
  }
}

void CaseStore::send_counts(TimePoint now) {
  now_ = now;
  synced_.begin_round(now);
  while (const std::size_t size = synced_.take({now, now}, id_, kSentAtOnce, pushes_)) {
    counts_.clear();
    for (std::size_t i = 0; i < size; ++i) policies::add_push(counts_, pushes_[i]);
    ask(counts_, now);
    for (std::size_t i = 0; i < size; ++i) {
      synced_.take_reply(pushes_[i], counts_.reply(i), {now, now});
      pushes_[i].counter.reset();
    }
  }
  synced_.end_round();
}

}  // namespace weir::app
