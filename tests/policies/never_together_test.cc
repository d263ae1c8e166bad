#include <random>
#include <string>
#include <vector>

#include "tests/policies/expr_support.h"

/// Chains of `&&` that leave no value: the warning, and that it is right. A part that never holds
/// is evaluated for every value of a small domain.
namespace weir::policies::test::never_together_test {
namespace {

struct Case {
  const char* text;
  const char* report;  ///< `COLUMN+LENGTH: message | hint`; empty: nothing is said
};

std::string said_of(const std::string& text) {
  SlotTable table;
  Scope scope(table, "login");
  scope.fields["user"] = table.computed(*compiled("header.x_user", scope));
  config::Problems problems;
  EXPECT_TRUE(compile_condition(text_at(text), scope, problems)) << text << report(problems);
  std::string out = report(problems);
  for (std::size_t at = 0; (at = out.find("warning ", at)) != std::string::npos;) out.erase(at, 8);
  if (!out.empty()) out.pop_back();
  return out;
}

class NeverTogether : public ::testing::TestWithParam<Case> {};

TEST_P(NeverTogether, says_which_tests_exclude_each_other) {
  EXPECT_EQ(said_of(GetParam().text), GetParam().report) << GetParam().text;
}

constexpr Case kNever[] = {
    {"status > 599", "1+12: status > 599 never holds: a status is between 100 and 599"},
    {"status < 100", "1+12: status < 100 never holds: a status is between 100 and 599"},
    {"600 <= status", "1+13: 600 <= status never holds: a status is between 100 and 599"},
    {"path == '/a' && status >= 600",
     "17+13: status >= 600 never holds: a status is between 100 and 599"},
    {"path == '/a' or status >= 600",
     "17+13: status >= 600 never holds: a status is between 100 and 599"},
    {"hour('UTC') > 23", "1+16: hour('UTC') > 23 never holds: an hour is between 0 and 23"},
    {"weekday('UTC') >= 7",
     "1+19: weekday('UTC') >= 7 never holds: a day of the week is between 0, for Sunday, and 6"},
    {"size(user) < 0", "1+14: size(user) < 0 never holds: a size is at least 0"},
    {"user == 'a' && user == 'b'",
     "16+11: user == 'a' and user == 'b' never hold together | write user in ['a', 'b'], if "
     "either is enough"},
    {"'a' == user and path == '/x' and (user == 'b' and ip == '10.0.0.1')",
     "35+11: 'a' == user and user == 'b' never hold together | write user in ['a', 'b'], if "
     "either is enough"},
    {"status == 401 && status == 403",
     "18+13: status == 401 and status == 403 never hold together | write status in [401, 403], if "
     "either is enough"},
    {"status == 401 && status == 401.0", ""},
    {"status > 499 && status < 400",
     "17+12: status > 499 and status < 400 never hold together | join them by or, if either is "
     "enough"},
    {"status > 400 && status < 401",
     "17+12: status > 400 and status < 401 never hold together | join them by or, if either is "
     "enough"},
    {"double(user) > 400.0 && double(user) < 401.0", ""},
    {"status in [401, 403] && status == 200",
     "25+13: status in [401, 403] and status == 200 never hold together | join them by or, if "
     "either is enough"},
    {"status in [401, 403] && status != 401 && status != 403",
     "1+54: no value of status passes all of these tests: status in [401, 403], status != 401, "
     "status != 403 | leave one of them out, or join them by or"},
    {"status > 400 && status < 403 && status != 401 && status != 402",
     "1+62: no value of status passes all of these tests: status > 400, status < 403, status != "
     "401, status != 402 | leave one of them out, or join them by or"},
    {"status == 500 && status < 500",
     "18+12: status == 500 and status < 500 never hold together | join them by or, if either is "
     "enough"},
    {"user == 'a' && !(user == 'a')",
     "16+14: user == 'a' and !(user == 'a') never hold together | join them by or, if either is "
     "enough"},
    {"user > 'm' && user < 'b'",
     "15+10: user > 'm' and user < 'b' never hold together | join them by or, if either is "
     "enough"},
    {"body.x == 1 && body.x == '1'",
     "16+13: body.x == 1 and body.x == '1' never hold together | write body.x in [1, '1'], if "
     "either is enough"},
    {"body.flag && !body.flag",
     "14+10: body.flag and !body.flag never hold together | join them by or, if either is "
     "enough"},
    {"path.startsWith('/a') && not path.startsWith('/a')",
     "26+25: path.startsWith('/a') and not path.startsWith('/a') never hold together | join them "
     "by or, if either is enough"},
    {"ip == '10.0.0.1' && ip == '10.0.0.2'",
     "21+16: ip == '10.0.0.1' and ip == '10.0.0.2' never hold together | write ip in "
     "['10.0.0.1', '10.0.0.2'], if either is enough"},
    {"body.x == null && body.x > 5",
     "19+10: body.x == null and body.x > 5 never hold together | join them by or, if either is "
     "enough"},
    {"path == '/a' ? status > 599 : status > 5",
     "16+12: status > 599 never holds: a status is between 100 and 599"},
};

constexpr Case kMayHold[] = {
    {"status >= 100 && status <= 599", ""},
    {"status >= 500 && status < 600", ""},
    {"user == 'a' or user == 'b'", ""},
    {"(user == 'a' && path == '/x') or (user == 'b' && path == '/y')", ""},
    {"user != 'a' && user != 'b'", ""},
    {"user != null && user == 'b'", ""},
    {"user == 'a' && path == '/b'", ""},
    {"user == 'a' && user in ['a', 'b']", ""},
    {"body.x == '10.0.0.1' && body.x == address('10.0.0.1')", ""},
    {"ip == '10.0.0.1' && ip == '::ffff:10.0.0.1'", ""},
    {"body.x < 5 && body.x > 4", ""},
    {"!(double(user) < 5.0) && !(double(user) >= 5.0)", ""},
    {"user > 'a' && user < 'b'", ""},
    {"user > 'a' && size(user) > 5 && size(user) < 7", ""},
    {"user == 'a' && user.lowerAscii() == 'b'", ""},
    {"hour('UTC') >= 22 && hour('Asia/Shanghai') < 8", ""},
    {"body.a == 1 && body.b == 2", ""},
    {"body.flag && body.x == 1", ""},
};

INSTANTIATE_TEST_SUITE_P(Never, NeverTogether, ::testing::ValuesIn(kNever));
INSTANTIATE_TEST_SUITE_P(MayHold, NeverTogether, ::testing::ValuesIn(kMayHold));

/// A chain over one subject, and whether each value of a domain passes it.
class Random {
 public:
  /// `plain`: without `in`, and joined by `&&` alone.
  explicit Random(std::uint32_t seed, bool plain = false) : rng_(seed), plain_(plain) {}

