#include "bench/load/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>

namespace weir::load {
namespace {

void read_expect(const std::string& text, Generator::Options& generator) {
  if (text == "any") {
    generator.expect_class = 0;
  } else if (text.size() == 3 && text.ends_with("xx") && text[0] >= '2' && text[0] <= '5') {
    generator.expect_class = text[0] - '0';
  } else if (text.size() == 3 && text.find_first_not_of("0123456789") == std::string::npos) {
    generator.expect_code = std::stoi(text);
  } else {
    throw UsageError("--expect is a code, 2xx .. 5xx or any; found \"" + text + "\"");
  }
}

}  // namespace

Options read_options(int argc, char** argv) {
  Options o;
  std::string target, backend, shape = "real", expect = "2xx";
  double delay_ms = 0;
  std::int64_t expect_bytes = -2;
  CLI::App app{"Loads an HTTP/1.1 proxy on this machine and is the app behind it, in one thread."};
  app.add_option("--target", target, "127.0.0.1:PORT, [::1]:PORT or unix:PATH to send requests to");
  app.add_option("--backend", backend, "where to listen as the app");
  app.add_option("--conns", o.generator.connections, "connections")->check(CLI::Range(1, 20000));
  app.add_option("--rate", o.generator.rate, "requests per second (fixed rate); 0 = closed loop")
      ->check(CLI::Range(0.0, 10e6));
  app.add_option("--seconds", o.seconds, "measure for so long at most")
      ->check(CLI::Range(0.01, 3600.0));
  app.add_option("--warmup", o.warmup, "seconds of load that are not counted")
      ->check(CLI::Range(0.0, 600.0));
  app.add_option("--grace", o.grace, "seconds to wait for the last answers")
      ->check(CLI::Range(0.0, 600.0));
  app.add_option("--requests", o.generator.requests,
                 "stop after so many requests (warm-up included)");
  app.add_option("--shape", shape, "bare (40 bytes) or real (9 fields, 541 bytes)")
      ->check(CLI::IsMember({"bare", "real"}));
  app.add_flag("--login", o.request.login, "POST a login as JSON instead of GET");
  app.add_option("--password", o.request.password, "the password of the login");
  app.add_option("--path", o.request.path, "the path asked for");
  app.add_option("--header", o.request.headers, "one more \"Name: value\"; may be repeated");
  const CLI::Range kValues(std::uint64_t{1}, std::uint64_t{100'000'000});
  app.add_option("--devices", o.request.devices, "different X-Device-Id")->check(kValues);
  app.add_option("--users", o.request.users, "different user names")->check(kValues);
  app.add_option("--addresses", o.request.addresses, "different X-Forwarded-For")->check(kValues);
  app.add_flag("--random", o.request.random,
               "draw devices, users and addresses instead of taking turns");
  app.add_option("--skew", o.request.skew,
                 "draw them by Zipf's law with this exponent (at most 1,000,000 of each)")
      ->check(CLI::Range(0.0, 5.0));
  app.add_option("--seed", o.request.seed, "of --random and --skew");
  app.add_option("--app-status", o.app.status, "the app's status")->check(CLI::Range(200, 599));
  app.add_option("--app-bytes", o.app.body_bytes, "the app's body length")
      ->check(CLI::Range(0, 64 << 20));
  app.add_option("--app-delay", delay_ms, "milliseconds before the app answers")
      ->check(CLI::Range(0.0, 60e3));
  app.add_option("--expect", expect, "the right answers: a code, 2xx .. 5xx, or any");
  app.add_option(
      "--expect-bytes", expect_bytes,
      "body length of right answers; -1 = any. Default: the app's, if it answers with 2xx");
  app.add_option("--proxy-pid", o.proxy_pid, "take the CPU time of this process");
  app.add_flag("--json", o.json, "print JSON");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::exit(app.exit(CLI::CallForHelp()));
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
  constexpr std::uint64_t kSkewedMax = 1'000'000;  // which takes 8 MB
  const Requests::Options& r = o.request;
  if (r.skew != 0 && std::max({r.devices, r.users, r.addresses}) > kSkewedMax)
    throw UsageError("--skew draws from 1,000,000 values at most");
  if (target.empty() && backend.empty()) throw UsageError("give --target, --backend or both");
  if (!target.empty()) o.target = parse_endpoint(target);
  if (!backend.empty()) o.backend = parse_endpoint(backend);
  read_expect(expect, o.generator);
  if (shape == "bare") o.request.shape = Requests::Options::Shape::bare;
  o.app.delay = static_cast<Nanos>(delay_ms * 1e6);
  const bool by_app = expect_bytes == -2 && o.backend && o.app.status / 100 == 2 &&
                      o.app.status != 204 && expect == "2xx";
  o.generator.expect_bytes = by_app ? static_cast<std::int64_t>(o.app.body_bytes)
                                    : std::max<std::int64_t>(expect_bytes, -1);
  return o;
}

}  // namespace weir::load
