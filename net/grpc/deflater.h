#pragma once

#include <memory>
#include <optional>
#include <string_view>

namespace weir::net::grpc {

/// Compresses messages as gzip. Holds some 260 KB from the first one on. Not thread-safe.
class Deflater {
 public:
  Deflater() noexcept;
  ~Deflater();
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  /// The result is valid until the next call. nullopt: no memory.
  std::optional<std::string_view> gzip(std::string_view plain);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weir::net::grpc
