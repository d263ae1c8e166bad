#include "limiter/views/view_wire.h"

#include <cmath>
#include <cstring>

#include "limiter/views/hyperloglog.h"

namespace weir::limiter {
namespace {

constexpr char kVersion = 1;
constexpr std::uint64_t kEventsMax = ViewPart::kEventsMax;
constexpr std::uint64_t kKeyPartsMax = 64;
constexpr unsigned kWideBytes = 16;  // of 7 bits: sums of 2^48 amounts of 64 bits are smaller

__extension__ using Wide = __int128;
__extension__ using Bits = unsigned __int128;

void put_bits(std::string& out, Bits value) {
  while (value >= 0x80) {
    out += static_cast<char>(0x80 | static_cast<unsigned>(value & 0x7f));
    value >>= 7;
  }
  out += static_cast<char>(value);
}
void put_signed(std::string& out, Wide value) {
  put_bits(out, (static_cast<Bits>(value) << 1) ^ static_cast<Bits>(value >> 127));
}
template <class T>
void put_raw(std::string& out, const T& value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}

/// Takes from the front. After anything that is not there, everything is 0 and ok() false.
class ChunkReader {
 public:
  explicit ChunkReader(std::string_view bytes) : rest_(bytes) {}
  bool ok() const noexcept { return ok_; }
  bool at_end() const noexcept { return rest_.empty(); }
  std::size_t left() const noexcept { return rest_.size(); }

