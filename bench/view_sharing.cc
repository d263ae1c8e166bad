// Measures the cost of a shared view in Redis: replicas in one process, each with its own view,
// loop and connection, over a redis-server of its own. Events come at a steady rate, each to the
// next replica, of items by Zipf's law.
//
// weir_view_sharing [EVENTS A SECOND [SECONDS [ITEMS [SKEW [REPLICAS]]]]]
// Prints, after the first ten seconds: the CPU time of Redis as a part of a core; commands, and
// bytes to and from Redis, a second, an event and a replica; the view's size there; and whether
// the top ten of each replica is that of all events.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "bench/store/server.h"
#include "bench/zipf.h"
#include "limiter/views/view_row.h"
#include "policies/set/view_bank.h"
#include "store/views/view_sharer.h"

namespace {

using namespace weir;
using namespace weir::store;
using Steady = std::chrono::steady_clock;

const HashSecret kSecret = HashSecret::from_text("bench");
constexpr int kWarmUp = 10;  // seconds

double info(const char* name) {
  FILE* const pipe =
      ::popen(("redis-cli -p " + std::string(bench::kPort) + " INFO everything").c_str(), "r");
  double out = 0;
  char line[4096];
  while (pipe != nullptr && std::fgets(line, sizeof line, pipe) != nullptr) {
    const std::string_view text(line);
    if (text.starts_with(name) && text[std::string_view(name).size()] == ':') {
      out = std::strtod(line + std::string_view(name).size() + 1, nullptr);
    }
  }
  if (pipe != nullptr) ::pclose(pipe);
  return out;
}

struct Figures {
  double cpu, commands, in, out;
  static Figures now(const bench::Server& server) {
    return {server.cpu(), info("total_commands_processed"), info("total_net_input_bytes"),
            info("total_net_output_bytes")};
  }
};

class Replica {
 public:
  Replica(const limiter::ViewSpec& spec, std::uint64_t origin)
      : view(std::make_shared<policies::LiveView>("items", spec, kSecret)),
        sharer_(worker_, kSecret, bench::Connected::settings(), origin) {
    thread_ = std::thread([this] { worker_.run(); });
    worker_.post([this] {
      sharer_.use({{"items", {1, 2}, view}});
      sharer_.start();
    });
  }
  ~Replica() {
    worker_.post([this] { sharer_.stop(); });
    worker_.stop();
    thread_.join();
  }

  std::shared_ptr<policies::LiveView> view;

 private:
  net::Worker worker_{0};
  ViewSharer sharer_;
  std::thread thread_;
};

/// As if each replica had a clock and a generator of its own.
class Source {
 public:
  Source(std::vector<std::unique_ptr<Replica>>& replicas, std::size_t items, double skew)
      : replicas_(replicas), zipf_(items, skew), counts_(items) {}

