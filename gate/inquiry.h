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
  Waiter* waiter = nullptr;  ///< null: nobody waits any more
  bool told = false;         ///< the waiter has been resumed
};

/// Operations that nobody waits for.
class Errands final : public store::Batch {
 public:
  explicit Errands(Desk& owner) : desk(owner) {}
  void on_replies() override;

  Desk& desk;
  policies::Asking asking;
};

/// What one worker's gate has at the shared store. Keeps its objects: no allocation after warm-up.
class Desk {
 public:
  /// Nobody waits for an errand; one that finds the store away is tried for so long.
  static constexpr milliseconds kPatience{5'000};

  Desk(store::SharedStore& store, milliseconds budget) : store_(store), budget_(budget) {}

  store::SharedStore& store() noexcept { return store_; }

  /// Asks what the evaluator's judgement needs. Null: the replies are there, and told() gives the
  /// verdict; else the judgement has been put aside.
  Inquiry* ask(policies::Evaluator& evaluator, TimePoint now);
  void give_back(Inquiry& inquiry);
  /// Inquiries whose replies have come, in their order; the caller empties it.
  std::vector<Inquiry*>& told() noexcept { return told_; }
  bool is_asking() const noexcept { return inquiries_.is_any_lent(); }

  /// Submits what the evaluator wants done, and forgets it.
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
