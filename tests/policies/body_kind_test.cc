/// `body:` of an event: the only kind of body that its fields read.
#include "tests/policies/world.h"

namespace weir::policies::body_kind_test {
namespace {

constexpr const char* kJson = "application/json";
constexpr const char* kForm = "application/x-www-form-urlencoded";
constexpr const char* kMultipart = "multipart/form-data; boundary=b";

const char* body_of(const std::string& type) {
  if (type == kForm) return "user=a";
  if (type == kMultipart)
    return "--b\r\nContent-Disposition: form-data; name=\"user\"\r\n\r\na\r\n--b--\r\n";
  return R"({"user":"a"})";
}

/// Limit 1: a counted request is refused the second time.
std::string second_of(const std::string& pin, const std::string& type, const std::string& field) {
  World world(
      "fields: {everywhere: body.user}\n"
      "events: {it: {match: POST /x, " +
      (pin.empty() ? "" : "body: " + pin + ", ") +
      "fields: {user: body.user}}}\n"
      "policies: [{name: p, watch: it, key: " +
      field + ", window: 1m, then: [{over: 1, do: deny}]}]\n");
  const auto send = [&] {
    TestRequest request("POST /x");
    if (!type.empty()) request.header("Content-Type", type);
    request.body(body_of(type));
    return world.judge(request).effect;
  };
  const std::string first = send();
  return first == "pass" ? send() : first;
}

TEST(BodyKind, OfAnEventIsTheOnlyOneThatIsRead) {
  for (const char* field : {"user", "everywhere"}) {
    for (const std::string type : {kJson, kForm, kMultipart}) {
      const std::string kind = type == kJson ? "json" : type == kForm ? "form" : "multipart";
      for (const std::string pin : {"", "json", "form", "multipart"}) {
        EXPECT_EQ(second_of(pin, type, field), pin.empty() || pin == kind ? "deny" : "defect")
            << pin << " " << type << " " << field;
      }
    }
    // A body whose type names no kind is JSON where the event says so.
    for (const std::string type : {"", "text/plain;charset=UTF-8", "application/octet-stream"}) {
      EXPECT_EQ(second_of("json", type, field), "deny") << type;
      for (const std::string pin : {"", "form", "multipart"})
        EXPECT_EQ(second_of(pin, type, field), "defect") << pin << " " << type;
    }
  }
}

TEST(BodyKind, JsonHidesTheQueryWhereItHasTheMember) {
  for (const bool pinned : {false, true}) {
    World world(
        "events: {it: {match: POST /x, " + std::string(pinned ? "body: json, " : "") +
        "fields: {user: body.user}}}\n"
        "policies: [{name: p, watch: it, key: user, window: 1m, then: [{over: 1, do: deny}]}]\n");
    const auto send = [&](const char* target, const char* body) {
      return world.judge(TestRequest(target).json(body), true).effect;
    };
    const std::string differs = send("POST /x?user=r1", R"({"user":"a"})");
    EXPECT_EQ(differs, pinned ? "pass" : "defect");
    EXPECT_EQ(send("POST /x?user=5", R"({"user":5})"), "pass");
    EXPECT_EQ(send("POST /x?user=true", R"({"user":true})"), "pass");
    EXPECT_EQ(send("POST /x?user=z", R"({"other":1})"), "pass");
    EXPECT_EQ(send("POST /x?user=z", R"({"other":1})"), "deny");
  }
}

TEST(BodyKind, HoldsForEventsOfThisKind) {
  World world(
      "events:\n"
      "  it: {match: POST /x, body: json}\n"
      "  some: {is: it, when: 'path == \"/x\"', fields: {user: body.user}}\n"
      "policies: [{name: p, watch: some, key: user, window: 1m, then: [{over: 1, do: deny}]}]\n");
  TestRequest form("POST /x"), json("POST /x");
  form.header("Content-Type", kForm).body("user=a");
  json.json(R"({"user":"a"})");
  EXPECT_EQ(world.judge(form).effect, "defect");
  EXPECT_EQ(world.judge(json).effect, "pass");
}

/// Django and Tomcat read the query in the charset of Content-Type.
TEST(BodyKind, AQueryIsReadableInCharsetsThatReadItAlike) {
  for (const char* field : {"query.user", "body.user"}) {
    World world(std::string("events: {it: {match: '* /x', fields: {user: ") + field +
                "}}}\n"
                "policies: [{name: p, watch: it, key: user, window: 1m, then: [{over: 9, do: "
                "deny}]}]\n");
    const auto effect = [&](const char* query, const char* type) {
      TestRequest request(std::string("POST /x?") + query);
      if (*type != '\0') request.header("Content-Type", type);
      return world.judge(request).effect;
    };
    EXPECT_EQ(effect("user=al%C3%A9", ""), "pass") << field;
    EXPECT_EQ(effect("user=al%C3%A9", "text/plain; charset=UTF-8"), "pass") << field;
    EXPECT_EQ(effect("user=alice", "text/plain; charset=iso-8859-1"), "pass") << field;
    EXPECT_EQ(effect("user=al%C3%A9", "text/plain; charset=iso-8859-1"), "defect") << field;
    EXPECT_EQ(effect("user=%2BAGE-lice", "text/plain; charset=utf-7"), "defect") << field;
    EXPECT_EQ(effect("user=alice", "text/plain; charset=\"utf-8\"; charset=utf-7"), "defect")
        << field;
    EXPECT_EQ(effect("other=1", "text/plain; charset=utf-7"), "pass") << field;
    EXPECT_EQ(effect("user=alice", "application/xml; charset=GBK"), "pass") << field;
    EXPECT_EQ(effect("user=al%C3%A9", "application/xml; charset=GBK"), "defect") << field;
  }
}

TEST(BodyKind, OfTwoEventsOfOneRequestAreReadEach) {
  World world(
      "events:\n"
      "  as_json: {match: POST /x, body: json, fields: {user: body.user}}\n"
      "  as_sent: {match: 'POST /{any}', fields: {user: body.user}}\n"
      "policies:\n"
      "  - {name: a, watch: as_sent, key: user, window: 1m, then: [{over: 0, do: flag}]}\n"
      "  - {name: b, watch: as_json, key: user, window: 1m, then: [{over: 0, do: flag}]}\n"
      "  - {name: c, watch: as_sent, key: [user, method], window: 1m, then: [{over: 9, do: "
      "deny}]}\n");
  TestRequest text("POST /x"), json("POST /x");
  text.header("Content-Type", "text/plain").body(R"({"user":"a"})");
  EXPECT_EQ(world.judge(text).effect, "defect");
  json.json(R"({"user":"a"})");
  EXPECT_EQ(world.judge(json).effect, "flag");
}

}  // namespace
}  // namespace weir::policies::body_kind_test
