#include "proxy/downstream.h"

namespace weir::proxy {

void Downstream::expect_write() noexcept {
  phase_ = Phase::write;
  arm(ctx_.settings.write);
}

void Downstream::took_some() noexcept {
  progress_ = true;
  expect_write();
}

}  // namespace weir::proxy
