// One decision over a big table, beside what the machine asks for one dependent miss (G8), bytes
// per key (G9), displacement (G11). `weir_table_bench` prints medians and spreads; figures:
// bench/results/limiter.md.
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "limiter/counters/bank.h"

namespace {

using namespace weir;
using namespace weir::limiter;

constexpr int kPasses = 7;
constexpr std::size_t kDecisions = 2'000'000;

/// CPU time of this thread: the machine is shared, and waiting for a core is not slowness.
double seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

struct Stats {
  double median, low, high;
};

Stats repeat(const std::function<double()>& run) {
  std::vector<double> all;
  for (int i = 0; i < kPasses; ++i) all.push_back(run());
  std::sort(all.begin(), all.end());
  return {all[all.size() / 2], all.front(), all.back()};
}

void print(const std::string& name, const Stats& s, const char* unit) {
  std::printf("%-46s %8.1f %s  (%.1f .. %.1f)\n", name.c_str(), s.median, unit, s.low, s.high);
  std::fflush(stdout);
}

/// ns per load that depends on the one before: a random cycle through `bytes` of memory.
Stats dependent_miss(std::size_t bytes, bool huge) {
  struct alignas(64) Node {
    Node* next;
  };
  const std::size_t n = bytes / sizeof(Node);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  madvise(memory, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  Node* nodes = static_cast<Node*>(memory);
  std::vector<std::uint32_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = static_cast<std::uint32_t>(i);
  std::mt19937_64 random(1);
  std::shuffle(order.begin(), order.end(), random);
  for (std::size_t i = 0; i < n; ++i) nodes[order[i]].next = &nodes[order[(i + 1) % n]];
  Node* volatile at = nodes;
  const Stats s = repeat([&] {
    constexpr int kLoads = 1'000'000;
    Node* p = at;
    const double start = seconds();
    for (int i = 0; i < kLoads; ++i) p = p->next;
    const double took = seconds() - start;
    at = p;
    return took / kLoads * 1e9;
  });
  munmap(memory, bytes);
  return s;
}

/// Keyed hashes stand in for SipHash: its cost is the caller's, once per key and request.
Hash128 key_of(std::uint64_t i) {
  std::uint64_t h = (i + 1) * 0x9E37'79B9'7F4A'7C15U;
  h = (h ^ (h >> 30)) * 0xBF58'476D'1CE4'E5B9U;
  h = (h ^ (h >> 27)) * 0x94D0'49BB'1331'11EBU;
  return {h ^ (h >> 31), h * 0xD6E8'FEB8'6659'FD93U};
}

/// Gray et al. 1994, "Quickly generating billion-record synthetic databases".
std::vector<std::uint32_t> stream(std::size_t keys, bool zipf) {
  std::vector<std::uint32_t> out(kDecisions);
  std::mt19937_64 random(42);
  if (!zipf) {
    for (auto& i : out) i = static_cast<std::uint32_t>(random() % keys);
    return out;
  }
  constexpr double kTheta = 0.99;
  const auto n = static_cast<double>(keys);
  double zeta = 0;
  for (std::size_t i = 1; i <= keys; ++i) zeta += 1 / std::pow(static_cast<double>(i), kTheta);
  const double alpha = 1 / (1 - kTheta);
  const double eta = (1 - std::pow(2 / n, 1 - kTheta)) / (1 - (1 + std::pow(0.5, kTheta)) / zeta);
  std::uniform_real_distribution<double> uniform;
  for (auto& i : out) {
    const double u = uniform(random), uz = u * zeta;
    double rank = uz < 1                           ? 0
                  : uz < 1 + std::pow(0.5, kTheta) ? 1
                                                   : n * std::pow(eta * u - eta + 1, alpha);
    i = static_cast<std::uint32_t>(std::min(rank, n - 1) * 2'654'435'761.0) %
        static_cast<std::uint32_t>(keys);
  }
  return out;
}

struct Setup {
  const char* name;
  CounterSpec spec;
};

std::vector<Setup> setups() {
  CounterSpec ring;
  ring.length = milliseconds(60'000);
  CounterSpec log = ring;
  log.window = Window::log;
  CounterSpec fixed = ring;
  fixed.window = Window::every;
  return {{"ring 60 x 1 s", ring}, {"exact log", log}, {"fixed minute", fixed}};
}

void fill(Bank& bank, CounterId id, std::size_t keys, std::int64_t now) {
  for (std::size_t i = 0; i < keys; ++i)
    bank.charge(id, key_of(i), from_ms(now), {}, nullptr, nullptr);
}

/// ns per decision; time advances 20 times per pass.
double decide(Bank& bank, CounterId id, const std::vector<std::uint32_t>& order, std::size_t batch,
              std::int64_t& now, std::uint64_t& sum) {
  const Ceiling ceiling{Number(12), false};
  const double start = seconds();
  Hash128 keys[16];
  for (std::size_t i = 0; i + batch <= order.size(); i += batch) {
    if (i % (order.size() / 20 / 16 * 16) < batch) now += 3000;
    for (std::size_t j = 0; j < batch; ++j) {
      // One at a time: the next key hangs on the last reading, so that no two decisions overlap.
      keys[j] = key_of(order[i + j] + (batch == 1 ? sum >> 62 : 0));
      if (batch > 1) bank.prefetch(id, keys[j]);
    }
    for (std::size_t j = 0; j < batch; ++j) {
      const Reading r = bank.charge(id, keys[j], from_ms(now), {}, &ceiling, nullptr);
      sum += static_cast<std::uint64_t>(r.value.integer());
    }
  }
  return (seconds() - start) / static_cast<double>(order.size()) * 1e9;
}

std::size_t resident() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total = 0, pages = 0;
  statm >> total >> pages;
  return pages * 4096;
}

void decisions(std::size_t keys, bool huge, double miss) {
  for (const Setup& setup : setups()) {
    Bank bank({std::uint64_t{1} << 30, keys, huge});
    const CounterId id = bank.open({1, 2}, setup.spec).value();
    std::int64_t now = 1'700'000'000'000;
    fill(bank, id, keys, now);
    for (const bool zipf : {false, true}) {
      const std::vector<std::uint32_t> order = stream(keys, zipf);
      for (const std::size_t batch : {std::size_t{1}, std::size_t{16}}) {
        std::uint64_t sum = 0;
        const Stats s = repeat([&] { return decide(bank, id, order, batch, now, sum); });
        const std::string name = std::string(setup.name) + (zipf ? ", Zipf .99" : ", uniform") +
                                 (batch == 1 ? ", single" : ", batch of 16");
        print(name, s, "ns");
        if (batch == 1) std::printf("%-46s %8.2f x the dependent miss\n", "", s.median / miss);
      }
    }
    const auto order = stream(keys, false);
    const Stats two = repeat([&] {
      double took[2];
      std::int64_t times[2] = {now, now};
      std::uint64_t sums[2] = {};
      std::thread other([&] { took[1] = decide(bank, id, order, 16, times[1], sums[1]); });
      took[0] = decide(bank, id, order, 16, times[0], sums[0]);
      other.join();
      now = std::max(times[0], times[1]);
      return (took[0] + took[1]) / 2;
    });
    print(std::string(setup.name) + ", uniform, batch, 2 threads, each", two, "ns");
  }
}

void bytes_per_key(std::size_t keys) {
  struct Mix {
    const char* name;
    int percent_many;  // of the keys have `many` events, the others `few`
    int few, many;
  };
  for (const Mix& mix : {Mix{"exact log, every key 1 event", 0, 1, 12},
                         Mix{"exact log, 90 % have 2, 10 % have 12", 10, 2, 12},
                         Mix{"exact log, 70 % have 3, 30 % have 12", 30, 3, 12},
                         Mix{"exact log, every key 12 events", 100, 1, 12}}) {
    const std::size_t before = resident();
    Bank bank({std::uint64_t{1} << 30, keys});
    CounterSpec spec;
    spec.window = Window::log;
    const CounterId id = bank.open({1, 2}, spec).value();
    for (std::size_t i = 0; i < keys; ++i) {
      const int n = static_cast<int>(i % 100) < mix.percent_many ? mix.many : mix.few;
      for (int e = 0; e < n; ++e)
        bank.charge(id, key_of(i), from_ms(1'700'000'000'000 + e), {}, nullptr, nullptr);
    }
    const BankStats s = bank.stats();
    std::printf("%-46s %8.1f bytes per key resident, %llu keys, %llu displaced\n", mix.name,
                static_cast<double>(resident() - before) / static_cast<double>(s.keys),
                static_cast<unsigned long long>(s.keys),
                static_cast<unsigned long long>(s.evicted));
  }
}

void flood() {
  Bank bank({std::uint64_t{64} << 20, 1'000'000});
  CounterSpec spec;
  const CounterId id = bank.open({1, 2}, spec).value();
  const std::int64_t now = 1'700'000'000'000;
  const Ceiling ceiling{Number(5), false};
  for (std::uint64_t caller = 0; caller < 10; ++caller) {
    const Hash128 key{caller, ~caller};
    for (int i = 0; i < 6; ++i) bank.charge(id, key, from_ms(now), {}, &ceiling, nullptr);
    bank.pin(id, key);
  }
  double longest = 0;
  const double start = seconds();
  for (std::uint64_t i = 0; i < 10'000'000; ++i) {
    const double a = i % 16 == 0 ? seconds() : 0;
    bank.charge(id, key_of(i), from_ms(now + static_cast<std::int64_t>(i / 1'000'000)), {},
                &ceiling, nullptr);
    if (i % 16 == 0) longest = std::max(longest, seconds() - a);
  }
  const double took = seconds() - start;
  int pass = 0;
  for (std::uint64_t caller = 0; caller < 10; ++caller) {
    pass += bank.charge(id, {caller, ~caller}, from_ms(now + 1000), {}, &ceiling, nullptr).stored;
  }
  const BankStats s = bank.stats();
  std::printf(
      "10 M new keys: %.0f ns each, longest of every 16th %.0f us; %d of 10 callers pass again; "
      "used %.1f of %.1f MiB, "
      "%llu evicted\n",
      took / 1e7 * 1e9, longest * 1e6, pass, static_cast<double>(s.memory_used) / 1048576,
      static_cast<double>(s.memory_limit) / 1048576, static_cast<unsigned long long>(s.evicted));
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t keys = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  std::printf("median of %d passes (lowest .. highest); %zu keys, %zu decisions a pass\n", kPasses,
              keys, kDecisions);
  double miss = 0;
  for (const bool huge : {false, true}) {
    const Stats s = dependent_miss(std::size_t{64} << 20, huge);
    print(huge ? "dependent miss, 64 MiB, 2 MiB pages" : "dependent miss, 64 MiB, 4 KiB pages", s,
          "ns");
    if (!huge) miss = s.median;
  }
  for (const bool huge : {false, true}) {
    std::printf("a table in %s\n",
                huge ? "2 MiB pages, as maintain() asks for when it is a quarter full"
                     : "4 KiB pages, as it begins");
    decisions(keys, huge, miss);
  }
  bytes_per_key(keys);
  flood();
  return 0;
}
