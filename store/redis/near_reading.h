#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/kinds/counter_spec.h"

namespace weir::store {

/// Appends the answer of scripts/near.lua about one cell: its value's part, and the settled
/// value's.
void append_cell(std::string& out, std::string_view value, std::string_view settled);

/// The parts of one reading, put together cell by cell. Not thread-safe.
class NearReading {
 public:
  void start(const limiter::CounterSpec& spec) noexcept;
  /// Adds one cell in the form of append_cell. False: it is malformed, and nothing is added.
  bool add(std::string_view cell);
  /// value, settled and has_value as a reading has them.
  void write(limiter::Reading& out);

 private:
  struct Part {
    double n = 0, value = 0;
    std::vector<std::uint64_t> members;
  };
  bool add(std::string_view packed, Part& part);
  Number number(Part& part) const;

  Metric metric_{};
  bool real_ = false;
  Part value_, settled_;
};

}  // namespace weir::store
