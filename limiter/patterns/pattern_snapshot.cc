// A snapshot is a row of frames, as that of the counters (snapshot.cc): P (when, and which
// patterns), M (matches of keys) any number of times, E (how many keys). A file without its E is
// torn and refused whole.
#include <algorithm>
#include <map>

#include "limiter/memory/frame.h"
#include "limiter/patterns/pattern_bank_impl.h"

namespace weir::limiter {
namespace {

constexpr std::uint8_t kPatternsBegin = 'P';
constexpr std::uint8_t kMatches = 'M';
constexpr std::uint8_t kPatternsEnd = 'E';
constexpr std::size_t kPiece = 64 << 10;

/// The parameters that decide how the states are written; `late` and `keep` may change from one
/// start to the next.
void put_shape(std::string& out, const PatternSpec& spec) {
  put(out, static_cast<std::uint8_t>(spec.kind));
  put(out, spec.steps);
  put(out, static_cast<std::uint8_t>(spec.endless));
  put(out, to_ms(TimePoint{spec.within}));
  put(out, to_ms(TimePoint{spec.before}));
  put(out, to_ms(TimePoint{spec.after}));
}

struct Restored {
  Hash128 key;
  std::uint16_t pattern = 0;  // index in this process
  PatternState state;
};

}  // namespace

void PatternBank::export_all(TimePoint now, std::string& out) const {
  std::string piece;
  std::vector<std::uint16_t>
      generations;  // of the defined patterns; other threads may open more meanwhile
  {
    const std::scoped_lock hold(impl_->mutex);
    put(piece, to_ms(now));
    put_varint(piece, impl_->entries_used);
    for (std::size_t i = 0; i < impl_->entries_used; ++i) {
      put(piece, impl_->entries[i]->identity.lo);
      put(piece, impl_->entries[i]->identity.hi);
      put_shape(piece, impl_->entries[i]->spec);
      generations.push_back(impl_->entries[i]->generation);
    }
  }
  const auto is_defined = [&](std::uint16_t pattern) {
    return pattern < generations.size() &&
           impl_->entries[pattern]->generation == generations[pattern];
  };
  append_frame(out, kPatternsBegin, piece);
  std::uint64_t keys = 0;
  for (const PatternShard& shard : impl_->shards) {
    const std::scoped_lock hold(shard.mutex);
    piece.clear();
    for (const auto& [hash, key] : shard.keys) {
      if (!is_defined(key.pattern)) continue;
      put(piece, hash.lo);
      put(piece, hash.hi);
      put(piece, key.pattern);
      std::visit([&](const auto& state) { state.put(piece); }, key.state);
      ++keys;
      if (piece.size() < kPiece) continue;
      append_frame(out, kMatches, piece);
      piece.clear();
    }
    if (!piece.empty()) append_frame(out, kMatches, piece);
  }
  piece.clear();
  put(piece, keys);
  append_frame(out, kPatternsEnd, piece);
}

Result<std::size_t> PatternBank::import(std::string_view snapshot, TimePoint now) {
  const auto malformed = [] { return make_error_code(Error::malformed); };
  const auto begin = take_frame(snapshot);
  if (!begin || begin->kind != kPatternsBegin) return malformed();
  Reader head(begin->payload);
  const TimePoint then = from_ms(head.get<std::int64_t>());
  const milliseconds back = then > now ? then - now : milliseconds{0};
  const std::uint64_t patterns = head.varint();
  if (!head.ok() || patterns > kPatternsMax) return malformed();

  const std::scoped_lock hold(impl_->mutex);
  struct Known {
    PatternSpec shape;
    std::optional<std::uint16_t> index;  // none: not open, or of another shape
  };
  std::vector<Known> known(patterns);
  for (Known& pattern : known) {
    const Hash128 identity{head.get<std::uint64_t>(), head.get<std::uint64_t>()};
    const auto kind = head.get<std::uint8_t>();
    pattern.shape.steps = head.get<std::uint8_t>();
    pattern.shape.endless = head.get<std::uint8_t>() != 0;
    pattern.shape.within = milliseconds{head.get<std::int64_t>()};
    pattern.shape.before = milliseconds{head.get<std::int64_t>()};
    pattern.shape.after = milliseconds{head.get<std::int64_t>()};
    if (!head.ok() || kind > static_cast<std::uint8_t>(PatternSpec::Kind::pair) ||
        pattern.shape.steps < 2 || pattern.shape.steps > kPatternSteps) {
      return malformed();
    }
    pattern.shape.kind = static_cast<PatternSpec::Kind>(kind);
    std::string shape, open_shape;
    put_shape(shape, pattern.shape);
    for (std::size_t i = 0; i < impl_->entries_used; ++i) {
      const Impl::Entry& entry = *impl_->entries[i];
      if ((entry.generation & 1U) == 0 || entry.identity != identity) continue;
      open_shape.clear();
      put_shape(open_shape, entry.spec);
      if (shape == open_shape) pattern.index = static_cast<std::uint16_t>(i);
    }
  }

  // All of it is read before any of it is taken.
  std::vector<Restored> restored;
  std::uint64_t keys = 0;
  for (;;) {
    const auto frame = take_frame(snapshot);
    if (!frame) return malformed();
    Reader in(frame->payload);
    if (frame->kind == kPatternsEnd) {
      if (in.get<std::uint64_t>() != keys || !in.ok() || !in.at_end() || !snapshot.empty()) {
        return malformed();
      }
      break;
    }
    if (frame->kind != kMatches) return malformed();
    while (!in.at_end()) {
      Restored key;
      key.key.lo = in.get<std::uint64_t>();
      key.key.hi = in.get<std::uint64_t>();
      const auto index = in.get<std::uint16_t>();
      if (!in.ok() || index >= known.size()) return malformed();
      key.state = make_state(known[index].shape.kind);
      const bool sound = std::visit(
          [&](auto& state) { return state.get(in, known[index].shape, back); }, key.state);
      if (!sound) return malformed();
      ++keys;
      if (!known[index].index) continue;
      key.pattern = *known[index].index;
      restored.push_back(std::move(key));
    }
  }

  std::size_t taken = 0;
  for (Restored& from : restored) {
    PatternShard& shard = impl_->shard_of(from.key);
    const std::scoped_lock hold_shard(shard.mutex);
    if (shard.keys.contains(from.key)) continue;
    PatternKey* const key = impl_->key_of(shard, from.key, from.pattern);
    if (key == nullptr) continue;
    key->state = std::move(from.state);
    impl_->changed(shard, *key, 0);
    ++taken;
    impl_->make_room(shard, nullptr);
  }
  return taken;
}

}  // namespace weir::limiter
