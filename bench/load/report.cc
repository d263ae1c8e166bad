#include "bench/load/report.h"

#include <cstdarg>
#include <cstdio>

namespace weir::load {
namespace {

[[gnu::format(printf, 2, 3)]] void print(std::string& out, const char* format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  out += line;
}

using ull = unsigned long long;
double micros(std::uint64_t nanos) { return static_cast<double>(nanos) / 1e3; }
double share(std::int64_t nanos, double seconds) {
  return seconds > 0 ? static_cast<double>(nanos) / 1e9 / seconds : 0;
}
double per_request(const Run& run) {
  if (run.proxy_nanos < 0 || run.span_answers == 0) return 0;
  return static_cast<double>(run.proxy_nanos) / 1e3 / static_cast<double>(run.span_answers);
}
double rate(const Run& run) {
  return run.seconds > 0 ? static_cast<double>(run.span_answers) / run.seconds : 0;
}

constexpr struct {
  const char* name;
  std::uint64_t Counts::*member;
} kErrors[] = {
    {"wrong_status", &Counts::wrong_status}, {"wrong_length", &Counts::wrong_length},
    {"malformed", &Counts::malformed},       {"closed", &Counts::closed},
    {"unanswered", &Counts::unanswered},     {"connect_failed", &Counts::connect_failed},
};
constexpr struct {
  const char* name;
  double q;
} kQuantiles[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99_9", 0.999}, {"max", 1}};

}  // namespace

std::string to_text(const Run& run, const Options& options) {
  std::string out;
  if (options.target) {
    const Counts& c = run.counts;
    print(out, "%llu requests, %llu answers in %.2f s: %.0f /s over %zu connections\n", ull{c.sent},
          ull{c.answered}, run.seconds, rate(run), options.generator.connections);
    out += "status";
    for (std::size_t i = 1; i < c.by_class.size(); ++i) {
      if (c.by_class[i] != 0) print(out, " %zuxx %llu", i, ull{c.by_class[i]});
    }
    print(out, "; %llu errors", ull{c.errors()});
    for (const auto& row : kErrors) {
      if (c.*row.member != 0) print(out, ", %s %llu", row.name, ull{c.*row.member});
    }
    if (c.reconnects != 0) print(out, "; %llu reconnects", ull{c.reconnects});
    out += "\nlatency us";
    for (const auto& row : kQuantiles) {
      print(out, " %s %.1f", row.name, micros(run.latency.quantile(row.q)));
    }
    out += "\n";
    if (run.proxy_nanos >= 0) {
      print(out, "proxy CPU %.2f us/request, %.0f %% busy\n", per_request(run),
            100 * share(run.proxy_nanos, run.seconds));
    }
  }
  if (options.backend) {
    print(out, "app: %llu requests on %llu connections, %llu malformed\n",
          ull{run.backend_requests}, ull{run.backend_connections}, ull{run.backend_malformed});
  }
  print(out, "this tool: %.0f %% busy\n", 100 * share(run.load_nanos, run.seconds));
  return out;
}

std::string to_json(const Run& run, const Options& options) {
  const Counts& c = run.counts;
  std::string out = "{";
  print(out, "\"seconds\":%.6f,\"connections\":%zu,\"sent\":%llu,\"answered\":%llu,\"rps\":%.1f",
        run.seconds, options.generator.connections, ull{c.sent}, ull{c.answered}, rate(run));
  out += ",\"status\":{";
  for (std::size_t i = 1; i < c.by_class.size(); ++i) {
    print(out, "%s\"%zuxx\":%llu", i == 1 ? "" : ",", i, ull{c.by_class[i]});
  }
  print(out, "},\"errors\":%llu", ull{c.errors()});
  for (const auto& row : kErrors) print(out, ",\"%s\":%llu", row.name, ull{c.*row.member});
  print(out, ",\"reconnects\":%llu,\"latency_us\":{", ull{c.reconnects});
  for (const auto& row : kQuantiles) {
    print(out, "%s\"%s\":%.3f", row.q == 0.5 ? "" : ",", row.name,
          micros(run.latency.quantile(row.q)));
  }
  print(out, "},\"proxy_cpu_us\":%.4f,\"proxy_busy\":%.4f,\"load_busy\":%.4f", per_request(run),
        run.proxy_nanos < 0 ? 0 : share(run.proxy_nanos, run.seconds),
        share(run.load_nanos, run.seconds));
  print(out,
        ",\"backend_requests\":%llu,\"backend_connections\":%llu,\"backend_malformed\":%llu}\n",
        ull{run.backend_requests}, ull{run.backend_connections}, ull{run.backend_malformed});
  return out;
}

}  // namespace weir::load
