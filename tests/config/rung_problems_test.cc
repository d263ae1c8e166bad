#include "tests/config/golden_problems.h"

namespace weir::config::rung_problems_test {
namespace {

using namespace golden_problems;

TEST(Problems, of_rungs) {
  const std::string head = "    window: 10m\n";
  const std::vector<Mistake> rungs = {
      {"graylist without for", "{over: 5, do: graylist}"},
      {"neither threshold nor if", "{do: flag}"},
      {"over and at", "{over: 5, at: 6, do: flag}"},
      {"no action", "{over: 5}"},
      {"score alone", "{over: 5, score: 30}"},
      {"delay without hold", "{over: 5, do: delay}"},
      {"hold without delay", "{over: 5, do: flag, hold: 1s}"},
      {"for on a flag", "{over: 5, do: flag, for: 1h}"},
      {"list without for", "{over: 5, do: deny, list: x}"},
      {"forget without escalation", "{over: 5, do: deny, for: 1h, forget: 1d}"},
      {"escalation that shrinks", "{over: 5, do: deny, for: [1h, 5m]}"},
      {"for: window", "{over: 5, do: deny, for: window}"},
      {"status", "{over: 5, do: flag, status: 429}"},
      {"status range", "{over: 5, do: deny, status: 200}"},
      {"tell", "{over: 5, do: flag, tell: full}"},
      {"content type", "{over: 5, do: deny, body: x, content_type: html}"},
      {"score range", "{over: 5, do: flag, score: 0}"},
      {"unknown action", "{over: 5, do: hide}"},
      {"unknown key", "{ovr: 5, do: flag}"},
      {"not a map", "over"},
  };
  std::vector<std::string> texts;
  std::vector<Mistake> cases;
  for (const Mistake& c : rungs)
    texts.push_back(head + "    then:\n      - " + std::string(c.text) + "\n");
  for (std::size_t i = 0; i < rungs.size(); ++i) cases.push_back({rungs[i].name, texts[i]});
  expect_golden_policies("rungs.txt", cases);
}

TEST(Problems, of_modes_of_rungs) {
  expect_golden_policies("modes.txt", {
                                          {"enforced in a shadow policy",
                                           "    mode: shadow\n    window: 1h\n    then: [{over: 5, "
                                           "do: deny, mode: enforce}, {over: "
                                           "9, do: flag}]\n"},
                                          {"disabled in a shadow policy",
                                           "    mode: shadow\n    window: 1h\n    then: [{over: 5, "
                                           "do: deny, mode: disabled}, {over: "
                                           "9, do: flag}]\n"},
                                          {"shadow in an enforced policy",
                                           "    mode: enforce\n    window: 1h\n    then: [{over: "
                                           "5, do: deny, mode: shadow}, {over: "
                                           "9, do: flag, mode: enforce}]\n"},
                                      });
}

TEST(Problems, of_thresholds_that_can_never_hold) {
  expect_golden_policies(
      "unreachable.txt",
      {
          {"distinct over keep",
           "    metric: distinct(ip)\n    window: 1h\n    keep: 10\n    then: [{over: 10, do: "
           "flag}]\n"},
          {"distinct at keep holds",
           "    metric: distinct(ip)\n    window: 1h\n    keep: 10\n    then: [{at: 10, do: "
           "flag}]\n"},
          {"exact count over the default keep",
           "    window: {last: 1h, exact: true}\n    then: [{over: 1000, do: flag}]\n"},
          {"ring count has no keep", "    window: 1h\n    then: [{over: 1000, do: flag}]\n"},
          {"exact sum has no such bound",
           "    metric: sum(a)\n    window: {last: 1h, exact: true}\n    then: [{over: 100000, do: "
           "flag}]\n"},
          {"after a deny",
           "    window: 1h\n    then: [{over: 5, do: deny}, {over: 10, do: graylist, for: 1h}]\n"},
          {"at the deny's own value holds",
           "    window: 1h\n    then: [{over: 5, do: deny}, {at: 6, do: flag}]\n"},
          {"after a deny, with charge: always",
           "    charge: always\n    window: 1h\n    then: [{over: 5, do: deny}, {over: 10, do: "
           "flag}]\n"},
          {"after a deny in another window",
           "    window: 1h\n    then: [{over: 5, do: deny, in: 1m}, {over: 10, do: flag}]\n"},
          {"after a shadow deny",
           "    window: 1h\n    then: [{over: 5, do: deny, mode: shadow}, {over: 10, do: flag}]\n"},
          {"after a conditional deny",
           "    window: 1h\n    then: [{over: 5, if: 'x', do: deny}, {over: 10, do: flag}]\n"},
          {"a sum may jump",
           "    metric: sum(a)\n    window: 1h\n    then: [{over: 5, do: deny}, {over: 10, do: "
           "flag}]\n"},
      });
}

}  // namespace
}  // namespace weir::config::rung_problems_test
