// Head: `at` is the window's beginning. average: total is the sum (128-bit integer, or a double)
// and extra the number of events; minimum, maximum: total[0] is that number and extra the extreme.
#include "limiter/kinds/tally.h"

#include <bit>
#include <limits>
#include <utility>

#include "limiter/kinds/block_ops.h"

namespace weir::limiter {

std::uint64_t bits_of(const CounterSpec& spec, const Amount& event) noexcept {
  switch (spec.metric) {
    case Metric::distinct:
    case Metric::exists:
      return event.member;
    case Metric::count:
      return count_of(event);
    case Metric::last:
      return 0;
    default:
      return spec.real ? std::bit_cast<std::uint64_t>(event.amount.as_real())
                       : static_cast<std::uint64_t>(integer_of(event.amount));
  }
}

std::uint64_t sum_of(const CounterSpec& spec, std::uint64_t a, std::uint64_t b) noexcept {
  if (spec.real)
    return std::bit_cast<std::uint64_t>(std::bit_cast<double>(a) + std::bit_cast<double>(b));
  return static_cast<std::uint64_t>(
      saturating_sum(static_cast<std::int64_t>(a), static_cast<std::int64_t>(b)));
}

bool Tally::beyond(const CounterSpec& spec, std::uint64_t a, std::uint64_t b) noexcept {
  if (spec.metric == Metric::maximum) std::swap(a, b);
  if (spec.real) return std::bit_cast<double>(a) < std::bit_cast<double>(b);
  return static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b);
}

void Tally::add(std::uint64_t bits) noexcept {
  if (is_extreme(spec_->metric)) {
    if (n_ == 0 || beyond(*spec_, bits, extreme_)) extreme_ = bits;
  } else if (spec_->real) {
    real_ += std::bit_cast<double>(bits);
  } else {
    wide_ += static_cast<std::int64_t>(bits);
  }
  ++n_;
}

void Tally::add_totals(std::uint64_t n, Wide wide, double real, std::uint64_t extreme) noexcept {
  if (n == 0) return;
  if (is_extreme(spec_->metric) && (n_ == 0 || beyond(*spec_, extreme, extreme_)))
    extreme_ = extreme;
  wide_ += wide;
  real_ += real;
  n_ += n;
}

Number Tally::value() const noexcept {
  constexpr Wide kMin = std::numeric_limits<std::int64_t>::min();
  constexpr Wide kMax = std::numeric_limits<std::int64_t>::max();
  if (is_sum()) {
    if (spec_->real) return Number::real(real_);
    return static_cast<std::int64_t>(std::clamp(wide_, kMin, kMax));
  }
  if (n_ == 0) return spec_->real || !is_extreme(spec_->metric) ? Number::real(0) : Number(0);
  if (is_extreme(spec_->metric)) {
    if (spec_->real) return Number::real(std::bit_cast<double>(extreme_));
    return static_cast<std::int64_t>(extreme_);
  }
  const double sum = spec_->real ? real_ : static_cast<double>(wide_);
  return Number::real(sum / static_cast<double>(n_));
}

namespace {

struct TallyKind {
  using Journal = limiter::Journal;
  using Head = Journal::Head;

  static std::uint64_t& events(Head& h, const CounterSpec& spec) noexcept {
    return spec.metric == Metric::average ? h.extra : h.total[0];
  }
  static std::uint64_t events(const Head& h, const CounterSpec& spec) noexcept {
    return spec.metric == Metric::average ? h.extra : h.total[0];
  }
  static double real(const Head& h) noexcept { return std::bit_cast<double>(h.total[0]); }

  static bool valid(const Counter&, const Amount& event) noexcept {
    return event.amount.is_finite();
  }
  static std::uint64_t bits(const Counter& c, const Amount& event) noexcept {
    return bits_of(c.spec, event);
  }
  static bool empty(const Journal& journal) noexcept {
    const Head& h = journal.head();
    return (h.total[0] | h.total[1] | h.extra) == 0;
  }
  static void clear(Journal& journal) noexcept {
    Head& h = journal.head();
    h.set_wide(0);
    h.at = 0;
    h.extra = 0;
  }