  template <class T>
  const T& pick(const std::vector<T>& of) {
    return of[std::uniform_int_distribution<std::size_t>(0, of.size() - 1)(rng_)];
  }
  std::string chain(const std::string& subject, const std::vector<std::string>& literals) {
    const int tests = std::uniform_int_distribution<int>(1, 4)(rng_);
    std::string out;
    for (int i = 0; i < tests; ++i) {
      if (i > 0) out += plain_ ? " && " : pick<std::string>({" && ", " and "});
      out += test(subject, literals);
    }
    return out;
  }

 private:
  std::string test(const std::string& subject, const std::vector<std::string>& literals) {
    static const std::vector<std::string> kOps = {"==", "==", "!=", "<", "<=", ">", ">="};
    const int form = std::uniform_int_distribution<int>(plain_ ? 2 : 0, 9)(rng_);
    std::string out;
    if (form == 0) {
      out = subject + " in [" + pick(literals) + ", " + pick(literals) + "]";
    } else if (form == 1) {
      return "not (" + subject + " in [" + pick(literals) + ", " + pick(literals) + "])";
    } else if (form == 2) {
      out = pick(literals) + " " + pick(kOps) + " " + subject;
    } else {
      out = subject + " " + pick(kOps) + " " + pick(literals);
    }
    return std::uniform_int_distribution<int>(0, 4)(rng_) == 0 ? "!(" + out + ")" : out;
  }

