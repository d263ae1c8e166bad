#include "app/machine.h"

#include <gtest/gtest.h>

namespace weir::app::machine_test {
namespace {

TEST(Machine, reads_cgroup_texts) {
  EXPECT_EQ(cpu_quota("max 100000\n"), std::nullopt);
  EXPECT_EQ(cpu_quota("200000 100000\n"), 2.0);
  EXPECT_EQ(cpu_quota("50000 100000"), 0.5);
  EXPECT_EQ(cpu_quota(""), std::nullopt);
  EXPECT_EQ(cpu_quota("200000"), std::nullopt);
  EXPECT_EQ(cpu_quota("x y"), std::nullopt);
  EXPECT_EQ(cpu_quota("100000 0"), std::nullopt);
  EXPECT_EQ(memory_limit("max\n"), std::nullopt);
  EXPECT_EQ(memory_limit("134217728\n"), 134217728U);
  EXPECT_EQ(memory_limit(""), std::nullopt);
  EXPECT_EQ(unified_cgroup("0::/\n"), "/");
  EXPECT_EQ(unified_cgroup("12:cpu:/a\n0::/kubepods/x\n"), "/kubepods/x");
  EXPECT_EQ(unified_cgroup("12:cpu:/a\n"), "");
  EXPECT_EQ(unified_cgroup(""), "");
}

TEST(Machine, chooses_threads_by_what_it_is_granted) {
  struct Case {
    const char* name;
    std::optional<unsigned> configured;
    unsigned affinity;
    std::optional<double> quota;
    unsigned threads;
  };
  const Case kCases[] = {
      {"a node of 64 cores without a quota: a sidecar takes two", {}, 64, {}, 2},
      {"one core without a quota", {}, 1, {}, 1},
      {"a tenth of a core still needs a thread", {}, 64, 0.1, 1},
      {"one and a half cores are rounded up", {}, 64, 1.5, 2},
      {"a quota of eight on a node of four", {}, 4, 8.0, 4},
      {"a quota of eight on a node of 64", {}, 64, 8.0, 8},
      {"what is configured counts", 5, 2, 0.5, 5},
      {"zero is no number of threads", 0, 2, {}, 1},
      {"an affinity that could not be read", {}, 0, {}, 1},
  };
  for (const Case& c : kCases)
    EXPECT_EQ(worker_threads(c.configured, c.affinity, c.quota), c.threads) << c.name;
}

TEST(Machine, looks_at_this_one_without_trouble) {
  EXPECT_GE(look_at_machine().affinity, 1U);
  EXPECT_GT(raise_open_files(), 0U);
}

}  // namespace
}  // namespace weir::app::machine_test
