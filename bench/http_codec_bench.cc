// The codec on the real request of the facts (9 headers, 541 bytes): parse, normalise, build the
// upstream head. `--loop N` runs N times without the benchmark library, for callgrind.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "net/http/head.h"
#include "net/http/response_head.h"
#include "net/http/target.h"
#include "proxy/hop_headers.h"
#include "proxy/request_ids.h"

namespace {

using namespace weir;  // NOLINT(google-build-using-namespace)

constexpr std::string_view kRequest =
    "GET /api/v1/items?page=2&size=20 HTTP/1.1\r\n"
    "Host: shop.example.com\r\n"
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/120.0.0.0 Safari/537.36\r\n"
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n"
    "Accept-Language: en-US,en;q=0.9,de;q=0.8\r\n"
    "Accept-Encoding: gzip, deflate, br\r\n"
    "Cookie: session=0123456789abcdef0123456789abcdef; theme=dark; tz=1; cart=0123456789abcdef\r\n"
    "X-Request-Id: 7f3c2a10-8f52-4b1e-9d6a-0c4f5e6a7b8c\r\n"
    "X-Forwarded-For: 203.0.113.7\r\n"
    "X-Device-Id: d-0123456789abcdef\r\n"
    "\r\n";
static_assert(kRequest.size() == 541);

constexpr std::string_view kBare = "GET / HTTP/1.1\r\nHost: 127.0.0.1:9201\r\n\r\n";

constexpr std::string_view kResponse =
    "HTTP/1.1 200 OK\r\nServer: app\r\nDate: Fri, 20 Nov 2026 12:00:00 GMT\r\n"
    "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n";

/// The objects that a worker keeps.
struct Codec {
  net::RequestHead request;
  net::ResponseHead response;
  proxy::RequestIds ids{1};
  std::array<char, 32> id;
  proxy::HeadText out;

  bool parse(std::string_view bytes) {
    net::HeadProgress progress;
    return net::parse_request_head(bytes, {}, progress, request) == net::HeadStatus::complete;
  }
  bool normalise() {
    net::NormalTarget target;
    return net::normalise_target(request.target, {}, {}, target) == net::HttpRefusal::none;
  }
  void build() {
    proxy::UpstreamHeadOptions options;
    options.peer_text = "203.0.113.7";
    options.request_id = proxy::choose_request_id(request, false, ids, id);
    out.clear();
    proxy::append_upstream_head(out, request, options);
  }
  bool answer() {
    net::HeadProgress progress;
    const bool good = net::parse_response_head(kResponse, {}, {}, progress, response) ==
                      net::HeadStatus::complete;
    out.clear();
    proxy::append_downstream_head(out, response, {});
    return good;
  }
};

void check(benchmark::State& state, bool good) {
  if (!good) state.SkipWithError("refused");
}

void BM_Parse(benchmark::State& state, std::string_view bytes) {
  Codec codec;
  for (auto _ : state) benchmark::DoNotOptimize(codec.parse(bytes));
  check(state, codec.parse(bytes));
}
BENCHMARK_CAPTURE(BM_Parse, bare, kBare);
BENCHMARK_CAPTURE(BM_Parse, real, kRequest);

void BM_Normalise(benchmark::State& state) {
  Codec codec;
  check(state, codec.parse(kRequest));
  for (auto _ : state) benchmark::DoNotOptimize(codec.normalise());
}
BENCHMARK(BM_Normalise);

void BM_Build(benchmark::State& state) {
  Codec codec;
  check(state, codec.parse(kRequest));
  for (auto _ : state) {
    codec.build();
    benchmark::DoNotOptimize(codec.out.view().data());
  }
}
BENCHMARK(BM_Build);

void BM_ParseAndBuild(benchmark::State& state, std::string_view bytes) {
  Codec codec;
  for (auto _ : state) {
    benchmark::DoNotOptimize(codec.parse(bytes));
    codec.build();
    benchmark::DoNotOptimize(codec.out.view().data());
  }
}
BENCHMARK_CAPTURE(BM_ParseAndBuild, bare, kBare);
BENCHMARK_CAPTURE(BM_ParseAndBuild, real, kRequest);

void BM_Answer(benchmark::State& state) {
  Codec codec;
  for (auto _ : state) benchmark::DoNotOptimize(codec.answer());
  check(state, codec.answer());
}
BENCHMARK(BM_Answer);

/// Instructions per message = (callgrind's sum for N - its sum for 0) / N.
int loop(const char* what, long n) {
  Codec codec;
  bool good = true;
  for (long i = 0; i < n; ++i) {
    if (std::strcmp(what, "answer") == 0) {
      good &= codec.answer();
      continue;
    }
    good &= codec.parse(kRequest);
    if (std::strcmp(what, "build") == 0) codec.build();
  }
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "--loop") == 0) return loop(argv[2], std::atol(argv[3]));
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return EXIT_SUCCESS;
}
