// Measures the cost of each form of a shared counter in Redis: commands and time of its main thread
// per event, and bytes per key. Uses a redis-server of its own, and sends the events of a turn
// together. Prints the minimum of some rounds, each on new keys.
// `weir_store_costs [ROUNDS [PART OF A NAME]]`; docs/redis.md has the table.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "bench/store/server.h"
#include "limiter/exchange/shared_key.h"

namespace {

using namespace weir;
using namespace weir::store;
using bench::Connected, bench::kPort;
using limiter::SharedCounter, limiter::SharedOp, limiter::SharedPart, limiter::SharedVerb;
using limiter::Window;

constexpr std::size_t kKeys = 512, kDepth = 32;
constexpr int kEvents = 10;  // of each key

std::string ask(const std::string& command) {
  FILE* const pipe =
      ::popen(("redis-cli -p " + std::string(kPort) + " " + command + " 2>&1").c_str(), "r");
  std::string out;
  char piece[4096];
  while (pipe != nullptr && std::fgets(piece, sizeof piece, pipe) != nullptr) out += piece;
  if (pipe != nullptr) ::pclose(pipe);
  return out;
}

/// The sum of the numbers after `name` in the lines of INFO that begin with `line`; those of
/// commands that weir's scripts call.
double info(const std::string& section, const std::string& line, const std::string& name) {
  std::istringstream in(ask("INFO " + section));
  double out = 0;
  for (std::string text; std::getline(in, text);) {
    if (!text.starts_with(line)) continue;
    bool ours = true;
    for (const char* other : {"evalsha", "info", "config", "memory", "keys", "flushall"})
      ours = ours && !text.starts_with("cmdstat_" + std::string(other));
    const std::size_t at = text.find(name);
    if (ours && at != text.npos) out += std::strtod(text.c_str() + at + name.size(), nullptr);
  }
  return out;
}
double commands() { return info("commandstats", "cmdstat_", "calls="); }
double cpu() {
  return info("cpu", "used_cpu_user_main_thread", ":") +
         info("cpu", "used_cpu_sys_main_thread", ":");
}

/// An event as it comes, or with what follows it.
enum class Course { add, reserve_and_settle, enter_and_leave };

struct Form {
  std::string name;
  std::vector<limiter::CounterSpec> specs;  // of the windows of one operation
  Course course = Course::add;
};

class Run final : public Batch {
 public:
  Run(Connected& redis, const Form& form, std::uint64_t salt) : redis_(redis), form_(form) {
    for (std::size_t i = 0; i < form.specs.size(); ++i) {
      counters_.emplace_back(Hash128{16 * salt + i, i}, form.specs[i]);
      parts_.push_back({&counters_.back(), {}, 0});
    }
    const HashSecret secret = HashSecret::from_text("costs");
    for (std::size_t i = 0; i < kKeys; ++i)
      limiter::append_hashed_key(names_.emplace_back(), secret.hash(std::to_string(i)));
    list_.resize(kDepth);
    answers_.resize(kDepth);
    ops = list_;
    replies = answers_;
  }

  /// One event of each key.
  void round() {
    for (std::size_t first = 0; first < kKeys; first += kDepth) {
      const std::uint64_t sequence = sequence_;
      switch (form_.course) {
        case Course::add:
          submit(first, SharedVerb::add, sequence);
          break;
        case Course::reserve_and_settle:
          submit(first, SharedVerb::reserve, sequence);
          submit(first, SharedVerb::settle, sequence);
          break;
        case Course::enter_and_leave:
          submit(first, SharedVerb::add, sequence);
          submit(first, SharedVerb::take_back, sequence);
          break;
      }
      sequence_ = sequence + kDepth;
    }
  }
  void on_replies() override { there_ = true; }

