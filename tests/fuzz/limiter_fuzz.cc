// Window operations, chosen by the input, against a naive list of events.
#include <cstddef>
#include <cstdint>

#include "core/assert.h"
#include "limiter/bank.h"
#include "limiter/kinds.h"
#include "tests/limiter/naive.h"

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

Number number_of(const CounterSpec& spec, std::int64_t n) {
  return spec.real ? Number::real(static_cast<double>(n) / 4) : Number(n);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input in{data, size};
  const std::span<const Kind> rows = kinds();
  const Kind& kind = rows[in.byte() % (rows.size() - 1)];  // the last is in_flight
  static constexpr std::int64_t kLengths[] = {1, 7, 1000, 60'000, 3'600'000, 2'678'400'000};
  static constexpr unsigned kBuckets[] = {1, 3, 10, 60, 3600};
  CounterSpec spec;
  spec.metric = kind.metric;
  spec.window = kind.window;
  spec.real = kind.real;
  if (kind.near) spec.radius = 1000;
  spec.length = milliseconds(kLengths[in.byte() % 6]);
  spec.buckets = kBuckets[in.byte() % 5];
  spec.outcome = true;
  static Bank bank({std::uint64_t{8} << 20, 1000});
  static std::uint64_t runs = 0;
  bank.close_unused({});
  bank.maintain(from_ms(static_cast<std::int64_t>(runs) * 5'000'000'000),
                from_ms(static_cast<std::int64_t>(runs) * 5'000'000'000));
  const Result<CounterId> opened = bank.open({++runs, 1}, spec);
  WEIR_ASSERT(opened.has_value());
  const CounterId id = *opened;
  const Hash128 key{1, runs};
  limiter::test::NaiveCounter naive(spec);
  std::int64_t now = (std::int64_t{400} << 32) - in.byte() * spec.length.count() / 8;
  struct Open {
    int id;
    Undo undo;
  };
  std::deque<Open> open;
  int next = 1;
  while (in.size > 0) {
    const std::uint8_t op = in.byte();
    const std::uint8_t step = in.byte();
    const std::int64_t w = spec.length.count();
    now += step < 64 ? step : step < 250 ? w * (step - 64) / 512 : w - 252 + step;
    const TimePoint t = from_ms(now);
    const std::uint8_t raw = in.byte();
    Amount event;
    if (spec.metric == Metric::sum) event.amount = number_of(spec, raw % 50 + 1);
    if (spec.metric == Metric::distinct) event.member = raw % 16;
    const Number expected = *naive.value(now, &event, true).number;
    WEIR_ASSERT(bank.peek(id, key, t, &event).value == expected);
    Undo undo;
    switch (op % 5) {
      case 0:
      case 1: {
        const Ceiling ceiling{number_of(spec, op), op % 2 == 0};
        const Reading r = bank.charge(id, key, t, event, &ceiling, &undo);
        WEIR_ASSERT(r.value == expected && r.refused == ceiling.broken_by(expected) &&
                    r.stored == !r.refused);
        if (!r.stored) break;
        naive.charge(now, now, event, next);
        if (op % 3 == 0) {
          bank.uncharge(id, key, undo);
          naive.uncharge(next);
        }
        ++next;
        break;
      }
      case 2:
        WEIR_ASSERT(bank.reserve(id, key, t, event, nullptr, &undo).stored);
        naive.reserve(now, event, next);
        open.push_back({next++, undo});
        break;
      case 3: {
        if (open.empty()) break;
        const Open one = open[raw % open.size()];
        std::erase_if(open, [&](const Open& o) { return o.id == one.id; });
        const Reading r =
            bank.settle(id, key, one.undo.at, t, one.undo.amount, one.undo, op % 2 == 0);
        naive.prune(now);
        naive.settle(one.id, to_ms(one.undo.at), now, op % 2 == 0);
        WEIR_ASSERT(r.value == *naive.value(now, nullptr, false).number);
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
