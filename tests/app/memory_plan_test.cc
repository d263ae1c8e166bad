#include "app/support/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "app/support/configuration.h"
#include "core/no_memory.h"
#include "gate/unsettled.h"
#include "net/bytes.h"
#include "telemetry/request_sink.h"

namespace weir::app::memory_plan_test {
namespace {

Configuration load(const char* text) { return compile(config::load_text("weir.yaml", text)); }

TEST(MemoryPlan, shares_one_table_among_counters_without_keys) {
  const Configuration c = load(R"(weir: 1
policies:
  - {name: a, watch: request, key: ip, window: 1m, then: [{over: 5, do: flag}]}
  - {name: same, watch: request, key: ip, window: 1m, then: [{over: 9, do: flag}]}
  - {name: own, watch: request, key: ip, window: {every: 1h}, keys: 5000, then: [{over: 5, do: flag}]}
)");
  ASSERT_TRUE(c.good());
  const MemoryPlan plan = plan_memory(*c.set, c.model().server);
  EXPECT_TRUE(plan.fits);
  ASSERT_EQ(plan.rows.size(), 2U) << "equal counters are one";
  EXPECT_EQ(plan.rows[0].counter, "a, same");
  EXPECT_EQ(plan.rows[0].own_table, 0U);
  EXPECT_EQ(plan.rows[0].keys_typical, 1'000'000U);
  EXPECT_GT(plan.rows[0].worst_bytes, plan.rows[0].sparse_bytes);
  EXPECT_EQ(plan.rows[1].keys_typical, 5'000U);
  EXPECT_EQ(plan.rows[1].worst_bytes, plan.rows[1].sparse_bytes) << "a fixed window is one number";
  EXPECT_LE(plan.common_bytes + plan.own_bytes, plan.memory);
}

TEST(MemoryPlan, names_what_patterns_take_beside) {
  const Configuration c = load(R"(weir: 1
limits: {memory: 16MiB}
policies: [{name: a, sequence: [request, request], key: ip, within: 1m, then: [{do: flag}]}]
)");
  ASSERT_TRUE(c.good());
  const MemoryPlan plan = plan_memory(*c.set, c.model().server);
  EXPECT_EQ(plan.pattern_bytes, std::uint64_t{2} << 20);
  EXPECT_NE(to_text(plan).find("at most 2 MiB for open matches of patterns"), std::string::npos)
      << to_text(plan);
}

TEST(MemoryPlan, names_what_views_take_beside) {
  const Configuration c = load(R"(weir: 1
limits: {views: 8MiB}
views: [{name: a, watch: request, by: path, window: {every: 1m}, top: 5}]
)");
  ASSERT_TRUE(c.good());
  EXPECT_EQ(plan_memory(*c.set, c.model().server).view_bytes, std::uint64_t{8} << 20);
}

TEST(MemoryPlan, names_the_bodies_of_the_api_door) {
  const MemoryPlan plan = plan_memory(*load("weir: 1\n").set, {});
  EXPECT_EQ(plan.body_bytes, std::uint64_t{8} << 20);
  EXPECT_NE(to_text(plan).find("at most 8 MiB for bodies of events"), std::string::npos)
      << to_text(plan);
  const Configuration none = load("weir: 1\napi: {listen: none}\n");
  ASSERT_TRUE(none.good());
  const MemoryPlan without = plan_memory(*none.set, none.model().server);
  EXPECT_EQ(without.body_bytes, 0U);
  EXPECT_EQ(to_text(without).find("bodies of events"), std::string::npos);
}

TEST(MemoryPlan, names_what_is_on_its_way_to_redis) {
  const Configuration c = load(
      ("weir: 1\nredis: {url: 'redis://127.0.0.1:6379', secret: " + std::string(32, 'a') + "}\n")
          .c_str());
  ASSERT_TRUE(c.good());
  const std::string text = to_text(plan_memory(*c.set, c.model().server));
  EXPECT_NE(text.find("at most 8 MiB a worker and server of Redis"), std::string::npos) << text;
  const std::string without = to_text(plan_memory(*load("weir: 1\n").set, {}));
  EXPECT_EQ(without.find("server of Redis"), std::string::npos) << without;
}

TEST(MemoryPlan, checks_over_http_are_a_part_of_the_buffers) {
  constexpr std::uint64_t kMiB = 1 << 20;
  config::Server::Limits limits;
  EXPECT_EQ(check_buffer_bytes(limits, 32 * kMiB), 4 * kMiB);
  limits.body = 16 * kMiB;  // such a body has room, however many workers share the buffers
  EXPECT_GE(check_buffer_bytes(limits, 64 * kMiB), 32 * kMiB);
  EXPECT_LE(check_buffer_bytes(limits, least_buffer_bytes(limits)), least_buffer_bytes(limits));
}

// Each worker keeps its least: the sum is printed and fitted into the machine.
TEST(MemoryPlan, buffers_are_what_all_workers_keep) {
  constexpr std::uint64_t kMiB = 1 << 20;
  config::Server::Limits limits;
  const std::uint64_t least = least_buffer_bytes(limits);
  EXPECT_EQ(buffer_bytes(limits, 2, std::nullopt), 64 * kMiB);
  EXPECT_EQ(buffer_bytes(limits, 2, 256 * kMiB), 16 * kMiB);
  limits.buffers = kMiB;
  for (const unsigned threads : {1U, 2U, 16U, 64U}) {
    const std::uint64_t all = buffer_bytes(limits, threads, 256 * kMiB);
    EXPECT_EQ(all, std::max(kMiB, threads * least)) << threads;
    EXPECT_GE(all / threads, least) << threads;
  }
  Machine machine;
  machine.memory = 256 * kMiB;
  config::Server server;
  server.limits.buffers = kMiB;
  server.threads.emplace();
  server.threads->value = 2;
  const std::uint64_t two = memory_beside(server, machine);
  server.threads->value = 16;
  EXPECT_EQ(memory_beside(server, machine), two - kMiB + 16 * least) << "1 MiB is enough for two";
  EXPECT_EQ(plan_memory(*load("weir: 1\n").set, server).buffer_bytes, 16 * least);
}

TEST(MemoryPlan, names_the_least_of_a_worker_where_many_need_more) {
  const auto text = [](const char* yaml) {
    const Configuration c = load(yaml);
    return to_text(plan_memory(*c.set, c.model().server));
  };
  EXPECT_NE(text("weir: 1\nlimits: {buffers: 2MiB}\n").find(" for each worker, if that is more)"),
            std::string::npos);
  EXPECT_EQ(text("weir: 1\n").find("for each worker"), std::string::npos);
  EXPECT_EQ(text("weir: 1\nlimits: {buffers: 2MiB}\nthreads: 2\n").find("for each worker"),
            std::string::npos);
}

// Sessions of the proxy are evicted over the high water, until no more than the low water is in
// use.
TEST(MemoryPlan, full_doors_leave_room_for_a_judged_body_of_the_proxy) {
  const config::Server::Limits limits;
  for (const std::uint64_t of_worker : {std::uint64_t{32} << 20, std::uint64_t{4} << 20}) {
    net::BlockPool all, checks, calls;
    all.set_limit(of_worker);
    checks.draw_on(all);
    checks.set_limit(check_buffer_bytes(limits, of_worker));
    calls.draw_on(all);
    calls.set_limit(grpc_buffer_bytes(of_worker));
    std::vector<std::pair<net::BlockPool*, net::BlockPool::Block*>> taken;
    const auto fill = [&](net::BlockPool& pool) {
      while (survives_no_memory([&] { taken.emplace_back(&pool, pool.take(1)); })) {
      }
    };
    fill(checks);
    fill(calls);
    EXPECT_FALSE(all.is_short());
    taken.emplace_back(&all, all.take(limits.head));
    taken.emplace_back(&all, all.take(limits.body));
    EXPECT_FALSE(all.is_short()) << of_worker;
    EXPECT_LE(all.in_use(), all.low_water()) << of_worker;
    for (const auto& [pool, block] : taken) pool->give_back(block);
  }
}

TEST(MemoryPlan, a_default_is_not_held_against_a_small_cgroup) {
  const auto limits = [](const char* said) {
    return load(std::string("weir: 1\n").append(said).c_str()).model().server.limits;
  };
  EXPECT_FALSE(limits("").memory_given);
  EXPECT_FALSE(limits("limits: {keys: 1000}\n").memory_given);
  EXPECT_TRUE(limits("limits: {memory: 256MiB}\n").memory_given);
  constexpr std::uint64_t kMiB = 1 << 20;
  EXPECT_EQ(counter_room(64 * kMiB, 32 * kMiB, false), 32 * kMiB);
  EXPECT_EQ(counter_room(41 * kMiB, 32 * kMiB, true), 8 * kMiB);
  EXPECT_EQ(limiter::pattern_memory(8 * kMiB) + 8 * kMiB, 9 * kMiB);
  EXPECT_EQ(counter_room(16 * kMiB, 32 * kMiB, false), 0U);
}

TEST(MemoryPlan, names_what_lines_and_spans_take_beside) {
  const auto plan = [](const char* section) {
    const Configuration c = load((std::string("weir: 1\n") + section +
                                  "policies: [{name: a, watch: request, key: ip, window: 1m, then: "
                                  "[{over: 5, do: flag}]}]\n")
                                     .c_str());
    EXPECT_TRUE(c.good()) << section;
    return plan_memory(*c.set, c.model().server);
  };
  EXPECT_EQ(plan("").log_bytes, 0U);
  EXPECT_EQ(to_text(plan("")).find("access_log"), std::string::npos);
  const MemoryPlan logged = plan("access_log: {path: stdout}\n");
  using telemetry::RequestSink;
  EXPECT_GE(logged.log_bytes, RequestSink::kFactsMax * sizeof(telemetry::RequestFacts) +
                                  2 * RequestSink::kQueueBytes);
  EXPECT_NE(to_text(logged).find("a worker for lines and spans"), std::string::npos)
      << to_text(logged);
  EXPECT_GT(plan("tracing: {endpoint: 'http://127.0.0.1:4318'}\n").log_bytes,
            RequestSink::kSpans * sizeof(telemetry::RequestFacts));
}

TEST(MemoryPlan, requests_whose_answers_are_reported_have_their_room) {
  constexpr std::uint64_t kMiB = 1 << 20;
  const config::Server none;
  const config::Server named = load("weir: 1\ngrpc: {listen: '127.0.0.1:8483'}\n").model().server;
  EXPECT_EQ(unsettled_most(named, 2, std::nullopt), gate::Unsettled::kMost);
  EXPECT_EQ(unsettled_most(named, 2, 4'096 * kMiB), gate::Unsettled::kMost);
  EXPECT_EQ(unsettled_most(named, 2, 64 * kMiB), 512U);
  EXPECT_EQ(unsettled_most(named, 64, 16 * kMiB), 64U);
  EXPECT_EQ(unsettled_most(none, 2, std::nullopt), 1'024U) << "the door that is open by default";
  EXPECT_EQ(unsettled_most(none, 2, 64 * kMiB), 512U);
  EXPECT_EQ(plan_memory(*load("weir: 1\n").set, {}).unsettled_bytes, 0U);
  const Configuration c =
      load("weir: 1\nlimits: {memory: 12MiB}\napi: {ext_authz: {prefix: /a}}\n");
  ASSERT_TRUE(c.good());
  EXPECT_NE(to_text(plan_memory(*c.set, c.model().server)).find("48 MiB a worker for checks"),
            std::string::npos);
  for (const unsigned cores : {1U, 2U, 16U}) {
    Machine sidecar;
    sidecar.affinity = cores;
    sidecar.memory = 64 * kMiB;  // of the manifests
    EXPECT_LE(c.model().server.limits.memory + memory_beside(c.model().server, sidecar), 64 * kMiB)
        << cores;
  }
}

TEST(MemoryPlan, lines_and_spans_have_their_room_in_a_small_cgroup) {
  constexpr std::uint64_t kMiB = 1 << 20;
  EXPECT_EQ(noted_requests(2, std::nullopt), telemetry::RequestSink::kFactsMax);
  EXPECT_EQ(noted_requests(2, 4'096 * kMiB), telemetry::RequestSink::kFactsMax);
  EXPECT_EQ(noted_requests(64, 16 * kMiB), 256U);
  EXPECT_NEAR(static_cast<double>(noted_requests(1, 64 * kMiB)),
              static_cast<double>(kMiB) / sizeof(telemetry::RequestFacts), 1);
  const Configuration c = load("weir: 1\nlimits: {memory: 16MiB}\naccess_log: {sample: 1%}\n");
  ASSERT_TRUE(c.good());
  const config::Server& server = c.model().server;
  for (const unsigned cores : {1U, 2U, 16U}) {
    Machine sidecar;
    sidecar.affinity = cores;
    sidecar.memory = 64 * kMiB;  // of the manifests
    EXPECT_LE(server.limits.memory + memory_beside(server, sidecar), 64 * kMiB) << cores;
    config::Server quiet = server;
    quiet.access_log.is_on = false;
    EXPECT_EQ(memory_beside(server, sidecar) - memory_beside(quiet, sidecar),
              log_bytes(server, std::min(cores, 2U), sidecar.memory));
  }
}

TEST(MemoryPlan, says_when_tables_do_not_fit) {
  const Configuration c = load(R"(weir: 1
limits: {memory: 16MiB}
policies: [{name: a, watch: request, key: ip, window: 1m, keys: 10000000, then: [{over: 5, do: flag}]}]
)");
  ASSERT_TRUE(c.good());
  EXPECT_FALSE(plan_memory(*c.set, c.model().server).fits);
}

}  // namespace
}  // namespace weir::app::memory_plan_test
