#include "proxy/downstream.h"

namespace weir::proxy {

void Downstream::expect(Phase phase, milliseconds within) noexcept {
  if (!out_.empty()) [[unlikely]]
    return;
  phase_ = phase;
  arm(within);
}

void Downstream::expect_write() noexcept {
  phase_ = Phase::write;
  arm(ctx_.settings.write);
}

void Downstream::took_some() noexcept {
  progress_ = true;
  expect_write();
}

bool Downstream::send(const Parts& parts) {
  if (parts.empty()) return true;
  if (notes_ != nullptr) notes_->gave(parts.size());
  if (!ClientConnection::send(parts)) return false;
  // If the client has taken nothing, the write deadline runs, and took_some() sets this later.
  progress_ = true;
  return true;
}

}  // namespace weir::proxy
