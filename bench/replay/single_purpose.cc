// Measures the cost of a program for these ten questions alone: bench/replay/access.yaml over an
// access log, with the questions compiled in. It counts in rings of 60 buckets, as weir does for a
// policy without exact windows, and prints how many events it counted for each policy. No memory
// bound, no lists, no report: each omission is in its favour. Usage: single_purpose FILE

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace {

/// Events of the last 60 buckets.
class Ring {
 public:
  std::uint64_t add(std::int64_t second, std::int64_t width) {
    const std::int64_t bucket = second / width;
    if (bucket - last_ >= 60) {
      counts_.fill(0);
      sum_ = 0;
    } else {
      for (std::int64_t b = last_ + 1; b <= bucket; ++b) {
        sum_ -= counts_[static_cast<std::size_t>(b % 60)];
        counts_[static_cast<std::size_t>(b % 60)] = 0;
      }
    }
    if (bucket > last_) last_ = bucket;
    ++counts_[static_cast<std::size_t>(bucket % 60)];
    return ++sum_;
  }

 private:
  std::array<std::uint32_t, 60> counts_{};
  std::int64_t last_ = 0;
  std::uint64_t sum_ = 0;
};

/// Different values of the last ten minutes: each event leaves once, in its order.
class Distinct {
 public:
  std::size_t add(std::string_view value, std::int64_t second) {
    for (; !events_.empty() && events_.front().second <= second - 600; events_.pop_front()) {
      const auto last = last_.find(events_.front().first);
      if (last->second == events_.front().second) last_.erase(last);
    }
    const auto [place, is_new] = last_.try_emplace(value, second);
    if (is_new || place->second != second) events_.emplace_back(value, second);
    place->second = second;
    return last_.size();
  }

 private:
  std::deque<std::pair<std::string_view, std::int64_t>> events_;
  std::unordered_map<std::string_view, std::int64_t> last_;
};

struct Rule {
  const char* name;
  std::int64_t width;  // seconds of a bucket
  std::uint64_t limit;
  std::unordered_map<std::string_view, Ring> keys{};
  std::uint64_t events = 0, over = 0;

  void count(std::string_view key, std::int64_t second) {
    ++events;
    over += keys[key].add(second, width) > limit;
  }
};

/// `21/Nov/2026:08:00:00 +0000`, of one month: seconds since its first day.
std::int64_t second_of(std::string_view stamp) {
  const auto two = [&](std::size_t at) { return (stamp[at] - '0') * 10 + (stamp[at + 1] - '0'); };
  return two(0) * 86'400 + two(12) * 3600 + two(15) * 60 + two(18);
}

std::string_view between(std::string_view line, std::size_t& at, char end) {
  const std::size_t from = at;
  at = line.find(end, from);
  if (at == std::string_view::npos) at = line.size();
  const std::string_view out = line.substr(from, at - from);
  if (at < line.size()) ++at;
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const int fd = ::open(argv[1], O_RDONLY);
  struct stat status {};
  if (fd < 0 || ::fstat(fd, &status) != 0) return 4;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (mapped == MAP_FAILED) return 4;
  const std::string_view file(static_cast<const char*>(mapped), size);

  Rule requests{"requests-per-ip", 1, 600}, networks{"requests-per-network", 10, 50'000},
      all{"all-requests", 1, 100'000'000}, logins{"logins-per-ip", 10, 50},
      failed{"failed-logins-per-ip", 10, 5}, searches{"searches-per-ip", 1, 60},
      items{"hits-per-item", 60, 100'000}, missed{"missed-per-ip", 10, 30};
  std::unordered_map<std::string_view, Distinct> distinct;
  std::unordered_map<std::string_view, std::deque<std::int64_t>> checkouts;
  std::uint64_t rows = 0, distinct_events = 0, distinct_over = 0, checkout_events = 0,
                checkout_over = 0;
  for (std::size_t begin = 0; begin < file.size();) {
    std::size_t end = file.find('\n', begin);
    if (end == std::string_view::npos) end = file.size();
    const std::string_view line = file.substr(begin, end - begin);
    begin = end + 1;
    std::size_t at = 0;
    const std::string_view ip = between(line, at, ' ');
    at = line.find('[', at) + 1;
    const std::int64_t second = second_of(between(line, at, ']'));
    at = line.find('"', at) + 1;
    const std::string_view method = between(line, at, ' ');
    const std::string_view target = between(line, at, ' ');
    at = line.find('"', at) + 2;
    const std::string_view code = between(line, at, ' ');
    const std::string_view path = target.substr(0, target.find('?'));
    ++rows;
    requests.count(ip, second);
    networks.count(ip.substr(0, ip.rfind('.')), second);
    all.count({}, second);
    if (method == "POST" && path == "/login") {
      logins.count(ip, second);
      if (code == "401" || code == "403") failed.count(ip, second);
    } else if (method == "POST" && path == "/checkout") {
      auto& times = checkouts[ip];
      while (!times.empty() && times.front() <= second - 3600) times.pop_front();
      times.push_back(second);
      ++checkout_events;
      checkout_over += times.size() > 20;
    } else if (method == "GET" && path == "/search") {
      searches.count(ip, second);
    } else if (method == "GET" && path.starts_with("/items/")) {
      const std::string_view id = path.substr(7);
      items.count(id, second);
      distinct_over += distinct[ip].add(id, second) > 80;
      ++distinct_events;
    }
    if (code == "404") missed.count(ip, second);
  }
  std::printf("rows %llu\n", static_cast<unsigned long long>(rows));
  for (const Rule* rule :
       {&requests, &networks, &all, &logins, &failed, &searches, &items, &missed})
    std::printf("%s %llu %llu\n", rule->name, static_cast<unsigned long long>(rule->events),
                static_cast<unsigned long long>(rule->over));
  std::printf("items-per-ip %llu %llu\n", static_cast<unsigned long long>(distinct_events),
              static_cast<unsigned long long>(distinct_over));
  std::printf("checkouts-per-ip %llu %llu\n", static_cast<unsigned long long>(checkout_events),
              static_cast<unsigned long long>(checkout_over));
  return 0;
}
