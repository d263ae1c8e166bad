// Window operations, chosen by the input, against a naive list of events.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/assert.h"
#include "limiter/counters/bank.h"
#include "limiter/kinds/kinds.h"
#include "tests/limiter/kind_models.h"

namespace {

using namespace weir;
using namespace weir::limiter;

struct Input {
  const std::uint8_t* data;
  std::size_t size;
  std::uint8_t byte() {
    if (size == 0) return 0;
    --size;
    return *data++;
  }
};

/// Kinds with windows, or of the previous event's value: all kinds except in_flight.
const Kind& kind_of(std::uint8_t byte) {
  static const std::vector<const Kind*> rows = [] {
    std::vector<const Kind*> out;
    for (const Kind& kind : kinds()) {
      if (kind.metric != Metric::in_flight) out.push_back(&kind);
    }
    return out;
  }();
  return *rows[byte % rows.size()];
}

CounterSpec read_spec(Input& in) {
  const Kind& kind = kind_of(in.byte());
  static constexpr std::int64_t kLengths[] = {1, 7, 1000, 60'000, 3'600'000, 31 * test::kDay};
  static constexpr unsigned kBuckets[] = {1, 3, 10, 60, 3600};
  static constexpr std::int64_t kRetains[] = {0, 60'000, 3'600'000};
  test::Schedule schedule{"", 0, kLengths[in.byte() % 6], kBuckets[in.byte() % 5], true};
  const std::uint8_t more = in.byte();
  schedule.outcome = more % 2 == 0;
  schedule.retain = kRetains[more / 2 % 3];
  CounterSpec spec = test::spec_of(kind, schedule);
  spec.keep = 5000;  // more than an input has events: the model never drops one
  return spec;
}

Number number_of(const CounterSpec& spec, std::int64_t n) {
  return spec.real ? Number::real(static_cast<double>(n) / 4) : Number(n);
}

Amount amount_of(const CounterSpec& spec, std::uint8_t raw, const Datum& datum) {
  Amount event;
  switch (spec.metric) {
    case Metric::sum:
      event.amount = number_of(spec, raw % 50 + 1);
      break;
    case Metric::average:
    case Metric::minimum:
    case Metric::maximum:
      event.amount = number_of(spec, raw % 50 - 10);
      break;
    case Metric::distinct:
    case Metric::exists:
      event.member = raw % 16;
      break;
    case Metric::last:
      event.datum = &datum;
      break;
    default:
      break;
  }
  return event;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input in{data, size};
  const CounterSpec spec = read_spec(in);
  static Bank bank({std::uint64_t{8} << 20, 1000});
  static std::uint64_t runs = 0;
  bank.close_unused({});
  // Two months a run: the remains of the last run expire.
  const TimePoint later = from_ms(static_cast<std::int64_t>(runs) * 5'000'000'000);
  bank.maintain(later, later);
  const Result<CounterId> opened = bank.open({++runs, 1}, spec);
  WEIR_ASSERT(opened.has_value());
  const CounterId id = *opened;
  const Hash128 key{1, runs};
  test::NaiveCounter naive(spec);
  const bool leaky = spec.window == Window::leaky;
  const std::int64_t w = leaky                      ? spec.drain.count()
                         : spec.length.count() == 0 ? 31 * test::kDay
                                                    : spec.length.count();
  std::int64_t now = (std::int64_t{400} << 32) - in.byte() * w / 8;  // where stamps begin again
  struct Open {
    int id;
    Undo undo;
  };
  std::deque<Open> open;
  int next = 1;
  while (in.size > 0) {
    const std::uint8_t op = in.byte();
    const std::uint8_t step = in.byte();
    // Never back: windows of the wall clock promise nothing then, and w may be 1.
    const std::int64_t edge = std::max<std::int64_t>(0, w - 252 + step);
    now += step < 64 ? step : step < 250 ? w * (step - 64) / 512 : edge;
    const TimePoint t = from_ms(now);
    const std::uint8_t raw = in.byte();
    Datum datum;
    datum.type = raw % 4 == 0 ? Datum::Type::none : Datum::Type::number;
    datum.number = Number(std::int64_t{raw});
    const Amount event = amount_of(spec, raw, datum);
    const test::NaiveCounter::Value expected = naive.value(now, &event, true);
    const Reading before = bank.peek(id, key, t, &event);
    WEIR_ASSERT(test::agree(spec, before, before.value, expected));
    Undo undo;
    switch (op % 5) {
      case 0:
      case 1: {
        const Ceiling ceiling{number_of(spec, op), op % 2 == 0};
        const Reading r = bank.charge(id, key, t, event, &ceiling, &undo);
        WEIR_ASSERT(test::agree(spec, r, r.value, expected));
        WEIR_ASSERT(r.refused == (before.has_value && ceiling.broken_by(before.value)));
        WEIR_ASSERT(r.stored == !r.refused);
        naive.prune(now);
        if (!r.stored) break;
        naive.charge(now, now, event, next, test::spelt(datum));
        if (op % 3 == 0) {
          bank.uncharge(id, key, undo);
          naive.uncharge(next);
        }
        ++next;
        break;
      }
      case 2:
        if (!spec.outcome) break;
        WEIR_ASSERT(bank.reserve(id, key, t, event, nullptr, &undo).stored);
        naive.prune(now);
        naive.reserve(now, event, next);
        open.push_back({next++, undo});
        break;
      case 3: {
        if (open.empty()) break;
        const Open one = open[raw % open.size()];
        std::erase_if(open, [&](const Open& o) { return o.id == one.id; });
        Amount counted = one.undo.amount;
        if (spec.metric == Metric::last) counted.datum = &datum;
        // A bucket settles late as if poured at its time.
        const TimePoint at = leaky ? t : one.undo.at;
        const Reading r = bank.settle(id, key, at, t, counted, one.undo, op % 2 == 0);
        naive.prune(now);
        // The level before capping: the bucket with the event.
        const test::NaiveCounter::Value poured = naive.value(now, &counted, false);
        naive.settle(one.id, to_ms(at), now, op % 2 == 0, test::spelt(datum));
        const bool pours = leaky && op % 2 == 0;
        WEIR_ASSERT(
            test::agree(spec, r, r.settled, pours ? poured : naive.value(now, nullptr, false)));
        break;
      }
      default:
        if (raw < 8) {
          bank.reset(id, key);
          naive.reset();
        }
    }
  }
  for (const Open& o : open) bank.uncharge(id, key, o.undo);
  bank.reset(id, key);
  WEIR_ASSERT(bank.stats().keys == 0 && bank.stats().memory_used == 0);
  return 0;
}
