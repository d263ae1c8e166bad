#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "policies/set/bulk_text.h"

/// The load time of a list of millions of addresses, its size, and the cost of a
/// lookup. `weir_bulk_list_bench [MILLIONS]`, default 5.
namespace {

using Steady = std::chrono::steady_clock;

double seconds_since(Steady::time_point begin) {
  return std::chrono::duration<double>(Steady::now() - begin).count();
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t count = (argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 5) * 1'000'000;
  std::mt19937 random(5);
  std::string text;
  for (std::size_t i = 0; i < count; ++i)
    text += weir::Address::v4(static_cast<std::uint32_t>(random())).to_string() + "\n";
  weir::policies::List list;
  list.of = {"ip"};
  list.of_address = true;
  const auto secret = weir::HashSecret::from_bytes({});
  const auto begin = Steady::now();
  const auto read = weir::policies::read_bulk_list(list, text, secret, weir::from_ms(0), count);
  const double took = seconds_since(begin);
  if (read.entries == nullptr) return 1;
  const std::size_t lookups = 5'000'000;
  std::vector<weir::Address> asked;
  for (std::size_t i = 0; i < lookups; ++i)
    asked.push_back(weir::Address::v4(static_cast<std::uint32_t>(random())));
  std::size_t found = 0;
  const auto look = Steady::now();
  for (const weir::Address& one : asked)
    found += read.entries->find({}, &one, weir::from_ms(1)).has_value();
  std::printf("%zu addresses of %zu bytes: %.2f s, %.1f bytes each; a lookup %.0f ns (%zu found)\n",
              count, text.size(), took,
              static_cast<double>(read.entries->bytes()) / static_cast<double>(count),
              seconds_since(look) / lookups * 1e9, found);
  return 0;
}
