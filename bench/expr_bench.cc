#include <benchmark/benchmark.h>

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "policies/lang/expr/expression.h"
#include "policies/lang/frame.h"

/// Measures the cost of an expression per request: begin() of its frame and one evaluation, with
/// the nine headers of a real request. `remembered` is a second reading in the same request.
namespace {

using namespace weir;
using namespace weir::policies;

class Scope final : public ExprScope {
 public:
  using ExprScope::ExprScope;
  std::optional<SlotId> field(std::string_view) const override { return std::nullopt; }
  std::vector<std::string_view> field_names() const override { return {}; }
  std::optional<ListRef> list(std::string_view) const override { return std::nullopt; }
  std::vector<std::string_view> list_names() const override { return {}; }
};

constexpr std::array<HeaderField, 10> kHeaders = {{
    {"Host", "shop.example"},
    {"User-Agent",
     "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0"},
    {"Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"},
    {"Accept-Language", "en-US,en;q=0.5"},
    {"Accept-Encoding", "gzip, deflate, br"},
    {"Cookie", "sid=0123456789abcdef; theme=dark; _ga=GA1.2.1234567890.1234567890"},
    {"X-Request-Id", "4f1c2a60-8a2e-4f63-9a0e-2d9d6f0f0a11"},
    {"X-Forwarded-For", "203.0.113.7"},
    {"X-Device-Id", "d-0123456789"},
    {"Content-Type", "application/json"},
}};

Request request() {
  Request out;
  out.method = "POST";
  out.path = out.target = "/api/login";
  out.client = *Address::parse("203.0.113.7");
  out.headers = kHeaders;
  out.body_state = BodyState::complete;
  out.body =
      R"({"username":"Someone.Example","password":"correct horse battery staple","remember":true})";
  return out;
}

std::optional<Expression> compiled(std::string_view text, Scope& scope) {
  config::Text located;
  located.value = text;
  config::Problems problems;
  return compile_expression(located, scope, problems);
}

void evaluate(benchmark::State& state, const char* text) {
  SlotTable table;
  Scope scope(table);
  const auto expression = compiled(text, scope);
  const Request r = request();
  Frame frame;
  for (auto _ : state) {
    frame.begin(table, r, nullptr);
    benchmark::DoNotOptimize(expression->eval(frame));
  }
}

void remembered(benchmark::State& state, const char* text) {
  SlotTable table;
  Scope scope(table);
  const auto expression = compiled(text, scope);
  const SlotId slot = table.computed(*expression);
  const Request r = request();
  Frame frame;
  frame.begin(table, r, nullptr);
  for (auto _ : state) benchmark::DoNotOptimize(frame.load(slot));
}

void answer(benchmark::State& state, const char* text) {
  SlotTable table;
  Scope scope(table);
  const auto expression = compiled(text, scope);
  const Request r = request();
  Answer back;
  back.status = 401;
  Captured captured;
  Frame frame;
  for (auto _ : state) {
    frame.begin(table, r, nullptr);
    frame.capture(expression->captures(), captured);
    frame.resume(table, captured, back, r.time, nullptr);
    benchmark::DoNotOptimize(expression->eval(frame));
  }
}

BENCHMARK_CAPTURE(evaluate, nothing, "true");
BENCHMARK_CAPTURE(evaluate, header, "header.x_device_id");
BENCHMARK_CAPTURE(evaluate, cidr, "ip.cidr('10.0.0.0/8', '192.168.0.0/16')");
BENCHMARK_CAPTURE(evaluate, path_and_method, "method == 'POST' && path.startsWith('/api/')");
BENCHMARK_CAPTURE(evaluate, pattern, "path.matches('^/api/[a-z]+$')");
BENCHMARK_CAPTURE(evaluate, body_lower, "body.username.lowerAscii()");
BENCHMARK_CAPTURE(remembered, body_lower, "body.username.lowerAscii()");
BENCHMARK_CAPTURE(answer, status, "status in [401, 403]");
BENCHMARK_CAPTURE(answer, status_and_field,
                  "status in [401, 403] && body.username.lowerAscii() != 'x'");

}  // namespace

BENCHMARK_MAIN();
