#include "gate/inquiry.h"

#include <utility>

namespace weir::gate {

void Inquiry::on_replies() { desk.told_.push_back(this); }

void Errands::on_replies() {
  asking.clear();  // it may have been the last to need policies that were replaced
  desk.errands_.take_back(*this);
}

Inquiry* Desk::ask(policies::Evaluator& evaluator, TimePoint now) {
  Inquiry& inquiry = inquiries_.lend(*this);
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
  inquiries_.take_back(inquiry);
}

void Desk::run(policies::Asking& errands, TimePoint now) {
  if (errands.empty()) return;
  Errands& batch = errands_.lend(*this);
  std::swap(batch.asking, errands);
  errands.clear();
  batch.patient = true;
  batch.ops = batch.asking.ops();
  batch.replies = batch.asking.replies();
  if (store_.submit(batch, now + kPatience)) batch.on_replies();
}

}  // namespace weir::gate
