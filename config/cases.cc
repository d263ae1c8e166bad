#include "config/cases.h"

#include "config/case_parts.h"
#include "config/text/shapes.h"
#include "config/text/units.h"
#include "config/text/yaml_text.h"
#include "core/chars/percent.h"
#include "core/text.h"

namespace weir::config {
namespace {

constexpr std::int64_t kRepeatMax = 1'000'000;
constexpr std::int64_t kCaseMax = 366 * kDay;
using CaseSpan = TimeSpan<0, kCaseMax>;
constexpr std::string_view kAny = R"({"description":"Any value."})";
constexpr std::string_view kCaseTime = R"({"type":"string","minLength":1})";

/// `POST /api/login?x=1`: checked here as far as it needs no repetition number.
void check_request(Reader& reader, const Member& m, const Text& line) {
  const std::size_t blank = line.value.find(' ');
  if (blank != std::string::npos && blank > 0 &&
      line.value.find(' ', blank + 1) == std::string::npos) {
    return;
  }
  reader.error(*m.value, quoted(line.value) + " is not a request",
               "write a method and a path or URL, such as POST /api/login");
}

void take_form(Reader& reader, const Member& m, CaseStep& out) {
  std::string body;
  // `<` and `>` stay bare: `<n>` is replaced later, and the reader of forms takes them as they are.
  constexpr std::string_view kBare = "-._~<>";
  for (const auto& [name, value] : read_text_map(reader, m)) {
    if (!body.empty()) body += '&';
    append_percent_encoded(body, name.value, kBare);
    body += '=';
    append_percent_encoded(body, value.value, kBare);
  }
  out.body = Text{std::move(body), m.value->where};
  out.content_type = "application/x-www-form-urlencoded";
}

constexpr Row<CaseAnswer> kAnswer[] = {
    number<&CaseAnswer::status, 100, 599>("status", "200", "Its status."),
    {{"headers", shape::kTextMap, "map name: value", "", "Header fields."},
     [](Reader& r, const Member& m, CaseAnswer& out) {
       const auto said = read_text_map(r, m);  // before the fields that `json` adds
       out.headers.insert(out.headers.begin(), said.begin(), said.end());
     }},
    {{"json", kAny, "any value", "", "A JSON body."},
     [](Reader&, const Member& m, CaseAnswer& out) {
       out.body = Text{json_of(*m.value), m.value->where};
       out.headers.push_back({Text{"content-type", {}}, Text{"application/json", {}}});
     }},
    {{"body", shape::kText, "text", "", "A body as it is."},
     [](Reader& r, const Member& m, CaseAnswer& out) { out.body = read_any_text(r, m); }},
    {{"after", shape::kDuration, "duration, up to 366d", "`0s`",
      "How long after the request reached the app: until then the request is in flight."},
     [](Reader& r, const Member& m, CaseAnswer& out) {
       set(r.duration(m, milliseconds{0}, milliseconds{kCaseMax}), out.after);
     }},
    {{"end", R"({"enum":["answered","failed","aborted"]})", "`answered`, `failed` or `aborted`",
      "`answered`", "`failed`: the app gave no answer; `aborted`: the client left before it."},
     [](Reader& r, const Member& m, CaseAnswer& out) {
       set(r.choice<CaseAnswer::End>(m, {{"answered", CaseAnswer::End::answered},
                                         {"failed", CaseAnswer::End::failed},
                                         {"aborted", CaseAnswer::End::aborted}}),
           out.end);
     }},
};

void read_answer(Reader& reader, const Member& m, CaseAnswer& out) {
  if (m.value->is_map()) {
    reader.walk(*m.value, "an answer", kAnswer, out);
  } else if (m.value->is_scalar() && m.value->text == "failed") {
    out.end = CaseAnswer::End::failed;
  } else if (m.value->is_scalar() && m.value->text == "aborted") {
    out.end = CaseAnswer::End::aborted;
  } else if (m.value->is_scalar() && !parse_integer(m.value->text)) {
    reader.error(*m.value, quoted(m.value->text) + " is not an answer",
                 "write a status such as 401, a map, failed or aborted");
  } else {
    set(reader.integer(m, 100, 599), out.status);
  }
}

void read_call_descriptors(Reader& reader, const Member& m, CaseStep& out) {
  const auto one = [&](const Node& node) {
    auto& entries = out.descriptors.emplace_back();
    const auto add = [&](const Member& entry) {
      if (!entry.value->is_scalar()) {
        return reader.error(*entry.value, "the value of a descriptor's entry is a text");
      }
      entries.emplace_back(Text{std::string(entry.key->text), entry.key->where},
                           Text{std::string(entry.value->text), entry.value->where});
    };
    for (const Member& entry : node.items) {
      if (node.is_map()) {
        add(entry);
      } else if (entry.value->is_map() && entry.value->items.size() == 1) {
        add(entry.value->items[0]);  // a key that is given twice
      } else {
        reader.error(*entry.value, "an entry is a map with one key",
                     "write [{path: /a}, {path: /b}]");
      }
    }
  };
  if (m.value->is_map()) return one(*m.value);
  if (!m.value->is_list() || m.value->items.empty())
    return reader.error(*m.value, "\"descriptors\" is a map, or a list of maps");
  for (const Member& item : m.value->items) {
    if (item.value->is_map() || item.value->is_list()) {
      one(*item.value);
    } else {
      reader.error(*item.value, "a descriptor is a map of its entries");
    }
  }
}

constexpr Row<CaseStep> kCaseStep[] = {
    {{"at", kCaseTime, "duration since the case's start, or a time", "as the step before",
      "When it happens: `90s`, `2026-01-05T10:00:00Z`."},
     [](Reader& r, const Member& m, CaseStep& out) { out.at = read_when(r, m); }},
    {CaseSpan::doc("after", "", "When it happens, since the step before."),
     [](Reader& r, const Member& m, CaseStep& out) {
       if (const auto value = CaseSpan::read(r, m)) out.after = located(m, *value);
     }},
    {{"happened", kCaseTime, "duration since the case's start, or a time", "",
      "The time in the event, if the event comes late: for policies with `clock: event`."},
     [](Reader& r, const Member& m, CaseStep& out) { out.happened = read_when(r, m); }},
    {{"request", shape::kText, "`METHOD /path?query`, or with a URL", "",
      "An HTTP request, as the proxy sees it."},
     [](Reader& r, const Member& m, CaseStep& out) {
       out.request = r.text(m);
       if (out.request) check_request(r, m, *out.request);
     }},
    {{"headers", shape::kTextMap, "map name: value", "", "Header fields of the request."},
     [](Reader& r, const Member& m, CaseStep& out) { out.headers = read_text_map(r, m); }},
    {{"json", kAny, "any value", "", "A JSON body of the request."},
     [](Reader&, const Member& m, CaseStep& out) {
       out.body = Text{json_of(*m.value), m.value->where};
       out.content_type = "application/json";
     }},
    {{"form", shape::kTextMap, "map name: value", "", "A form as the body of the request."},
     take_form},
    {{"body", shape::kText, "text", "", "A body of the request as it is."},
     [](Reader& r, const Member& m, CaseStep& out) { out.body = read_any_text(r, m); }},
    {{"ip", shape::kText, "address", "`203.0.113.7`", "The address of the caller."},
     [](Reader& r, const Member& m, CaseStep& out) { out.ip = r.text(m); }},
    {{"answer", R"({"anyOf":[{"type":"integer"},{"type":"string"},{"type":"object"}]})",
      "a status, a map (below), `failed` or `aborted`", "200",
      "What the app answers if the request reaches it."},
     [](Reader& r, const Member& m, CaseStep& out) { read_answer(r, m, out.answer); }},
    {{"event", shape::kName, "an event", "",
      "An event by its name, as `POST /v1/events` takes it."},
     [](Reader& r, const Member& m, CaseStep& out) { out.event = r.name(m, "an event", false); }},
    {{"fields", shape::kTextMap, "map name: value", "",
      "What the event says: its columns or fields."},
     [](Reader& r, const Member& m, CaseStep& out) {
       if (!r.is_map(*m.value, "\"fields\"")) return;
       for (const Member& field : m.value->items) {
         out.fields.emplace_back(Text{std::string(field.key->text), field.key->where},
                                 Text{json_of(*field.value), field.value->where});
       }
     }},
    {{"domain", shape::kText, "text", "", "A call of the rate limit service with this domain."},
     [](Reader& r, const Member& m, CaseStep& out) { out.domain = r.text(m); }},
    {{"descriptors", R"({"type":["object","array"]})", "map key: value, or a list of such maps",
      "required with `domain`",
      "The entries of the call's descriptor, or of each of its descriptors, in their order. What "
      "is "
      "expected is about the first descriptor that is refused, else about the last one."},
     read_call_descriptors},
    number<&CaseStep::hits_addend, 0, 4'294'967'295>("hits_addend", "1",
                                                     "How many hits the call adds."),
    number<&CaseStep::repeat, 1, kRepeatMax>(
        "repeat", "1",
        "How often the step happens; `<n>` in its texts is the number of the repetition, from 1."),
    duration<&CaseStep::every, 0, kCaseMax>("every", "`0s`", "The time between repetitions."),
    {{"expect", R"({"anyOf":[{"type":"string"},{"type":"object"}]})", "a verdict, or a map (below)",
      "", "What is expected, of each repetition. A step with `expect` alone checks the state."},
     [](Reader& r, const Member& m, CaseStep& out) { read_expect(r, m, out.expect); }},
};

void read_step(Reader& reader, const Node& node, Case& out) {
  CaseStep step;
  step.where = node.where;
  const std::size_t errors = reader.problems().errors();
  const Seen seen = reader.walk(node, "a step of a case", kCaseStep, step);
  if (reader.problems().errors() != errors) return;
  const auto given = [&](std::string_view name) { return Reader::has(seen, kCaseStep, name); };
  const int kinds =
      int{step.request.has_value()} + int{step.event.has_value()} + int{step.domain.has_value()};
  if (kinds > 1) {
    reader.error(node, "a step has one of \"request\", \"event\" and \"domain\"");
  } else if (kinds == 0 && !step.expect) {
    reader.error(node, "a step needs \"request\", \"event\", \"domain\" or \"expect\"");
  }
  if (step.domain.has_value() == step.descriptors.empty()) {
    reader.error(node, "\"domain\" and \"descriptors\" go together");
  }
  if (step.at && step.after) reader.error(node, "a step has \"at\" or \"after\", not both");
  if (int{given("json")} + int{given("form")} + int{given("body")} > 1) {
    reader.error(node, "a request has one of \"json\", \"form\" and \"body\"");
  }
  if (!step.request) {
    for (const std::string_view word : {"headers", "json", "form", "body", "ip"}) {
      if (given(word)) {
        reader.error(node, "\"" + std::string(word) + "\" belongs to a step with \"request\"");
      }
    }
  }
  if (!step.event && !step.fields.empty()) {
    reader.error(node, "\"fields\" belongs to a step with \"event\"");
  }
  if (kinds == 0 && step.expect && step.expect->asks_event()) {
    reader.error(node, "a step without \"request\", \"event\" and \"domain\" has no verdict",
                 "it may expect listed, not_listed, notified, patterns and views");
  }
  out.steps.push_back(std::move(step));
}

constexpr Row<Case> kCase[] = {
    {{"name", shape::kText, "text", "required", "What the case shows, as a sentence."},
     [](Reader& r, const Member& m, Case& out) { set(r.text(m), out.name); }},
    {{"start", kCaseTime, "time", "the file's", "The time from which `at: 90s` counts."},
     [](Reader& r, const Member& m, Case& out) {
       const auto word = r.scalar(m);
       const auto time = word ? r.take(*m.value, parse_date(*word)) : std::nullopt;
       if (time) out.start = located(m, *time);
     }},
    {{"steps", R"({"type":"array","items":{"$ref":"#/$defs/step"}})", "list of steps (below)",
      "required", "What happens, in the order of time."},
     [](Reader& r, const Member& m, Case& out) {
       if (!m.value->is_list() || m.value->items.empty()) {
         return r.error(m.value->is_null() ? *m.key : *m.value,
                        "\"steps\" must be a list of steps");
       }
       for (const Member& item : m.value->items) read_step(r, *item.value, out);
     }},
};

constexpr Row<CaseFile> kCases[] = {
    {{"weir", R"({"const":1})", "1", "", "The version of the language."},
     [](Reader& r, const Member& m, CaseFile&) {
       const auto word = r.scalar(m);
       if (word && *word != "1") {
         r.error(*m.value, quoted(*word) + " is not a version of the language", "write weir: 1");
       }
     }},
    {{"config", shape::kText, "path, beside this file unless it begins with `/`",
      "the file without `_test`", "The configuration that is tested."},
     [](Reader& r, const Member& m, CaseFile& out) { out.config = r.text(m); }},
    {{"start", kCaseTime, "time", "2026-01-05, a Monday, midnight UTC",
      "The time from which `at: 90s` counts."},
     [](Reader& r, const Member& m, CaseFile& out) {
       const auto word = r.scalar(m);
       const auto time = word ? r.take(*m.value, parse_date(*word)) : std::nullopt;
       if (time) out.start = located(m, *time);
     }},
    {{"cases", R"({"type":"array","items":{"$ref":"#/$defs/case"}})", "list of cases (below)",
      "required", "Each begins with empty counters and lists."},
     [](Reader& r, const Member& m, CaseFile& out) {
       if (!m.value->is_list() || m.value->items.empty()) {
         return r.error(m.value->is_null() ? *m.key : *m.value,
                        "\"cases\" must be a list of cases");
       }
       for (const Member& item : m.value->items) {
         Case one;
         one.name.where = item.value->where;
         r.walk(*item.value, "a case", kCase, one);
         out.cases.push_back(std::move(one));
       }
     }},
};

}  // namespace

