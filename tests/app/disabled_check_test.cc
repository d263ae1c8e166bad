#include <gmock/gmock.h>

#include "app/support/configuration.h"

/// The output of `weir check` about policies that are disabled.
namespace weir::app::disabled_check_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> said_of(const std::string& yaml) {
  Configuration configuration = compile(config::load_text("weir.yaml", "weir: 1\n" + yaml));
  EXPECT_TRUE(configuration.good()) << yaml;
  look_at_disabled(configuration);
  EXPECT_TRUE(configuration.good()) << yaml;
  std::vector<std::string> out;
  for (const config::Problem& problem : configuration.loaded.problems.all()) {
    EXPECT_EQ(problem.severity, config::Problem::Severity::warning);
    out.push_back(std::to_string(problem.where.line) + " " +
                  problem.message.substr(0, problem.message.find(" event")));
  }
  return out;
}

TEST(DisabledPolicies, are_compiled_by_check) {
  const std::string wrong = "an error once this policy is no longer disabled: ";
  EXPECT_THAT(
      said_of("policies:\n"
              "  - {name: a, mode: disabled, watch: request, key: ip, metrics: {fails: {watch: "
              "request, window: 1m}}, then: [{if: 'failz > 3', do: deny}]}\n"
              "  - {name: b, mode: disabled, watch: request, key: usr, window: 1m, then: [{over: "
              "1, do: deny}]}\n"
              "  - {name: c, watch: request, key: ip, window: 1m, then: [{over: 9, do: flag}]}\n"),
      ElementsAre("3 " + wrong + "field \"failz\" is not provided by", testing::_));
  EXPECT_THAT(said_of("policies:\n"
                      "  - {name: a, mode: disabled, watch: request, key: ip, metrics: {fails: "
                      "{watch: request, window: 1m}}, then: [{if: 'fails > 3', do: deny}]}\n"),
              IsEmpty());
}

}  // namespace
}  // namespace weir::app::disabled_check_test
