#include <gmock/gmock.h>

#include "app/support/recipes.h"
#include "app/tools/cases/case_files.h"
#include "tests/app/program.h"
#include "tests/app/scratch.h"
#include "tests/support/golden.h"

/// `weir test` and `weir init`, and every recipe by its own cases.
namespace weir::app::cases_test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kPolicies = R"(weir: 1
notify: {pager: {log: true}}
events:
  login: {match: POST /login, fields: {user: body.user}}
  wrong: {is: login, when: status == 401}
lists: {office: {of: ip, kind: allow, entries: [10.0.0.0/8]}}
views: [{name: logins, watch: login, by: user, window: {every: 1m}, top: 2}]
policies:
  - {name: per-ip, watch: login, key: ip, window: 1m, then: [{over: 2, do: flag, score: 10}]}
  - {name: per-user, watch: wrong, key: user, window: 1h, then: [{over: 1, do: deny, for: 10m, tell: full, notify: pager}]}
)";

struct CasesTest : testing::Test {
  CasesTest() { scratch.write("weir.yaml", kPolicies); }
  /// The cases of one file in `steps`, run in this process.
  std::string run(const std::string& steps) {
    scratch.write("x_test.yaml", "config: weir.yaml\ncases:\n  - name: c\n    steps:\n" + steps);
    return cases_to_text({run_case_file(scratch / "x_test.yaml", {}, {}, {}, false)}, false, false);
  }
  Scratch scratch;
};

TEST_F(CasesTest, VerdictsValuesAndListsAreThoseOfTheProxy) {
  EXPECT_THAT(run(R"(
      - {request: POST /login, json: {user: anna}, answer: 401, expect: {verdict: pass, values: {per-ip: 1, per-user: 1}}}
      - {request: POST /login, json: {user: anna}, answer: 401, expect: {verdict: deny, by: per-user, rung: 0, value: 2, limit: 1, status: 429, headers: {RateLimit-Policy: '"per-user";q=1;w=3600'}, body: per-user, listed: {per-user: anna}, notified: {pager: 1}}}
      - {at: 5m, request: POST /login, json: {user: anna}, expect: {verdict: deny, by: 'per-user:deny'}}
      - {request: POST /login, json: {user: anna}, ip: 10.1.2.3, expect: {verdict: exempt, by: office}}
      - {at: 62m, request: POST /login, json: {user: anna}, answer: 200, expect: {verdict: pass, not_listed: {per-user: anna}}}
      - {request: POST /login, json: {user: b<n>}, repeat: 1, expect: pass}
      - {request: POST /login, json: {user: c<n>}, repeat: 2, expect: {verdict: flag, score: 10, upstream: {x-weir-verdict: flag}}}
      - {at: 2026-01-05T02:00:00Z, expect: {listed: {office: 10.9.9.9}, not_listed: {per-user: [anna, b1], office: 11.0.0.1}, notified: {pager: 1}}}
)"),
              HasSubstr("1 passed, 0 failed\n"));
}

TEST_F(CasesTest, APathThatTheProxyRefusesIsRefused) {
  scratch.write("weir.yaml", R"(weir: 1
events: {login: {match: POST /login}}
policies: [{name: p, watch: login, window: 1h, then: [{over: 1, do: deny, tell: full}]}]
)");
  EXPECT_THAT(run(R"(
      - {request: POST /login%2f, repeat: 3, expect: {verdict: refused, by: p, status: 400, body: '"field":"path"'}}
      - {request: GET /login%2f, expect: pass}
      - {request: POST /login, expect: {verdict: pass, values: {p: 1}}}
)"),
              HasSubstr("1 passed, 0 failed\n"));
}

