#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "core/assert.h"

namespace weir::proxy {

/// The text of a head that is being written. It keeps its memory from head to head, and leaves new
/// room unwritten; std::string would fill it with zeros first. Its size is bounded by the heads
/// that are copied into it (HeadLimits) and by the additions of policies.
class HeadText {
 public:
  std::string_view view() const noexcept { return {bytes_.get(), size_}; }
  operator std::string_view() const noexcept { return view(); }
  bool empty() const noexcept { return size_ == 0; }
  void clear() noexcept { size_ = 0; }

  void append(std::string_view text) {
    if (text.empty()) return;
    std::memcpy(room(text.size()), text.data(), text.size());
    size_ += text.size();
  }
  /// Room after the text for that many bytes. Fill some of it, and call end_at() with the new end
  /// of the text. Views become invalid.
  char* room(std::size_t most) {
    if (capacity_ - size_ < most) grow(most);
    return bytes_.get() + size_;
  }
  void end_at(const char* end) noexcept {
    size_ = static_cast<std::size_t>(end - bytes_.get());
    WEIR_ASSERT(size_ <= capacity_);
  }

 private:
  void grow(std::size_t most) {
    const std::size_t capacity = std::max(size_ + most, 2 * capacity_);
    auto bigger = std::make_unique_for_overwrite<char[]>(capacity);
    if (size_ != 0) std::memcpy(bigger.get(), bytes_.get(), size_);
    bytes_ = std::move(bigger);
    capacity_ = capacity;
  }

  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace weir::proxy
