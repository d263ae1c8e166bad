// G12: decisions a second on shared counters, through one connection, beside redis-benchmark's INCR
// with one connection and 64 commands in flight; alternating rounds against one redis-server of its
// own, medians. `weir_store_bench [ROUNDS]`.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/store/server.h"
#include "limiter/exchange/shared_key.h"

namespace {

using namespace weir;
using namespace weir::store;
using bench::Connected, bench::kPort, bench::Server;
using limiter::SharedCounter;
using limiter::SharedOp;
using limiter::SharedPart;
using limiter::SharedReply;
using limiter::Window;

constexpr double kIncrs = 400'000;

struct Load final : Batch {
  Load(Connected& r, const SharedCounter& counter, std::size_t depth, std::size_t keys) : redis(r) {
    part.counter = &counter;
    part.ceiling = limiter::Ceiling{Number(1'000'000'000), false};
    const HashSecret secret = HashSecret::from_text("bench");
    for (std::size_t i = 0; i < keys; ++i) {
      limiter::append_hashed_key(names.emplace_back(), secret.hash(std::to_string(i)));
    }
    list.resize(depth);
    answers.resize(depth);
    ops = list;
    replies = answers;
  }
  void next() {
    for (SharedOp& op : list) {
      op.parts = {&part, 1};
      op.key = names[at];
      op.id = {9, ++sequence};
      if (++at == names.size()) at = 0;
    }
    if (redis.store.submit(*this, redis.worker.now() + milliseconds(5'000))) std::exit(4);
  }
  void on_replies() override {
    for (const SharedReply& reply : answers) {
      if (reply.error != limiter::SharedError::none || !reply.admitted) std::exit(4);
    }
    done += answers.size();
    if (done < wanted) next();
  }
  /// Decisions a second.
  double run(std::size_t n) {
    done = 0;
    wanted = n;
    const auto begin = std::chrono::steady_clock::now();
    redis.turn([this] { next(); });
    redis.until([this] { return done >= wanted; });
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    return static_cast<double>(done) / took.count();
  }

  Connected& redis;
  SharedPart part;
  std::vector<std::string> names;
  std::vector<SharedOp> list;
  std::vector<SharedReply> answers;
  std::size_t at = 0, done = 0, wanted = 0;
  std::uint64_t sequence = 0;
};

double redis_benchmark() {
  const std::string command = std::string("redis-benchmark -p ") + kPort +
                              " -t incr -n 400000 -r 100000 -c 1 -P 64 --csv 2>/dev/null";
  FILE* const pipe = ::popen(command.c_str(), "r");
  double rate = 0;
  char line[512];
  while (pipe != nullptr && std::fgets(line, sizeof line, pipe) != nullptr) {
    if (std::sscanf(line, "\"INCR\",\"%lf\"", &rate) == 1) break;
  }
  if (pipe != nullptr) ::pclose(pipe);
  return rate;
}

double median(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

SharedCounter counter(Window window, std::int64_t ms, std::uint64_t id) {
  limiter::CounterSpec spec;
  spec.window = window;
  spec.length = milliseconds(ms);
  return SharedCounter({id, id}, spec);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds =
      argc > 1 ? std::max(1, static_cast<int>(std::strtol(argv[1], nullptr, 10))) : 5;
  Server server;
  Connected redis;

  const SharedCounter fixed = counter(Window::every, 3'600'000, 1);
  const SharedCounter ring = counter(Window::ring, 600'000, 2);
  // A window that holds some 100 events of each of 1,000 keys, at the rate that it is asked at.
  const SharedCounter probe = counter(Window::log, 1'000, 4);
  Load probing(redis, probe, 64, 1'000);
  probing.run(60'000);
  const SharedCounter log =
      counter(Window::log, static_cast<std::int64_t>(1e8 / probing.run(60'000)), 3);
  struct Row {
    const char* name;
    Load load;
    std::size_t decisions;
    std::vector<double> rates, cpu;
  };
  std::array<Row, 6> rows = {{
      {"fixed, 64 a turn", {redis, fixed, 64, 10'000}, 400'000, {}, {}},
      {"ring of 60 buckets, 64 a turn", {redis, ring, 64, 10'000}, 200'000, {}, {}},
      {"exact log of 100 events, 64 a turn", {redis, log, 64, 1'000}, 200'000, {}, {}},
      {"fixed, one at a time", {redis, fixed, 1, 10'000}, 20'000, {}, {}},
      {"ring, one at a time", {redis, ring, 1, 10'000}, 20'000, {}, {}},
      {"exact log, one at a time", {redis, log, 1, 1'000}, 20'000, {}, {}},
  }};
  for (Row& row : rows) row.load.run(std::min<std::size_t>(row.decisions, 120'000));  // fills keys
  std::vector<double> basis, basis_cpu;
  for (int i = 0; i < rounds; ++i) {
    double before = server.cpu();
    basis.push_back(redis_benchmark());
    basis_cpu.push_back((server.cpu() - before) / kIncrs);
    for (Row& row : rows) {
      before = server.cpu();
      row.rates.push_back(row.load.run(row.decisions));
      row.cpu.push_back((server.cpu() - before) / static_cast<double>(row.decisions));
    }
  }
  const double incr = median(basis);
  std::printf(
      "redis-benchmark INCR -c 1 -P 64: %.0f/s, %.2f us of the server's CPU (median of %d)\n", incr,
      median(basis_cpu) * 1e6, rounds);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double rate = median(rows[i].rates);
    std::printf("%-32s %8.0f/s  %.2fx of INCR", rows[i].name, rate, rate / incr);
    if (i < 3) std::printf("  %.1fx of one at a time", rate / median(rows[i + 3].rates));
    std::printf("  %.2f us of the server's CPU (%.0f .. %.0f)\n", median(rows[i].cpu) * 1e6,
                *std::min_element(rows[i].rates.begin(), rows[i].rates.end()),
                *std::max_element(rows[i].rates.begin(), rows[i].rates.end()));
  }
  std::printf("bytes of calls per decision: %.0f\n",
              static_cast<double>(redis.store.stats().bytes_out) /
                  static_cast<double>(redis.store.stats().operations));
}
