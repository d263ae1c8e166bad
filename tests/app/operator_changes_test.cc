#include "app/change/operator_changes.h"

#include <gmock/gmock.h>

#include <boost/asio/co_spawn.hpp>

#include "tests/app/fake_swap.h"

namespace weir::app::operator_changes_test {
namespace {

struct OperatorChangesTest : testing::Test {
  const Configuration files = compile(config::load_text("weir.yaml", R"(weir: 1
proxy: {upstream: http://127.0.0.1:1}
policies:
  - {name: p, watch: request, key: ip, window: 1m, then: [{over: 5, do: flag}]}
)"));
  boost::asio::io_context control{1};
  FakeSwap swap;
  Log log{Level::error, true};
  OperatorChanges changes{control, swap, log};
};

config::Override override_of(config::Mode mode, bool here = false) {
  config::Override out;
  out.policy = "p";
  out.mode = mode;
  out.until = TimePoint::max();
  out.here = here;
  return out;
}

TEST_F(OperatorChangesTest, takes_what_the_fleet_has_set) {
  changes.started_with(files);
  const auto take = [&](std::vector<config::Override> told) {
    boost::asio::co_spawn(control, changes.take_overrides([told] { return told; }),
                          [](const std::exception_ptr& thrown) { EXPECT_EQ(thrown, nullptr); });
    control.restart();
    control.run();
  };
  const auto set = [&](config::Override change) {
    boost::asio::co_spawn(control, changes.override_policy(std::move(change)),
                          [](const std::exception_ptr& thrown, const admin::LoadReport& report) {
                            EXPECT_EQ(thrown, nullptr);
                            EXPECT_TRUE(report.ok);
                          });
    control.restart();
    control.run();
  };
  const config::Override shadow = override_of(config::Mode::shadow);
  config::Override elsewhere = shadow;
  elsewhere.policy = "of another configuration";
  take({shadow, elsewhere});
  ASSERT_EQ(changes.overrides().size(), 1U);
  EXPECT_EQ(changes.unfit_overrides().size(), 1U);
  EXPECT_EQ(swap.in_use.size(), 1U);
  take({shadow});
  const std::size_t swaps = swap.in_use.size();
  take({shadow});
  EXPECT_EQ(swap.in_use.size(), swaps) << "nothing is new";
  // One of here alone lies over it, until all get another.
  set(override_of(config::Mode::disabled, true));
  EXPECT_EQ(changes.overrides().size(), 2U);
  take({shadow});
  EXPECT_EQ(changes.overrides().size(), 2U);
  take({override_of(config::Mode::enforce)});
  ASSERT_EQ(changes.overrides().size(), 1U);
  EXPECT_EQ(changes.overrides()[0].mode, config::Mode::enforce);
  boost::asio::co_spawn(control, changes.use_files(files),
                        [](const std::exception_ptr& thrown, const std::string& refusal) {
                          EXPECT_EQ(thrown, nullptr);
                          EXPECT_EQ(refusal, "");
                        });
  control.restart();
  control.run();
  EXPECT_EQ(changes.overrides().size(), 1U);
  take({});
  EXPECT_TRUE(changes.overrides().empty());
  // The tick ends the overrides that expire now, and reports them.
  config::Override brief = shadow;
  brief.until = TimePoint{milliseconds{10'000}};
  take({brief});
  changes.tick(TimePoint{milliseconds{9'000}});
  take({});
  EXPECT_EQ(changes.overrides().size(), 1U);
}

/// A reload that lowers the window must neither end the stricter limits of an operator, nor leave a
/// limit in force that nothing reaches.
TEST_F(OperatorChangesTest, a_lower_window_leaves_what_it_can_read_of_an_override) {
  const auto of_events = [](int events) {
    return compile(
        config::load_text("weir.yaml", R"(weir: 1
proxy: {upstream: http://127.0.0.1:1}
policies:
  - {name: p, watch: request, key: ip, window: {events: )" +
                                           std::to_string(events) +
                                           R"(}, then: [{over: 2, do: flag}, {over: 4, do: deny}]}
)"));
  };
  const Configuration wide = of_events(9), narrow = of_events(5);
  ASSERT_TRUE(wide.good() && narrow.good());
  changes.started_with(wide);
  config::Override both;
  both.policy = "p";
  both.until = TimePoint::max();
  both.limits = {{"flag.over", 6}, {"deny.over", 1}};
  config::note_rungs(both, wide.model());
  boost::asio::co_spawn(
      control, changes.override_policy(both),
      [](const std::exception_ptr&, const admin::LoadReport& report) { EXPECT_TRUE(report.ok); });
  control.run();
  boost::asio::co_spawn(
      control, changes.use_files(narrow),
      [](const std::exception_ptr&, const std::string& refusal) { EXPECT_EQ(refusal, ""); });
  control.restart();
  control.run();
  EXPECT_EQ(changes.overrides().size(), 1U);
  config::Model in_force = narrow.model();
  EXPECT_EQ(config::apply(changes.overrides().front(), in_force), "");
  const auto limit = [&](std::size_t rung) {
    return std::get<config::Located<Number>>(in_force.policies[0].then[rung].limit).value;
  };
  EXPECT_EQ(limit(0), Number(2)) << "of the files: no window of five events reads over 6";
  EXPECT_EQ(limit(1), Number(1));
}

/// The warnings of the files are reported when the files load.
TEST_F(OperatorChangesTest, a_change_reports_the_warnings_that_it_brings_and_no_others) {
  const auto warnings = [](const admin::LoadReport& report) {
    std::vector<std::string> out;
    for (const admin::ProblemLine& problem : report.problems) {
      EXPECT_FALSE(problem.is_error) << problem.message;
      out.push_back(problem.message);
    }
    return out;
  };
  const Configuration folded = compile(config::load_text("weir.yaml", R"(weir: 1
proxy: {upstream: http://127.0.0.1:1, path: {case: fold}}
tables: {t: {by: path, values: {/Told: 3, "*": 5}}}
policies:
  - {name: p, watch: request, key: ip, window: 1m, when: '1 == 1', then: [{over: t, do: deny}]}
)"));
  ASSERT_TRUE(folded.good());
  changes.started_with(folded);
  const auto edit = [&](const char* path) {
    config::TableEdit out;
    out.table = "t";
    out.cells.push_back({{path}, Number(1)});
    admin::LoadReport got;
    boost::asio::co_spawn(
        control, changes.edit_tables({out}, "t"),
        [&](const std::exception_ptr&, admin::LoadReport report) { got = std::move(report); });
    control.restart();
    control.run();
    EXPECT_TRUE(got.ok);
    return got;
  };
  EXPECT_THAT(warnings(edit("/secret")), testing::IsEmpty());
  EXPECT_THAT(warnings(edit("/Secret")), testing::ElementsAre(testing::HasSubstr("/Secret")));
  EXPECT_THAT(warnings(edit("/Secret")), testing::IsEmpty()) << "it is known";
  EXPECT_THAT(warnings(changes.try_tables({}, "t")), testing::IsEmpty());
}

}  // namespace
}  // namespace weir::app::operator_changes_test
