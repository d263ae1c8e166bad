#pragma once

#include <memory>
#include <vector>

#include "core/spares.h"
#include "policies/judge/evaluator.h"
#include "store/shared_store.h"

namespace weir::gate {

class Waiter;
class Desk;

/// A judgement that waits for the shared store.
class Inquiry final : public store::Batch {
 public:
  explicit Inquiry(Desk& owner) : desk(owner) {}
  void on_replies() override;

  Desk& desk;
  policies::Aside aside;
  Waiter* waiter = nullptr;  ///< null: no request waits any more
  bool told = false;         ///< the waiter has been resumed
};

/// Operations without a waiting request.
class Errands final : public store::Batch {
 public:
  explicit Errands(Desk& owner) : desk(owner) {}
  void on_replies() override;

  Desk& desk;
  policies::Asking asking;
};

/// The open operations of one worker's gate at the shared store. Reuses its objects: no allocation
/// after warm-up.
class Desk {
 public:
  /// No request waits for an errand. While the store is away, an errand is retried for this long.
  static constexpr milliseconds kPatience{5'000};

  Desk(store::SharedStore& store, milliseconds budget) : store_(store), budget_(budget) {}

  store::SharedStore& store() noexcept { return store_; }

  /// Submits the questions of the evaluator's judgement. Null: the replies are there, and told()
  /// gives the verdict. Otherwise the judgement is suspended.
  Inquiry* ask(policies::Evaluator& evaluator, TimePoint now);
  void give_back(Inquiry& inquiry);
  /// Inquiries whose replies have come, in their order; the caller empties it.
  std::vector<Inquiry*>& told() noexcept { return told_; }
  bool is_asking() const noexcept { return inquiries_.is_any_lent(); }

  /// Submits the evaluator's errands, and forgets them.
  void run(policies::Asking& errands, TimePoint now);

 private:
  friend class Inquiry;
  friend class Errands;

  store::SharedStore& store_;
  milliseconds budget_;
  Spares<Inquiry> inquiries_;
  std::vector<Inquiry*> told_;
  Spares<Errands> errands_;
};

}  // namespace weir::gate
