#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace weir::telemetry {

/// How long requests took, by class of route, and how long the app took to begin its answers.
/// Histograms of fixed bounds, from 1 ms to 10 s; a fixed number of classes, so that the page of
/// metrics stays bounded whatever the configuration names.
inline constexpr std::size_t kRouteClasses = 16;  ///< "other" among them
inline constexpr std::size_t kOtherRoute = 0;

/// One worker's histograms. One thread writes, any thread may read.
class LatencyCells {
 public:
  using Duration = std::chrono::microseconds;
  static constexpr std::array<std::int64_t, 12> kBoundsUs{
      1'000,   2'500,   5'000,   10'000,    25'000,    50'000,
      100'000, 250'000, 500'000, 1'000'000, 2'500'000, 10'000'000};

  void request(std::size_t route, Duration took) noexcept { rows_[route].add(took); }
  void upstream(Duration took) noexcept { rows_[kRouteClasses].add(took); }

 private:
  friend class Latency;
  struct Row {
    std::array<std::atomic<std::uint64_t>, kBoundsUs.size() + 1> counts{};
    std::atomic<std::uint64_t> sum_us{0};
    void add(Duration took) noexcept;
  };
  std::array<Row, kRouteClasses + 1> rows_{};  // the last one: the app's
};

/// The latencies of all workers, and the names of the classes.
class Latency {
 public:
  explicit Latency(std::size_t workers);
  LatencyCells& cells(std::size_t worker) noexcept { return *cells_[worker]; }

  /// The class of an event's name, the same one forever. Once there are kRouteClasses,
  /// kOtherRoute. Thread-safe.
  std::size_t route(std::string_view event);

  /// Prometheus text: weir_request_duration_seconds{route} and
  /// weir_upstream_duration_seconds{upstream}. Thread-safe.
  void write(std::string& out, std::string_view upstream) const;

 private:
  std::vector<std::unique_ptr<LatencyCells>> cells_;
  mutable std::mutex mutex_;
  std::vector<std::string> names_{"other"};
};

}  // namespace weir::telemetry