/// Their readings would be the same without a store: case_store_test.cc checks that they
/// ask.
TEST_F(CasesTest, SharedPoliciesTakeTheSharedPath) {
  scratch.write("weir.yaml", R"(weir: 1
redis: {url: "redis://127.0.0.1:1", secret: s}
notify: {pager: {log: true}}
events:
  login: {match: POST /login, fields: {user: body.user}}
  wrong: {is: login, when: status == 401}
  order: {match: POST /order, fields: {user: body.user}}
  pay: {match: POST /pay, fields: {user: body.user}}
policies:
  - {name: wrong-per-user, watch: wrong, key: user, window: 1h, share: redis, on_error: deny, then: [{over: 1, do: deny, for: 10m}]}
  - {name: open, watch: login, key: user, metric: in_flight, share: redis, then: [{over: 1, do: deny}]}
  - {name: calls, watch: request, key: ip, window: 1m, share: {redis: {sync: 100ms}}, then: [{over: 6, do: flag}]}
  - {name: fast-pay, sequence: [order, pay], within: 5s, key: user, share: redis, then: [{do: flag, notify: pager}]}
  - {name: unpaid, sequence: [order, no pay], within: 15m, key: user, share: redis, then: [{do: graylist, for: 1d}]}
)");
  EXPECT_THAT(run(R"(
      - {request: POST /login, json: {user: anna}, answer: {status: 401, after: 2s}, expect: {verdict: pass, values: {wrong-per-user: 1, open: 1, calls: 1}}}
      - {at: 1s, request: POST /login, json: {user: anna}, expect: {verdict: deny, by: open, value: 2}}
      - {at: 3s, request: POST /login, json: {user: anna}, answer: 401, expect: {verdict: deny, by: wrong-per-user, value: 2, limit: 1, listed: {wrong-per-user: anna}}}
      - {at: 3s, request: POST /login, json: {user: b<n>}, repeat: 4, expect: {verdict: pass, values: {open: 1}}}
      - {at: 4s, request: POST /login, json: {user: carl}, expect: {verdict: pass, values: {calls: 6}}}
      - {at: 5s, request: POST /login, json: {user: carl}, expect: {verdict: flag, by: calls, value: 7}}
      - {at: 5m, request: POST /order, json: {user: dora}, expect: pass}
      - {at: 5m1s, request: POST /pay, json: {user: dora}, expect: {verdict: flag, by: fast-pay, notified: {pager: 1}, patterns: {fast-pay: 1}}}
      - {at: 10m, request: POST /order, json: {user: emil}, expect: {verdict: pass, patterns: {unpaid: 0}}}
      - {at: 25m1s, expect: {listed: {unpaid: emil}, not_listed: {unpaid: dora}, patterns: {unpaid: 1}}}
)"),
              HasSubstr("1 passed, 0 failed\n"));
}

TEST_F(CasesTest, GetCoversHead) {
  scratch.write("weir.yaml", R"(weir: 1
events: {page: {match: GET /p}, probe: {match: HEAD /p}}
policies:
  - {name: pages, watch: page, key: ip, window: 1h, then: [{over: 2, do: deny}]}
  - {name: probes, watch: probe, key: ip, window: 1h, then: [{over: 1, do: flag}]}
)");
  EXPECT_THAT(run(R"(
      - {request: HEAD /p, expect: {verdict: pass, values: {pages: 1, probes: 1}}}
      - {request: GET /p, expect: {verdict: pass, values: {pages: 2, probes: none}}}
      - {request: HEAD /p, expect: {verdict: deny, by: pages}}
)"),
              HasSubstr("1 passed, 0 failed\n"));
}

