#include "app/change/reload.h"

#include <gmock/gmock.h>

#include <boost/asio/co_spawn.hpp>

#include "app/support/problem_log.h"
#include "tests/app/fake_swap.h"
#include "tests/app/scratch.h"

namespace weir::app::reload_test {
namespace {

using telemetry::Metric;
using testing::ElementsAre;

constexpr std::string_view kGood = R"(weir: 1
proxy: {upstream: http://127.0.0.1:1}
policies:
  - {name: p, watch: request, key: ip, window: 1m, then: [{over: 5, do: flag}]}
)";

std::string with_limit(int limit) {
  std::string text(kGood);
  return text.replace(text.find("over: 5"), 7, "over: " + std::to_string(limit));
}

struct ReloadTest : testing::Test {
  ReloadTest() { scratch.write("weir.yaml", kGood); }

  admin::LoadReport run(bool only_if_changed = false) {
    admin::LoadReport out;
    boost::asio::co_spawn(control, reload.run("a test", only_if_changed),
                          [&](const std::exception_ptr& thrown, admin::LoadReport report) {
                            EXPECT_EQ(thrown, nullptr);
                            out = std::move(report);
                          });
    control.restart();
    control.run();
    return out;
  }
  Configuration load() { return compile(config::load_file(scratch / "weir.yaml", {})); }

