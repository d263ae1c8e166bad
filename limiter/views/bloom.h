#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/key.h"

namespace weir::limiter {

/// A Bloom filter: which of many members were added, in a few bits each (B. H. Bloom, "Space/time
/// trade-offs in hash coding with allowable errors", CACM 1970). Never forgets one; takes one that
/// was not added for known with probability `error` at most while it holds `expect` members or
/// fewer. m = -n ln p / (ln 2)^2 bits, k = m/n ln 2 probes, made from the two halves of one hash
/// (Kirsch and Mitzenmacher, "Less hashing, same performance", 2006). Not thread-safe.
class Bloom {
 public:
  /// expect >= 1, 0 < error < 1.
  Bloom(std::size_t expect, double error);
  /// Whether the member was not known; from now on it is.
  bool add(const Hash128& member) noexcept;
  bool has(const Hash128& member) const noexcept;
  std::size_t bytes() const noexcept { return words_.size() * sizeof(std::uint64_t); }
  unsigned probes() const noexcept { return probes_; }
  /// The memory of a filter of this size.
  static std::size_t bytes_for(std::size_t expect, double error) noexcept;

 private:
  std::vector<std::uint64_t> words_;
  std::uint64_t bits_;
  unsigned probes_;
};

}  // namespace weir::limiter
