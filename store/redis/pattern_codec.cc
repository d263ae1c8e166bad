#include "store/redis/pattern_codec.h"

#include <algorithm>
#include <cstring>

#include "store/redis/packer.h"
#include "store/resp/resp_writer.h"

namespace weir::store {
namespace {

using limiter::PatternAsk;
using limiter::PatternMatch;
using limiter::SharedOp;
using limiter::SharedVerb;

constexpr double kReasonable = 4'503'599'627'370'496.0;  // 2^52 ms

/// op.at in the form of the store: a time in a replay, or if the server's clock is known (the
/// operation may lie in a socket for as long as the server is stopped). Otherwise a negative
/// number, an age.
double time_of(const SharedOp& op, Now now) {
  if (op.now || op.verb == SharedVerb::done) return static_cast<double>(to_ms(op.at));
  const milliseconds age = std::max(now.wall - op.at, milliseconds{0});
  if (!now.store) return -static_cast<double>(age.count());
  return static_cast<double>(to_ms(*now.store - age));
}

/// Numbers of an answer, as the script packs them.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : bytes_(bytes) {}
  bool ok() const noexcept { return ok_; }
  bool at_end() const noexcept { return bytes_.empty(); }
  template <class T>
  T get() {
    T out{};
    const std::string_view from = take(sizeof out);
    if (ok_) std::memcpy(&out, from.data(), sizeof out);
    return out;
  }
  TimePoint time() {
    const auto ms = get<double>();
    ok_ = ok_ && ms >= -kReasonable && ms <= kReasonable;
    return from_ms(ok_ ? static_cast<std::int64_t>(ms) : 0);
  }
  std::uint64_t number() {
    const auto n = get<double>();
    ok_ = ok_ && n >= 0 && n <= kReasonable;
    return ok_ ? static_cast<std::uint64_t>(n) : 0;
  }
  std::string_view text() { return take(get<std::uint32_t>()); }

 private:
  std::string_view take(std::size_t n) {
    ok_ = ok_ && n <= bytes_.size();
    if (!ok_) return {};
    const std::string_view out = bytes_.substr(0, n);
    bytes_.remove_prefix(n);
    return out;
  }
  std::string_view bytes_;
  bool ok_ = true;
};

bool read_match(Unpacker& in, PatternMatch& out) {
  const auto kind = in.get<std::uint8_t>();
  if (kind > static_cast<std::uint8_t>(limiter::MatchKind::unmatched)) return false;
  out.kind = static_cast<limiter::MatchKind>(kind);
  out.fires = in.time();
  out.order = in.number();
  const auto events = in.get<std::uint8_t>();
  if (events == 0 || events > limiter::kPatternSteps) return false;
  for (unsigned i = 0; i < events; ++i) {
    const auto step = in.get<std::uint8_t>();
    if (step >= limiter::kPatternSteps) return false;
    const TimePoint ts = in.time();
    out.add(step, ts, in.number());
  }
  out.key = in.text();
  out.payload = in.text();
  return in.ok();
}

}  // namespace

bool can_send_pattern(const SharedOp& op) noexcept {
  const PatternAsk& ask = *op.pattern;
  if (ask.pattern == nullptr || ask.pattern->spec.endless) return false;
  const auto at = static_cast<double>(to_ms(op.at));
  if (!(at >= -kReasonable && at <= kReasonable)) return false;
  switch (op.verb) {
    case SharedVerb::add:
    case SharedVerb::look:
      return true;
    case SharedVerb::due:
    case SharedVerb::done:
      return ask.pattern->has_deadlines();
    default:
      return false;
  }
}

unsigned append_pattern_keys(std::string& out, const SharedOp& op) {
  const limiter::SharedPattern& pattern = *op.pattern->pattern;
  const auto append = [&](std::string_view tail) {
    append_count(out, '$', 8 + pattern.name.size() + op.key.size() + tail.size());
    out += "weir:";
    out += pattern.name;
    out += ":{";
    out += op.key;
    out += '}';
    out += tail;
    out += "\r\n";
  };
  append("");
  if (!pattern.has_deadlines()) return 1;
  append(":due");
  return 2;
}

void append_pattern_argument(std::string& out, const SharedOp& op, bool retry, Now now) {
  constexpr std::size_t kHead = 94;
  const PatternAsk& ask = *op.pattern;
  const limiter::PatternSpec& spec = ask.pattern->spec;
  const std::string_view payload = ask.event.payload;
  append_count(out, '$', kHead + ask.key.size() + payload.size());
  Packer pack{out};
  pack.byte(static_cast<unsigned>(op.verb));
  pack.byte(retry ? 1 : 0);
  pack.high_first(op.id.origin, 6);
  pack.high_first(op.id.sequence, 6);
  pack.real(op.now ? static_cast<double>(to_ms(*op.now)) : -1.0);
  pack.real(time_of(op, now));
  pack.real(static_cast<double>(op.lifetime.count()));
  pack.byte(static_cast<unsigned>(spec.kind));
  pack.byte(spec.steps);
  pack.byte((spec.strict ? 1U : 0U) | (spec.overlap ? 2U : 0U) | (ask.forgets ? 4U : 0U) |
            (ask.event.among ? 8U : 0U) | (spec.tied ? 16U : 0U));
  for (const milliseconds length : {spec.within, spec.before, spec.after}) {
    pack.real(static_cast<double>(length.count()));
  }
  pack.real(static_cast<double>(spec.keep));
  pack.real(static_cast<double>(spec.late.count()));
  pack.byte(ask.event.steps);
  pack.real(static_cast<double>(ask.event.line));
  pack.word(static_cast<std::uint32_t>(ask.key.size()));
  out += ask.key;
  out += payload;
  out += "\r\n";
}

bool read_pattern_answer(std::string_view bytes, limiter::PatternReply& out) {
  Unpacker in(bytes);
  out = {};
  out.view.completes = in.get<std::uint8_t>() != 0;
  out.view.furthest = in.get<std::uint8_t>();
  out.view.open = in.get<std::uint32_t>();
  out.matched = in.get<std::uint32_t>();
  out.dropped = in.get<std::uint32_t>();
  out.keys = in.get<std::uint32_t>();
  const TimePoint next = in.time();
  if (next >= TimePoint{}) out.next = next;
  out.asked = milliseconds(static_cast<std::int64_t>(in.number()));
  const auto matches = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < matches && in.ok(); ++i) {
    if (!read_match(in, out.matches.emplace_back())) return false;
  }
  return in.ok() && in.at_end();
}

}  // namespace weir::store
