// Counts of a shared view that come from Redis: any bytes. A view that takes them stays within its
// bounds and shows results; its sum is written and can be read again.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/assert.h"
#include "limiter/views/view_delta.h"
#include "policies/set/view_bank.h"

using namespace weir;

namespace {

limiter::ViewSpec spec_of(unsigned form) {
  constexpr limiter::Metric kMetrics[] = {limiter::Metric::count,   limiter::Metric::sum,
                                          limiter::Metric::average, limiter::Metric::minimum,
                                          limiter::Metric::maximum, limiter::Metric::distinct,
                                          limiter::Metric::distinct};
  limiter::ViewSpec spec;
  spec.metric = kMetrics[form];
  if (form == 6) spec.method = limiter::ViewSpec::Method::hll;
  spec.error = 0.2;
  spec.length = milliseconds{4'000};
  spec.hop = milliseconds{2'000};
  spec.top = 3;
  return spec;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const HashSecret secret = HashSecret::from_bytes({1});
  limiter::ViewSpec spec = spec_of(data[0] % 7);
  spec.endless = data[0] % 2 == 0;
  const std::string_view chunk = bytes.substr(1);
  policies::LiveView view("v", spec, secret);
  constexpr std::size_t kLimit = 1'000'000;
  view.limit(kLimit);
  view.absorb(chunk, [](std::int64_t) { return true; });
  view.results(1);
  WEIR_ASSERT(view.stats().counted.bytes <= kLimit);
  limiter::ViewDelta delta(spec);
  delta.limit(kLimit);
  delta.absorb(chunk, secret);
  std::vector<std::string> chunks;
  delta.take(500, chunks, 2'000);
  for (const std::string& one : chunks) WEIR_ASSERT(delta.absorb(one, secret));
  return 0;
}