TEST_F(CasesTest, EventsAreReadAsTheEventApiReadsThem) {
  scratch.write("weir.yaml", R"(weir: 1
fields: {user: header.x_user}
events:
  login: {match: POST /login, fields: {name: body.username}}
  wrong: {is: login, when: status == 401}
lists: {banned: {of: user, kind: deny, entries: [mallory]}}
policies:
  - {name: per-ip, watch: request, key: ip, window: 1m, then: [{over: 3, do: flag}]}
  - {name: risky, watch: login, when: 'header.x_risk == "high"', key: name, window: 1m, then: [{over: 0, do: flag}]}
  - {name: failed, watch: wrong, key: name, window: 1m, then: [{over: 1, do: graylist, for: 1h}]}
)");
  EXPECT_THAT(run(R"(
      - {event: login, fields: {name: bob, ip: 198.51.100.7}, expect: {values: {per-ip: 1}}}
      - {event: login, fields: {name: bob, header: {x_user: mallory}}, expect: {verdict: deny, by: banned}}
      - {event: login, fields: {name: bob, header: {x_risk: high}}, expect: {verdict: flag, by: risky}}
      - {event: login, fields: {name: eve<n>, status: 401}, repeat: 2, expect: {not_listed: {failed: eve<n>}}}
      - {event: login, fields: {name: eve1, status: 401}, expect: {listed: {failed: eve1}}}
      - {event: login, fields: {name: eve2}, answer: 401, expect: {listed: {failed: eve2}}}
      - {event: request, fields: {method: POST, path: /login, body: {username: bob}, header: {x_risk: high}}, expect: flag}
)"),
              HasSubstr("1 passed, 0 failed\n"));
  const std::string text = run(R"(
      - {event: login, fields: {nmae: bob}, repeat: 5, expect: pass}
      - {event: login, fields: {name: bob, ip: nowhere}}
)");
  EXPECT_THAT(text,
              HasSubstr(":6:33: the event login has no field \"nmae\"; did you mean \"name\"?"));
  EXPECT_THAT(text, HasSubstr(":7:44: `ip` is not an IP address"));
}

TEST_F(CasesTest, AJsonAnswerIsOneWhereverItsHeadersStand) {
  scratch.write("weir.yaml", R"(weir: 1
events: {ask: {match: GET /ask}}
policies:
  - {name: cost, watch: ask, key: ip, metric: sum(response.body.usage), window: 1h, then: [{over: 10000, do: flag}]}
)");
  EXPECT_THAT(run(R"(
      - {request: GET /ask, answer: {json: {usage: 850}, headers: {X-Cost: "3.5"}}}
      - {request: GET /ask, answer: {headers: {X-Cost: "3.5"}, json: {usage: 100}}}
      - {request: GET /ask, answer: {json: {usage: 1}}, expect: {values: {cost: 950}}}
)"),
              HasSubstr("1 passed, 0 failed\n"));
}

// As the proxy reads it: a condition on the body follows `missing`, and a sum counts its `reserve`.
TEST_F(CasesTest, APartOfAnAnswerIsUnread) {
  scratch.write("weir.yaml", R"(weir: 1
events: {ask: {match: GET /ask}}
policies:
  - {name: cost, watch: ask, key: ip, metric: sum(response.body.usage), reserve: 7, window: 1h, then: [{over: 10000, do: flag}]}
  - {name: bad, watch: ask, key: ip, when: response.body.code == 1, missing: same, window: 1h, then: [{over: 100, do: flag}]}
)");
  EXPECT_THAT(run(R"(
      - {request: GET /ask, answer: {json: {usage: 1, code: 0}}}
      - {request: GET /ask, answer: {status: 204}}
      - {request: GET /ask, answer: {status: 206, json: {usage: 1, code: 0}}}
      - {request: GET /ask, answer: {status: 226, json: {usage: 1, code: 0}}}
      - {request: GET /ask, answer: 304}
      - {request: HEAD /ask, answer: {status: 204}}
      - {request: HEAD /ask, answer: 200}
      - {request: GET /ask, answer: {json: {usage: 1, code: 0}}, expect: {values: {cost: 36, bad: 5}}}
)"),
              HasSubstr("1 passed, 0 failed\n"));
}

