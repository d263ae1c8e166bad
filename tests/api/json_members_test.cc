#include "api/json_members.h"

#include <gtest/gtest.h>

#include <cmath>

namespace weir::api::json_members_test {
namespace {

using Kind = JsonMember::Kind;

/// The error, as `COLUMN what`; "fine" if there is none.
std::string wrong(std::string_view text) {
  JsonMembers members;
  const auto wrong = members.read(text);
  return wrong ? std::to_string(wrong->at + 1) + " " + wrong->what : "fine";
}

TEST(JsonMembers, ReadsEveryKind) {
  const std::string text =
      " {\"a\":null, "
      "\"b\":true,\"c\":false,\"d\":-12,\"e\":1.5e2,\"f\":\"x\\u00e9\\ud83d\\ude00\\n\","
      "\"g\": {\"x\":[1]} ,\"h\":[ ],\"\":0}\r\n";
  JsonMembers json;
  ASSERT_FALSE(json.read(text));
  ASSERT_EQ(json.members().size(), 9u);
  EXPECT_EQ(json.find("a")->kind, Kind::null);
  EXPECT_TRUE(json.find("b")->boolean);
  EXPECT_EQ(json.find("c")->kind, Kind::boolean);
  EXPECT_FALSE(json.find("c")->boolean);
  EXPECT_EQ(json.find("d")->integer, -12);
  EXPECT_EQ(json.find("e")->kind, Kind::real);
  EXPECT_EQ(json.find("e")->real, 150);
  EXPECT_EQ(json.find("f")->text, "x\xc3\xa9\xf0\x9f\x98\x80\n");
  EXPECT_EQ(json.find("g")->kind, Kind::object);
  EXPECT_EQ(json.find("g")->text, "{\"x\":[1]}");
  EXPECT_EQ(json.find("h")->text, "[ ]");
  EXPECT_EQ(json.find("")->integer, 0);
  EXPECT_EQ(json.find("nothing"), nullptr);
  EXPECT_EQ(json.find("a")->name_at, 2u);
  EXPECT_EQ(json.find("a")->at, 6u);
}

TEST(JsonMembers, KeepsIntegersExactAndTakesBiggerOnesForMissing) {
  JsonMembers json;
  ASSERT_FALSE(json.read(
      R"({"a":9223372036854775807,"b":-9223372036854775808,"c":9223372036854775808,"d":-0,"e":-0.0,"f":1e308})"));
  EXPECT_EQ(json.find("a")->integer, INT64_MAX);
  EXPECT_EQ(json.find("b")->integer, INT64_MIN);
  EXPECT_EQ(json.find("c")->kind, Kind::null) << "as in a body at the proxy";
  EXPECT_EQ(json.find("d")->kind, Kind::integer);
  EXPECT_TRUE(std::signbit(json.find("e")->real));
  EXPECT_EQ(json.find("f")->real, 1e308);
}

TEST(JsonMembers, SaysWhatIsWrongAndWhere) {
  struct Case {
    const char *text, *wrong;
  };
  for (const Case& c : {
           Case{"", "1 an event is a JSON object, `{...}`"},
           {"[]", "1 an event is a JSON object, `{...}`"},
           {"7", "1 an event is a JSON object, `{...}`"},
           {"{", "2 a member's name in double quotes is missing"},
           {"{a:1}", "2 a member's name in double quotes is missing"},
           {"{'a':1}", "2 a member's name in double quotes is missing"},
           {"{\"a\"}", "5 a `:` is missing after the name"},
           {"{\"a\":}", "6 a JSON value is expected here"},
           {"{\"a\":1", "7 a `,` or `}` is missing"},
           {"{\"a\":1,}", "8 a member's name in double quotes is missing"},
           {"{\"a\":1 \"b\":2}", "8 a `,` or `}` is missing"},
           {"{\"a\":1}}", "8 nothing may follow the object"},
           {"{} {}", "4 nothing may follow the object"},
           {"{\"a\":1,\"a\":2}", "8 \"a\" is given twice"},
           {"{\"a\":1,\"\\u0061\":2}", "8 \"a\" is given twice"},
           {"{\"a\":tru}", "6 a JSON value is expected here"},
           {"{\"a\":True}", "6 a JSON value is expected here"},
           {"{\"a\":NaN}", "6 a JSON value is expected here"},
           {"{\"a\":01}", "6 a number has no leading zero"},
           {"{\"a\":-}", "6 a JSON value is expected here"},
           {"{\"a\":+1}", "6 a JSON value is expected here"},
           {"{\"a\":.5}", "6 a JSON value is expected here"},
           {"{\"a\":1.}", "8 a digit is missing after the point"},
           {"{\"a\":1e}", "8 a digit is missing in the exponent"},
           {"{\"a\":1e+}", "9 a digit is missing in the exponent"},
           {"{\"a\":0x10}", "7 a `,` or `}` is missing"},
           {"{\"a\":\"x}", "6 this text has no end"},
           {"{\"a\":\"x\ty\"}", "8 a control character in a text must be escaped"},
           {"{\"a\":\"\\x\"}", "7 no such escape"},
           {"{\"a\":\"\\u12\"}", "7 `\\u` takes four hex digits"},
           {"{\"a\":\"\\u+123\"}", "7 `\\u` takes four hex digits"},
           {"{\"a\":\"\\ud800\"}", "7 half a surrogate pair is not a character"},
           {"{\"a\":\"\\ud800\\u0041\"}", "7 half a surrogate pair is not a character"},
           {"{\"a\":\"\\udc00\"}", "7 half a surrogate pair is not a character"},
           {"{\"a\":\"\xff\"}", "7 this is not UTF-8"},
           {"{\"a\":\"\xed\xa0\x80\"}", "7 this is not UTF-8"},
           {"{\"a\":\"\xc3\"}", "7 this is not UTF-8"},
           {"{\"a\":[1,]}", "9 a JSON value is expected here"},
           {"{\"a\":[1}", "8 a `,` or `]` is missing"},
           {"{\"a\":{\"b\" 1}}", "11 a `:` is missing after the name"},
           {"{\"a\":{\"b\":tru}}", "11 a JSON value is expected here"},
       }) {
    EXPECT_EQ(wrong(c.text), c.wrong) << c.text;
  }
  EXPECT_EQ(wrong(std::string_view("{\"a\":1}\0", 8)), "8 nothing may follow the object");
}

TEST(JsonMembers, BoundsDepthAndMembers) {
  const auto nested = [](std::size_t levels) {
    return "{\"a\":" + std::string(levels, '[') + std::string(levels, ']') + "}";
  };
  EXPECT_EQ(wrong(nested(JsonMembers::kDepthMax - 1)), "fine");
  EXPECT_EQ(wrong(nested(JsonMembers::kDepthMax)), "21 nested deeper than 16 levels");
  EXPECT_EQ(wrong("{\"a\":" + std::string(1'000'000, '[')), "21 nested deeper than 16 levels");
  std::string many = "{";
  for (std::size_t i = 0; i < JsonMembers::kMembersMax; ++i) {
    many += "\"" + std::to_string(i) + "\":1,";
  }
  std::string fits = many;
  fits.back() = '}';
  EXPECT_EQ(wrong(fits), "fine");
  EXPECT_EQ(wrong(many + "\"x\":1}"), std::to_string(many.size() + 1) + " more than 256 members");
}

TEST(JsonMembers, ViewsIntoEscapedTextStay) {
  std::string text = "{";
  for (int i = 0; i < 200; ++i) {
    text += (i == 0 ? "" : ",") + std::string("\"\\u0061") + std::to_string(i) + "\":\"\\n" +
            std::to_string(i) + "\"";
  }
  text += "}";
  JsonMembers json;
  ASSERT_FALSE(json.read(text));
  for (int i = 0; i < 200; ++i) {
    const JsonMember& member = json.members()[static_cast<std::size_t>(i)];
    EXPECT_EQ(member.name, "a" + std::to_string(i));
    EXPECT_EQ(member.text, "\n" + std::to_string(i));
  }
}

}  // namespace
}  // namespace weir::api::json_members_test
