#include "net/outbox.h"

#include <cstring>

#include "core/no_memory.h"

namespace weir::net {

Outbox::Outbox() : room_(std::make_unique_for_overwrite<std::array<char, kRoom>>()) {}

bool Outbox::put(Sender& sender, std::span<const iovec> parts, std::size_t bytes) noexcept {
  if (bytes > kWriteMax || count_ == kWrites || bytes > kRoom - used_) return false;
  writes_[count_++] = {&sender, static_cast<std::uint32_t>(used_),
                       static_cast<std::uint32_t>(bytes)};
  for (const iovec& part : parts) {
    std::memcpy(room_->data() + used_, part.iov_base, part.iov_len);
    used_ += part.iov_len;
  }
  return true;
}

bool Outbox::flush() {
  if (count_ == 0 || flushing_) return false;
  flushing_ = true;
  for (std::size_t i = 0; i < count_; ++i) {  // sending may put off more
    Sender* const sender = writes_[i].sender;
    if (sender == nullptr) continue;
    writes_[i].sender = nullptr;
    survives_no_memory([&] { sender->send_now(bytes_of(writes_[i])); });
  }
  count_ = used_ = 0;
  flushing_ = false;
  return true;
}

void Outbox::flush(Sender& sender) {
  for (std::size_t i = 0; i < count_; ++i) {
    if (writes_[i].sender != &sender) continue;
    writes_[i].sender = nullptr;
    survives_no_memory([&] { sender.send_now(bytes_of(writes_[i])); });
  }
}

void Outbox::forget(Sender& sender) noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    if (writes_[i].sender == &sender) writes_[i].sender = nullptr;
  }
}

}  // namespace weir::net