TEST_F(CasesTest, RequestsAreInFlightUntilTheAppAnswers) {
  EXPECT_THAT(run(R"(
      - {request: POST /login, json: {user: anna}, answer: {status: 401, after: 400ms}, expect: pass}
      - {after: 100ms, request: POST /login, json: {user: anna}, answer: {status: 200, after: 5s}, expect: deny}
      - {request: POST /login, json: {user: bert}, ip: 10.0.0.1, answer: {status: 200, after: 400ms}, expect: exempt}
      - {request: POST /login, json: {user: carl}, ip: 198.51.100.1, answer: {status: 200, after: 400ms}, expect: pass}
      - {after: 100ms, request: POST /login, json: {user: carl}, ip: 198.51.100.1, answer: {status: 401, after: 400ms}, expect: pass}
      - {at: 1m, request: POST /login, json: {user: dora}, ip: 198.51.100.2, answer: failed}
      - {request: POST /login, json: {user: dora}, ip: 198.51.100.2, answer: aborted}
      - {request: POST /login, json: {user: dora}, ip: 198.51.100.3, expect: deny}
)"),
              HasSubstr("1 passed, 0 failed\n"));
}

TEST_F(CasesTest, ADisabledPolicyIsKnownAndJudgesNothing) {
  scratch.write("weir.yaml", R"(weir: 1
events: {login: {match: POST /login}, out: {match: POST /out}}
policies:
  - {name: loud, watch: login, key: ip, window: 1m, then: [{over: 9, do: flag}]}
  - {name: quiet, mode: disabled, watch: login, key: ip, window: 1m, then: [{over: 0, do: deny, for: 1h}]}
  - {name: twice, mode: disabled, sequence: [login, out], within: 5s, key: ip, then: [{do: flag}]}
  - {name: both, mode: disabled, watch: login, key: ip, metrics: {a: {watch: login, window: 1m}}, then: [{if: a > 0, do: deny}]}
)");
  EXPECT_THAT(run(R"(
      - {request: POST /login, expect: {verdict: pass, values: {loud: 1, quiet: none, both: none, both.a: none}}}
      - {request: POST /out, expect: {not_listed: {quiet: 203.0.113.7, 'quiet:deny': 203.0.113.7}, patterns: {twice: 0}}}
)"),
              HasSubstr("1 passed, 0 failed\n"));
  EXPECT_THAT(run("      - {request: POST /login, expect: {verdict: pass, by: quiet}}\n"),
              HasSubstr("expected a verdict by quiet, which is disabled, came pass"));
  EXPECT_THAT(run("      - {request: POST /login, expect: {values: {quiet: 1}}}\n"),
              HasSubstr("expected quiet to read 1, but it is disabled"));
  EXPECT_THAT(run("      - {expect: {listed: {quiet: 203.0.113.7}}}\n"),
              HasSubstr("expected 203.0.113.7 on quiet, which is disabled"));
  EXPECT_THAT(run("      - {expect: {patterns: {twice: 1}}}\n"),
              HasSubstr("expected 1 matches of twice, which is disabled, came 0"));
  EXPECT_THAT(run("      - {request: POST /login, expect: {by: q}}\n"),
              HasSubstr("there is no policy or list \"q\""));
  EXPECT_THAT(run("      - {request: POST /login, expect: {values: {quite: 1}}}\n"),
              HasSubstr("did you mean \"quiet\"?"));
}

TEST_F(CasesTest, HintsLeaveOutWhatWeirHasBuiltIn) {
  scratch.write("rules.yaml",
                "domain: shop\ndescriptors:\n  - {key: user, rate_limit: {unit: "
                "minute, requests_per_unit: 2}}\n");
  scratch.write("weir.yaml", "weir: 1\nratelimit: {files: rules.yaml}\n");
  const std::string text =
      run("      - {domain: shop, descriptors: {user: a}, expect: {by: x-y-z}}\n"
          "      - {event: x_y_z}\n");
  EXPECT_THAT(text, HasSubstr("there is no policy or list \"x-y-z\""));
  EXPECT_THAT(text, HasSubstr("allowed "));
  EXPECT_THAT(text, Not(HasSubstr("limit-override")));
  EXPECT_THAT(text, HasSubstr("there is no event \"x_y_z\""));
  EXPECT_THAT(text, Not(HasSubstr("limit override")));
  EXPECT_THAT(text, Not(HasSubstr("rate limit call")));
  // A call that brings a limit of its own is judged by such a policy.
  EXPECT_THAT(run("      - {domain: shop, descriptors: {user: a}, expect: {values: "
                  "{limit-override-minute: none}}}\n"),
              HasSubstr("1 passed"));
}

