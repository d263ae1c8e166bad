#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::replay {

/// Rows that one of several threads has made, in pieces: each knows the position before it. A step
/// is one thing that happens to all threads alike: an event is judged, or the watermark moves.
struct RowPieces {
  struct Piece {
    std::uint64_t step = 0;
    std::int64_t time = 0;   ///< of what fires by the watermark; of one event all are equal
    std::uint32_t rank = 0;  ///< within both
    std::size_t begin = 0, size = 0;
  };
  std::string text;
  std::vector<Piece> pieces;

  /// Adds the part of `text` from `begin` to its end as a piece.
  void add(std::uint64_t step, std::int64_t time, std::uint32_t rank, std::size_t begin);
  void clear();
};

/// Gives the pieces of all threads in their one order; equal ones are of one thread, and stay as
/// they are. Afterwards all are empty.
void merge_pieces(std::span<RowPieces* const> parts,
                  const std::function<void(std::string_view)>& use);

}  // namespace weir::replay
