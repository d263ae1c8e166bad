#include "gate/inquiry.h"

#include <utility>

namespace weir::gate {
namespace {

/// One that is free, or a new one. Those that are free never outgrow their room.
template <class T>
T& spare(std::vector<std::unique_ptr<T>>& all, std::vector<T*>& free, Desk& desk) {
  if (free.empty()) {
    all.push_back(std::make_unique<T>(desk));
    free.reserve(all.capacity());
    return *all.back();
  }
  T& out = *free.back();
  free.pop_back();
  return out;
}

}  // namespace

void Inquiry::on_replies() { desk.told_.push_back(this); }

void Errands::on_replies() {
  asking.clear();  // it may have been the last to need policies that were replaced
  desk.free_errands_.push_back(this);
}

Inquiry* Desk::ask(policies::Evaluator& evaluator, TimePoint now) {
  Inquiry& inquiry = spare(inquiries_, free_inquiries_, *this);
  std::swap(inquiry.aside.asking, evaluator.asking());
  inquiry.ops = inquiry.aside.asking.ops();
  inquiry.replies = inquiry.aside.asking.replies();
  if (store_.submit(inquiry, now + budget_)) {
    std::swap(inquiry.aside.asking, evaluator.asking());
    give_back(inquiry);
    return nullptr;
  }
  evaluator.put_aside(inquiry.aside);
  return &inquiry;
}

void Desk::give_back(Inquiry& inquiry) {
  inquiry.waiter = nullptr;
  inquiry.told = false;
  free_inquiries_.push_back(&inquiry);
}

void Desk::run(policies::Asking& errands, TimePoint now) {
  if (errands.empty()) return;
  Errands& batch = spare(errands_, free_errands_, *this);
  std::swap(batch.asking, errands);
  errands.clear();
  batch.patient = true;
  batch.ops = batch.asking.ops();
  batch.replies = batch.asking.replies();
  if (store_.submit(batch, now + kPatience)) batch.on_replies();
}

}  // namespace weir::gate