TEST_F(CasesTest, NamesThatTheConfigurationLacksAreToldBeforeACaseRuns) {
  std::string text = run(R"(
      - {request: POST /login, json: {user: anna}, expect: deny}
      - {request: GET /, expect: {by: per-pi, values: {per-usr: 1, per-ip: 2, pre-ip.orders: 3}}}
      - {request: GET /, expect: {by: ofice}}
      - {expect: {listed: {per-ip: x, per-user: y}, not_listed: {offce: z, nothing-like-it: z}}}
      - {expect: {notified: {pgr: 3, pager: 1}, views: {logons: {total: 1}, logins: {total: 1}}}}
      - {expect: {patterns: {per-ip: 0}}}
      - {event: logn, expect: pass}
      - {event: login, expect: {verdict: maybe}}
)");
  for (std::size_t at; (at = text.find(scratch.path())) != std::string::npos;) {
    text.erase(at, scratch.path().size() + 1);
  }
  EXPECT_EQ(test::compare_golden(WEIR_SOURCE_DIR, "app/cases_names.txt", text), "");
  // Also of cases that --case leaves out.
  const Outcome outcome =
      run_weir({"test", "x_test.yaml", "--case", "none of them"}, scratch.path());
  EXPECT_THAT(outcome.out + outcome.err, HasSubstr("\"logn\""));
}

TEST_F(CasesTest, ViewsShowWhatIsCompleteAndWhatIsRunning) {
  EXPECT_THAT(run(R"(
      - {request: POST /login, json: {user: anna}, repeat: 2}
      - {request: POST /login, json: {user: u<n>}, ip: 198.51.100.<n>, repeat: 3}
      - {at: 30s, expect: {views: {logins: {running: true, total: 5}}}}
      - {at: 60s, request: POST /login, json: {user: bert}, ip: 198.51.100.9}
      - {expect: {views: {logins: {end: 1m, total: 5, rows: [[anna, 2], [u1, 1]]}}}}
      - {at: 5m, expect: {views: {logins: {total: 1, rows: [[bert, 1]]}}}}
)"),
              HasSubstr("1 passed, 0 failed\n"));
  const std::string text = run(R"(
      - {request: POST /login, json: {user: anna}}
      - {expect: {views: {logins: {total: 1}}}}
      - {at: 2m, expect: {views: {logins: {running: true}}}}
      - {expect: {views: {logins: {end: 2m}}}}
      - {expect: {views: {logins: {total: 2}}}}
      - {expect: {views: {logins: {rows: [[anna, 2]]}}}}
      - {expect: {views: {logins: {rows: []}}}}
)");
  for (const char* said :
       {":7:27: the view logins has no complete window",
        ":8:35: the view logins has no running window",
        "the view logins has no complete window that ends at 2026-01-05T00:02:00.000Z",
        "expected the view logins to count 2 in all, came 1",
        "expected another row 1 of the view logins, came [[\"anna\",1]]",
        "expected 0 rows of the view logins, came [[\"anna\",1]]"}) {
    EXPECT_THAT(text, HasSubstr(said));
  }
}