 private:
  void submit(std::size_t first, SharedVerb verb, std::uint64_t sequence) {
    for (std::size_t i = 0; i < kDepth; ++i) {
      SharedOp& op = list_[i];
      op.verb = verb;
      op.parts = parts_;
      op.key = names_[first + i];
      op.id = {9, ++sequence};
      op.event = {1, sequence, &datum_};
      op.lifetime = milliseconds(60'000);
      op.place = {13.4 + static_cast<double>(sequence % 100) / 1e4, 52.5};
      if (verb == SharedVerb::settle || verb == SharedVerb::take_back) op.at = answers_[i].at;
    }
    there_ = false;
    redis_.turn([this] {
      if (redis_.store.submit(*this, redis_.worker.now() + milliseconds(5'000))) there_ = true;
    });
    redis_.until([this] { return there_; });
    for (const limiter::SharedReply& reply : answers_) {
      if (reply.error == limiter::SharedError::none) continue;
      std::fprintf(stderr, "%s: %s\n", form_.name.c_str(), redis_.store.why().c_str());
      std::exit(4);
    }
  }

  Connected& redis_;
  const Form& form_;
  std::deque<SharedCounter> counters_;
  std::vector<SharedPart> parts_;
  std::vector<std::string> names_;
  std::vector<SharedOp> list_;
  std::vector<limiter::SharedReply> answers_;
  limiter::Datum datum_{limiter::Datum::Type::text, false, {}, "Hamburg"};
  std::uint64_t sequence_ = 0;
  bool there_ = false;
};

/// The bytes of one key of the form, from a sample of all keys in the store.
double bytes() {
  std::istringstream keys(ask("KEYS '*'"));
  double out = 0;
  int n = 0;
  for (std::string key; std::getline(keys, key) && n < 64; ++n)
    out += std::strtod(ask("MEMORY USAGE '" + key + "'").c_str(), nullptr);
  const double all = std::strtod(ask("DBSIZE").c_str(), nullptr);
  return n == 0 ? 0 : out / n * all / static_cast<double>(kKeys);
}

limiter::CounterSpec spec_of(const limiter::Kind& kind) {
  limiter::CounterSpec spec;
  spec.metric = kind.metric;
  spec.window = kind.window;
  spec.real = kind.real;
  spec.length = milliseconds(3'600'000);
  if (kind.near) spec.radius = 1'000;
  if (spec.window == Window::events) spec.events = 5;
  if (spec.window == Window::calendar) spec.zone = TimeZone::find("Europe/Berlin");
  if (spec.window == Window::leaky) {
    spec.capacity = 1'000'000;
    spec.drain = milliseconds(1'000);
  }
  return spec;
}

std::vector<Form> forms() {
  std::vector<Form> out;
  for (const limiter::Kind& kind : limiter::kinds()) {
    if (kind.real) continue;
    const limiter::CounterSpec spec = spec_of(kind);
    out.push_back({std::string(kind.name), {spec}, Course::add});
    if (spec.window == Window::none) {
      out.back().course = Course::enter_and_leave;
      continue;
    }
    if (kind.near || (spec.metric != Metric::count && spec.metric != Metric::distinct)) continue;
    out.push_back(out.back());
    out.back().name += ", of outcomes";
    out.back().specs.front().outcome = true;
    out.back().course = Course::reserve_and_settle;
  }
  limiter::CounterSpec minute, day;
  day.window = Window::every;
  day.length = milliseconds(86'400'000);
  out.push_back({"count_ring and count_every (in:)", {minute, day}, Course::add});
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds =
      argc > 1 ? std::max(1, static_cast<int>(std::strtol(argv[1], nullptr, 10))) : 5;
  const bench::Server server;
  Connected redis;
  std::printf("%d keys, %d events of each, %d a turn; the least of %d rounds\n\n",
              static_cast<int>(kKeys), kEvents, static_cast<int>(kDepth), rounds);
  std::printf(
      "| %-34s | commands | us of Redis | bytes, 1 event | %d events |\n|---|---|---|---|---|\n",
      "form", kEvents);
  std::uint64_t salt = 0;
  for (const Form& form : forms()) {
    if (argc > 2 && form.name.find(argv[2]) == std::string::npos) continue;
    double least = std::numeric_limits<double>::max(), asked = 0, first = 0, all = 0;
    for (int i = 0; i < rounds; ++i) {
      ask("FLUSHALL");
      ask("CONFIG RESETSTAT");
      Run run(redis, form, ++salt);
      run.round();
      if (i == 0) first = bytes();
      const double before = commands(), began = cpu();
      for (int k = 1; k < kEvents; ++k) run.round();
      const double n = static_cast<double>(kKeys) * (kEvents - 1);
      least = std::min(least, (cpu() - began) / n);
      asked = (commands() - before) / n;
      if (i == 0) all = bytes();
    }
    std::printf("| %-34s | %8.1f | %11.1f | %14.0f | %8.0f |\n", form.name.c_str(), asked,
                least * 1e6, first, all);
    std::fflush(stdout);
  }
}
