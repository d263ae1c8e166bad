// A snapshot is a row of frames, as that of the counters (snapshot.cc): P (when, and which
// patterns), M (matches of keys) any number of times, E (how many keys). A file without its E is
// torn and refused whole.
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

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

/// Reads a snapshot to its end, before any of it is taken.
class SnapshotReading {
 public:
  /// The index of the open pattern with this identity and this shape (put_shape).
  using Find = std::function<std::optional<std::uint16_t>(Hash128, std::string_view)>;

  explicit SnapshotReading(const Find& find) : find_(find) {}

  /// False: it is torn, or not in the format of export_all.
  bool read(std::string_view snapshot, TimePoint now);
  /// The open matches of the patterns that were found.
  std::vector<Restored>& matches() noexcept { return matches_; }

 private:
  struct Pattern {
    PatternSpec shape;
    std::optional<std::uint16_t> index;  // none: not open, or of another shape
  };

  bool read_patterns(std::string_view payload, TimePoint now);
  bool read_pattern(Reader& in);
  bool read_matches(std::string_view payload);
  bool is_whole(std::string_view payload) const;

  const Find& find_;
  milliseconds back_{0};  // how far the clock moved back since
  std::vector<Pattern> patterns_;
  std::vector<Restored> matches_;
  std::uint64_t keys_ = 0;
};

bool SnapshotReading::read(std::string_view snapshot, TimePoint now) {
  const auto begin = take_frame(snapshot);
  if (!begin || begin->kind != kPatternsBegin || !read_patterns(begin->payload, now)) return false;
  while (const auto frame = take_frame(snapshot)) {
    if (frame->kind == kPatternsEnd) return is_whole(frame->payload) && snapshot.empty();
    if (frame->kind != kMatches || !read_matches(frame->payload)) return false;
  }
  return false;
}

bool SnapshotReading::read_patterns(std::string_view payload, TimePoint now) {
  Reader in(payload);
  const TimePoint then = from_ms(in.get<std::int64_t>());
  if (then > now) back_ = then - now;
  const std::uint64_t count = in.varint();
  if (!in.ok() || count > kPatternsMax) return false;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!read_pattern(in)) return false;
  }
  return true;
}

bool SnapshotReading::read_pattern(Reader& in) {
  const Hash128 identity{in.get<std::uint64_t>(), in.get<std::uint64_t>()};
  const auto kind = in.get<std::uint8_t>();
  PatternSpec spec;
  spec.steps = in.get<std::uint8_t>();
  spec.endless = in.get<std::uint8_t>() != 0;
  spec.within = milliseconds{in.get<std::int64_t>()};
  spec.before = milliseconds{in.get<std::int64_t>()};
  spec.after = milliseconds{in.get<std::int64_t>()};
  if (!in.ok() || kind > static_cast<std::uint8_t>(PatternSpec::Kind::pair) || spec.steps < 2 ||
      spec.steps > kPatternSteps) {
    return false;
  }
  spec.kind = static_cast<PatternSpec::Kind>(kind);
  std::string shape;
  put_shape(shape, spec);
  patterns_.push_back({spec, find_(identity, shape)});
  return true;
}

bool SnapshotReading::read_matches(std::string_view payload) {
  Reader in(payload);
  while (!in.at_end()) {
    const Hash128 key{in.get<std::uint64_t>(), in.get<std::uint64_t>()};
    const auto index = in.get<std::uint16_t>();
    if (!in.ok() || index >= patterns_.size()) return false;
    const Pattern& pattern = patterns_[index];
    PatternState state = make_state(pattern.shape.kind);
    const bool sound =
        std::visit([&](auto& each) { return each.get(in, pattern.shape, back_); }, state);
    if (!sound) return false;
    ++keys_;
    if (pattern.index) matches_.push_back({key, *pattern.index, std::move(state)});
  }
  return true;
}

bool SnapshotReading::is_whole(std::string_view payload) const {
  Reader in(payload);
  return in.get<std::uint64_t>() == keys_ && in.ok() && in.at_end();
}

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
  const std::scoped_lock hold(impl_->mutex);
  const SnapshotReading::Find find = [&](Hash128 identity, std::string_view shape) {
    std::optional<std::uint16_t> found;
    std::string ours;
    for (std::size_t i = 0; i < impl_->entries_used; ++i) {
      const Impl::Entry& entry = *impl_->entries[i];
      if ((entry.generation & 1U) == 0 || entry.identity != identity) continue;
      ours.clear();
      put_shape(ours, entry.spec);
      if (ours == shape) found = static_cast<std::uint16_t>(i);
    }
    return found;
  };
  SnapshotReading reading(find);
  if (!reading.read(snapshot, now)) return make_error_code(Error::malformed);

  std::size_t taken = 0;
  for (Restored& from : reading.matches()) {
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