  /// The seconds that it took: more than asked for where the machine is too slow.
  double run(double rate, int seconds) {
    const auto begin = Steady::now();
    const auto many = static_cast<std::size_t>(rate * seconds);
    for (std::size_t i = 0; i < many; ++i) {
      if (i % 256 == 0) {
        const std::chrono::duration<double> due(static_cast<double>(i) / rate);
        std::this_thread::sleep_until(begin + std::chrono::duration_cast<Steady::duration>(due));
        now_ = Clock::wall();
        for (const auto& replica : replicas_) {
          replica->view->advance(now_ - milliseconds{3'500} - replica->view->behind(clock_.now()));
        }
      }
      tell(zipf_.draw(uniform_(random_)), *replicas_[i % replicas_.size()]->view);
    }
    return std::chrono::duration<double>(Steady::now() - begin).count();
  }
  std::vector<std::size_t> top() const {
    std::vector<std::size_t> out(counts_.size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = i;
    std::sort(out.begin(), out.end(), [this](std::size_t a, std::size_t b) {
      return counts_[a] != counts_[b] ? counts_[a] > counts_[b] : a < b;
    });
    out.resize(10);
    return out;
  }
  std::int64_t count(std::size_t item) const { return counts_[item]; }

 private:
  void tell(std::size_t item, policies::LiveView& view) {
    ++counts_[item];
    char text[32];
    const std::size_t size = Number{static_cast<std::int64_t>(1'000'000 + item)}.to_chars(text);
    builder_.start();
    builder_.add_text({text, size});
    limiter::ViewEvent event;
    event.at = now_;
    event.parts = builder_.bytes();
    event.key = builder_.hash(kSecret);
    view.observe(event);
  }

  std::vector<std::unique_ptr<Replica>>& replicas_;
  bench::Zipf zipf_;
  std::vector<std::int64_t> counts_;
  std::mt19937_64 random_{7};
  std::uniform_real_distribution<double> uniform_{0, 1};
  KeyBuilder builder_;
  Clock clock_;
  TimePoint now_{};
};

void measure(const char* name, const limiter::ViewSpec& spec, double rate, int seconds,
             std::size_t items, double skew, std::size_t many) {
  const bench::Server server;
  { const bench::Connected up; }  // it takes calls
  std::vector<std::unique_ptr<Replica>> replicas;
  for (std::size_t i = 0; i < many; ++i) replicas.push_back(std::make_unique<Replica>(spec, i + 1));
  Source source(replicas, items, skew);
  source.run(rate, kWarmUp);
  const Figures before = Figures::now(server);
  const double time = source.run(rate, seconds);
  const Figures after = Figures::now(server);
  const double events = rate * seconds, each = events * static_cast<double>(many);
  std::printf("| %s | %.2f %% | %.1f | %.6f | %.2f | %.2f | %.1f | %.1f |", name,
              100 * (after.cpu - before.cpu) / time, (after.commands - before.commands) / time,
              (after.commands - before.commands) / events, (after.in - before.in) / events,
              (after.out - before.out) / each,
              (after.in - before.in + after.out - before.out) / time / 1e6,
              info("used_memory") / 1e6);
  if (!spec.endless) {
    std::printf(" |\n");
    return;
  }
  std::this_thread::sleep_for(std::chrono::seconds{3});
  std::size_t right = 0;
  std::string wanted;
  for (const std::size_t item : source.top()) {
    wanted += (wanted.empty() ? "[[\"" : ",[\"") + std::to_string(1'000'000 + item) + "\"," +
              std::to_string(source.count(item)) + "]";
  }
  for (const auto& replica : replicas) {
    const std::string shown = replica->view->results(0).running;
    right += shown.find("\"rows\":" + wanted + "]") != std::string::npos ? 1 : 0;
  }
  std::printf(" %zu of %zu |\n", right, many);
}

}  // namespace

int main(int argc, char** argv) {
  const auto given = [&](int i, double otherwise) {
    return argc > i ? std::strtod(argv[i], nullptr) : otherwise;
  };
  const double rate = given(1, 100'000);
  const int seconds = static_cast<int>(given(2, 20));
  const auto items = static_cast<std::size_t>(given(3, 100'000));
  const double skew = given(4, 1);
  const auto replicas = static_cast<std::size_t>(given(5, 3));
  std::printf("%.0f events/s, %zu replicas, %zu items, skew %.2f, %d s\n\n", rate, replicas, items,
              skew, seconds);
  std::printf(
      "| view | Redis, of a core | commands/s | commands an event | bytes in an event | bytes out "
      "an "
      "event and replica | MB/s | MB in Redis | top ten right "
      "|\n|---|---|---|---|---|---|---|---|---|\n");
  limiter::ViewSpec all;
  all.endless = true;
  all.top = 10;
  measure("count by item, `all`", all, rate, seconds, items, skew, replicas);
  limiter::ViewSpec hop = all;
  hop.endless = false;
  hop.length = milliseconds{3'600'000};
  hop.hop = milliseconds{5'000};
  measure("count by item, `{last: 1h, hop: 5s}`", hop, rate, seconds, items, skew, replicas);
  return 0;
}
