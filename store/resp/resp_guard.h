#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::store {

/// Watches the bytes of replies (RESP2) before any parser sees them: hiredis believes an
/// aggregate's header and asks for 34 GB at `*4294967295`. Incremental; keeps no bytes.
class RespGuard {
 public:
  struct Limits {
    std::uint32_t elements = 262'144;  ///< of one reply, all levels together
    std::uint32_t bulk = 1U << 20;     ///< bytes of a string
    std::uint32_t line = 16U << 10;    ///< bytes of a status, error or number
    std::uint32_t reply = 8U << 20;    ///< bytes of one reply
    unsigned depth = 6;                ///< of arrays in arrays (hiredis' own stack has 9)
  };
  static constexpr unsigned kDepthMax = 7;

  RespGuard() noexcept = default;
  explicit RespGuard(const Limits& limits) noexcept : limits_(limits) {}

  /// False: these bytes are not a reply that may be parsed. From then on always false.
  bool admit(std::string_view bytes) noexcept;
  /// Whether the last byte admitted was the last of a reply.
  bool between_replies() const noexcept { return state_ == State::type && level_ == 0; }

 private:
  enum class State : std::uint8_t {
    type,
    line,
    number,
    bulk,
    after_number,
    line_feed,
    bulk_end,
    bulk_line_feed,
    broken
  };
  bool step(char c) noexcept;
  bool end_of_number() noexcept;
  void end_of_value() noexcept;
  bool broken() noexcept {
    state_ = State::broken;
    return false;
  }

  Limits limits_{};
  State state_ = State::type;
  char type_ = 0;
  bool negative_ = false;
  std::uint8_t digits_ = 0;
  std::int64_t number_ = 0;
  std::uint32_t line_ = 0;
  std::uint64_t rest_ = 0;      // of a bulk string
  std::uint32_t elements_ = 0;  // of this reply, promised
  std::uint64_t bytes_ = 0;     // of this reply
  unsigned level_ = 0;
  std::array<std::uint32_t, kDepthMax + 1> open_{};  // elements still to come, by level
};

}  // namespace weir::store
