#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

/// The work that one connection may do in a round of the loop; then the others get their turn.
namespace weir::net {

/// Bytes of one stream, in one direction. A small request waits for this many bytes times the
/// number of busy streams. With twice as many a client's socket takes a part only, and the rest
/// costs a turn of its own (bench/results/fair.md).
inline constexpr std::size_t kTurnBytes = 32 << 10;
/// The part of a buffer that one turn may fill.
inline std::span<char> for_one_turn(std::span<char> buffer) noexcept {
  return buffer.first(std::min(buffer.size(), kTurnBytes));
}

/// Steps of one session, requests included.
inline constexpr int kTurnSteps = 32;

}  // namespace weir::net
