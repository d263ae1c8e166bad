#pragma once

#include <memory>

#include "store/lists/list_sharer.h"
#include "tests/store/world.h"

namespace weir::store::test {

inline Hash128 list_key(std::uint64_t n) { return {n * 0x9E3779B97F4A7C15ULL, n}; }

/// A process that shares the list `gray`.
struct Replica {
  Replica(World& w, const Settings& settings, std::uint64_t number, const char* secret = "s")
      : world(w), list(bank.open("gray", 10'000).value()) {
    sharer = std::make_unique<ListSharer>(world.worker, bank, HashSecret::from_text(secret),
                                          settings, number);
    world.turn([&] {
      sharer->use({{"gray", list, 10'000, {7, 7}}});
      sharer->start();
    });
  }
  ~Replica() {
    world.turn([&] { sharer.reset(); });
  }
  void add(std::uint64_t n, milliseconds term = milliseconds{3'600'000}) {
    add(n, term, clock.now());
  }
  void add(std::uint64_t n, milliseconds term, TimePoint at) {
    limiter::Listing listing;
    listing.key = list_key(n);
    listing.durations = {&term, 1};
    listing.policy = "gold";
    listing.value = 7;
    listing.limit = 5;
    bank.add(list, listing, at);
  }
  bool has(std::uint64_t n) const { return bank.find(list, list_key(n), clock.now()).listed; }

  World& world;
  limiter::ListBank bank;
  limiter::ListId list;
  Clock clock;
  std::unique_ptr<ListSharer> sharer;
};

}  // namespace weir::store::test