TEST_F(CasesTest, PatternsMatchAndFireByTheCasesTime) {
  scratch.write("weir.yaml", R"(weir: 1
events:
  order: {match: POST /order, fields: {id: body.id}}
  pay:   {match: POST /pay, fields: {id: body.id}}
policies:
  - {name: unpaid, sequence: [order, no pay], within: 15m, key: id, then: [{do: graylist, for: 1h}]}
)");
  EXPECT_THAT(run(R"(
      - {request: POST /order, json: {id: o<n>}, repeat: 3}
      - {at: 10m, request: POST /pay, json: {id: o1}}
      - {at: 15m, request: POST /pay, json: {id: o2}, expect: {patterns: {unpaid: 0}}}
      - {at: 16m, expect: {patterns: {unpaid: [{kind: timeout, key: o3, at: 15m}]}, listed: {unpaid: o3}, not_listed: {unpaid: o1}}}
      - {at: 74m, expect: {patterns: {unpaid: 1}, listed: {unpaid: o3}}}
      - {at: 75m, expect: {not_listed: {unpaid: o3}}}
)"),
              HasSubstr("1 passed, 0 failed\n"));
  const std::string text = run(R"(
      - {request: POST /order, json: {id: o1}}
      - {at: 20m, expect: {patterns: {unpaid: 0}}}
      - {expect: {patterns: {unpaid: [{kind: matched}]}}}
      - {expect: {patterns: {unpaid: [{key: o2}]}}}
      - {expect: {patterns: {unpaid: [{at: 16m}]}}}
)");
  for (const char* said : {"expected 0 matches of unpaid, came 1: timeout o1 at 15m",
                           ":8:39: expected another match 1 of unpaid, came 1",
                           ":9:39: expected another match 1", ":10:39: expected another match 1"}) {
    EXPECT_THAT(text, HasSubstr(said));
  }
}

TEST_F(CasesTest, EveryKindOfFailureIsToldWithItsPlaceAndReason) {
  std::string text = run(R"(
      - {request: POST /login, json: {user: anna}, answer: 401, expect: flag}
      - {request: POST /login, json: {user: anna}, answer: 401, expect: {by: per-ip}}
      - {request: POST /login, json: {user: anna}, ip: 198.51.100.<n>, repeat: 3, expect: pass}
      - {request: POST /login, json: {user: bert}, expect: {rung: 1}}
      - {request: POST /login, json: {user: bert}, expect: {value: 7}}
      - {request: POST /login, json: {user: bert}, expect: {limit: 7}}
      - {request: POST /login, json: {user: bert}, expect: {status: 429}}
      - {request: POST /login, json: {user: bert}, expect: {score: 5}}
      - {request: POST /login, json: {user: bert}, expect: {hold: 5s}}
      - {request: POST /login, json: {user: bert}, expect: {upstream: {X-Weir-Verdict: gray}}}
      - {request: POST /login, json: {user: bert}, expect: {body: sorry}}
      - {request: POST /login, json: {user: bert}, expect: {values: {per-ip: 1}}}
      - {request: GET /, expect: {values: {per-ip: 1}}}
      - {expect: {listed: {per-user: bert}}}
      - {expect: {not_listed: {per-user: anna}}}
      - {expect: {listed: {office: nowhere}}}
      - {expect: {notified: {pager: 3}}}
      - {request: GET /a%zz, expect: pass}
      - {request: GET /, ip: x, expect: pass}
)");
  for (std::size_t at; (at = text.find(scratch.path())) != std::string::npos;) {
    text.erase(at, scratch.path().size() + 1);
  }
  EXPECT_EQ(test::compare_golden(WEIR_SOURCE_DIR, "app/cases_failed.txt", text), "");
}

TEST_F(CasesTest, ARefusedEventIsToldWithTheFieldThatCannotBeRead) {
  scratch.write("weir.yaml", R"(weir: 1
events: {pay: {match: POST /pay, fields: {user: body.user}}}
policies:
  - {name: gold, watch: pay, key: ip, metric: sum(int(header.x_gold)), window: 1h, then: [{over: 5, do: deny}]}
  - {name: user, watch: pay, key: user, window: 1h, mode: shadow, then: [{over: 5, do: deny}]}
)");
  const std::string text = run(R"(
      - {request: POST /pay, headers: {x-gold: "1e9"}, json: {user: a}, expect: pass}
      - {request: POST /pay, headers: {x-gold: "1"}, body: "{", expect: flag}
      - {request: POST /pay, ip: x, expect: pass}
)");
  EXPECT_THAT(text, HasSubstr("expected pass, came refused by gold\n"
                              "          of POST /pay at 0s\n"
                              "          gold: cannot read int(header.x_gold) ("));
  EXPECT_THAT(text, HasSubstr("user: cannot read user ("));
  EXPECT_THAT(text, HasSubstr("), in shadow mode\n"));
  EXPECT_THAT(text, Not(HasSubstr("no policy judged it")));
}

