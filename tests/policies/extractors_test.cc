#include "policies/lang/extractors.h"

#include "policies/lang/asked_facts.h"
#include "policies/lang/extractors/form.h"
#include "tests/policies/expr_support.h"

namespace weir::policies::test::extractors_test {
namespace {

struct Got {
  std::string value;
  MissReason why;
  friend bool operator==(const Got&, const Got&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Got& got) {
    return out << got.value << " (" << miss_reason_text(got.why) << ")";
  }
};

Got read(RequestData& data, const std::string& text) {
  SlotTable table;
  Scope scope(table);
  const auto expression = compiled(text, scope);
  Frame frame;
  frame.begin(table, data.request, nullptr);
  const SlotId slot = *expression->slot();
  return {show(frame.load(slot)), frame.why(slot)};
}

Got missing(MissReason why) { return {is_unread(why) ? "error" : "null", why}; }
Got text(std::string_view value) { return {expr::quoted(value), MissReason::none}; }

TEST(Extractors, DecodeFormsAndQueries) {
  struct Case {
    const char *encoded, *name;
    Got got;
  };
  const Case cases[] = {
      {"a=1&b=2", "b", text("2")},
      {"a=1", "b", missing(MissReason::absent)},
      {"", "b", missing(MissReason::absent)},
      {"a=1&a=1", "a", missing(MissReason::ambiguous)},
      {"a=1&%61=1", "a", missing(MissReason::ambiguous)},
      {"%61=1", "a", text("1")},
      {"a+b=c+d", "a b", text("c d")},
      {"a=%41%2B%2b", "a", text("A++")},
      {"a=x=y", "a", text("x=y")},
      {"a", "a", text("")},
      {"a=", "a", text("")},
      {"&&a=1&&", "a", text("1")},
      {"a=%", "a", missing(MissReason::unreadable)},
      {"a=%4", "a", missing(MissReason::unreadable)},
      {"a=%4g", "a", missing(MissReason::unreadable)},
      {"%=1&a=2", "a", text("2")},
      {"A=1", "a", text("1")},
      {"a%00=1", "a", text("1")},
      {"a%00=1&a=1", "a", missing(MissReason::ambiguous)},
      {"a=%00", "a", text(std::string_view("\0", 1))},
      // Netty ends a value at a raw line end, aiohttp cuts blanks off the end of the body.
      {"a=1\n", "a", missing(MissReason::unreadable)},
      {"a=1\r\n&b=2", "a", missing(MissReason::unreadable)},
      {"a=1\nx", "a", missing(MissReason::unreadable)},
      {"a=1\tx", "a", missing(MissReason::unreadable)},
      {"a=1\v", "a", missing(MissReason::unreadable)},
      {"a=1\f", "a", missing(MissReason::unreadable)},
      {"a=1 ", "a", missing(MissReason::unreadable)},
      {"a=1+", "a", text("1 ")},
      {"a=1%0a", "a", text("1\n")},
      {"a=1&b=2\r\n", "a", text("1")},
      {"a=1&b=2 ", "a", text("1")},
      {"a=1 &b=2", "a", text("1 ")},
      {"a=alice smith", "a", text("alice smith")},  // curl -d
      // Some read raw bytes as Latin-1, some without the highest bit.
      {"a=\xc3\xa9", "a", missing(MissReason::ambiguous)},
      {"a=%c3%a9", "a", text("\xc3\xa9")},
      {"\xe1=1", "a", missing(MissReason::ambiguous)},
      {"a=1&\xe1=2", "a", missing(MissReason::ambiguous)},
      {"b=\xa6"
       "a=1",
       "a", missing(MissReason::ambiguous)},
      {"\xc5\xbf=1", "s", missing(MissReason::ambiguous)},
      {"b=\xc3\xa6&a=1&c=\xc2\xbb", "a", text("1")},
      {"b=\xc3\xa9", "a", missing(MissReason::absent)},
  };
  for (const Case& c : cases) {
    Arena arena;
    const Extracted got = find_parameter(arena, c.encoded, c.name);
    EXPECT_EQ((Got{show(got.value), got.why}), c.got) << c.encoded;
  }
}

TEST(Extractors, ReadFormsWithRawBytesWhateverTheirSizeAndTheMemoryLeft) {
  const std::string raw(3 << 20, '\xc3');
  for (const std::size_t taken : {std::size_t{0}, Arena::kMax / 2, Arena::kMax}) {
    Arena arena;
    (void)arena.allocate(taken);
    EXPECT_EQ(find_parameter(arena, "a=1&b=" + raw, "a").value.as_text(), "1");
    EXPECT_EQ(find_parameter(arena, "a=1&b=" + raw, "c").why, MissReason::absent);
    EXPECT_EQ(find_parameter(arena, "b=" + raw + "\xa6" + "a=1", "a").why, MissReason::ambiguous);
    EXPECT_EQ(find_parameter(arena, "b=" + raw + "\xa6" + "\xe1\xbd" + "1&a=1", "a").why,
              MissReason::ambiguous);
  }
}

TEST(Extractors, ReadNoFormBesideALongRawName) {
  Arena arena;
  const auto beside = [&](std::size_t size, char byte) {
    const std::string name = std::string(size - 1, 'x') + byte;
    return find_parameter(arena, "a=1&" + name + "=2", "a").why;
  };
  EXPECT_EQ(beside(kRawNameMax, '\xff'), MissReason::none);
  EXPECT_EQ(beside(kRawNameMax + 1, '\xff'), MissReason::unreadable);
  EXPECT_EQ(beside(kRawNameMax + 1, 'x'), MissReason::none);
  // Between semicolons as well, and where only seven bits make a name of it.
  const std::string name(kRawNameMax + 1, '\xe1');
  EXPECT_EQ(find_parameter(arena, "a=1&b=2;" + name + "=3", "a").why, MissReason::unreadable);
  EXPECT_EQ(find_parameter(arena, "a=1&b=2\xa6" + name + "\xbd", "a").why, MissReason::unreadable);
}

TEST(Extractors, ReadNoFormWithARawNul) {
  Arena arena;
  const std::string form("a=1\0&b=2", 8);
  EXPECT_EQ(find_parameter(arena, form, "a").why, MissReason::unreadable);  // Rack
  EXPECT_EQ(find_parameter(arena, form, "b").value.as_text(), "2");
}

TEST(Extractors, FindElementsOfListsInForms) {
  struct Case {
    const char* encoded;
    Got got;
  };
  const Case cases[] = {
      {"items[0][sku]=a&items[1][sku]=b", text("a")},
      {"items[1][sku]=b&items[0].sku=a", text("a")},
      {"items[1][sku]=b", missing(MissReason::ambiguous)},  // the first one for qs
      {"items[][sku]=a", missing(MissReason::ambiguous)},
      {"items[0][sku]=a&items[][sku]=b", missing(MissReason::ambiguous)},
      {"items[0][sku]=a&items[0][SKU]=b", missing(MissReason::ambiguous)},
      {"items[0][sku]=a;items[0][sku]=b", missing(MissReason::ambiguous)},
      {"items[0][name]=a&sku=b", missing(MissReason::absent)},
      {"items[0][sku]=%", missing(MissReason::unreadable)},
      {"items[0][sku]", text("")},
  };
  const PathStep path[] = {{"items", 0, false}, {"", 0, true}, {"sku", 0, false}};
  for (const Case& c : cases) {
    Arena arena;
    const Extracted got = find_parameter(arena, c.encoded, path);
    EXPECT_EQ((Got{show(got.value), got.why}), c.got) << c.encoded;
  }
}

TEST(Extractors, ReadCookies) {
  struct Case {
    std::vector<std::string_view> lines;
    Got got;
  };
  const Case cases[] = {
      {{"sid=1"}, text("1")},
      {{"a=b; sid=1;c=d"}, text("1")},
      {{"a=b", "sid=1"}, text("1")},
      {{"sid=1", "sid=1"}, missing(MissReason::ambiguous)},
      {{"sid=1; sid=2"}, missing(MissReason::ambiguous)},
      {{"SID=1"}, text("1")},
      {{"sid"}, missing(MissReason::ambiguous)},
      {{"sid=\"q\""}, text("q")},
      {{"sid=\""}, missing(MissReason::ambiguous)},
      {{"sid=\"alice0"}, missing(MissReason::ambiguous)},  // cookie 0.4 cuts the last byte off
      {{"sid=\"a;b\""}, missing(MissReason::ambiguous)},   // Python reads a;b
      // WebOb ends a value there, and decodes `\\141`. Undertow ends it at `{`.
      {{"sid=alice\""}, missing(MissReason::ambiguous)},
      {{"sid=alice[1"}, missing(MissReason::ambiguous)},
      {{"sid=alice]1"}, missing(MissReason::ambiguous)},
      {{"sid=alice{1"}, missing(MissReason::ambiguous)},
      {{"sid=\\141lice"}, missing(MissReason::ambiguous)},
      {{"sid=zo\xc3\xab"}, missing(MissReason::ambiguous)},
      {{"sid=\"a[b]{c}\""}, text("a[b]{c}")},
      {{"sid={%22id%22:1}"}, text("{\"id\":1}")},  // js-cookie leaves brackets as they are
      {{"sid={%22id%22:1, 2}"}, missing(MissReason::ambiguous)},
      {{"sid.0=1; sid.1=2"}, missing(MissReason::absent)},  // parts of a large session
      {{"sid=1; sid.0=2"}, text("1")},
      {{"sid=zo%C3%AB%5B%22%7B"}, text("zo\xc3\xab[\"{")},
      {{"sid=YWI+Yw==; a=b"}, text("YWI+Yw==")},
      {{"sid=a@b.example:8?(x)<y>}/'!"}, text("a@b.example:8?(x)<y>}/'!")},
      // Gin and Rack read `+` as a blank.
      {{"sid=a+b%20c"}, missing(MissReason::ambiguous)},
      {{"sid=\"a+b c\""}, missing(MissReason::ambiguous)},
      {{"sid=a+b%2Bc"}, text("a+b+c")},
      {{"sid=a%20b"}, text("a b")},
      // WSGI and PHP join lines with a comma.
      {{"sid=al", "ice"}, missing(MissReason::ambiguous)},
      {{"sid=al", "ice; a=b"}, missing(MissReason::ambiguous)},
      {{"sid=al", ""}, missing(MissReason::ambiguous)},
      {{"a=b; sid=al", "ice"}, missing(MissReason::ambiguous)},
      {{"sid=alice; a=b", "ice"}, text("alice")},
      {{"sid=alice", "a=b", "ice"}, text("alice")},
      {{"a", "sid=alice"}, text("alice")},
      {{"sid=j:\"alice\""}, missing(MissReason::ambiguous)},  // cookie-parser reads JSON
      {{"sid=j%3A%20\"alice\""}, missing(MissReason::ambiguous)},
      {{"sid=\"j:1\""}, missing(MissReason::ambiguous)},
      {{"sid=J:1"}, text("J:1")},
      {{"sid = 1 "}, text("1")},
      {{"sid=a=b"}, text("a=b")},
      {{";;"}, missing(MissReason::absent)},
      {{"__Host-sid=1"}, text("1")},  // Sanic
      {{"__secure-SID=1"}, text("1")},
      {{"sid=1; __Host-sid=2"}, missing(MissReason::ambiguous)},
      {{"__Host-sid=1; __Secure-sid=2"}, missing(MissReason::ambiguous)},
      {{"__Host-sidx=1; __Host=2; x__Host-sid=3; Host-sid=4"}, missing(MissReason::absent)},
      {{"sid=1; __Host-csrf=2"}, text("1")},
      // WebOb looks for names after characters that a name cannot have.
      {{"sid=1; \"sid=2"}, missing(MissReason::ambiguous)},
      {{"\\sid=2"}, missing(MissReason::ambiguous)},
      {{"sid=1; \xc3\xa9sid=2"}, missing(MissReason::ambiguous)},
      {{"sid=1; a]sid=2"}, missing(MissReason::ambiguous)},
      {{"a=x\"sid=2"}, missing(MissReason::ambiguous)},
      {{"a=x[sid=2; sid=1"}, missing(MissReason::ambiguous)},
      {{"a=x\\sid=2"}, missing(MissReason::ambiguous)},
      {{"a=\"__Host-sid=2"}, missing(MissReason::ambiguous)},
      {{"a={\"sid\":\"2\"}; b=/?sid=3; c=x:sid=4; sid=1"}, text("1")},
      {{"a=x\"sids=2; \"sid"}, missing(MissReason::absent)},
      {{}, missing(MissReason::absent)},
  };
  for (const Case& c : cases) {
    RequestData data;
    data.headers.clear();
    for (const std::string_view line : c.lines) data.headers.push_back({"cookie", line});
    data.request.headers = data.headers;
    EXPECT_EQ(read(data, "cookie.sid"), c.got);
  }
}

TEST(Extractors, ReadBodiesByContentType) {
  struct Case {
    const char *type, *body;
    Got got;
  };
  const std::string deep = std::string(70, '[') + std::string(70, ']');
  const std::string deep_body = "{\"x\":1,\"y\":" + deep + "}";
  const Case cases[] = {
      {"application/json", R"({"x":"v"})", text("v")},
      {"Application/JSON ; charset=utf-8", R"({"x":"v"})", text("v")},
      {"application/vnd.api+json", R"({"x":"v"})", text("v")},
      {"application/x-www-form-urlencoded", "x=v+w", text("v w")},
      {"application/x-www-form-urlencoded", "x=1&x=1", missing(MissReason::ambiguous)},
      {"application/x-www-form-urlencoded", "x=%", missing(MissReason::unreadable)},
      {"text/plain", R"({"x":"v"})", missing(MissReason::unreadable)},
      {"", R"({"x":"v"})", missing(MissReason::unreadable)},
      {"application/json", "", missing(MissReason::absent)},
      {"application/json", R"({"x":"v")", missing(MissReason::unreadable)},
      {"application/json", R"({"x":"v"} {})", missing(MissReason::unreadable)},
      {"application/json", "{\"x\":\"\xff\"}", missing(MissReason::unreadable)},
      {"application/json", R"({"x":1,"x":1})", missing(MissReason::ambiguous)},
      {"application/json", R"({"x":1,"\u0078":1})", missing(MissReason::ambiguous)},
      {"application/json", R"({"x":"v","y":1,"x":"w"})", missing(MissReason::ambiguous)},
      {"application/json", R"({"x":"v","x":null})", missing(MissReason::ambiguous)},
      {"application/json", R"({"x":null,"x":"v"})", missing(MissReason::ambiguous)},
      {"application/json", R"({"y":1,"x":"v","y":2})", text("v")},
      {"application/json", R"({"x":null})", missing(MissReason::absent)},
      {"application/json", R"([1])", missing(MissReason::absent)},
      // A batch.
      {"application/json", R"([{"x":"v"}])", missing(MissReason::ambiguous)},
      {"application/json", R"([{"y":1},{"X":"v"}])", missing(MissReason::ambiguous)},
      {"application/json", R"([{"x":1,"x":2}])", missing(MissReason::ambiguous)},
      {"application/json", R"([{"y":1},{"y":{"x":1}},[{"x":1}],"x",null])",
       missing(MissReason::absent)},
      {"application/json", R"([{"x":null}])", missing(MissReason::absent)},
      // JavaScript reads members of a prototype.
      {"application/json", R"({"__proto__":{"x":"v"}})", missing(MissReason::ambiguous)},
      {"application/json", R"({"x":"w","__proto__":{"X":"v"}})", missing(MissReason::ambiguous)},
      {"application/json", R"({"constructor":{"prototype":{"x":"v"}}})",
       missing(MissReason::ambiguous)},
      {"application/json", R"({"x":"v","__proto__":{"y":1},"constructor":"Lloyd"})", text("v")},
      {"application/json", R"({"__proto__":1,"constructor":{"x":1}})", missing(MissReason::absent)},
      // fastjson2 ends a name at a NUL.
      {"application/json", R"({"x\u0000":"v"})", text("v")},
      {"application/json", R"({"x":"w","x\u0000y":"v"})", missing(MissReason::ambiguous)},
      {"application/json", R"({"x":"v","y\u0000x":"w"})", text("v")},
      {"application/json", "3", missing(MissReason::absent)},
      {"application/json", R"({"x":18446744073709551615})", missing(MissReason::unreadable)},
      {"application/json", R"({"x":99999999999999999999})", missing(MissReason::unreadable)},
      {"application/json",
       R"({"x":-9223372036854775808})",
       {"-9223372036854775808", MissReason::none}},
      {"application/json", R"({"x":1.0})", {"1.0", MissReason::none}},
      {"application/json", R"({"x":"a\u0000b\n"})", text(std::string_view("a\0b\n", 4))},
      {"application/json", deep_body.c_str(), missing(MissReason::unreadable)},
      // A value that the parser cannot hold hides no other member.
      {"application/json", R"({"x":"v","n":18446744073709551616})", text("v")},
      {"application/json", R"({"n":[1e400,-1E+999],"x":"v"})", text("v")},
      {"application/json", R"({"n":"\ud83d","x":"v"})", text("v")},
      {"application/json", R"({"a\ud83d" : 1,"x":"v"})", text("v")},
      {"application/json", R"({"n":"\udc00\ud83d\ude00\\\"","x":"v"})", text("v")},
      {"application/json", R"({"x":1e400})", missing(MissReason::unreadable)},
      {"application/json", R"({"x":-99999999999999999999})", missing(MissReason::unreadable)},
      {"application/json", R"({"x":"\ud83dv"})", missing(MissReason::unreadable)},
      {"application/json", R"({"n":1e400,"x":"\ud83d\ude00"})", text("\xf0\x9f\x98\x80")},
      {"application/json", R"({"x":"18446744073709551616","n":1e400})",
       text("18446744073709551616")},
      {"application/json", R"({"x":"v","n":1e400)", missing(MissReason::unreadable)},
      {"application/json", R"({"x":"v","n":01,"m":1e400})", missing(MissReason::unreadable)},
      {"application/json", R"({"x":"v","n":1e400e})", missing(MissReason::unreadable)},
      {"application/json", R"({"x":"v","n":"\ud8"})", missing(MissReason::unreadable)},
  };
  for (const Case& c : cases) {
    RequestData data;
    data.body(c.body, c.type);
    EXPECT_EQ(read(data, "body.x"), c.got) << c.type << " " << c.body;
  }
  const auto deeper = [](const char* json) {
    RequestData data;
    data.body(json);
    return read(data, "body.a.x");
  };
  EXPECT_EQ(deeper(R"([{"a":{"x":"v"}}])"), missing(MissReason::ambiguous));
  EXPECT_EQ(deeper(R"([{"a":{"y":"v"}}])"), missing(MissReason::absent));
  EXPECT_EQ(deeper(R"({"a":{"__proto__":{"x":"v"}}})"), missing(MissReason::ambiguous));
  EXPECT_EQ(deeper(R"({"__proto__":{"a":{"x":"v"}}})"), missing(MissReason::ambiguous));
  EXPECT_EQ(deeper(R"({"a.x\u0000":"v"})"), missing(MissReason::ambiguous));
  RequestData twice;
  twice.body("{\"x\":1}");
  twice.headers.push_back({"content-type", "text/plain"});
  twice.request.headers = twice.headers;
  EXPECT_EQ(read(twice, "body.x"), missing(MissReason::unreadable));
  RequestData form;
  form.body("a.b=1&c[0]=2", "application/x-www-form-urlencoded");
  EXPECT_EQ(read(form, "body[\"a.b\"]"), text("1"));
  EXPECT_EQ(read(form, "body['c[0]']"), text("2"));
  EXPECT_EQ(read(form, "body.a.b"), text("1"));
  EXPECT_EQ(read(form, "body.c[0]"), text("2"));
  EXPECT_EQ(read(form, "body.a.c"), missing(MissReason::absent));
  EXPECT_EQ(read(form, "body[0]"), missing(MissReason::absent));
}

TEST(Extractors, ReadSegmentsOfThePath) {
  RequestData data;
  data.request.path = "/users/42//x";
  SlotTable table;
  std::vector<SlotId> slots;
  for (std::uint32_t k = 0; k < 5; ++k) slots.push_back(table.segment(k));
  EXPECT_EQ(table.segment(1), slots[1]);
  Frame frame;
  frame.begin(table, data.request, nullptr);
  EXPECT_EQ(frame.load(slots[0]).as_text(), "users");
  EXPECT_EQ(frame.load(slots[1]).as_text(), "42");
  EXPECT_EQ(frame.why(slots[2]), MissReason::absent);
  EXPECT_EQ(frame.load(slots[3]).as_text(), "x");
  EXPECT_EQ(frame.why(slots[4]), MissReason::absent);
}

TEST(Extractors, ReadSegmentsWithTheLettersThatTheAppGets) {
  RequestData data;
  data.request.path = "/users/alice%2fx";
  data.request.cased_path = "/Users/Alice%2fX";
  SlotTable table;
  const SlotId user = table.segment(1);
  Frame frame;
  frame.begin(table, data.request, nullptr);
  EXPECT_EQ(frame.load(user).as_text(), "Alice/X");
}

/// The value of a field in a rate limit service call; null: of a record without a descriptor.
Got read_of_call(const Descriptor* descriptor, const std::string& text) {
  SlotTable table;
  Scope scope(table);
  const auto expression = compiled(text, scope);
  Record record;
  record.descriptor = descriptor;
  Frame frame;
  frame.begin(table, record, nullptr);
  const SlotId slot = *expression->slot();
  return {show(frame.load(slot)), frame.why(slot)};
}

TEST(Extractors, ReadTheLastOfEntriesWithOneKey) {
  const DescriptorEntry entries[] = {
      {"user", "ann"}, {"path", "/a"}, {"user", "bob"}, {"user", ""}};
  Descriptor descriptor{"shop", std::span(entries).first(3), 1, {}};
  EXPECT_EQ(read_of_call(&descriptor, "descriptor_last.user"), text("bob"));
  EXPECT_EQ(read_of_call(&descriptor, "descriptor.user"), missing(MissReason::ambiguous));
  EXPECT_EQ(read_of_call(&descriptor, "descriptor_last[\"path\"]"), text("/a"));
  EXPECT_EQ(read_of_call(&descriptor, "descriptor_last.User"), missing(MissReason::absent));
  descriptor.entries = entries;
  EXPECT_EQ(read_of_call(&descriptor, "descriptor_last.user"), text("")) << "empty, and there";
  EXPECT_EQ(read_of_call(nullptr, "descriptor_last.user"), missing(MissReason::absent));
}

TEST(Extractors, ReadADescriptorAsAKeyThatNoOtherDescriptorHas) {
  const auto key = [](std::vector<DescriptorEntry> entries) {
    const Descriptor descriptor{"shop", entries, 1, {}};
    return read_of_call(&descriptor, "descriptor_key");
  };
  EXPECT_EQ(key({{"user", "ann"}, {"path", "/login"}}), text("4:user3:ann4:path6:/login"));
  EXPECT_EQ(key({{"user", ""}}), text("4:user0:"));
  EXPECT_EQ(key({{"user", std::string_view("0123456789")}}), text("4:user10:0123456789"));
  EXPECT_EQ(key({}), text(""));
  EXPECT_NE(key({{"a", "1:b"}}), key({{"a", ""}, {"b", ""}}));
  EXPECT_NE(key({{"ab", "c"}}), key({{"a", "bc"}}));
  const std::string long_value(Arena::kMax, 'x');
  EXPECT_EQ(key({{"user", long_value}}), missing(MissReason::too_large));
  EXPECT_EQ(read_of_call(nullptr, "descriptor_key"), missing(MissReason::absent));
}

TEST(Extractors, ReadTheLimitThatACallBringsAlong) {
  Descriptor descriptor{"shop", {}, 3, {}};
  EXPECT_EQ(read_of_call(&descriptor, "limit_override"), missing(MissReason::absent));
  descriptor.limit = {4'000'000'000, RateUnit::minute};
  EXPECT_EQ(read_of_call(&descriptor, "limit_override"), (Got{"4000000000", MissReason::none}));
  descriptor.limit = {0, RateUnit::minute};
  EXPECT_EQ(read_of_call(&descriptor, "limit_override"), (Got{"0", MissReason::none}));
  EXPECT_EQ(read_of_call(nullptr, "limit_override"), missing(MissReason::absent));
}

TEST(Extractors, ReadEnvoysConstantsOfARoute) {
  struct Facts final : AskedFacts {
    Extracted context(std::string_view name) const noexcept override {
      if (name == "tier") return {Value::text("gold")};
      return Extracted::miss(name == "two words" ? MissReason::ambiguous : MissReason::absent);
    }
    Extracted metadata(Arena&, std::span<const PathStep>) const noexcept override {
      return Extracted::miss(MissReason::unreadable);
    }
  } facts;
  RequestData data;
  EXPECT_EQ(read(data, "envoy.context.tier"), missing(MissReason::absent)) << "nobody asks";
  data.request.facts = &facts;
  EXPECT_EQ(read(data, "envoy.context.tier"), text("gold"));
  EXPECT_EQ(read(data, "envoy.context[\"two words\"]"), missing(MissReason::ambiguous));
  EXPECT_EQ(read(data, "envoy.context.other"), missing(MissReason::absent));
  EXPECT_EQ(read_of_call(nullptr, "envoy.context.tier"), missing(MissReason::unread));
}

TEST(Extractors, EveryRowHasHelpAndIsReserved) {
  for (const ExtractorRow& row : extractor_rows()) {
    EXPECT_FALSE(row.help.empty()) << row.name;
    EXPECT_EQ(find_extractor(row.name), &row);
    EXPECT_EQ(is_reserved_name(row.name.substr(0, row.name.find('.'))),
              row.form != ArgumentForm::index)
        << row.name;
  }
  EXPECT_TRUE(is_reserved_name("event"));
  EXPECT_TRUE(is_reserved_name("in"));
  EXPECT_FALSE(is_reserved_name("user"));
  EXPECT_EQ(wire_header_name("X_Device_Id"), "x-device-id");
  EXPECT_EQ(wire_header_name(""), std::nullopt);
  EXPECT_EQ(wire_header_name("a b"), std::nullopt);
}

TEST(SlotTable, InternsAndIsBounded) {
  SlotTable table;
  const ExtractorRow& row = *find_extractor("query");
  const SlotId first = table.attribute(row, {"q0", {}, 0});
  for (std::size_t k = 0; k < SlotTable::kMax; ++k)
    table.attribute(row, {"q" + std::to_string(k), {}, 0});
  EXPECT_EQ(table.size(), SlotTable::kMax);
  EXPECT_TRUE(table.full());
  EXPECT_EQ(table.attribute(row, {"q0", {}, 0}), first);
}

}  // namespace
}  // namespace weir::policies::test::extractors_test
