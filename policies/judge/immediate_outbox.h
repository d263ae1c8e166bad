#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "policies/judge/pattern_judging.h"
#include "policies/judgement/outbox.h"

namespace weir::policies {

/// An outbox for callers that control time. Every reply is there at once, so no judgement is ever
/// suspended, and deadlines of shared patterns fire with Driver::advance(). Not thread-safe.
class ImmediateOutbox : public Outbox {
 public:
  /// Fills the replies of all operations, as of `now`.
  using Ask = std::function<void(StoreOps& operations, TimePoint now)>;
  explicit ImmediateOutbox(Ask ask) : ask_(std::move(ask)) {}

  bool ask(Judgement& judgement, StoreOps& operations, TimePoint now) override;
  void send(StoreOps& operations, TimePoint now) override;
  void deliver(PatternJudging& patterns, TimePoint now) override;
  void fire_due(PatternJudging& patterns, TimePoint watermark) override;

  /// Open matches that the store has dropped because of lack of memory.
  std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  Ask ask_;
  StoreOps operations_;
  std::uint64_t dropped_ = 0;
};

}  // namespace weir::policies
