#include "policies/lang/expr/functions.h"
#include "tests/policies/expr_support.h"

/// Every message of the expression compiler, with the column and length that it underlines.
namespace weir::policies::test::expr_errors_test {
namespace {

struct Case {
  const char* text;
  const char* report;  ///< as report() writes it
};

class ExprErrors : public ::testing::TestWithParam<Case> {};

std::string report_of(std::string text, bool condition = false, bool rung = false) {
  SlotTable table;
  Scope scope(table, "login");
  scope.rung = rung;
  scope.fields["user"] = table.computed(*compiled("header.x_user", scope));
  scope.fields["device"] = table.computed(*compiled("header.x_device", scope));
  scope.fields["ratio"] = table.computed(*compiled("time / status", scope));
  config::Problems problems;
  const auto out = condition ? compile_condition(text_at(text), scope, problems)
                             : compile_expression(text_at(text), scope, problems);
  EXPECT_EQ(out.has_value(), !problems.has_errors()) << text;
  return report(problems);
}

TEST_P(ExprErrors, Reports) {
  EXPECT_EQ(report_of(GetParam().text), GetParam().report) << GetParam().text;
}

const Case kSyntax[] = {
    {"", "error 1+1: an expression is missing\n"},
    {"  ", "error 3+1: an expression is missing\n"},
    {"1 +", "error 4+1: the expression ends where a value is expected\n"},
    {"a b", "error 3+1: unexpected \"b\": expected an operator or the end\n"},
    {"(1", "error 3+1: the expression ends where \")\" is expected\n"},
    {"[1 2]", "error 4+1: unexpected \"2\": expected \",\" or \"]\"\n"},
    {"int(1", "error 6+1: the expression ends where \",\" or \")\" is expected\n"},
    {"body[1", "error 7+1: the expression ends where \"]\" is expected\n"},
    {"body.1", "error 5+2: unexpected \".1\": expected an operator or the end\n"},
    {"body.", "error 6+1: the expression ends where a name is expected\n"},
    {"true ? 1", "error 9+1: the expression ends where \":\" is expected\n"},
    {"status = 1", "error 8+1: \"=\" is not an operator | write == to compare\n"},
    {"path =~ '^/a'",
     "error 6+1: \"=~\" is not an operator | write path.matches(\"^/api/\"), with ! before it for "
     "the "
     "contrary\n"},
    {"a & b", "error 3+1: \"&\" is not an operator | write && or and\n"},
    {"a | b", "error 3+1: \"|\" is not an operator | write || or or\n"},
    {"{}", "error 1+1: maps are not part of the language\n"},
    {"1 # 2", "error 3+1: unexpected \"#\"\n"},
    {"é", "error 1+1: unexpected character outside a string\n"},
    {"'é' + #", "error 8+1: unexpected \"#\"\n"},
    {"'abc", "error 1+4: a string is not closed\n"},
    {"'''abc''", "error 1+8: a string is not closed\n"},
    {"b'x'", "error 1+1: byte strings are not part of the language | leave out the b\n"},
    {"'\\q'",
     "error 2+2: unknown escape in a string | a backslash is written \\\\; r\"...\" takes all as "
     "it is\n"},
    {"'\\x4'", "error 2+3: an escape needs 2 hexadecimal digits\n"},
    {"'\\ud800'", "error 2+6: no such Unicode character\n"},
    {"'\\08'", "error 2+2: an escape needs 3 octal digits\n"},
    {"10m",
     "error 1+3: malformed number \"10m\" | numbers here have no unit; strings are written in "
     "quotes\n"},
    {"1u", "error 1+2: unsigned numbers are not part of the language | leave out the u\n"},
    {"0x", "error 1+2: a number has no digits\n"},
    {"9223372036854775808", "error 1+19: number out of range of a 64-bit integer\n"},
    {"99999999999999999999", "error 1+20: number out of range of a 64-bit integer\n"},
    {"1e999", "error 1+5: number out of range of a double\n"},
    {"in", "error 1+2: unexpected \"in\": expected a value\n"},
    {"1 and", "error 6+1: the expression ends where a value is expected\n"},
};

const Case kNames[] = {
    {"usr == 'x'",
     "error 1+3: field \"usr\" is not provided by event \"login\" | did you mean \"user\"?\n"},
    {"method == GET",
     "error 11+3: field \"GET\" is not provided by event \"login\" | write \"GET\": a text is "
     "written "
     "in "
     "quotes\n"},
    {"user in [EUR, '']",
     "error 10+3: field \"EUR\" is not provided by event \"login\" | write \"EUR\": a text is "
     "written "
     "in "
     "quotes\n"},
    {"STATUS == 200",
     "error 1+6: field \"STATUS\" is not provided by event \"login\" | did you mean \"status\"?\n"},
    {"get == 'x'",
     "error 1+3: field \"get\" is not provided by event \"login\" | write query.name (of the URL) "
     "or "
     "body.name (of a form or JSON)\n"},
    {"1 + usr.x", "error 5+3: unknown name \"usr\" | did you mean \"user\"?\n"},
    {"headr.x_a", "error 1+5: unknown name \"headr\" | did you mean \"header\"?\n"},
    {"header", "error 1+6: \"header\" needs a name | such as header.user\n"},
    {"query[1]", "error 1+5: \"query\" needs a name | such as query.user\n"},
    {"header['a b']", "error 1+13: \"a b\" is not a header name\n"},
    {"header.x_a.b", "error 1+12: header.x_a is string and has no members\n"},
    {"status.code", "error 1+11: status is int and has no members\n"},
    {"response.status",
     "error 1+15: response has header and body only | the status is just: status\n"},
    {"response",
     "error 1+8: response has header and body only | such as response.header.x_cache\n"},
    {"value > 1", "error 1+5: \"value\" means something only in the rungs of a policy\n"},
    {"segment(1)",
     "error 1+10: unknown function \"segment\" | functions: has size int double string bool round "
     "startsWith endsWith contains matches lowerAscii upperAscii trim address cidr inList lookup "
     "distance geohash hour weekday hash\n"},
    {"[1]['a']", "error 5+3: an element of a list is taken by an integer\n"},
    {"body.x[body.y][1.5]", "error 16+3: a member is taken by a string or an integer\n"},
};

const Case kTypes[] = {
    {"status == '401'", "error 1+15: cannot compare int with string | write 401 without quotes\n"},
    {"status in [401, '403']",
     "error 11+12: cannot compare int with string | write 403 without quotes\n"},
    {"status in [int(user), user]",
     "error 23+4: cannot compare int with string | write int(user)\n"},
    {"user == 5", "error 1+9: cannot compare string with int | write int(user)\n"},
    {"time > '2026-01-01'",
     "error 1+19: cannot compare int with string | write 1767225600000: times are Unix "
     "milliseconds, and this is 2026-01-01 in UTC\n"},
    {"'2026-01-01T08:00:00+08:00' <= time",
     "error 1+35: cannot compare string with int | write 1767225600000: times are Unix "
     "milliseconds\n"},
    {"time > '08:00'",
     "error 1+14: cannot compare int with string | times are Unix milliseconds, such as "
     "1767225600000 for 2026-01-01 in UTC; for the hour of the day write hour(\"UTC\") >= 8\n"},
    {"path == path",
     "warning 1+12: path is compared with itself, which holds for every event that has it | write "
     "the value that you mean on one side\n"},
    {"user.lowerAscii() != lowerAscii(user)",
     "warning 1+37: user.lowerAscii() is compared with itself, which never holds | write the value "
     "that you mean on one side\n"},
    {"time < time",
     "warning 1+11: time is compared with itself, which never holds | write the value that you "
     "mean on one side\n"},
    {"path == '/a' or true",
     "warning 1+20: this holds for every event: one side is always true | leave out the side that "
     "is always true\n"},
    {"1 == 2 && path == '/a'",
     "warning 1+22: this never holds: one side is always false | leave out the side that is always "
     "false\n"},
    {"path == '/a' and true", ""},
    {"true or false", ""},
    {"user < true", "error 1+11: cannot compare string with bool | write bool(user)\n"},
    {"ip == user", "error 1+10: cannot compare ip address with string | write address(user)\n"},
    {"ip == 'x'", "error 7+3: \"x\" is not an IP address\n"},
    {"ip == '10.0.0.0/8'",
     "error 7+12: \"10.0.0.0/8\" is not an IP address | for a network write "
     "ip.cidr(\"10.0.0.0/8\")\n"},
    {"ip in ['10.0.0.0/8']",
     "error 7+14: \"10.0.0.0/8\" is not an IP address | for a network write "
     "ip.cidr(\"10.0.0.0/8\")\n"},
    {"ip < ip",
     "error 1+2: ip address has no order | write ip.cidr(\"10.0.0.0/8\") for a network\n"},
    {"[1] < [2]", "error 1+3: list has no order\n"},
    {"status + 1.0", "error 1+12: + does not mix int and double | write double(status)\n"},
    {"double(user) * 2", "error 1+16: * does not mix double and int | write 2.0\n"},
    {"user + 1", "error 1+8: + does not mix string and int | write int(user)\n"},
    {"ip + 'x'", "error 1+2: + does not take ip address | write string(ip)\n"},
    {"user - user", "error 1+4: - does not take string\n"},
    {"true + true", "error 1+4: + does not take bool\n"},
    {"double(user) % 2.0", "error 1+18: % takes integers only\n"},
    {"-user", "error 2+4: - needs a number, and this is string\n"},
    {"!status",
     "error 2+6: ! needs a condition, and this is int | ! binds tightly: write !(a == b)\n"},
    {"not status == 1",
     "error 5+6: not needs a condition, and this is int | not binds tightly: write not (a == b)\n"},
    {"not body.x in [1]", "error 1+10: not binds tighter than in | write not (x in [...])\n"},
    {"status && user",
     "error 1+6: && needs conditions, and this is int\nerror 11+4: && needs conditions, and this "
     "is string\n"},
    {"user ? 1 : 2", "error 1+4: ? needs a condition, and this is string\n"},
    {"true ? 1 : 'a'",
     "error 1+14: both results of ? : must have one type, not int and string | write string(1)\n"},
    {"true ? 1 : 2.5",
     "error 1+14: both results of ? : must have one type, not int and double | write 1.0\n"},
    {"1 in user", "error 6+4: in needs a list, and this is string | write user.contains(1)\n"},
    {"1 in 2", "error 6+1: in needs a list, and this is int\n"},
    {"ip in \"10.0.0.0/8\"",
     "error 7+12: in needs a list, and this is string | write ip.cidr(\"10.0.0.0/8\")\n"},
    {"path in '/a'",
     "error 9+4: in needs a list, and this is string | write path == '/a', path in ['/a', ...] or "
     "path.contains('/a')\n"},
    {"path like '/api/%'",
     "error 6+4: unexpected \"like\": expected an operator or the end | write "
     "path.startsWith(\"/api/\")\n"},
    {"path LIKE '%.php'",
     "error 6+4: unexpected \"LIKE\": expected an operator or the end | write "
     "path.endsWith(\".php\")\n"},
    {"not (path contains 'api')",
     "error 11+8: unexpected \"contains\": expected \")\" | write "
     "path.contains(\"api\")\n"},
    {"header.user_agent matches 'bot'",
     "error 19+7: unexpected \"matches\": expected an operator or the end | write "
     "header.user_agent.matches(\"bot\")\n"},
    {"path starts with '/a'",
     "error 6+6: unexpected \"starts\": expected an operator or the end | write "
     "path.startsWith(\"/a\")\n"},
    {"path not in ['/a']",
     "error 6+3: unexpected \"not\": expected an operator or the end | write not (path in "
     "[...])\n"},
    {"path not contains 'a'",
     "error 6+3: unexpected \"not\": expected an operator or the end | write not before "
     "the test: not path.contains(\"...\")\n"},
    {"method is 'GET'",
     "error 8+2: unexpected \"is\": expected an operator or the end | write method == "
     "\"GET\"\n"},
    {"method is not 'GET'",
     "error 8+2: unexpected \"is\": expected an operator or the end | write method != "
     "\"GET\"\n"},
    {"status between 400 and 499",
     "error 8+7: unexpected \"between\": expected an operator or the end | write status "
     ">= 400 and status <= 499\n"},
    {"if status == 1 then 1 else 2",
     "error 4+6: unexpected \"status\": expected an operator or the end | write condition "
     "? a : b\n"},
    {"1 <> 2", "error 3+1: \"<>\" is not an operator | write !=\n"},
    {"1 < 2 < 3", "error 1+9: cannot compare bool with int\n"},
    {"status / time > 0.5",
     "error 1+13: a quotient of integers is an integer and has no fraction to compare | write "
     "double(a) / "
     "double(b)\n"},
    {"0.5 <= (5 / 2)",
     "error 9+5: a quotient of integers is an integer and has no fraction to compare | write "
     "double(a) / "
     "double(b)\n"},
    {"ratio == 0.5",
     "error 1+5: a quotient of integers is an integer and has no fraction to compare | write "
     "double(a) / "
     "double(b)\n"},
    {"body.a / body.b > 0.5",
     "warning 1+15: if these are integers, their quotient is one too and has no fraction | write "
     "double(a) / "
     "double(b)\n"},
    {"status / time > 2.0", ""},
};

const Case kCalls[] = {
    {"lowerASCII(user)",
     "error 1+16: unknown function \"lowerASCII\" | did you mean \"lowerAscii\"?\n"},
    {"size()", "error 1+6: size() has the wrong number of arguments | it is size(x)\n"},
    {"user.size(1)", "error 1+12: size() has the wrong number of arguments | it is size(x)\n"},
    {"hour()",
     "error 1+6: hour() has the wrong number of arguments | name the zone: hour(\"Asia/Shanghai\") "
     "of "
     "the event's time, it is hour(time, zone)\n"},
    {"hour(time)",
     "error 1+10: hour() has the wrong number of arguments | name the zone: "
     "hour(\"Asia/Shanghai\") of the "
     "event's time, it is hour(time, zone)\n"},
    {"hour('Mars/Base')",
     "error 6+11: unknown time zone \"Mars/Base\" | write a name of the IANA database (tzdata), "
     "such as Asia/Shanghai or UTC\n"},
    {"hour('../../etc/passwd')",
     "error 6+18: unknown time zone \"../../etc/passwd\" | write a name of the IANA database "
     "(tzdata), such as Asia/Shanghai or UTC\n"},
    {"status.lowerAscii()",
     "error 1+6: lowerAscii() takes string, and this is int | write string(status)\n"},
    {"user.hour('UTC')", "error 1+4: hour() takes int, and this is string | write int(user)\n"},
    {"size(status)",
     "error 6+6: size() takes string or list, and this is int | write string(status)\n"},
    {"round(user)", "error 7+4: round() takes int or double, and this is string\n"},
    {"user.matches('[')", "error 14+3: malformed pattern: missing ]: [ | patterns are RE2's\n"},
    {"user.matches(user)",
     "error 14+4: the pattern of matches() must be a string literal, since it is read when "
     "the file is loaded\n"},
    {"user.matches('a$b')", "warning 14+5: this pattern matches nothing\n"},
    {"ip.cidr('10.0.0.1/8')",
     "error 9+12: \"10.0.0.1/8\" is not a network | the bits after the prefix must be zero: "
     "10.0.0.0/8\n"},
    {"ip.cidr('10.0.0.0/99')",
     "error 9+13: \"10.0.0.0/99\" is not a network | a prefix has 0 to 32 bits\n"},
    {"ip.cidr('2001:db8::/129')",
     "error 9+16: \"2001:db8::/129\" is not a network | a prefix has 0 to 128 bits\n"},
    {"ip.cidr('10.0.0.0/8', 'x')", "error 23+3: \"x\" is not a network | such as \"10.0.0.0/8\"\n"},
    {"ip.cidr()",
     "error 1+9: cidr() has the wrong number of arguments | it is cidr(ip, network, ...)\n"},
    {"inList('ofice', ip)", "error 8+7: unknown list \"ofice\" | did you mean \"office\"?\n"},
    {"inList('pairs', user)", "error 1+21: list \"pairs\" has 2 field(s), and the call has 1\n"},
    {"inList('office', 'x')", "error 18+3: \"x\" is not an IP address\n"},
    {"has(1 == 1)", "error 5+6: has() asks for a field | such as has(header.x_device_id)\n"},
    {"lowerAscii",
     "error 1+10: field \"lowerAscii\" is not provided by event \"login\" | lowerAscii is a "
     "function: "
     "lowerAscii(...)\n"},
    {"1 / 0 == status",
     "warning 1+5: this always fails | an overflow, a division by zero or a conversion that "
     "cannot work\n"},
    {"int('x')",
     "warning 1+8: this always fails | an overflow, a division by zero or a conversion that cannot "
     "work\n"},
    {"usr + nope",
     "error 1+3: field \"usr\" is not provided by event \"login\" | did you mean \"user\"?\n"
     "error 7+4: field \"nope\" is not provided by event \"login\" | allowed are device, ratio, "
     "user, method, "
     "path, url, host, scheme, query, header, cookie, time, status, response, ip and body\n"},
};
INSTANTIATE_TEST_SUITE_P(Syntax, ExprErrors, ::testing::ValuesIn(kSyntax));
INSTANTIATE_TEST_SUITE_P(Names, ExprErrors, ::testing::ValuesIn(kNames));
INSTANTIATE_TEST_SUITE_P(Types, ExprErrors, ::testing::ValuesIn(kTypes));
INSTANTIATE_TEST_SUITE_P(Calls, ExprErrors, ::testing::ValuesIn(kCalls));

TEST(ExprLimits, BoundTextAndDepth) {
  EXPECT_EQ(report_of(std::string(5000, ' ')),
            "error 1+5000: an expression is at most 4096 bytes long\n");
  EXPECT_NE(
      report_of(std::string(100, '(') + "1" + std::string(100, ')')).find("nested deeper than 64"),
      std::string::npos);
  EXPECT_NE(report_of(std::string(200, '!') + "true").find("nested deeper"), std::string::npos);
  EXPECT_NE(report_of(std::string(200, '-') + "1").find("nested deeper"), std::string::npos);
  std::string sum = "status", any = "status == 400", ternary;
  for (int k = 0; k < 70; ++k)
    sum += "+1", any += " || status == " + std::to_string(400 + k), ternary += "true?1:";
  EXPECT_NE(report_of(sum).find("nested deeper"), std::string::npos);
  EXPECT_NE(report_of(ternary + "1").find("nested deeper"), std::string::npos);
  EXPECT_EQ(report_of(any), "") << "long chains of || are not deep";
}

TEST(ExprLimits, CountTheFieldsThatAreRead) {
  SlotTable table;
  Scope scope(table);
  config::Problems problems;
  scope.fields["f"] = *compiled("query.f", scope)->slot();
  int fields = 0;
  for (; fields < 100; ++fields) {
    const auto next = compile_expression(text_at("'x' + f"), scope, problems);
    if (!next) break;
    scope.fields["f"] = table.computed(*next);
  }
  EXPECT_EQ(fields, 63);
  EXPECT_EQ(report(problems),
            "error 1+7: the expression is nested too deep, with the fields that it reads\n");
  config::Problems doubling;
  scope.fields["f"] = *compiled("query.f", scope)->slot();
  for (fields = 0; fields < 100; ++fields) {
    const auto next = compile_expression(text_at("f + f"), scope, doubling);
    if (!next) break;
    scope.fields["f"] = table.computed(*next);
  }
  EXPECT_LT(fields, 20);
  EXPECT_EQ(report(doubling),
            "error 1+5: the expression is too long, with the fields that it reads\n");
}

TEST(ExprConditions, AreTrueOrFalse) {
  EXPECT_EQ(report_of("status", true),
            "error 1+6: a condition is true or false, and this is int\n");
  EXPECT_EQ(report_of("body.ok", true), "");
  EXPECT_EQ(report_of("status == 401", true), "");
  EXPECT_EQ(report_of("value / limit > 0.8", true, true),
            "error 1+13: a quotient of integers is an integer and has no fraction to compare | "
            "write double(a) / "
            "double(b)\n");
}

TEST(ExprColumns, FollowTheScalarInTheFile) {
  SlotTable table;
  Scope scope(table);
  const auto column = [&](std::uint32_t length, std::uint32_t line = 3) {
    config::Text text;
    text.value = "1 + nope";
    text.where = {2, line, 10, length};
    config::Problems problems;
    EXPECT_FALSE(compile_expression(text, scope, problems));
    EXPECT_EQ(problems.all().at(0).where.file, 2U);
    return std::pair(problems.all()[0].where.column, problems.all()[0].where.length);
  };
  EXPECT_EQ(column(8), std::pair(14U, 4U)) << "plain";
  EXPECT_EQ(column(10), std::pair(15U, 4U)) << "quoted";
  EXPECT_EQ(column(1), std::pair(10U, 1U)) << "a block, or one with escapes";
}

TEST(ExprPatterns, AreWarnedOfWhenTheyMatchNothing) {
  for (const char* pattern : {"a$b", "a^b", "x\\zy", "(a$)b", "(?:a$|b$)c", "a(^b)",
                              "[^\\x00-\\x{10FFFF}]", "a$b|c^d", "(^a|^b)(^c)", "x$.", "a+^b"}) {
    EXPECT_NE(report_of("user.matches(r'" + std::string(pattern) + "')"), "") << pattern;
  }
  for (const char* pattern :
       {"a",       "^a$",           "",           "$^",    "^$",    "a*^b", "a?^b",   "(a$)?b",
        "(a$|b)c", "a$b*",          "(?m)a$\\nb", "[$]a",  "a\\$b", "a$b?", "(a|)^b", "\\bfoo\\b",
        "a{0}^b",  "[[:alpha:]$]b", "a[^b]c",     "a$b|c", "\\^a",  "a\\^", "x{2,3}$"}) {
    EXPECT_EQ(report_of("user.matches(r'" + std::string(pattern) + "')"), "") << pattern;
  }
}

/// A check of one argument must not look into another one that has failed.
TEST(ExprFunctions, AnyCallWithinAnyOtherIsCheckedOrRefused) {
  std::size_t accepted = 0, refused = 0;
  for (const expr::FunctionRow& inner : expr::function_rows()) {
    for (const char* arguments : {"", "path", "path, \"/a/*\"", "1, 2"}) {
      const std::string call = std::string(inner.name) + "(" + arguments + ")";
      std::vector<std::string> texts = {call + " == \"post\"", call + " in [\"a*\", 1]"};
      for (const expr::FunctionRow& outer : expr::function_rows()) {
        const std::string name(outer.name);
        texts.push_back(call + "." + name + "()");
        texts.push_back(call + "." + name + "(\"/a/*\")");
        texts.push_back(name + "(\"office\", " + call + ")");
        texts.push_back(name + "(\"*\", " + call + ", \"*\")");
      }
      for (const std::string& text : texts) {
        SlotTable slots;
        Scope scope(slots, "login");
        config::Problems problems;
        const auto out = compile_expression(text_at(text), scope, problems);
        ASSERT_NE(out.has_value(), problems.has_errors()) << text;
        ++(out ? accepted : refused);
      }
    }
  }
  EXPECT_GT(accepted, 100U);
  EXPECT_GT(refused, 1000U);
}

TEST(ExprFunctions, EveryRowHasHelp) {
  for (const expr::FunctionRow& row : expr::function_rows()) {
    EXPECT_FALSE(row.help.empty()) << row.name;
    EXPECT_LE(row.min, row.max) << row.name;
    EXPECT_FALSE(row.params.empty()) << row.name;
    EXPECT_EQ(expr::find_function(row.name), &row);
  }
}

}  // namespace
}  // namespace weir::policies::test::expr_errors_test