  /// A thread that is a little behind counts in the newest window, too.
  static bool live(const Head& h, const Instant& now) noexcept {
    if (h.at - now.ms > Instant::kAheadMax) return false;
    if (now.rule->aligned) return h.at >= now.ms - now.span;
    return now.live(now.ms - h.at);
  }
  static void drop_dead(Journal& journal, const Counter&, const Instant& now) noexcept {
    if (!live(journal.head(), now)) clear(journal);
  }

  static void add_settled(Tally& tally, const CounterSpec& spec, const Head& h) noexcept {
    const bool sum = spec.metric == Metric::average;
    tally.add_totals(events(h, spec), sum && !spec.real ? h.wide() : Wide{0},
                     sum && spec.real ? real(h) : 0, h.extra);
  }

  static Reading read(const Subject& s, const Journal& journal, const Look& look) noexcept {
    const CounterSpec& spec = s.counter.spec;
    Tally settled(spec);
    if (!look.stale && live(journal.head(), look.now)) add_settled(settled, spec, journal.head());
    Tally all = settled;
    if (look.reserved) {
      for (std::uint32_t i = 0; i < journal.reserved(); ++i) all.add(journal.reservation(i).bits);
    }
    if (look.event != nullptr) {
      settled.add(bits_of(spec, *look.event));
      all.add(bits_of(spec, *look.event));
    }
    Reading r;
    r.value = all.value();
    r.settled = settled.value();
    r.has_value = all.has_value();
    return r;
  }

  static bool add(Subject& s, Journal& journal, Memory& memory, const Instant& now,
                  std::int64_t event_ms, const Amount& event, Undo& undo) noexcept {
    if (!journal.has_block() && !journal.make_room(*s.slot, memory, 0)) return false;
    const CounterSpec& spec = s.counter.spec;
    Head& h = journal.head();
    if (events(h, spec) == 0) {
      clear(journal);
      h.at = now.rule->aligned ? now.ms - now.span : event_ms;
    }
    const std::uint64_t amount = bits_of(spec, event);
    undo.former = static_cast<std::uint32_t>(h.at);
    if (spec.metric != Metric::average) {
      undo.former_value = h.extra;
      if (events(h, spec) == 0 || Tally::beyond(spec, amount, h.extra)) h.extra = amount;
    } else if (spec.real) {
      undo.former_value = h.total[0];
      h.total[0] = std::bit_cast<std::uint64_t>(real(h) + std::bit_cast<double>(amount));
    } else {
      h.set_wide(h.wide() + static_cast<std::int64_t>(amount));
    }
    ++events(h, spec);
    return true;
  }

  /// Exact if no event of the key came between; else an extreme of that event may stay.
  static void take_back(Subject& s, Journal& journal, Memory&, const Undo& undo) noexcept {
    const CounterSpec& spec = s.counter.spec;
    Head& h = journal.head();
    std::uint64_t& n = events(h, spec);
    if (n == 0 || undo.former != static_cast<std::uint32_t>(h.at)) return;  // of another window
    if (n == 1) {
      clear(journal);
      return;
    }
    --n;
    const std::uint64_t amount = bits_of(spec, undo.amount);
    if (spec.metric != Metric::average) {
      if (h.extra == amount) h.extra = undo.former_value;
    } else if (spec.real) {
      const auto before = std::bit_cast<double>(undo.former_value);
      const double taken = std::bit_cast<double>(amount);
      h.total[0] =
          std::bit_cast<std::uint64_t>(real(h) == before + taken ? before : real(h) - taken);
    } else {
      h.set_wide(h.wide() - static_cast<std::int64_t>(amount));
    }
  }

  static void take_out(const Subject&, const Journal& journal, const Instant& now,
                       std::vector<PlainEntry>& out) {
    const Head& h = journal.head();
    if (!live(h, now)) return;
    for (const std::uint64_t bits : {h.total[0], h.total[1], h.extra}) out.push_back({h.at, bits});
  }
  static void put_in(Subject& s, Journal& journal, Memory& memory, const Instant&,
                     std::span<const PlainEntry> entries) noexcept {
    if (entries.size() != 3 || !journal.make_room(*s.slot, memory, 0)) return;
    Head& h = journal.head();
    h.total[0] = entries[0].bits;
    h.total[1] = entries[1].bits;
    h.extra = entries[2].bits;
    h.at = entries[0].ms;
  }
};

}  // namespace

const KindOps kTallyOps = kBlockOps<TallyKind>;

}  // namespace weir::limiter
