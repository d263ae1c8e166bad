#include "app/support/machine.h"

#include <gtest/gtest.h>

#include "tests/app/scratch.h"

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
      {"zero is not a number of threads", 0, 2, {}, 1},
      {"an affinity that could not be read", {}, 0, {}, 1},
  };
  for (const Case& c : kCases)
    EXPECT_EQ(worker_threads(c.configured, c.affinity, c.quota), c.threads) << c.name;
}

TEST(Machine, keeps_so_many_cores_busy) {
  EXPECT_EQ(usable_cores(64, {}), 64U);
  EXPECT_EQ(usable_cores(64, 1.5), 2U);
  EXPECT_EQ(usable_cores(64, 0.1), 1U);
  EXPECT_EQ(usable_cores(4, 8.0), 4U);
  EXPECT_EQ(usable_cores(0, {}), 1U);
}

/// A root directory with the files of a machine.
struct FakeRoot {
  void write(const std::string& path, std::string_view text) const {
    std::filesystem::create_directories(std::filesystem::path(scratch / path).parent_path());
    scratch.write(path, text);
  }
  Machine look() const { return look_at_machine(scratch.path()); }
  Scratch scratch;
};

TEST(Machine, takes_as_many_connections_as_descriptors_allow) {
  const auto clients = [](std::uint64_t wanted, std::uint64_t open_files, std::size_t workers) {
    return share_connections(wanted, open_files, workers).clients;
  };
  EXPECT_EQ(clients(10'000, 0, 2), 10'000U);
  EXPECT_EQ(clients(10'000, 65'536, 2), 10'000U);
  EXPECT_EQ(clients(10'000, 20'000, 2), 8'788U);
  EXPECT_EQ(clients(10'000, 256, 2), 56U);
  EXPECT_EQ(clients(50, 256, 2), 50U);
  EXPECT_EQ(clients(10'000, 256, 64), 16U) << "too few for everything; the app gets some";
  EXPECT_EQ(clients(10'000, 1, 2), 1U);
  EXPECT_EQ(share_connections(100, 0, 2).idle, 13U);
}

// Counted: 13 descriptors and 9 for each worker are open in a process without any connection.
TEST(Machine, all_doors_fit_into_the_open_files_together_or_it_says_so) {
  for (std::uint64_t open_files = 1; open_files < 40'000; open_files += 1 + open_files / 10) {
    for (const std::size_t workers : {1, 2, 3, 8, 64}) {
      for (const std::size_t own : {0, 1, 2}) {
        for (const bool http : {false, true}) {
          for (const std::size_t stores : {0, 1, 12}) {
            const OpenDoors doors{own, http, own < 2, stores};
            const ConnectionShares shares = share_connections(10'000, open_files, workers, doors);
            const std::uint64_t used = 13 + (9 + stores) * workers + shares.door * own +
                                       (http ? shares.http_door * workers : 0) +
                                       2 * shares.operators + (doors.events ? shares.events : 0) +
                                       2 * shares.clients + shares.idle * workers;
            SCOPED_TRACE(std::to_string(open_files) + " open files, " + std::to_string(workers) +
                         " workers, " + std::to_string(own) + " doors");
            EXPECT_GE(shares.clients, 1U);
            if (shares.fit) {
              EXPECT_LE(used + 16, open_files) << "with what reloads need";
            }
            if (used > open_files) {
              EXPECT_FALSE(shares.fit);
            }
          }
        }
      }
    }
  }
}

TEST(Machine, keeps_descriptors_back_for_the_doors) {
  const auto shares = [](std::uint64_t open_files, const OpenDoors& doors) {
    return share_connections(10'000, open_files, 2, doors);
  };
  EXPECT_EQ(shares(256, {1, true, true}).clients, 20U);
  EXPECT_EQ(shares(256, {1, true, true}).operators, 16U);
  EXPECT_EQ(shares(256, {1, true, true}).events, 16U);
  EXPECT_TRUE(shares(256, {1, true, true}).fit);
  EXPECT_EQ(shares(1'024, {1, true, true}).door, 128U);
  EXPECT_EQ(shares(1'024, {1, true, true}).http_door, 64U);
  EXPECT_EQ(shares(1'024, {1, true, true}).operators, 64U);
  EXPECT_LT(shares(20'000, {2, false, false}).clients, shares(20'000, {1, false, false}).clients)
      << "each has its own";
  EXPECT_EQ(shares(0, {1, true, true}).door, 4'096U);
  EXPECT_EQ(shares(0, {1, true, true}).events, 256U);
  EXPECT_FALSE(shares(64, {1, true, true}).fit);
  EXPECT_EQ(shares(16, {1, true, true}).http_door, 8U) << "so few that nothing helps";
}

TEST(Machine, says_how_many_open_files_would_do) {
  for (const std::uint64_t wanted : {1, 16, 1'000, 100'000}) {
    const OpenDoors doors{1, true, true, 1};
    const std::uint64_t needed = open_files_for(wanted, 2, doors);
    EXPECT_TRUE(share_connections(wanted, needed, 2, doors).fit);
    EXPECT_EQ(share_connections(wanted, needed, 2, doors).clients, wanted);
    EXPECT_FALSE(share_connections(wanted, needed - 8, 2, doors).fit &&
                 share_connections(wanted, needed - 8, 2, doors).clients == wanted);
  }
}

TEST(Machine, finds_a_controller_among_the_hierarchies_of_version_1) {
  constexpr std::string_view kText = "5:cpuset:/a\n4:cpu,cpuacct:/pods/x\n3:memory:/m\n0::/u\n";
  EXPECT_EQ(legacy_cgroup(kText, "cpu").path, "/pods/x");
  EXPECT_EQ(legacy_cgroup(kText, "cpu").controllers, "cpu,cpuacct");
  EXPECT_EQ(legacy_cgroup(kText, "memory").path, "/m");
  EXPECT_EQ(legacy_cgroup("0::/u\n", "cpu").path, "");
  EXPECT_EQ(legacy_cgroup("", "cpu").path, "");
  EXPECT_EQ(legacy_cgroup("nonsense\n1\n:\n", "cpu").path, "");
}

TEST(Machine, reads_the_limits_of_cgroup_version_1) {
  const FakeRoot root;
  root.write("proc/self/cgroup", "4:cpu,cpuacct:/pods/x\n3:memory:/pods/x\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/pods/x/cpu.cfs_quota_us", "-1\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/pods/x/cpu.cfs_period_us", "100000\n");
  root.write("sys/fs/cgroup/memory/pods/x/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(root.look().quota, std::nullopt);
  EXPECT_EQ(root.look().memory, std::nullopt);
  root.write("sys/fs/cgroup/cpu,cpuacct/pods/x/cpu.cfs_quota_us", "300000\n");
  root.write("sys/fs/cgroup/memory/pods/x/memory.limit_in_bytes", "134217728\n");
  EXPECT_EQ(root.look().quota, 3.0);
  EXPECT_EQ(root.look().memory, 134217728U);
  // The group above binds as well.
  root.write("sys/fs/cgroup/cpu,cpuacct/pods/cpu.cfs_quota_us", "150000\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/pods/cpu.cfs_period_us", "100000\n");
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "67108864\n");
  EXPECT_EQ(root.look().quota, 1.5);
  EXPECT_EQ(root.look().memory, 67108864U);
}

// A container without a cgroup namespace: the path is the host's, its group is mounted as the root.
TEST(Machine, reads_version_1_where_the_path_is_that_of_the_host) {
  const FakeRoot root;
  root.write("proc/self/cgroup", "4:cpu,cpuacct:/docker/abc\n3:memory:/docker/abc\n");
  root.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n");
  root.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "268435456\n");
  EXPECT_EQ(root.look().quota, 0.5);
  EXPECT_EQ(root.look().memory, 268435456U);
}

TEST(Machine, reads_version_2_and_takes_the_tighter_where_both_bind) {
  const FakeRoot root;
  root.write("proc/self/cgroup", "3:memory:/\n0::/pods/x\n");
  root.write("sys/fs/cgroup/pods/x/cpu.max", "200000 100000\n");
  root.write("sys/fs/cgroup/pods/memory.max", "134217728\n");
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "268435456\n");
  EXPECT_EQ(root.look().quota, 2.0);
  EXPECT_EQ(root.look().memory, 134217728U);
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "67108864\n");
  EXPECT_EQ(root.look().memory, 67108864U);
}

// The files as the kernel writes them: in every group but the uppermost one of the machine.
TEST(Machine, reads_version_2_as_containers_pods_and_units_have_it) {
  struct File {
    const char* path;
    const char* text;
  };
  struct Case {
    const char* name;
    const char* own;  // /proc/self/cgroup
    std::vector<File> files;
    std::optional<double> quota;
    std::optional<std::uint64_t> memory;
  };
  constexpr const char* kPod =
      "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod3f1c0d7a.slice/"
      "cri-containerd-9a41.scope\n";
  const std::string pods = "kubepods.slice/";
  const std::string burstable = pods + "kubepods-burstable.slice/";
  const std::string pod = burstable + "kubepods-burstable-pod3f1c0d7a.slice/";
  const std::string scope = pod + "cri-containerd-9a41.scope/";
  const std::string paths[] = {scope + "cpu.max",  scope + "memory.max",  pod + "cpu.max",
                               pod + "memory.max", burstable + "cpu.max", burstable + "memory.max",
                               pods + "cpu.max",   pods + "memory.max"};
  const auto path = [&](int i) { return paths[i].c_str(); };
  const Case kCases[] = {
      {"a container with a namespace of its own",
       "0::/\n",
       {{"cpu.max", "50000 100000\n"}, {"memory.max", "67108864\n"}},
       0.5,
       67'108'864},
      {"a container without limits",
       "0::/\n",
       {{"cpu.max", "max 100000\n"}, {"memory.max", "max\n"}},
       {},
       {}},
      {"a whole machine, whose uppermost group has neither file", "0::/init.scope\n", {}, {}, {}},
      {"a pod in the hierarchy of the node: the tightest of all above it",
       kPod,
       {{path(0), "max 100000\n"},
        {path(1), "134217728\n"},
        {path(2), "150000 100000\n"},
        {path(3), "268435456\n"},
        {path(4), "max 100000\n"},
        {path(5), "max\n"},
        {path(6), "400000 100000\n"},
        {path(7), "16508538880\n"}},
       1.5,
       134'217'728},
      {"a pod whose memory is limited above its container",
       kPod,
       {{path(1), "max\n"}, {path(3), "100663296\n"}},
       {},
       100'663'296},
      {"the path of the node, and only the container's own group mounted",
       kPod,
       {{"cpu.max", "200000 100000\n"}, {"memory.max", "67108864\n"}},
       2.0,
       67'108'864},
      {"a unit of systemd: MemoryMax=96M, CPUQuota=20%",
       "0::/system.slice/weir.service\n",
       {{"system.slice/weir.service/cpu.max", "20000 100000\n"},
        {"system.slice/weir.service/memory.max", "100663296\n"},
        {"system.slice/cpu.max", "max 100000\n"},
        {"system.slice/memory.max", "max\n"}},
       0.2,
       100'663'296},
      {"a process outside of its namespace's root",
       "0::/../other\n",
       {{"cpu.max", "300000 100000\n"}, {"memory.max", "33554432\n"}},
       3.0,
       33'554'432},
      {"a period of its own, and no line end",
       "0::/a:b\n",
       {{"a:b/cpu.max", "5000 10000"}, {"a:b/memory.max", "4096"}},
       0.5,
       4'096},
      {"files that are empty or damaged grant what they grant without them",
       "0::/\n",
       {{"cpu.max", ""}, {"memory.max", "-1\n"}},
       {},
       {}},
  };
  for (const Case& c : kCases) {
    const FakeRoot root;
    root.write("proc/self/cgroup", c.own);
    for (const File& file : c.files)
      root.write(std::string("sys/fs/cgroup/") + file.path, file.text);
    EXPECT_EQ(root.look().quota, c.quota) << c.name;
    EXPECT_EQ(root.look().memory, c.memory) << c.name;
  }
}

TEST(Machine, looks_at_this_one_without_trouble) {
  EXPECT_GE(look_at_machine().affinity, 1U);
  EXPECT_GT(raise_open_files(), 0U);
}

}  // namespace
}  // namespace weir::app::machine_test
