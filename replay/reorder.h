#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"

namespace weir::replay {

/// Sorts events by (time, line, arrival) that come up to L too late. The watermark is max - L - 1
/// ms. An event that is not after the watermark is dropped; events that the watermark has passed
/// are released. Holds copies of the texts, in memory that is reused; as much as arrives within L.
class Reorder {
 public:
  explicit Reorder(milliseconds lateness) : lateness_(lateness) {}

  struct Held {
    TimePoint time{};
    std::uint64_t arrival = 0, line = 0;
    std::uint32_t stream = 0, text = 0;
    unsigned owner = 0;  ///< Stream::owner()
  };
  /// False: it is late.
  bool add(std::uint32_t stream, std::uint64_t line, TimePoint time, unsigned owner,
           std::string_view text);
  /// The next event that the watermark has passed; at the end of input, any.
  std::optional<Held> release(bool all);
  /// Alive until the next add(); 64 bytes after it can be read.
  std::string_view text(const Held& held) const { return texts_[held.text]; }

  TimePoint watermark() const noexcept { return watermark_; }
  std::uint64_t late() const noexcept { return late_; }
  std::size_t size() const noexcept { return heap_.size(); }

 private:
  milliseconds lateness_;
  TimePoint max_{}, watermark_{milliseconds{-1}};
  std::uint64_t arrivals_ = 0, late_ = 0;
  std::vector<Held> heap_;
  std::vector<std::string> texts_;
  std::vector<std::uint32_t> free_;
};

}  // namespace weir::replay
