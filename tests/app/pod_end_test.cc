#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>

#include "app/serve/end_limits.h"
#include "app/tools/inject/objects.h"
#include "config/model.h"

/// The end of a pod: the grace period of the manifests is enough for the longest end of weir.
namespace weir::app::pod_end_test {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
const std::filesystem::path kRoot = WEIR_SOURCE_DIR;

TEST(PodEnd, the_grace_is_enough_for_the_longest_drain) {
  const auto drain = config::Server{}.drain;
  constexpr seconds kGrace{kGraceSeconds}, kSleep{kSleepSeconds}, kHold{kHoldSeconds};
  // The hooks begin the drain, so its delay is over when they end.
  EXPECT_LE(drain.delay, kSleep);
  EXPECT_LT(kSleep, kHold) << "a classic sidecar ends after its app";
  EXPECT_LE(kHold + drain.timeout + end_limits::kAll, kGrace) << "classic";
  constexpr seconds kOfApp{10};
  EXPECT_LE(kSleep + kOfApp + drain.timeout + end_limits::kAll, kGrace) << "native, behind the app";
  EXPECT_LE(drain.delay + drain.timeout + end_limits::kAll, kGrace) << "a weir that others ask";
}

TEST(PodEnd, every_manifest_grants_it_and_drains_no_longer_than_by_default) {
  const auto drain = config::Server{}.drain;
  const std::regex kGrace(R"(terminationGracePeriodSeconds(?:: |", value: )(\d+))");
  const std::regex kDrain(R"(drain: \{delay: (\d+)s, timeout: (\d+)s\})");
  std::size_t graces = 0, drains = 0;
  for (const auto& each : std::filesystem::recursive_directory_iterator(kRoot / "k8s")) {
    if (!each.is_regular_file()) continue;
    const std::string text = read(each.path());
    const std::sregex_iterator end;
    for (std::sregex_iterator it(text.begin(), text.end(), kGrace); it != end; ++it, ++graces)
      EXPECT_EQ((*it)[1], std::to_string(kGraceSeconds)) << each.path();
    for (std::sregex_iterator it(text.begin(), text.end(), kDrain); it != end; ++it, ++drains) {
      EXPECT_LE(seconds{std::stoi((*it)[1])}, drain.delay) << each.path();
      EXPECT_LE(seconds{std::stoi((*it)[2])}, drain.timeout) << each.path();
    }
  }
  EXPECT_GE(graces, 6U);  // two components, the gRPC door, the chart twice, the admission policy
  EXPECT_GE(drains, 6U);
}

TEST(PodEnd, the_pages_say_the_numbers) {
  const std::string page = read(kRoot / "docs/kubernetes.md");
  EXPECT_THAT(page,
              HasSubstr("`terminationGracePeriodSeconds: " + std::to_string(kGraceSeconds) + "`"));
  EXPECT_THAT(
      page,
      HasSubstr("lifecycle: {preStop: {sleep: {seconds: " + std::to_string(kSleepSeconds) + "}}}"));
  ASSERT_EQ(end_limits::kAll, milliseconds{12'500});
  EXPECT_THAT(page, HasSubstr("12.5 s"));
  EXPECT_THAT(read(kRoot / "docs/operations.md"), HasSubstr("12.5 s"));
  EXPECT_THAT(read(kRoot / "docs/zh-CN/operations.md"), HasSubstr("12.5 秒"));
}

}  // namespace
}  // namespace weir::app::pod_end_test
