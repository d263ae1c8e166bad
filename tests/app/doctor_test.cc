#include <gtest/gtest.h>

#include <set>

#include "app/doctor/checks.h"
#include "config/parse.h"
#include "store/redis/scripts.h"

namespace weir::app::doctor::doctor_test {
namespace {

config::Server server_of(const std::string& text) {
  config::Problems problems;
  return config::parse({{"weir.yaml", "weir: 1\n" + text}}, {}, problems).server;
}

/// The findings as `STATE CHECK: WHAT -> ADVICE`.
std::vector<std::string> lines(const Findings& findings) {
  std::vector<std::string> out;
  for (const Finding& f : findings.all()) {
    out.push_back(std::string(name_of(f.state)) + " " + f.check + ": " + f.what +
                  (f.advice.empty() ? "" : " -> " + f.advice));
  }
  return out;
}

using Lines = std::vector<std::string>;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

TEST(Doctor, MemoryOfTheCgroup) {
  const auto look = [](const char* limits, std::optional<std::uint64_t> granted) {
    Findings out;
    Machine machine;
    machine.memory = granted;
    machine.installed = 128 * kMiB;
    check_memory(server_of(std::string("api: {listen: none}\nlimits: {") + limits + "}\n"), machine,
                 false, out);
    return lines(out).front();
  };
  EXPECT_EQ(
      look("memory: 64MiB, buffers: 8MiB", std::nullopt),
      "ok memory: no limit of a cgroup; limits.memory is 64 MiB, in all weir may take 96 MiB");
  EXPECT_EQ(look("memory: 1GiB, buffers: 8MiB", std::nullopt),
            "warning memory: this machine has 128 MiB; limits.memory is 1 GiB, in all weir may "
            "take 1.0 GiB -> weir starts, but the kernel kills it when it uses that much: lower "
            "limits.memory");
  EXPECT_EQ(look("memory: 64MiB, buffers: 8MiB", 96 * kMiB),
            "ok memory: the cgroup grants 96 MiB; limits.memory is 64 MiB, and weir needs 32 MiB "
            "beside it");
  EXPECT_EQ(look("memory: 64MiB, buffers: 8MiB", 80 * kMiB),
            "problem memory: the cgroup grants 80 MiB; limits.memory is 64 MiB, and weir needs 32 "
            "MiB beside it -> weir would not start: set limits.memory to 48 MiB or less, or raise "
            "the container's memory limit");
  EXPECT_EQ(look("buffers: 8MiB", 8 * kMiB),
            "problem memory: the cgroup grants 8 MiB; limits.memory is 256 MiB, and weir needs 32 "
            "MiB beside it -> weir would not start: the cgroup is too small for weir: raise the "
            "container's memory limit to 36 MiB at least");
  EXPECT_EQ(look("memory: 64MiB, buffers: 8MiB", 32 * kMiB),
            "problem memory: the cgroup grants 32 MiB; limits.memory is 64 MiB, and weir needs 32 "
            "MiB beside it -> weir would not start: the cgroup is too small for weir: raise the "
            "container's memory limit to 36 MiB at least, and set limits.memory to 4 MiB");
  EXPECT_EQ(look("buffers: 8MiB", 34 * kMiB),
            "problem memory: the cgroup grants 34 MiB; limits.memory is 256 MiB, and weir needs 32 "
            "MiB beside it -> weir would not start: set limits.memory to 2 MiB or less, or raise "
            "the container's memory limit");
  EXPECT_EQ(look("buffers: 8MiB", 36 * kMiB),
            "ok memory: the cgroup grants 36 MiB; limits.memory is not set, and will be 4 MiB");
  EXPECT_EQ(look("buffers: 8MiB", 80 * kMiB),
            "ok memory: the cgroup grants 80 MiB; limits.memory is not set, and will be 48 MiB");
}

TEST(Doctor, ThreadsOnTheQuota) {
  const auto look = [](const char* text, unsigned cores, std::optional<double> quota) {
    Findings out;
    Machine machine;
    machine.affinity = cores;
    machine.quota = quota;
    check_threads(server_of(text), machine, out);
    return lines(out).front().substr(0, 30);
  };
  EXPECT_EQ(look("", 8, std::nullopt), "ok threads: 2 workers on 8 cor");
  EXPECT_EQ(look("", 8, 1.5), "ok threads: 2 workers on 8 cor");
  EXPECT_EQ(look("threads: 4\n", 8, 1.5), "warning threads: 4 workers on ");
  EXPECT_EQ(look("threads: 4\n", 2, std::nullopt), "warning threads: 4 workers on ");
  EXPECT_EQ(look("", 8, 0.2), "warning threads: 1 worker on 8");
}

TEST(Doctor, Descriptors) {
  const auto look = [](std::uint64_t open_files) {
    Findings out;
    check_descriptors(server_of("limits: {connections: 1000}\n"), Machine{}, open_files, out);
    return out.all().front();
  };
  EXPECT_EQ(look(0).state, State::ok);
  EXPECT_EQ(look(1 << 20).state, State::ok);
  EXPECT_EQ(look(256).state, State::warning);
  const OpenDoors doors{1, false, true, 0};  // by default
  EXPECT_NE(look(256).advice.find(std::to_string(open_files_for(1'000, 1, doors))),
            std::string::npos)
      << look(256).advice;
  EXPECT_EQ(look(open_files_for(1'000, 1, doors)).state, State::ok);
  EXPECT_NE(look(64).what.find("are not enough for all doors"), std::string::npos) << look(64).what;
}

TEST(Doctor, AFileThatIsAMountOfItsOwn) {
  constexpr std::string_view kMounts =
      "36 35 98:0 / / rw - ext4 /dev/root rw\n"
      "71 36 0:52 /weir.yaml /etc/weir/weir.yaml ro,relatime - tmpfs tmpfs rw\n"
      "72 36 0:53 / /etc/weir/with\\040blank/a.yaml ro - tmpfs tmpfs rw\n"
      "73 36 0:54 / /etc/policies ro - tmpfs tmpfs rw\n"
      "74 36 8:1 /pods/u/volumes/kubernetes.io~configmap/c/..2026_11_24_10_00_00.1/sub /etc/part "
      "rw - ext4 /dev/sda rw\n"
      "75 36 8:1 /pods/u/volumes/kubernetes.io~configmap/c /etc/whole rw - ext4 /dev/sda rw\n"
      "nonsense\n";
  EXPECT_EQ(mounted_alone(kMounts, {"/etc/weir/weir.yaml", "/etc/weir/with blank/a.yaml",
                                    "/etc/policies/login.yaml", "/etc/weir", "/etc/part/a.yaml",
                                    "/etc/party.yaml", "/etc/whole/a.yaml"}),
            (Lines{"/etc/weir/weir.yaml", "/etc/weir/with blank/a.yaml", "/etc/part/a.yaml"}));
  EXPECT_EQ(mounted_alone("", {"/etc/weir/weir.yaml"}), Lines{});
}

TEST(Doctor, WhoChoosesTheAddressThatIsCounted) {
  const auto look = [](const char* proxy) {
    Findings out;
    check_trust(server_of(std::string("proxy: {client_ip: ") + proxy + "}\n"), out);
    return lines(out);
  };
  EXPECT_EQ(look("{trust: [10.0.0.0/8, fd00::/8]}"),
            Lines{"ok trust: 2 networks are believed about x-forwarded-for"});
  EXPECT_EQ(look("{trust: [0.0.0.0/0]}").front().substr(0, 52),
            "problem trust: client_ip.trust has 0.0.0.0/0: that t");
  EXPECT_EQ(look("{trust: ['::/0', 10.0.0.0/8]}").size(), 1U);
  EXPECT_EQ(look("{header: x-real-ip}").front().substr(0, 53),
            "warning trust: client_ip.header is x-real-ip, and nob");
  EXPECT_EQ(look("{}").front().substr(0, 9), "ok trust:");
}

TEST(Doctor, WhoMayAskForOthers) {
  const auto look = [](const char* doors) {
    Findings out;
    check_trust(server_of(doors), out);
    return lines(out);
  };
  EXPECT_EQ(look("grpc: {listen: 127.0.0.1:8483}\n"), Lines{});
  EXPECT_EQ(look("grpc: {listen: 0.0.0.0:8483}\n").front().substr(0, 51),
            "warning trust: grpc.listen is 0.0.0.0:8483, for who");
  const Lines wide =
      look("grpc: {listen: 127.0.0.1:8483}\nauthz: {client_ip: {trust: [0.0.0.0/0]}}\n");
  ASSERT_EQ(wide.size(), 1U);
  EXPECT_EQ(wide.front().substr(0, 50), "problem trust: authz.client_ip.trust has 0.0.0.0/0");
}

TEST(Doctor, AWeirThatOnlyAnswersNeedsNoApp) {
  const auto look = [](const char* text) {
    Findings out;
    check_upstream(server_of(text), out);
    return out.all().front().state;
  };
  EXPECT_EQ(look(""), State::problem);
  EXPECT_EQ(look("grpc: {listen: 127.0.0.1:8483}\n"), State::ok);
}

TEST(Doctor, EveryCommandOfTheScriptsIsTried) {
  std::set<std::string> used;
  const auto add = [&](std::string_view text) {
    for (std::size_t at = 0; (at = text.find("call('", at)) != std::string_view::npos;) {
      at += 6;
      used.emplace(text.substr(at, text.find('\'', at) - at));
    }
  };
  for (std::size_t i = 0; i < store::kScripts; ++i)
    add(store::script(static_cast<store::ScriptIndex>(i)).text);
  for (const auto* one :
       {&store::list_script(), &store::get_script(), &store::board_script(), &store::view_script()})
    add(one->text);
  EXPECT_GT(used.size(), 30U);
  for (const std::string& command : used) {
    EXPECT_NE(commands_tried().find("try('" + command + "'"), std::string_view::npos) << command;
  }
}

TEST(Doctor, TextAndJson) {
  Findings out;
  out.ok("redis", "fine");
  out.problem("a", "a \"b\"\x1b", "mend it");
  EXPECT_EQ(out.to_text(false),
            "ok        redis  fine\n"
            "problem   a      a \"b\"\\u001b\n"
            "                 -> mend it\n"
            "1 problem, 0 warnings\n");
  EXPECT_EQ(out.to_json(),
            "{\"ok\":false,\"problems\":1,\"warnings\":0,\"findings\":[{\"check\":\"redis\","
            "\"state\":\"ok\",\"what\":\"fine\",\"advice\":\"\"},{\"check\":\"a\",\"state\":"
            "\"problem\",\"what\":\"a \\\"b\\\"\\u001b\",\"advice\":\"mend it\"}]}\n");
}

}  // namespace
}  // namespace weir::app::doctor::doctor_test
