#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "net/http/head.h"

namespace weir::proxy {

/// Makes request ids: 128 random bits as 32 hex digits. Not a secret: xoshiro256++ (Blackman and
/// Vigna, 2018), seeded by the kernel. One per worker; not thread-safe.
class RequestIds {
 public:
  RequestIds();
  explicit RequestIds(std::uint64_t seed) noexcept;  ///< for tests: a fixed sequence
  std::string_view next(std::array<char, 32>& out) noexcept;
  /// Random bytes of the same kind, for ids of traces and spans.
  template <std::size_t N>
  void fill(std::array<std::uint8_t, N>& out) noexcept {
    static_assert(N % sizeof(std::uint64_t) == 0);
    for (std::size_t i = 0; i < N; i += sizeof(std::uint64_t)) {
      const std::uint64_t bits = random();
      std::memcpy(out.data() + i, &bits, sizeof bits);
    }
  }

 private:
  /// xoshiro256++ (Blackman and Vigna, 2019).
  std::uint64_t random() noexcept {
    auto& s = state_;
    const std::uint64_t result = std::rotl(s[0] + s[3], 23) + s[0];
    const std::uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = std::rotl(s[3], 45);
    return result;
  }
  std::array<std::uint64_t, 4> state_;
};

/// The id of a request: X-Request-Id as it came if the peer is trusted and it is sane (exactly one
/// field, 1..128 of `A-Za-z0-9._:/+=@-`), else a new one in `room`.
std::string_view choose_request_id(const net::RequestHead& head, bool peer_trusted, RequestIds& ids,
                                   std::array<char, 32>& room) noexcept;

}  // namespace weir::proxy
