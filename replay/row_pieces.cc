#include "replay/row_pieces.h"

#include <algorithm>
#include <tuple>

namespace weir::replay {
namespace {

bool stands_before(const RowPieces::Piece& a, const RowPieces::Piece& b) {
  return std::tie(a.step, a.time, a.rank) < std::tie(b.step, b.time, b.rank);
}

}  // namespace

void RowPieces::add(std::uint64_t step, std::int64_t time, std::uint32_t rank, std::size_t begin) {
  pieces.push_back({step, time, rank, begin, text.size() - begin});
}

void RowPieces::clear() {
  text.clear();
  pieces.clear();
}

void merge_pieces(std::span<RowPieces* const> parts,
                  const std::function<void(std::string_view)>& use) {
  // An outcome policy reports an event later than other policies: its row is placed before theirs.
  for (RowPieces* const part : parts)
    std::stable_sort(part->pieces.begin(), part->pieces.end(), stands_before);
  std::vector<std::size_t> next(parts.size(), 0);
  for (;;) {
    std::size_t first = parts.size();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (next[i] == parts[i]->pieces.size()) continue;
      if (first == parts.size() ||
          stands_before(parts[i]->pieces[next[i]], parts[first]->pieces[next[first]])) {
        first = i;
      }
    }
    if (first == parts.size()) break;
    const RowPieces::Piece& piece = parts[first]->pieces[next[first]++];
    use(std::string_view(parts[first]->text).substr(piece.begin, piece.size));
  }
  for (RowPieces* const part : parts) part->clear();
}

}  // namespace weir::replay
