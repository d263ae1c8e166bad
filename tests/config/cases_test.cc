#include "config/cases.h"

#include <gtest/gtest.h>

#include "config/text/render.h"
#include "tests/support/golden.h"

/// The files of `weir test`: their content and their errors.
namespace weir::config::cases_test {
namespace {

CaseFile read(const std::string& text) {
  Problems problems;
  CaseFile out = parse_cases(text, 0, problems);
  EXPECT_EQ(render_human(problems, {{"x_test.yaml", text}}, false), "");
  return out;
}

TEST(Cases, AreReadWithTheirPlaces) {
  const CaseFile file = read(R"(weir: 1
config: weir.yaml
start: 2026-03-01
cases:
  - name: one
    start: 2026-03-02T08:00:00+08:00
    steps:
      - at: 5s
        request: POST /login?x=<n>
        headers: {X-User: u<n>}
        json: {user: anna, n: <n>, list: [1, 'x', true, null, 1.5]}
        ip: 198.51.100.<n>
        answer: {status: 401, headers: {X-Cost: 5}, json: {usage: 7}, after: 2s}
        repeat: 3
        every: 10s
        expect:
          verdict: deny
          by: p
          rung: 1
          value: <n>
          limit: 5
          status: 429
          score: 30
          hold: 2s
          upstream: {X-Weir-Verdict: flag}
          headers: {Retry-After: 60}
          body: 'over'
          values: {p: 3, 'p.orders': none}
          listed: {p: 198.51.100.1, pairs: [[anna, ad1]]}
          not_listed: {p: [a, b]}
          notified: {pager: 2}
          patterns: {twice: 2, unpaid: [{kind: timeout, key: o1, at: 15m}, {key: [a, b]}]}
          views:
            hot: {end: 5m, total: 7, rows: [[a, b, 3], [c, d, 2.5]]}
            visitors: {running: true}
  - name: two
    steps:
      - {after: 1m, event: order, fields: {id: 7, note: 'a "b"'}, answer: aborted}
      - {request: GET /, form: {a b: c&d}, answer: {end: failed}, expect: pass}
      - {request: PUT /, body: 'plain', answer: {body: text}}
      - {expect: {not_listed: {p: x}}}
)");
  ASSERT_EQ(file.cases.size(), 2U);
  EXPECT_EQ(file.config->value, "weir.yaml");
  EXPECT_EQ(to_ms(file.start->value), 1'772'323'200'000);
  EXPECT_EQ(to_ms(file.cases[0].start->value), 1'772'409'600'000);
  const CaseStep& step = file.cases[0].steps.at(0);
  EXPECT_EQ(step.where.line, 8U);
  EXPECT_EQ(step.at->value, "5s");
  EXPECT_EQ(step.request->value, "POST /login?x=<n>");
  EXPECT_EQ(step.body->value, R"({"user":"anna","n":<n>,"list":[1,"x",true,null,1.5]})");
  EXPECT_EQ(step.content_type, "application/json");
  EXPECT_EQ(step.repeat, 3);
  EXPECT_EQ(step.every, milliseconds(10'000));
  EXPECT_EQ(step.answer.status, 401);
  EXPECT_EQ(step.answer.after, milliseconds(2'000));
  EXPECT_EQ(step.answer.body->value, R"({"usage":7})");
  EXPECT_EQ(step.answer.headers.size(), 2U);
  const CaseExpect& expect = *step.expect;
  EXPECT_TRUE(expect.asks_event());
  EXPECT_EQ(expect.verdict->value, "deny");
  EXPECT_EQ(expect.rung->value, 1);
  EXPECT_EQ(expect.hold->value, milliseconds(2'000));
  EXPECT_EQ(expect.values.at(1).second.value, "none");
  ASSERT_EQ(expect.listed.size(), 2U);
  EXPECT_EQ(expect.listed[1].key.at(1).value, "ad1");
  EXPECT_EQ(expect.not_listed.size(), 2U);
  EXPECT_EQ(expect.notified.at(0).second, 2U);
  ASSERT_EQ(expect.patterns.size(), 2U);
  EXPECT_EQ(*expect.patterns[0].count, 2U);
  EXPECT_EQ(expect.patterns[1].matches.at(0).kind->value, "timeout");
  EXPECT_EQ(expect.patterns[1].matches.at(0).at->value, "15m");
  EXPECT_EQ(expect.patterns[1].matches.at(1).key.at(1).value, "b");
  ASSERT_EQ(expect.views.size(), 2U);
  EXPECT_EQ(expect.views[0].end->value, "5m");
  EXPECT_EQ(expect.views[0].total->value, "7");
  EXPECT_EQ(expect.views[0].rows->at(1).parts.at(2).value, "2.5");
  EXPECT_TRUE(expect.views[1].running);
  const std::vector<CaseStep>& steps = file.cases[1].steps;
  EXPECT_EQ(steps.at(0).answer.end, CaseAnswer::End::aborted);
  EXPECT_EQ(steps.at(0).fields.at(1).second.value, R"("a \"b\"")");
  EXPECT_EQ(steps.at(1).body->value, "a%20b=c%26d");
  EXPECT_EQ(steps.at(1).answer.end, CaseAnswer::End::failed);
  EXPECT_EQ(steps.at(2).answer.body->value, "text");
  EXPECT_FALSE(steps.at(3).expect->asks_event());
}

TEST(Cases, EveryMistakeIsToldAtItsPlace) {
  const std::string text = R"(case: []
weir: 2
cases:
  - stps: []
  - name: y
    start: noon
    steps:
      - {requst: POST /x}
      - {request: /x, expect: flagged}
      - {request: GET /x, event: y}
      - {at: soon, after: 5s, request: GET /}
      - {at: 1s, after: 5s, request: GET /}
      - {after: 1s}
      - {event: y, ip: 1.2.3.4, json: {a: 1}}
      - {request: GET /, fields: {a: 1}, json: {}, form: {a: b}}
      - {expect: {verdict: pass, listed: [a], notified: {x: many}}}
      - {request: GET /, repeat: 0, every: 5, answer: {statuss: 3, end: never}}
      - {request: GET /, answer: maybe}
      - {request: GET /, expect: {status: 200, rung: -1, score: x, hold: 2}}
      - {expect: deny}
      - {expect: {patterns: {a: many, b: [{kind: done, keys: x, at: soon}], c: {}}}}
      - {request: GET /, expect: 200}
      - {request: GET /, expect: blocked}
      - {request: GET /, expect: {action: deny, policy: p}}
      - {request: GET /, status: 200, wait: 60s}
      - {expect: {views: {hot: {end: soon, ruws: [], running: maybe, rows: 3}, cold: 5}}}
  - {name: z, steps: }
  - name: words at another level
    request: POST /login
    response: 401
    policy: per-ip
    body: x
    expect: deny
    steps:
      - {request: GET /, response: 401, policy: per-ip, verdict: deny}
      - {request: GET /, answer: {code: 401, expect: pass}}
      - {request: GET /, expect: {answer: 200, policy: per-ip, request: GET /}}
      - {request: GET /, expect: {status: 101}}
      - {request: GET /, expect: {status: 99}}
policies: []
steps: []
)";
  Problems problems;
  parse_cases(text, 0, problems);
  EXPECT_EQ(test::compare_golden(WEIR_SOURCE_DIR, "config/cases.txt",
                                 render_human(problems, {{"x_test.yaml", text}}, false)),
            "");
  Problems empty;
  parse_cases("", 0, empty);
  EXPECT_EQ(empty.errors(), 1U);
}

}  // namespace
}  // namespace weir::config::cases_test
