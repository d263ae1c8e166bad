// Persisted state: whatever the bytes, an import refuses them or takes in something that can be
// written and read back. The input stands for a frame's payload too, since no fuzzer guesses a
// checksum.
#include <cstddef>
#include <cstdint>

#include "core/assert.h"
#include "limiter/bank.h"
#include "limiter/frame.h"
#include "limiter/kinds.h"
#include "limiter/lists.h"

namespace {

using namespace weir;
using namespace weir::limiter;

constexpr TimePoint kNow = from_ms(1'700'000'000'000);

/// The first byte of each piece says of which frame the rest is the payload.
std::string framed(std::string_view in) {
  std::string out;
  while (!in.empty()) {
    static constexpr char kFrames[] = {'B', 'K', 'E', 'L'};
    const char kind = kFrames[static_cast<unsigned char>(in.front()) % 4];
    in.remove_prefix(1);
    const std::size_t cut = std::min(in.find("|#"), in.size());
    append_frame(out, static_cast<std::uint8_t>(kind), in.substr(0, cut));
    in.remove_prefix(std::min(in.size(), cut + 2));
  }
  return out;
}

void take_in(std::string_view bytes) {
  Bank bank({std::uint64_t{2} << 20, 1000});
  std::uint64_t n = 0;
  for (const Kind& kind : kinds()) {
    CounterSpec spec;
    spec.metric = kind.metric;
    spec.window = kind.window;
    spec.real = kind.real;
    if (kind.near) spec.radius = 1000;
    WEIR_ASSERT(bank.open({7, ++n}, spec).has_value());
  }
  if (bank.import(bytes, kNow, kNow)) {
    std::string again;
    Bank::Snapshot snapshot(bank, kNow, kNow);
    while (snapshot.next(again)) {
    }
    WEIR_ASSERT(bank.import(again, kNow, kNow).has_value());
  }
  ListBank lists;
  if (lists.import(bytes, kNow)) {
    std::string again;
    lists.export_all(kNow, again);
    ListBank other;
    WEIR_ASSERT(again.empty() || other.import(again, kNow).has_value());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view in(reinterpret_cast<const char*>(data), size);
  take_in(in);
  take_in(framed(in));
  return 0;
}
