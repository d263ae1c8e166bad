// Persisted state: whatever the bytes, an import refuses them or takes in something that can be
// written and read back. The input is a frame's payload too, since no fuzzer guesses a
// checksum, and for changes to what a process has written.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/assert.h"
#include "limiter/counters/bank.h"
#include "limiter/kinds/kinds.h"
#include "limiter/lists/lists.h"
#include "limiter/memory/frame.h"
#include "tests/limiter/kind_models.h"

namespace {

using namespace weir;
using namespace weir::limiter;

constexpr TimePoint kNow = from_ms(1'700'000'000'000);

/// The first byte of each piece says of which frame the rest is the payload: its letter, or any
/// other.
std::string framed(std::string_view in) {
  std::string out;
  while (!in.empty()) {
    static constexpr std::string_view kFrames = "BKELC";
    const char first = in.front();
    const char kind = kFrames.find(first) != std::string_view::npos
                          ? first
                          : kFrames[static_cast<unsigned char>(first) % kFrames.size()];
    in.remove_prefix(1);
    const std::size_t cut = std::min(in.find("|#"), in.size());
    append_frame(out, static_cast<std::uint8_t>(kind), in.substr(0, cut));
    in.remove_prefix(std::min(in.size(), cut + 2));
  }
  return out;
}

/// A counter of every kind; where events may bring their own times, one of these, too. `every`: of
/// so many of them one only.
std::vector<CounterId> open_all(Bank& bank, std::size_t every = 1) {
  static const std::vector<CounterSpec> specs = [] {
    std::vector<CounterSpec> out;
    for (const Kind& kind : kinds()) {
      CounterSpec spec = test::spec_of(kind, {"", 0, 60'000, 60, false});
      WEIR_ASSERT(find_kind(spec) != nullptr);
      out.push_back(spec);
      spec.late = milliseconds(60'000);
      if (find_kind(spec) != nullptr) out.push_back(spec);
    }
    return out;
  }();
  std::vector<CounterId> ids;
  const Bank::Opening together(bank);
  for (std::size_t i = 0; i < specs.size(); i += every) {
    const Result<CounterId> id = bank.open({7, i + 1}, specs[i]);
    WEIR_ASSERT(id.has_value());
    ids.push_back(*id);
  }
  return ids;
}

std::string snapshot_of(const Bank& bank) {
  std::string out;
  Bank::Snapshot snapshot(bank, kNow, kNow);
  while (snapshot.next(out)) {
  }
  return out;
}

/// The snapshot of a process with some keys of every kind, frame by frame; half of the
/// counters are closed.
const std::vector<std::pair<std::uint8_t, std::string>>& sound_frames() {
  static const auto frames = [] {
    Bank bank({std::uint64_t{4} << 20, 1000});
    Datum datum;
    datum.type = Datum::Type::text;
    datum.text = "what the event before said";
    for (const CounterId id : open_all(bank)) {
      for (std::uint64_t n = 0; n < 12; ++n) {
        const Amount event{Number(static_cast<std::int64_t>(n) + 1), n % 5, &datum};
        bank.charge(id, Hash128{n % 3 + 1, 5},
                    from_ms(to_ms(kNow) - 1000 + static_cast<std::int64_t>(n)), event, nullptr,
                    nullptr);
      }
    }
    bank.close_unused(open_all(bank, 2));
    std::vector<std::pair<std::uint8_t, std::string>> out;
    const std::string bytes = snapshot_of(bank);
    std::string_view rest = bytes;
    while (const auto frame = take_frame(rest)) out.emplace_back(frame->kind, frame->payload);
    WEIR_ASSERT(rest.empty() && out.size() >= 3);
    return out;
  }();
  return frames;
}

/// The same with some bytes changed; four of the input say where and how.
std::string damaged(std::string_view in) {
  auto frames = sound_frames();
  for (; in.size() >= 4; in.remove_prefix(4)) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(in[i]); };
    std::string& payload = frames[byte(0) % frames.size()].second;
    if (payload.empty()) continue;
    const std::size_t at = (byte(1) * 256U + byte(2)) % payload.size();
    payload[at] = static_cast<char>(payload[at] ^ byte(3));
  }
  std::string out;
  for (const auto& [kind, payload] : frames) append_frame(out, kind, payload);
  return out;
}

void take_in(std::string_view bytes) {
  Bank bank({std::uint64_t{4} << 20, 1000});
  open_all(bank, 3);
  if (bank.import(bytes, kNow, kNow)) {
    WEIR_ASSERT(bank.import(snapshot_of(bank), kNow, kNow).has_value());
    open_all(bank);  // a reload brings them back
    bank.close_unused({});
    bank.maintain(kNow, kNow);
    Bank next({std::uint64_t{4} << 20, 1000});
    WEIR_ASSERT(next.import(snapshot_of(bank), kNow, kNow).has_value());
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
  take_in(damaged(in));
  return 0;
}
