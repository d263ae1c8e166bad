#include <gmock/gmock.h>

#include "tests/app/program.h"
#include "tests/app/scratch.h"

/// `weir check --against FILE`: the counts that a reload would empty. (Of a running weir:
/// tests/app/reload_test asks the same of the admin door.)
namespace weir::app::check_against_test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kHead = "weir: 1\nproxy: {upstream: http://127.0.0.1:3000}\npolicies:\n";

TEST(CheckAgainst, SaysWhichCountersBeginEmpty) {
  Scratch scratch;
  const auto write = [&](const char* name, const std::string& window) {
    scratch.write(name, std::string(kHead) + "  - {name: a, watch: request, key: ip, window: " +
                            window + ", then: [{over: 5, do: deny}]}\n");
  };
  write("running.yaml", "10m");
  write("next.yaml", "20m");
  write("same.yaml", "10m");
  const auto check = [&](const std::vector<std::string>& arguments) {
    return run_weir(arguments, scratch.path());
  };
  const Outcome changed = check({"check", "next.yaml", "--against", "running.yaml"});
  EXPECT_EQ(changed.code, 0);
  EXPECT_THAT(
      changed.out,
      HasSubstr("reload: policy \"a\": count over the last 20m begins empty, and its window is "
                "whole 20m later (now: count over the last 10m)"));
  EXPECT_EQ(check({"check", "next.yaml", "--against", "running.yaml", "--strict"}).code, 3);
  const Outcome same = check({"check", "same.yaml", "--against", "running.yaml", "--strict"});
  EXPECT_EQ(same.code, 0);
  EXPECT_THAT(same.out, HasSubstr("every counter, pattern and list continues"));
  const Outcome json = check({"-o", "json", "check", "next.yaml", "--against", "running.yaml"});
  EXPECT_THAT(json.out, HasSubstr(R"("reload":[{"fate":"empties","kind":"policy","name":"a")"));
  EXPECT_THAT(check({"check", "next.yaml"}).out, Not(HasSubstr("reload:")));
  EXPECT_EQ(check({"check", "next.yaml", "--against", "missing.yaml"}).code, 1);
  EXPECT_EQ(check({"check", "next.yaml", "--against", "http://127.0.0.1:1"}).code, 4);
}

}  // namespace
}  // namespace weir::app::check_against_test