  Scratch scratch;
  boost::asio::io_context control{1};
  FakeSwap swap;
  Log log{Level::error, true};
  telemetry::Metrics metrics{1};
  OperatorChanges changes{control, swap, log};
  Reload::Observer no_observer;
  int loads = 0;
  ConfigWatch watch{control, {}};
  Reload reload{control,
                [this] {
                  ++loads;
                  return load();
                },
                watch,
                changes,
                no_observer,
                log,
                metrics.control()};
};

TEST_F(ReloadTest, takes_a_good_configuration) {
  const admin::LoadReport report = run();
  EXPECT_TRUE(report.ok);
  EXPECT_THAT(swap.in_use, ElementsAre(report.hash));
  EXPECT_EQ(metrics.sum(Metric::reloads_ok), 1);
  EXPECT_EQ(metrics.sum(Metric::config_problems), 0);
}

TEST_F(ReloadTest, keeps_the_old_one_when_the_new_one_has_errors_and_says_each) {
  run();
  for (const char* broken : {"policies: [", "weir: 1\nwindw: 1\npolicie: 2\n", ""}) {
    scratch.write("weir.yaml", broken);
    const admin::LoadReport report = run();
    EXPECT_FALSE(report.ok) << broken;
    EXPECT_FALSE(report.problems.empty()) << broken;
    EXPECT_EQ(swap.in_use.size(), 1U);
    EXPECT_FALSE(reload.last().ok);
    EXPECT_EQ(metrics.sum(Metric::config_problems),
              static_cast<std::int64_t>(report.problems.size()));
  }
  std::filesystem::remove(scratch / "weir.yaml");
  EXPECT_FALSE(run().ok) << "a file that is gone";
  EXPECT_EQ(metrics.sum(Metric::reloads_failed), 4);
  scratch.write("weir.yaml", with_limit(6));
  EXPECT_TRUE(run().ok);
  EXPECT_EQ(swap.in_use.size(), 2U);
}

TEST_F(ReloadTest, says_why_a_good_configuration_could_not_be_put_in_use) {
  swap.refusal = "no room";
  const admin::LoadReport report = run();
  EXPECT_FALSE(report.ok);
  ASSERT_EQ(report.problems.size(), 1U);
  EXPECT_EQ(report.problems[0].message, "no room");
  EXPECT_EQ(metrics.sum(Metric::reloads_failed), 1);
}

constexpr std::string_view kIncludes = R"(weir: 1
proxy: {upstream: http://127.0.0.1:1}
include: [policies/*.yaml, more/*.yaml]
)";
constexpr std::string_view kPolicy =
    "policies: [{name: p, watch: request, key: ip, window: 1m, then: [{over: 5, do: flag}]}]\n";

TEST_F(ReloadTest, is_refused_when_included_files_have_vanished) {
  std::filesystem::create_directories(scratch / "policies");
  scratch.write("policies/a.yaml", kPolicy);
  scratch.write("weir.yaml", kIncludes);
  reload.started_with(load());
  ASSERT_TRUE(run().ok) << "a pattern that never matched is a warning";
  ASSERT_EQ(swap.in_use.size(), 1U);

  std::filesystem::rename(scratch / "policies", scratch / "away");
  const admin::LoadReport report = run();
  EXPECT_FALSE(report.ok);
  EXPECT_EQ(swap.in_use.size(), 1U) << "the policies before it stay in force";
  std::vector<std::string> errors;
  for (const admin::ProblemLine& problem : report.problems) {
    if (problem.is_error) errors.push_back(std::to_string(problem.line) + " " + problem.message);
  }
  EXPECT_THAT(errors,
              testing::UnorderedElementsAre("3 \"policies/*.yaml\" matches no file any more",
                                            "0 no policies are left of 1"));
  EXPECT_FALSE(run().ok) << "the same again: what is in force still counts, not what was refused";

  std::filesystem::rename(scratch / "away", scratch / "policies");
  EXPECT_TRUE(run().ok);
  std::filesystem::remove(scratch / "policies/a.yaml");
  std::string meant(kIncludes);
  scratch.write("weir.yaml",
                meant.replace(meant.find("policies/*.yaml, "), 17, "") + "policies: []\n");
  EXPECT_TRUE(run().ok) << "taken out on purpose";
  EXPECT_EQ(metrics.sum(Metric::reloads_failed), 2);
}

TEST_F(ReloadTest, is_refused_when_no_policies_are_left_unless_the_file_says_so) {
  reload.started_with(load());
  const std::string head = "weir: 1\nproxy: {upstream: http://127.0.0.1:1}\n";
  for (const char* rest : {"", "policies:\n"}) {
    scratch.write("weir.yaml", head + rest);
    const admin::LoadReport report = run();
    EXPECT_FALSE(report.ok) << rest;
    ASSERT_FALSE(report.problems.empty());  // the error first, then a warning of an empty key
    EXPECT_EQ(report.problems[0].hint, "write policies: [] if that is meant");
  }
  scratch.write("weir.yaml", head + "policies: []\n");
  EXPECT_TRUE(run().ok);
  scratch.write("weir.yaml", head);
  EXPECT_TRUE(run().ok) << "there are none to lose";
}

TEST_F(ReloadTest, a_flood_of_problems_is_cut_errors_first_and_counted) {
  std::string text(kGood);
  for (int i = 0; i < 3000; ++i)
    text += "  - {name: w" + std::to_string(i) +
            ", watch: request, key: ip, windw: 1m, then: [{over: 5, do: flag}]}\n";
  scratch.write("weir.yaml", text);
  testing::internal::CaptureStderr();
  const admin::LoadReport report = run();
  log.flush(milliseconds{10'000});
  const std::string lines = testing::internal::GetCapturedStderr();
  EXPECT_FALSE(report.ok);
  EXPECT_GE(report.problem_count, 3000U);
  EXPECT_EQ(report.problems.size(), admin::LoadReport::kProblemsMax);
  EXPECT_EQ(metrics.sum(Metric::config_problems), static_cast<std::int64_t>(report.problem_count));
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), static_cast<int>(kProblemLines) + 2)
      << lines;
  EXPECT_NE(lines.find("\"count\":" + std::to_string(report.problem_count - kProblemLines)),
            std::string::npos)
      << lines;
}

TEST_F(ReloadTest, does_nothing_when_the_texts_are_the_same_and_nobody_insists) {
  reload.started_with(load());
  EXPECT_TRUE(run(true).ok);
  EXPECT_TRUE(swap.in_use.empty());
  EXPECT_EQ(loads, 0) << "files that are unchanged are not even parsed";
  EXPECT_EQ(metrics.sum(Metric::reloads_ok), 0);
  EXPECT_TRUE(run(false).ok);
  EXPECT_EQ(swap.in_use.size(), 1U);
  scratch.write("weir.yaml", "broken: [");
  EXPECT_FALSE(run(true).ok);
  EXPECT_FALSE(run(true).ok) << "a broken file that has not changed is told once";
  EXPECT_EQ(loads, 2);
  EXPECT_EQ(metrics.sum(Metric::reloads_failed), 1);
}

TEST_F(ReloadTest, does_one_reload_at_a_time) {
  std::vector<int> order;
  for (int i = 0; i < 5; ++i) {
    boost::asio::co_spawn(
        control, reload.run("a test", false),
        [&order, i](const std::exception_ptr&, const admin::LoadReport&) { order.push_back(i); });
  }
  control.run();
  EXPECT_EQ(order.size(), 5U);
  EXPECT_EQ(loads, 5);
  EXPECT_EQ(swap.in_use.size(), 5U);
}

struct WatchedTest : ReloadTest {
  explicit WatchedTest(ConfigWatch::Waits waits = {milliseconds{1}, milliseconds{1},
                                                   milliseconds{1}})
      : watch{control, waits},
        reload{control,
               [this] {
                 ++loads;
                 return load_it();
               },
               watch,
               changes,
               no_observer,
               log,
               metrics.control()} {
    write(kGood);
    const Configuration first = load_it();
    reload.started_with(first);
    watch.start(first.loaded.inputs.watched(), [this] {
      ++checks;
      reload.ask("the files have changed", true);
    });
  }
  ~WatchedTest() override {
    watch.stop();
    control.run();
  }
  Configuration load_it() { return compile(config::load_file(scratch / "there/weir.yaml", {})); }
  void write(std::string_view text) {
    std::filesystem::create_directories(scratch / "there");
    scratch.write("there/weir.yaml", text);
  }
  void take_away() { std::filesystem::remove_all(scratch / "there"); }
  /// Lets it work until something has come true; false: nothing happened for so long that nothing
  /// ever will.
  bool until(const std::function<bool()>& came_true) {
    while (!came_true()) {
      if (control.run_one_for(std::chrono::seconds{10}) == 0) return false;
    }
    return true;
  }

  int checks = 0;
  ConfigWatch watch;
  Reload reload;
};

/// With constant writes, the files are never quiet for that long.
struct RestlessTest : WatchedTest {
  RestlessTest()
      : WatchedTest({milliseconds{3'600'000}, milliseconds{1}, milliseconds{3'600'000}}) {}
};

TEST_F(RestlessTest, a_change_is_seen_though_the_files_never_settle) {
  write(with_limit(6));
  ASSERT_TRUE(until([this] { return swap.in_use.size() == 1; }));
  write(with_limit(7));
  EXPECT_TRUE(until([this] { return swap.in_use.size() == 2; }));
}

TEST_F(WatchedTest, a_directory_that_is_gone_for_long_is_found_again) {
  take_away();
  ASSERT_TRUE(until([this] { return metrics.sum(Metric::reloads_failed) == 1; }));
  write(with_limit(6));
  ASSERT_TRUE(until([this] { return swap.in_use.size() == 1; }));
  write(with_limit(7));
  EXPECT_TRUE(until([this] { return swap.in_use.size() == 2; })) << "it is watched again";
}

TEST_F(WatchedTest, a_directory_that_comes_back_with_equal_texts_is_watched_again) {
  ASSERT_TRUE(until([this] { return checks == 1; })) << "the check after the start";
  take_away();
  ASSERT_EQ(control.run_one_for(std::chrono::seconds{10}), 1U) << "the watch sees that it is gone";
  write(kGood);
  ASSERT_TRUE(until([this] { return checks == 2; }));
  control.poll();
  EXPECT_TRUE(swap.in_use.empty());
  write(with_limit(6));
  EXPECT_TRUE(until([this] { return swap.in_use.size() == 1; }));
}

TEST_F(WatchedTest, no_file_is_parsed_again_after_the_start_or_for_a_file_beside_it) {
  ASSERT_TRUE(until([this] { return checks == 1; })) << "the check after the start";
  scratch.write("there/state", "of another program");
  ASSERT_TRUE(until([this] { return checks == 2; }));
  control.poll();
  EXPECT_EQ(loads, 0);
}

TEST(NeedsRestart, names_the_settings_that_a_reload_can_not_change) {
  const auto server = [](const char* text) {
    return config::load_text("weir.yaml", text).model->server;
  };
  const auto old = server("weir: 1\nproxy: {upstream: http://127.0.0.1:1}\n");
  EXPECT_THAT(config::needs_restart(old, old), ElementsAre());
  EXPECT_THAT(
      config::needs_restart(
          old, server("weir: 1\nproxy: {upstream: http://127.0.0.1:2, listen: 127.0.0.1:9}\n"
                      "limits: {memory: 32MiB}\nthreads: 3\nstate: {dir: /x}\n")),
      ElementsAre("proxy.listen", "proxy.upstream", "state.dir", "limits.memory", "threads"));
  EXPECT_THAT(
      config::needs_restart(
          old, server("weir: 1\nproxy: {upstream: http://127.0.0.1:1}\nlog: {level: debug}\n"
                      "drain: {delay: 1s}\n")),
      ElementsAre());
}

TEST(UsedHeaderNames, are_those_that_policies_read_from_requests) {
  const Configuration c = compile(config::load_text("weir.yaml", R"(weir: 1
fields: {user: header.x_user_id}
policies:
  - {name: p, watch: request, key: user, window: 1m, when: 'header.x_os == "ios" && response.header.x_y == "1"',
     missing: same, then: [{over: 5, do: flag}]}
)"));
  ASSERT_TRUE(c.good());
  EXPECT_THAT(used_header_names(*c.set), testing::UnorderedElementsAre("x-user-id", "x-os"));
}

}  // namespace
}  // namespace weir::app::reload_test