TEST_F(CasesTest, MistakesOfBothFilesAreToldAtOnce) {
  const auto told = [&](const std::string& head) {
    scratch.write("x_test.yaml",
                  head + "\ncases: [{name: c, steps: [{request: POST}, {reqest: GET /}]}]\n");
    return run_case_file(scratch / "x_test.yaml", {}, {}, {}, false).problems;
  };
  EXPECT_THAT(told("config: none.yaml"), HasSubstr("there is no configuration"));
  EXPECT_THAT(told("config: none.yaml"), HasSubstr("unknown key \"reqest\""));
  scratch.write("bad.yaml", "weir: 1\npolicys: []\n");
  EXPECT_THAT(told("config: bad.yaml"), HasSubstr("unknown key \"policys\""));
  EXPECT_THAT(told("config: bad.yaml"), HasSubstr("\"POST\" is not a request"));
  const std::string text = run(R"(
      - {at: 5s, request: GET /}
      - {at: 4s, request: GET /}
      - {at: 3s, request: GET /}
)");
  EXPECT_THAT(text, HasSubstr(":7:14: this is before the step above"));
  EXPECT_THAT(text, HasSubstr(":8:14: this is before the step above"));
}

TEST_F(CasesTest, TheProgramFindsCasesAndSaysHowManyPassed) {
  scratch.write("weir_test.yaml",
                "cases: [{name: right, steps: [{request: GET /, expect: pass}]}]\n");
  scratch.write(
      "other_test.yaml",
      "config: weir.yaml\ncases: [{name: wrong, steps: [{request: GET /, expect: deny}]}]\n");
  const auto weir = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "test");
    return run_weir(arguments, scratch.path());
  };
  Outcome outcome = weir({});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("expected deny, came pass"));
  EXPECT_TRUE(outcome.out.ends_with("1 passed, 1 failed\n")) << outcome.out;
  outcome = weir({"weir_test.yaml", "-v"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "ok    weir_test.yaml  1 case\n  ok    right\n1 passed, 0 failed\n");
  EXPECT_EQ(weir({"."}).code, 1);
  EXPECT_EQ(weir({".", "--case", "right"}).code, 0);
  outcome = weir({"weir_test.yaml", "--case", "rihgt"});
  EXPECT_EQ(outcome.code, 1) << "nothing has been tested";
  EXPECT_EQ(outcome.err, "weir: no case has \"rihgt\" in its name\n");
  outcome = weir({"-o", "json", "weir_test.yaml"});
  EXPECT_EQ(
      outcome.out,
      R"({"files":[{"path":"weir_test.yaml","config":"weir.yaml","cases":[{"name":"right","line":1,"ok":true,"failures":[]}]}],"passed":1,"failed":0})"
      "\n");
  outcome = weir({"missing_test.yaml"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("0 passed, 1 failed"));
  scratch.write("lost_test.yaml", "cases: [{name: a, steps: [{request: GET /}]}]\n");
  EXPECT_THAT(weir({"lost_test.yaml"}).out, HasSubstr("there is no configuration \"lost.yaml\""));
  EXPECT_EQ(weir({"lost_test.yaml", "-c", "weir.yaml"}).code, 0);
}

TEST_F(CasesTest, WithoutAMainFileCasesAreOfTheFileBesideThem) {
  const Scratch alone;
  alone.write("login.yaml", kPolicies);
  alone.write("login_test.yaml", "cases: [{name: a, steps: [{request: GET /, expect: pass}]}]\n");
  const Outcome outcome = run_weir({"test"}, alone.path());
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "ok    login_test.yaml  1 case\n1 passed, 0 failed\n");
}

TEST_F(CasesTest, IncludePatternsLeaveCaseFilesOut) {
  scratch.write("main.yaml", "weir: 1\ninclude: ['*.yaml']\n");
  scratch.write("weir_test.yaml", "cases: []\n");
  EXPECT_EQ(run_weir({"check", "main.yaml"}, scratch.path()).code, 0);
}

