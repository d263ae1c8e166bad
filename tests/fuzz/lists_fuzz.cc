// A shared list from a hostile Redis: records of any times, sizes and contents, answers
// that fit no question. The bank stays within its bounds, and an entry that ends does end.
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "core/assert.h"
#include "limiter/memory/frame.h"
#include "store/lists/list_sync.h"

using namespace weir;

namespace {

constexpr std::size_t kMax = 8;

void add(store::Reply& reply, std::int64_t n) {
  reply.add(store::Reply::Type::integer).integer = n;
}

/// An answer to so many changes, as the bytes want it.
void speak(limiter::Reader& in, std::size_t ops, store::Reply& reply) {
  reply.clear();
  const auto odd = in.get<std::uint8_t>();
  reply.add(odd == 1 ? store::Reply::Type::string : store::Reply::Type::array);
  add(reply, in.get<std::int64_t>());
  reply.add_text(store::Reply::Type::string,
                 odd == 2 ? "odd" : std::string(16, static_cast<char>(in.get<std::uint8_t>() % 3)));
  add(reply, in.get<std::int64_t>());
  add(reply, in.get<std::uint8_t>() % 2);
  const auto count = static_cast<std::int64_t>(in.get<std::uint8_t>() % 16);
  add(reply, odd == 3 ? in.get<std::int64_t>() : count);
  for (std::int64_t i = 0; i < count; ++i) {
    add(reply, in.get<std::int64_t>());
    reply.add_text(store::Reply::Type::string,
                   std::string(odd == 4 ? 3 : 16, static_cast<char>(in.get<std::uint8_t>() % 24)));
    reply.add_text(store::Reply::Type::string, in.text());
  }
  for (std::size_t i = 0; i < ops; ++i) {
    add(reply, in.get<std::uint8_t>());
    reply.add_text(store::Reply::Type::string, in.text());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  limiter::Reader in({reinterpret_cast<const char*>(data), size});
  limiter::ListBank bank;
  const limiter::ListId list = bank.open("gray", kMax).value();
  store::ListSync sync(bank, list, kMax, store::ListOrigin::of(1), 1);
  bank.share(list, true);
  TimePoint now = from_ms(1'700'000'000'000);
  while (in.ok() && !in.at_end()) {
    const auto what = in.get<std::uint8_t>();
    const Hash128 key{0x0101010101010101ULL * (what % 24), 0x0101010101010101ULL * (what % 24)};
    if (what < 60) {
      const milliseconds term{1'000 + what};
      limiter::Listing listing;
      listing.key = key;
      listing.durations = {&term, 1};
      bank.add(list, listing, now);
    } else if (what < 100) {
      bank.remove(list, key, now);
    }
    sync.gather(now);
    std::string words;
    const std::size_t ops = sync.ask(words, now) - 1;
    now += milliseconds{in.get<std::uint8_t>()};
    if (what < 250) {
      store::Reply reply;
      speak(in, ops, reply);
      static_cast<void>(sync.answered(reply, now));
    } else {
      sync.failed(now);
    }
    WEIR_ASSERT(bank.size(list) <= kMax);
    for (const limiter::ListEntry& entry : bank.page_held(list, now, {}, 100)) {
      WEIR_ASSERT(entry.until <= limiter::kForever && entry.parts.size() <= 32);
      WEIR_ASSERT(bank.find(list, entry.key, now).listed == (entry.until > now));
    }
  }
  return 0;
}