std::string json_of(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null:
      return "null";
    case Node::Kind::scalar: {
      const bool bare =
          node.plain && (node.text == "true" || node.text == "false" || node.text == "null" ||
                         node.text == "<n>" || parse_data_number(node.text));
      if (bare) return std::string(node.text);
      std::string out;
      append_json(out, node.text);
      return out;
    }
    case Node::Kind::list:
    case Node::Kind::map: {
      const bool map = node.is_map();
      std::string out = map ? "{" : "[";
      for (const Member& m : node.items) {
        if (out.size() > 1) out += ",";
        if (map) {
          append_json(out, m.key->text);
          out += ':';
        }
        out += json_of(*m.value);
      }
      return out + (map ? "}" : "]");
    }
  }
  return {};
}

CaseFile parse_cases(std::string_view text, std::uint32_t file, Problems& problems) {
  CaseFile out;
  const Tree tree = parse_tree(text, file, problems);
  if (tree.root() == nullptr || tree.root()->is_null()) {
    if (!tree.broken()) problems.error({file, 1, 1, 1}, "a case file needs \"cases\"");
    return out;
  }
  Reader reader(problems);
  reader.walk(*tree.root(), "a case file", kCases, out);
  problems.sort();
  return out;
}

const std::vector<TableDoc>& case_tables() {
  static const std::vector<TableDoc> kTables = [] {
    std::vector<TableDoc> out;
    out.push_back(doc_of<kCases>("cases", "a case file", "Case files",
                                 "`weir test` reads files named `*_test.yaml` (docs/testing.md)."));
    out.push_back(
        doc_of<kCase>("case", "a case", "Cases", "`cases:` is a list of maps with these keys."));
    out.push_back(doc_of<kCaseStep>("step", "a step of a case", "Steps",
                                    "`steps:` is a list of maps with these keys."));
    out.push_back(doc_of<kAnswer>("answer", "an answer", "Answers", "The long form of `answer`."));
    add_expect_tables(out);
    return out;
  }();
  return kTables;
}

}  // namespace weir::config