TEST_F(CasesTest, InitListsRecipesAndWritesOneWithItsCases) {
  Outcome outcome = run_weir({"init"}, scratch.path());
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("  login "));
  outcome = run_weir({"init", "login", "--dir", "made"}, scratch.path());
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(test::compare_golden(WEIR_SOURCE_DIR, "app/init.txt", outcome.out), "");
  EXPECT_EQ(scratch.read("made/login.yaml"), find_recipe("login")->text);
  EXPECT_EQ(run_weir({"test", "made"}, scratch.path()).code, 0);
  outcome = run_weir({"init", "login", "--dir", "made"}, scratch.path());
  EXPECT_EQ(outcome.code, 5);
  EXPECT_THAT(outcome.err, HasSubstr("made/login.yaml is there already"));
  scratch.write("made/login.yaml", "changed");
  EXPECT_EQ(run_weir({"init", "login", "--dir", "made", "--force"}, scratch.path()).code, 0);
  EXPECT_EQ(scratch.read("made/login.yaml"), find_recipe("login")->text);
  outcome = run_weir({"init", "logn"}, scratch.path());
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("did you mean \"login\"?"));
}

class RecipeTest : public testing::TestWithParam<std::string> {};

TEST_P(RecipeTest, LoadsWithoutAWordAndPassesItsCases) {
  const Recipe& recipe = *find_recipe(GetParam());
  EXPECT_FALSE(recipe.about.empty()) << "its second line is a comment that says what it is for";
  ASSERT_FALSE(recipe.case_text.empty()) << "a recipe has cases";
  const std::string file = recipe.name + ".yaml";
  const Configuration configuration = compile(config::load_text(file, recipe.text));
  const std::string problems =
      config::render_human(configuration.loaded.problems, configuration.loaded.views(), false);
  EXPECT_TRUE(configuration.good()) << problems;
  // A warning is intended: the recipe says why it is there.
  EXPECT_EQ(!problems.empty(), recipe.text.find("`weir check` warns") != std::string_view::npos)
      << problems;
  const CaseFileResult result = run_case_text(
      recipe.name + "_test.yaml", std::string(recipe.case_text), configuration, {}, false);
  EXPECT_GE(result.cases.size(), 1U);
  EXPECT_EQ(result.failed(), 0U) << cases_to_text({result}, false, false);
  std::size_t expectations = 0;
  for (std::size_t at = 0; (at = recipe.case_text.find("expect:", at)) != std::string_view::npos;
       ++at) {
    ++expectations;
  }
  EXPECT_GE(expectations, 2U);
}

TEST(Recipes, go_together_all_of_them) {
  std::vector<config::SourceText> texts{{"dev_defaults.yaml", std::string(dev_defaults())}};
  for (const Recipe& recipe : recipes())
    texts.push_back({"recipes/" + recipe.name + ".yaml", std::string(recipe.text)});
  const Configuration configuration = compile(config::load_texts(std::move(texts)));
  EXPECT_TRUE(configuration.good())
      << config::render_human(configuration.loaded.problems, configuration.loaded.views(), false);
}

std::vector<std::string> recipe_names() {
  std::vector<std::string> out;
  for (const Recipe& recipe : recipes()) out.push_back(recipe.name);
  return out;
}
INSTANTIATE_TEST_SUITE_P(All, RecipeTest, testing::ValuesIn(recipe_names()),
                         [](const auto& one) { return one.param; });

TEST(Recipes, ThePageInTheDocsNamesEachOfThem) {
  std::string page;
  if (FILE* file = std::fopen(WEIR_SOURCE_DIR "/docs/recipes.md", "rb")) {
    char buffer[4096];
    for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, file)) > 0;)
      page.append(buffer, n);
    std::fclose(file);
  }
  for (const Recipe& recipe : recipes()) {
    EXPECT_THAT(page, HasSubstr("(../config/recipes/" + recipe.name + ".yaml)"));
  }
}

}  // namespace
}  // namespace weir::app::cases_test
