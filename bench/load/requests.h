#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/zipf.h"

namespace weir::load {

/// The text of a request with fields of fixed width that change from one request to the next.
/// bare: `GET /` and Host. real: 9 fields, 541 bytes (a browser's User-Agent, Accept*, Cookie,
/// X-Request-Id, X-Forwarded-For, X-Device-Id). A login is a POST with
/// {"username":..,"password":..}.
class Requests {
 public:
  struct Options {
    enum class Shape : std::uint8_t { bare, real };
    Shape shape = Shape::real;
    bool login = false;
    std::string path;  ///< empty: "/" (bare), "/api/items" (real), "/api/login" (login)
    std::string password = "wrong-guess";
    std::vector<std::string> headers;                     ///< more "Name: value" lines
    std::uint64_t devices = 1, users = 1, addresses = 1;  ///< how many different values, at least 1
    bool random = false;                                  ///< draw instead of taking turns
    double skew = 0;  ///< not 0: draw, by Zipf's law with this exponent
    std::uint64_t seed = 1;
  };
  explicit Requests(const Options& options);

  /// The next request; valid until the next call.
  std::string_view next() noexcept;

 private:
  struct Slot {
    std::size_t offset = std::string::npos;
    std::uint64_t values = 1;
    std::optional<bench::Zipf> skewed;
  };
  std::uint64_t pick(const Slot& slot) noexcept;
  std::string text_;
  Slot device_, user_, address_;
  bool random_;
  std::uint64_t sequence_ = 0;
  std::uint64_t state_;
};

}  // namespace weir::load