  std::mt19937 rng_;
  bool plain_;
};

/// Whether the condition holds for a request with this body.
bool holds(const Expression& condition, const SlotTable& table, const std::string& body) {
  RequestData data;
  data.body(body);
  Frame frame;
  frame.begin(table, data.request, nullptr);
  return condition.eval(frame).is_true();
}

struct Domain {
  const char* subject;
  std::vector<std::string> literals;
  std::vector<std::string> values;  ///< JSON of `x`; empty: it is missing
  bool exact;                       ///< a chain that passes none of the values has to be warned of
};

const std::vector<std::string> kIntegers = {"",  "null", "\"x\"", "-1", "0", "1", "2",  "3",
                                            "4", "5",    "6",     "7",  "8", "9", "2.0"};

TEST(NeverTogetherRandom, TheWarningIsRightAndMissesNothingThatLiteralsDecide) {
  const Domain domains[] = {
      {"int(body.x)", {"0", "1", "2", "4", "5", "7", "3"}, kIntegers, true},
      {"string(body.x)",
       {"'b'", "'d'", "'f'", "''"},
       {"", "\"\"", "\"a\"", "\"b\"", "\"ba\"", "\"c\"", "\"d\"", "\"da\"", "\"e\"", "\"f\"",
        "\"g\""},
       true},
      {"body.x",
       {"1", "2", "2.5", "'a'", "'c'", "true", "false", "null"},
       {"", "null", "true", "false", "0", "1", "1.5", "2", "2.0", "2.2", "2.5", "3", "\"a\"",
        "\"b\"", "\"c\"", "\"d\"", "[1]", "{}", "\"10.0.0.1\""},
       false},
      {"double(body.x)",
       {"1.0", "2.0", "2.5", "4.0"},
       {"", "0", "1", "1.5", "2", "2.2", "2.5", "3", "4", "5", "\"nan\"", "\"inf\""},
       true},
  };
  const auto seed = static_cast<std::uint32_t>(std::random_device{}());
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (const Domain& domain : domains) {
    int warned = 0, missed = 0;
    for (int round = 0; round < 3'000; ++round) {
      const std::string text = random.chain(domain.subject, domain.literals);
      SlotTable table;
      Scope scope(table, "login");
      config::Problems problems;
      const auto condition = compile_condition(text_at(text), scope, problems);
      ASSERT_TRUE(condition) << text << report(problems);
      const std::string said = report(problems);
      const bool never = std::any_of(
          problems.all().begin(), problems.all().end(), [&](const config::Problem& problem) {
            // Of a test below `!` the warning is right as well, and the chain may hold.
            const bool negated = problem.where.column > 1 && text[problem.where.column - 2] == '(';
            return problem.message.find("never hold together") != std::string::npos ||
                   problem.message.find("no value of") != std::string::npos ||
                   (problem.message.find("never holds") != std::string::npos && !negated);
          });
      std::string passes;
      for (const std::string& value : domain.values) {
        if (holds(*condition, table, value.empty() ? "{}" : "{\"x\": " + value + "}"))
          passes = value.empty() ? "(missing)" : value;
      }
      warned += never ? 1 : 0;
      if (never) {
        ASSERT_EQ(passes, "") << text << "\n" << said;
      } else if (passes.empty()) {
        ++missed;
        if (domain.exact) ADD_FAILURE() << text << " holds for no value, and nothing is said";
      }
    }
    EXPECT_GT(warned, 300) << domain.subject;
    EXPECT_LT(missed, 300) << domain.subject;
  }
}

/// Tests of several fields, or joined by or: never a word about what may hold.
TEST(NeverTogetherRandom, ConditionsOfAnyShapeThatHoldForSomethingAreNotWarnedOf) {
  const auto seed = static_cast<std::uint32_t>(std::random_device{}());
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed, true);
  const std::vector<std::string> literals = {"1", "2", "'a'", "null"};
  const std::vector<std::string> values = {"1", "2", "3", "\"a\"", "\"b\"", "null"};
  for (int round = 0; round < 3'000; ++round) {
    const auto part = [&] {
      return "(" + random.chain(random.pick<std::string>({"body.x", "body.y"}), literals) + ")";
    };
    std::string text = part();
    for (int i = 0; i < 2; ++i)
      text = random.pick<std::string>({"!(" + text + ")", text}) +
             random.pick<std::string>({" && ", " || "}) + part();
    SlotTable table;
    Scope scope(table, "login");
    config::Problems problems;
    const auto condition = compile_condition(text_at(text), scope, problems);
    ASSERT_TRUE(condition) << text << report(problems);
    // The warning is about a part of the condition: that part never holds.
    for (const config::Problem& problem : problems.all()) {
      const bool never = problem.message.find("never hold") != std::string::npos ||
                         problem.message.find("no value of") != std::string::npos;
      if (!never || problem.message.find("side is always") != std::string::npos) continue;
      config::Problems again;
      SlotTable own;
      Scope part_scope(own, "login");
      const std::size_t from = problem.message.find("tests: ");
      const bool pair = from == std::string::npos;
      std::string alone = pair ? problem.message.substr(0, problem.message.find(" never hold"))
                               : problem.message.substr(from + 7);
      const std::string_view joint = pair ? " and " : ", ";
      for (std::size_t at = 0; (at = alone.find(joint, at)) != std::string::npos; at += 4)
        alone.replace(at, joint.size(), " && ");
      const auto tested = compile_condition(text_at(alone), part_scope, again);
      ASSERT_TRUE(tested) << alone << report(again);
      for (const std::string& x : values) {
        for (const std::string& y : values) {
          ASSERT_FALSE(holds(*tested, own, "{\"x\": " + x + ", \"y\": " + y + "}"))
              << text << "\n"
              << problem.message << "\nx " << x << ", y " << y;
        }
      }
    }
  }
}

}  // namespace
}  // namespace weir::policies::test::never_together_test
