/// The table of tests/frameworks/cases.json, which names what real applications read, against what
/// weir reads: without the applications (`scripts/test frameworks` runs those).
#include <yaml-cpp/yaml.h>

#include "core/utf8.h"
#include "tests/policies/expr_support.h"
#include "tests/policies/world.h"

namespace weir::policies::test::readings_test {
namespace {

/// Every character of the table is one byte.
std::string bytes_of(const std::string& text) {
  std::string out;
  for (std::string_view rest = text; !rest.empty();) {
    const Utf8 got = decode_utf8(rest);
    EXPECT_TRUE(got.length != 0 && got.code < 0x100) << text;
    out.push_back(static_cast<char>(got.code));
    rest.remove_prefix(std::max<std::size_t>(got.length, 1));
  }
  return out;
}

struct Reading {
  std::string name, where, query, body;
  std::vector<std::pair<std::string, std::string>> headers;
  bool refused = false, absent = false, container = false;
  std::string value;
};

std::vector<Reading> table() {
  std::vector<Reading> out;
  for (const YAML::Node& node : YAML::LoadFile(WEIR_SOURCE_DIR "/tests/frameworks/cases.json")) {
    Reading& c = out.emplace_back();
    const auto text = [&](const char* key) {
      return node[key] ? bytes_of(node[key].as<std::string>()) : std::string();
    };
    c.name = node["name"].as<std::string>();
    c.where = node["where"].as<std::string>();
    c.query = text("query");
    c.body = text("body");
    if (node["cookie"]) c.headers.emplace_back("Cookie", text("cookie"));
    for (const YAML::Node& header : node["headers"])
      c.headers.emplace_back(header[0].as<std::string>(), header[1].as<std::string>());
    if (const YAML::Node type = node["type"]; type && type.IsSequence()) {
      for (const YAML::Node& each : type)
        c.headers.emplace_back("Content-Type", each.as<std::string>());
    } else if (type) {
      c.headers.emplace_back("Content-Type", text("type"));
    }
    const YAML::Node weir = node["weir"];
    c.refused = weir.IsScalar() && weir.as<std::string>() == "refused";
    c.absent = weir.IsScalar() && weir.as<std::string>() == "absent";
    c.container = weir.IsMap() && weir["container"];
    if (weir.IsMap() && weir["value"]) c.value = bytes_of(weir["value"].as<std::string>());
  }
  EXPECT_GT(out.size(), 150U);
  return out;
}

std::string field_of(const Reading& c) {
  return c.where == "nested"   ? "body.user.email"
         : c.where == "header" ? "header.x_user_id"
                               : c.where + ".user_id";
}

TestRequest request_of(const Reading& c) {
  TestRequest request("POST /" + c.where + (c.query.empty() ? "" : "?" + c.query));
  for (const auto& [name, value] : c.headers) request.header(name, value);
  request.body(c.body);
  return request;
}

TEST(Readings, AreThoseOfTheTable) {
  for (const Reading& c : table()) {
    SlotTable slots;
    Scope scope(slots);
    const auto expression = compiled(field_of(c), scope);
    Frame frame;
    TestRequest request = request_of(c);
    frame.begin(slots, request.view(from_ms(1)), nullptr);
    const SlotId slot = *expression->slot();
    const Value value = frame.load(slot);
    if (c.refused) {
      EXPECT_TRUE(value.is_error()) << c.name << ": " << show(value);
      EXPECT_TRUE(frame.why(slot) == MissReason::ambiguous ||
                  frame.why(slot) == MissReason::unreadable)
          << c.name << ": " << miss_reason_text(frame.why(slot));
    } else if (c.absent) {
      EXPECT_EQ(frame.why(slot), MissReason::absent) << c.name << ": " << show(value);
    } else if (c.container) {
      EXPECT_TRUE(value.is(Type::json)) << c.name << ": " << show(value);
    } else {
      std::string key;
      EXPECT_TRUE(append_canonical(key, value))
          << c.name << ": " << show(value) << ", " << miss_reason_text(frame.why(slot));
      EXPECT_EQ(key, c.value) << c.name;
    }
  }
}

TEST(Readings, ThatApplicationsDifferInAreRefusedAlsoWhereMissingIsSkipped) {
  for (const Reading& c : table()) {
    for (const char* key : {"", ".lowerAscii()"}) {
      World world(
          "events: {it: {match: 'POST /" + c.where + "', fields: {user: " + field_of(c) + key +
          "}}}\n"
          "policies: [{name: p, watch: it, key: user, window: 1m, then: [{over: 5, do: deny}]}]\n");
      TestRequest request = request_of(c);
      const World::Judged judged = world.judge(request);
      const bool number = c.value == "42" || c.value == "true";  // no texts for lowerAscii()
      if (c.refused || c.container || (number && *key != '\0')) {
        EXPECT_EQ(judged.effect, "defect") << c.name;
        EXPECT_EQ(judged.status, 400) << c.name;
      } else {
        EXPECT_EQ(judged.effect, "pass") << c.name;
      }
    }
  }
}

}  // namespace
}  // namespace weir::policies::test::readings_test