  std::string_view take(std::size_t size) {
    if (rest_.size() < size) {
      fail();
      return {};
    }
    const std::string_view out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }
  Bits bits(unsigned most) {
    Bits out = 0;
    for (unsigned i = 0; i < most; ++i) {
      const std::string_view one = take(1);
      if (!ok_) return 0;
      const auto byte = static_cast<unsigned char>(one.front());
      out |= static_cast<Bits>(byte & 0x7fU) << (7 * i);
      if (byte < 0x80) return out;
    }
    fail();
    return 0;
  }
  Wide wide(unsigned most) {
    const Bits value = bits(most);
    return static_cast<Wide>(value >> 1) ^ -static_cast<Wide>(value & 1);
  }
  /// 0 .. most.
  std::uint64_t count(std::uint64_t most) {
    const Bits value = bits(10);
    if (value > most) fail();
    return ok_ ? static_cast<std::uint64_t>(value) : 0;
  }
  std::int64_t integer() {
    const Wide value = wide(10);
    constexpr Wide kMost = std::numeric_limits<std::int64_t>::max();
    if (value > kMost || value < -kMost) fail();
    return ok_ ? static_cast<std::int64_t>(value) : 0;
  }
  /// Unix ms, far enough from the ends of the type for windows around it (limiter/views/spans.h).
  std::int64_t time() {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 4;
    const std::int64_t value = integer();
    if (value > kMost || value < -kMost) fail();
    return ok_ ? value : 0;
  }
  double real() {
    double out = 0;
    const std::string_view bytes = take(sizeof out);
    if (ok_) std::memcpy(&out, bytes.data(), sizeof out);
    if (!std::isfinite(out)) fail();
    return ok_ ? out : 0;
  }
  void fail() noexcept {
    ok_ = false;
    rest_ = {};
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

/// Whether `events` amounts can have this sum, as Sum keeps it. A sum of such sums can then be read
/// again: the limits add up without rounding, because the limit of one double is a power of two.
bool is_possible(const Sum::Raw& raw, std::int64_t events) {
  constexpr double kRealMost = 0x1p964;
  static_assert(Sum::kAmountMax < kRealMost);
  const Wide most = static_cast<Wide>(events) << 63;
  if (raw.whole > most || raw.whole < -most || raw.reals > events) return false;
  // The lower double is only what the upper one rounds off: two large ones are twice the limit.
  if (raw.high + raw.low != raw.high) return false;
  const double beyond = std::abs(raw.high) - static_cast<double>(raw.reals) * kRealMost;
  const double rest = raw.high < 0 ? -raw.low : raw.low;
  return beyond < 0 || (beyond == 0 && rest <= 0);
}

ViewPart read_part(ChunkReader& in, ViewShape::Form form) {
  using Form = ViewShape::Form;
  ViewPart out;
  if (form == Form::minimum || form == Form::maximum) {
    const std::uint64_t kind = in.count(2);
    out.any = kind != 0;
    if (kind == 1) out.best = in.integer();
    if (kind == 2) out.best = Number::real(in.real());
    return out;
  }
  out.events = static_cast<std::int64_t>(in.count(kEventsMax));
  if (form == Form::count) return out;
  Sum::Raw raw;
  raw.whole = in.wide(kWideBytes);
  raw.reals = static_cast<std::int64_t>(in.count(kEventsMax));
  if (raw.reals != 0) {
    raw.high = in.real();
    raw.low = in.real();
  }
  if (!is_possible(raw, out.events)) in.fail();
  out.sum = Sum(raw);
  return out;
}

/// The parts as KeyBuilder writes them, into `out`.
void read_parts(ChunkReader& in, std::string& out) {
  out.clear();
  const std::uint64_t parts = in.count(kKeyPartsMax);
  for (std::uint64_t i = 0; i < parts; ++i) {
    const auto size = static_cast<std::uint32_t>(in.count(in.left()));
    put_raw(out, size);
    out += in.take(size);
  }
}

void read_members(ChunkReader& in, const ViewShape& shape, std::string_view parts, bool wanted,
                  ChunkSink& sink) {
  const std::uint64_t members = in.count(in.left());
  for (std::uint64_t i = 0; i < members && in.ok(); ++i) {
    if (shape.form == ViewShape::Form::members) {
      const std::string_view bytes = in.take(sizeof(Hash128));
      Hash128 member;
      if (!in.ok()) return;
      std::memcpy(&member.lo, bytes.data(), sizeof member.lo);
      std::memcpy(&member.hi, bytes.data() + sizeof member.lo, sizeof member.hi);
      if (wanted) sink.on_member(parts, member);
      continue;
    }
    const auto entry = static_cast<std::uint32_t>(in.count(0xffffffff));
    if (!HyperLogLog::is_entry(entry, shape.precision)) in.fail();
    if (in.ok() && wanted) sink.on_register(parts, entry);
  }
}

}  // namespace

ViewShape ViewShape::of(const ViewSpec& spec) {
  switch (spec.metric) {
    case Metric::sum:
      return {Form::sum, 0};
    case Metric::average:
      return {Form::average, 0};
    case Metric::minimum:
      return {Form::minimum, 0};
    case Metric::maximum:
      return {Form::maximum, 0};
    case Metric::distinct:
      if (spec.method == ViewSpec::Method::exact) return {Form::members, 0};
      return {Form::registers, static_cast<std::uint8_t>(HyperLogLog::precision_for(spec.error))};
    default:
      return {Form::count, 0};
  }
}

ChunkWriter::ChunkWriter(const ViewShape& shape) : shape_(shape) {
  bytes_ += kVersion;
  bytes_ += static_cast<char>(shape.form);
  bytes_ += static_cast<char>(shape.precision);
}

void ChunkWriter::pane(const ViewPane& pane, std::size_t keys) {
  put_signed(bytes_, pane.start);
  put_signed(bytes_, pane.first);
  put_signed(bytes_, pane.last);
  put_bits(bytes_, static_cast<std::uint64_t>(pane.events));
  if (shape_.has_parts()) part(pane.whole);
  put_bits(bytes_, keys);
}

void ChunkWriter::key(std::string_view parts, const ViewPart& value) {
  text(parts);
  part(value);
}

void ChunkWriter::key(std::string_view parts, std::size_t members) {
  text(parts);
  put_bits(bytes_, members);
}

void ChunkWriter::member(const Hash128& member) {
  put_raw(bytes_, member.lo);
  put_raw(bytes_, member.hi);
}

void ChunkWriter::member(std::uint32_t entry) { put_bits(bytes_, entry); }

void ChunkWriter::text(std::string_view parts) {
  std::size_t count = 0;
  for_each_part(parts, [&](std::string_view) { ++count; });
  put_bits(bytes_, count);
  for_each_part(parts, [&](std::string_view part) {
    put_bits(bytes_, part.size());
    bytes_ += part;
  });
}

void ChunkWriter::part(const ViewPart& part) {
  using Form = ViewShape::Form;
  if (shape_.form == Form::minimum || shape_.form == Form::maximum) {
    put_bits(bytes_, !part.any ? 0U : part.best.is_real() ? 2U : 1U);
    if (!part.any) return;
    if (part.best.is_real()) return put_raw(bytes_, part.best.as_real());
    return put_signed(bytes_, part.best.integer());
  }
  put_bits(bytes_, static_cast<std::uint64_t>(part.events));
  if (shape_.form == Form::count) return;
  const Sum::Raw raw = part.sum.raw();
  put_signed(bytes_, raw.whole);
  put_bits(bytes_, static_cast<std::uint64_t>(raw.reals));
  if (raw.reals == 0) return;
  put_raw(bytes_, raw.high);
  put_raw(bytes_, raw.low);
}

bool read_chunk(std::string_view bytes, const ViewShape& shape, ChunkSink& sink) {
  ChunkReader in(bytes);
  const std::string_view head = in.take(3);
  if (!in.ok() || head[0] != kVersion || head[1] != static_cast<char>(shape.form) ||
      head[2] != static_cast<char>(shape.precision)) {
    return false;
  }
  std::string parts;
  while (in.ok() && !in.at_end()) {
    ViewPane pane;
    pane.start = in.time();
    pane.first = in.time();
    pane.last = in.time();
    pane.events = static_cast<std::int64_t>(in.count(kEventsMax));
    if (shape.has_parts()) pane.whole = read_part(in, shape.form);
    const std::uint64_t keys = in.count(in.left());
    if (pane.first > pane.last) in.fail();
    if (!in.ok()) return false;
    const bool wanted = sink.on_pane(pane);
    for (std::uint64_t i = 0; i < keys && in.ok(); ++i) {
      read_parts(in, parts);
      if (!shape.has_parts()) {
        read_members(in, shape, parts, wanted, sink);
        continue;
      }
      const ViewPart part = read_part(in, shape.form);
      if (in.ok() && wanted) sink.on_key(parts, part);
    }
  }
  return in.ok();
}

}  // namespace weir::limiter
