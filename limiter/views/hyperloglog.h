#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::limiter {

/// How many different members were added, in a fixed number of bytes (Flajolet, Fusy, Gandouet,
/// Meunier, "HyperLogLog", 2007; 64-bit hashes and a sparse beginning as in Heule, Nunkesser, Hall,
/// "HyperLogLog in practice", 2013; the estimate is Ertl's improved raw estimator, "New cardinality
/// estimation algorithms for HyperLogLog sketches", 2017, which needs no table of corrections).
///
/// With m = 2^precision registers the relative standard error is 1.04 / sqrt(m). Bytes: 4 a member
/// while few, m at last. Not thread-safe.
class HyperLogLog {
 public:
  static constexpr unsigned kLeast = 4, kMost = 23;
  explicit HyperLogLog(unsigned precision) : precision_(precision) {}

  /// The least precision with which an estimate strays further than `error` once in 15,000 times:
  /// four standard errors. Within kLeast .. kMost, which `error` >= 0.002 keeps to.
  static unsigned precision_for(double error) noexcept;

  /// A 64-bit hash whose bits are all alike random. False: the sketch is as it was.
  bool add(std::uint64_t hash);

  /// The change that a hash makes in a sketch: register << 6 | rank. A sketch that gets hash_of()
  /// every entry of other sketches is the sketch of all their members.
  static std::uint32_t entry_of(std::uint64_t hash, unsigned precision) noexcept;
  static std::uint64_t hash_of(std::uint32_t entry, unsigned precision) noexcept;
  static bool is_entry(std::uint32_t entry, unsigned precision) noexcept;
  /// Calls `use` with its entries (entry_of); some may have no effect beside others.
  template <class Use>
  void each_entry(Use use) const {
    for (const std::uint32_t entry : sparse_) use(entry);
    for (std::uint32_t i = 0; i < registers_.size(); ++i) {
      if (registers_[i] != 0) use(i << 6 | registers_[i]);
    }
  }
  double estimate() const;
  std::size_t bytes() const noexcept {
    return sparse_.capacity() * sizeof(std::uint32_t) + registers_.capacity();
  }
  unsigned precision() const noexcept { return precision_; }

 private:
  void make_dense();
  void tidy();

  unsigned precision_;
  std::vector<std::uint8_t> registers_;  // dense: the greatest rank seen by each
  /// Sparse: register << 6 | rank; the first sorted_ are in order, one for each register.
  std::vector<std::uint32_t> sparse_;
  std::size_t sorted_ = 0;
};

}  // namespace weir::limiter
