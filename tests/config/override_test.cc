#include "config/override.h"

#include <gtest/gtest.h>

#include "config/load.h"

namespace weir::config::override_test {
namespace {

Model model() {
  Loaded loaded = load_text("weir.yaml", R"(weir: 1
policies:
  - name: ladder
    watch: request
    key: ip
    window: 10m
    then:
      - {over: 5, do: flag}
      - {over: 10, do: graylist, for: 15m, mode: disabled}
      - {over: 50, do: deny, for: 1h}
  - {name: single, watch: request, key: ip, window: 1m, then: [{over: 5, do: deny}]}
  - {name: trial, watch: request, key: ip, window: 1m, mode: shadow, then: [{over: 5, do: deny}]}
)");
  EXPECT_TRUE(loaded.model);
  return std::move(*loaded.model);
}

Number limit_of(const Rung& rung) { return std::get<Located<Number>>(rung.limit).value; }

Override of(const char* policy, std::optional<Mode> mode,
            std::vector<Override::Limit> limits = {}) {
  Override out;
  out.policy = policy;
  out.mode = mode;
  out.limits = std::move(limits);
  return out;
}

TEST(Override, SetsTheOneThresholdThatIsMeant) {
  for (const char* rung : {"over", "1.over", "deny.over"}) {
    Model changed = model();
    EXPECT_EQ(apply(of("single", {}, {{rung, 20}}), changed), "") << rung;
    EXPECT_EQ(limit_of(changed.policies[1].then[0]), Number(20)) << rung;
  }
  Model changed = model();
  EXPECT_EQ(apply(of("ladder", {}, {{"deny.over", 60}, {"1.over", 6}}), changed), "");
  EXPECT_EQ(limit_of(changed.policies[0].then[0]), Number(6));
  EXPECT_EQ(limit_of(changed.policies[0].then[2]), Number(60));
}

TEST(Override, LimitsThatAWindowCannotReadAreNamedButKept) {
  Loaded loaded = load_text("weir.yaml", R"(weir: 1
policies:
  - {name: last, watch: request, key: ip, window: {events: 5}, then: [{over: 3, do: deny}]}
  - name: quiet
    watch: request
    key: ip
    window: {last: 1h, exact: true}
    keep: 50
    then: [{under: 5, do: flag}, {over: 20, do: deny}]
  - {name: paced, watch: request, key: ip, window: {leaky: 3, drain: 1s}, then: [{over: 2, do: deny}]}
)");
  ASSERT_TRUE(loaded.model);
  const auto refusal = [&](const char* policy, const char* rung, Number limit) {
    Model changed = *loaded.model;
    // A reload may lower the window under an override that is in force: the files' limit holds.
    EXPECT_EQ(apply(of(policy, {}, {{rung, limit}}), changed), "");
    const std::string beyond = limit_beyond_window(of(policy, {}, {{rung, limit}}), *loaded.model);
    Rung* found = nullptr;
    for (PolicyDef& each : changed.policies) {
      if (each.name.value != policy) continue;
      EXPECT_EQ(find_threshold(rung, each, found), "");
      EXPECT_EQ(limit_of(*found) == limit, beyond.empty());
    }
    return beyond;
  };
  EXPECT_EQ(refusal("last", "over", 4), "");
  EXPECT_EQ(refusal("last", "over", 5),
            "\"over=5\" can never hold: the window has at most 5 events");
  EXPECT_EQ(refusal("quiet", "under", 50), "");
  EXPECT_EQ(refusal("quiet", "under", 100'000),
            "\"under=100000\" always holds: this metric reads at most keep, which is 50");
  EXPECT_EQ(refusal("quiet", "over", 50),
            "\"over=50\" can never hold: this metric reads at most keep, which is 50");
  EXPECT_EQ(refusal("paced", "over", 3), "");
  EXPECT_EQ(refusal("paced", "over", 4), "");  // a warning in a file: it silences the rung
}

TEST(Override, SaysWhichThresholdsThereAre) {
  Model changed = model();
  EXPECT_EQ(apply(of("ladder", {}, {{"over", 20}}), changed),
            "\"over\" means several rungs of this policy: say which one: 1.over=5 (flag), "
            "2.over=10 (graylist), 3.over=50 (deny)");
  EXPECT_EQ(apply(of("single", {}, {{"under", 20}}), changed),
            "\"under\" means no rung of this policy; there are 1.over=5 (deny)");
  EXPECT_EQ(apply(of("nobody", Mode::shadow), changed), "there is no policy of that name");
}

Model ladder(const std::string& rungs) {
  Loaded loaded =
      load_text("weir.yaml",
                "weir: 1\nlists: {grey: {of: ip, kind: gray, effect: none}}\npolicies:\n"
                "  - {name: p, watch: request, key: ip, window: 10m, then: [" +
                    rungs + "]}\n");
  EXPECT_TRUE(loaded.model) << rungs;
  return std::move(*loaded.model);
}

TEST(Override, FollowsItsRung) {
  const auto gray = [](int over, const char* length) {
    return "{over: " + std::to_string(over) + ", do: graylist, list: grey, for: " + length + "}";
  };
  const std::string two = "{over: 5, do: flag}, {over: 10, do: deny}";
  const std::string like = gray(5, "1m") + ", " + gray(10, "5m");
  const std::string same = "{over: 9, in: 1m, do: deny}, {over: 9, in: 10m, do: deny}";
  struct Row {
    std::string before;
    const char* rung;
    std::string after;
    std::size_t
        index;  // of the rung in `after` that has the threshold; 9: the override does not fit
  };
  const Row rows[] = {
      {two, "2.over", "{over: 5, do: flag}, " + gray(8, "1m") + ", {over: 10, do: deny}", 2},
      {two, "2.over", "{over: 12, do: deny}", 0},
      {two, "2.over", "{over: 5, do: flag}", 9},
      {like, "2.over", gray(2, "1m") + ", " + gray(5, "1m") + ", " + gray(10, "5m"), 2},
      {like, "1.over", gray(10, "5m"), 9},
      {like, "1.over", gray(6, "1m") + ", " + gray(12, "5m"), 9},
      {same, "2.over", same, 1},
      {"{over: 3, do: deny}", "over", "{over: 2, do: flag}, {over: 3, do: deny}", 1},
      {"{over: 3, do: deny}", "over", "{over: 2, do: flag}, {over: 4, do: deny}", 1},
      {"{over: 3, do: deny}", "over", "{over: 3, do: deny}, {over: 9, in: 1h, do: deny}", 0},
      {"{over: 3, do: flag}", "over", "{over: 3, do: deny}", 0},
      {"{over: 3, do: deny}", "over", "{over: 2, do: flag}, " + gray(4, "1m"), 9},
      {two, "deny.over", "{over: 10, do: deny}, {over: 50, in: 1h, do: deny}", 0},
      {"{at: 5, do: flag}, {over: 9, do: deny}", "1.over", "{at: 5, do: flag}, {over: 9, do: deny}",
       9},
  };
  for (const Row& row : rows) {
    Override change = of("p", {}, {{row.rung, 30}});
    note_rungs(change, ladder(row.before));
    Model after = ladder(row.after);
    const std::string wrong = apply(change, after);
    EXPECT_EQ(wrong.empty(), row.index != 9) << wrong << " of " << row.after;
    for (std::size_t i = 0; i < after.policies[0].then.size(); ++i)
      EXPECT_EQ(limit_of(after.policies[0].then[i]) == Number(30), i == row.index) << row.after;
  }
  Override both = of("p", {}, {{"1.over", 10}, {"2.over", 20}});
  note_rungs(both, ladder(rows[3].before));
  Model changed = ladder(rows[3].before);
  EXPECT_EQ(apply(both, changed), "") << "one gets the threshold that the other has in the files";
  EXPECT_EQ(limit_of(changed.policies[0].then[0]), Number(10));
  EXPECT_EQ(limit_of(changed.policies[0].then[1]), Number(20));
}

TEST(Override, GivesARungOneThreshold) {
  Model changed = model();
  EXPECT_EQ(apply(of("ladder", {}, {{"deny.over", 50}, {"3.over", 30}}), changed),
            "\"3.over\" means a rung that another threshold is given for");
}

TEST(Override, SilenceLeavesThePolicyItsCounters) {
  Model changed = model();
  EXPECT_EQ(apply(of("ladder", Mode::shadow), changed), "");
  EXPECT_EQ(changed.policies[0].mode.value, Mode::enforce);
  EXPECT_EQ(changed.policies[0].then[0].mode->value, Mode::shadow);
  EXPECT_EQ(changed.policies[0].then[1].mode->value, Mode::disabled);
  EXPECT_EQ(apply(of("trial", Mode::enforce), changed), "");
  EXPECT_EQ(changed.policies[2].mode.value, Mode::enforce);
  EXPECT_EQ(apply(of("single", Mode::disabled), changed), "");
  EXPECT_EQ(changed.policies[1].mode.value, Mode::disabled);
}

TEST(Override, IsToldInWords) {
  EXPECT_EQ(override_text(of("p", Mode::shadow, {{"over", 20}})), "shadow, over=20");
  EXPECT_EQ(override_text(of("p", {}, {{"deny.over", 1}, {"1.over", 2}})), "deny.over=1, 1.over=2");
}

}  // namespace
}  // namespace weir::config::override_test
