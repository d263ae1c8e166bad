#include <array>

#include "config/case_parts.h"
#include "config/text/shapes.h"
#include "config/text/units.h"
#include "config/text/yaml_text.h"

/// The expectations of a step of a case.
namespace weir::config {
namespace {

constexpr std::int64_t kMany = 1'000'000'000;

std::vector<CaseEntry> read_case_entries(Reader& reader, const Member& m) {
  std::vector<CaseEntry> out;
  if (!reader.is_map(*m.value, "\"" + std::string(m.key->text) + "\"")) return out;
  for (const Member& list : m.value->items) {
    const Text name{std::string(list.key->text), list.key->where};
    if (!list.value->is_list()) {
      out.push_back({name, read_key_texts(reader, list)});
      continue;
    }
    for (const Member& key : list.value->items) {
      out.push_back({name, read_key_texts(reader, Member{list.key, key.value})});
    }
  }
  return out;
}

std::optional<Text> read_number_text(Reader& reader, const Member& m) {
  return read_any_text(reader, m);
}

}  // namespace

std::optional<Text> read_any_text(Reader& reader, const Member& m) {
  if (m.value->is_null()) return Text{"null", m.value->where};
  const auto word = reader.scalar(m);
  if (!word) return std::nullopt;
  return Text{std::string(*word), m.value->where};
}

std::vector<std::pair<Text, Text>> read_text_map(Reader& reader, const Member& m) {
  std::vector<std::pair<Text, Text>> out;
  if (!reader.is_map(*m.value, "\"" + std::string(m.key->text) + "\"")) return out;
  for (const Member& item : m.value->items) {
    if (auto text = read_any_text(reader, item)) {
      out.emplace_back(Text{std::string(item.key->text), item.key->where}, std::move(*text));
    }
  }
  return out;
}

std::vector<Text> read_key_texts(Reader& reader, const Member& m) {
  std::vector<Text> out;
  if (!m.value->is_list()) {
    if (auto text = read_any_text(reader, m)) out.push_back(std::move(*text));
    return out;
  }
  for (const Member& part : m.value->items) {
    if (auto text = read_any_text(reader, part)) out.push_back(std::move(*text));
  }
  return out;
}

std::optional<Text> read_when(Reader& reader, const Member& m) {
  auto text = reader.text(m);
  if (!text) return text;
  if (parse_duration(text->value) || parse_date(text->value)) return text;
  reader.error(*m.value, quoted(text->value) + " is not a time",
               "write a duration since the case's start, such as 90s, or 2026-01-05T10:00:00Z");
  return std::nullopt;
}

namespace {

constexpr Row<CaseView> kCaseView[] = {
    {{"end", shape::kText, "duration since the case's start, or a time", "the last complete window",
      "The window that ends at this time."},
     [](Reader& r, const Member& m, CaseView& out) { out.end = read_when(r, m); }},
    {{"running", shape::kBoolean, "`true` or `false`", "`false`", "The window that ends next."},
     [](Reader& r, const Member& m, CaseView& out) { set(r.boolean(m), out.running); }},
    {{"total", R"({"type":["number","string"]})", "number", "",
      "The total of all events, also of those that `top` leaves out."},
     [](Reader& r, const Member& m, CaseView& out) { out.total = read_any_text(r, m); }},
    {{"rows", R"({"type":"array","items":{"type":"array"}})",
      "list of rows: the parts of the key, then the value", "", "All rows, in their order."},
     [](Reader& r, const Member& m, CaseView& out) {
       if (!m.value->is_list()) return r.error(*m.value, "\"rows\" must be a list of rows");
       out.rows.emplace();
       for (const Member& item : m.value->items) {
         out.rows->push_back({read_key_texts(r, item), item.value->where});
       }
     }},
};

constexpr Row<CasePattern::Match> kMatch[] = {
    {{"kind", R"({"enum":["matched","timeout","unmatched"]})",
      "`matched`, `timeout` or `unmatched`", "", "What became of the match."},
     [](Reader& r, const Member& m, CasePattern::Match& out) {
       const auto word =
           r.choice<bool>(m, {{"matched", true}, {"timeout", true}, {"unmatched", true}});
       if (word) out.kind = r.text(m);
     }},
    {{"key", shape::kTexts, "a value, or a list of one per part", "", "The key of the match."},
     [](Reader& r, const Member& m, CasePattern::Match& out) { out.key = read_key_texts(r, m); }},
    {{"at", shape::kText, "duration since the case's start, or a time", "",
      "When the match fired: its last event, or the deadline."},
     [](Reader& r, const Member& m, CasePattern::Match& out) { out.at = read_when(r, m); }},
};

std::vector<CasePattern> read_patterns(Reader& reader, const Member& m) {
  std::vector<CasePattern> out;
  if (!reader.is_map(*m.value, "\"patterns\"")) return out;
  for (const Member& item : m.value->items) {
    CasePattern pattern;
    pattern.policy = {std::string(item.key->text), item.key->where};
    pattern.where = item.key->where;
    if (item.value->is_list()) {
      for (const Member& one : item.value->items) {
        CasePattern::Match match;
        match.where = one.value->where;
        reader.walk(*one.value, "a match that is expected", kMatch, match);
        pattern.matches.push_back(std::move(match));
      }
    } else if (const auto count = reader.integer(item, 0, kMany)) {
      pattern.count = static_cast<std::size_t>(*count);
    }
    out.push_back(std::move(pattern));
  }
  return out;
}

std::vector<CaseView> read_views(Reader& reader, const Member& m) {
  std::vector<CaseView> out;
  if (!reader.is_map(*m.value, "\"views\"")) return out;
  for (const Member& item : m.value->items) {
    CaseView view;
    view.view = {std::string(item.key->text), item.key->where};
    view.where = item.key->where;
    reader.walk(*item.value, "a view that is expected", kCaseView, view);
    out.push_back(std::move(view));
  }
  return out;
}

/// The verdicts that a case can expect: those of the actions, by both of their names, and those
/// without an action.
constexpr auto kVerdicts = [] {
  std::array<Word<std::string_view>, kActions.size() + 2> out{};
  std::size_t at = 0;
  out[at++] = {"pass", "pass"};
  for (const ActionRow& row : kActions) {
    if (row.action == Action::none) continue;
    out[at++] = {row.verdict, row.verdict, row.name == row.verdict ? "" : row.name};
  }
  out[at++] = {"exempt", "exempt"};
  out[at++] = {"refused", "refused"};
  return out;
}();

using RungIndex = WholeNumber<0, 1'000>;
using ExpectedHold = TimeSpan<0, kDay>;
constexpr Row<CaseExpect> kExpect[] = {
    {{"verdict", kSchemaOf<kVerdicts>, kValuesOf<kVerdicts>, "",
      "What becomes of the event; `refused`: for a body or key that can't be read."},
     [](Reader& r, const Member& m, CaseExpect& out) {
       if (const auto word = r.word(m, kVerdicts))
         out.verdict = Text{std::string(*word), m.value->where};
     }},
    {{"by", shape::kText, "a policy or list", "", "The policy or list that made the verdict."},
     [](Reader& r, const Member& m, CaseExpect& out) { out.by = r.text(m); }},
    {RungIndex::doc("rung", "", "The policy's rung that decided; the first rung is 0."),
     [](Reader& r, const Member& m, CaseExpect& out) {
       if (const auto value = RungIndex::read(r, m)) out.rung = located(m, *value);
     }},
    {{"value", R"({"type":["number","string","boolean"]})", "number or text", "",
      "The value that was compared."},
     [](Reader& r, const Member& m, CaseExpect& out) { out.value = read_number_text(r, m); }},
    {{"limit", R"({"type":["number","string"]})", "number", "",
      "The limit that the value was compared with."},
     [](Reader& r, const Member& m, CaseExpect& out) { out.limit = read_number_text(r, m); }},
    {{"status", R"({"type":"integer","minimum":300,"maximum":599})", "300 to 599", "",
      "The status that weir itself answers with."},
     [](Reader& r, const Member& m, CaseExpect& out) {
       const auto given =
           m.value->is_scalar() ? parse_integer(m.value->text) : Parsed<std::int64_t>{};
       if (given && *given.value >= 100 && *given.value < 300) {
         const std::string status = std::to_string(*given.value);
         return r.error(*m.value, "weir itself does not answer with " + status,
                        "a request that weir lets through is expect: pass; what the app answers "
                        "belongs beside expect, in the step: answer: " +
                            status);
       }
       if (const auto value = r.integer(m, 300, 599))
         out.status = located(m, static_cast<int>(*value));
     }},
    {{"score", R"({"type":"integer"})", "number", "",
      "The sum of the scores of the rungs that act: one of each policy."},
     [](Reader& r, const Member& m, CaseExpect& out) {
       if (const auto value = r.integer(m, 0, kMany)) out.score = located(m, *value);
     }},
    {ExpectedHold::doc("hold", "", "How long `delay` holds the request."),
     [](Reader& r, const Member& m, CaseExpect& out) {
       if (const auto value = ExpectedHold::read(r, m)) out.hold = located(m, *value);
     }},
    {{"upstream", shape::kTextMap, "map name: value", "",
      "Header fields that weir adds for the app."},
     [](Reader& r, const Member& m, CaseExpect& out) { out.upstream = read_text_map(r, m); }},
    {{"headers", shape::kTextMap, "map name: value", "",
      "Header fields that weir adds for the caller."},
     [](Reader& r, const Member& m, CaseExpect& out) { out.headers = read_text_map(r, m); }},
    {{"body", shape::kText, "text", "", "A part of the body that weir answers with."},
     [](Reader& r, const Member& m, CaseExpect& out) { out.body = r.text(m); }},
    {{"values", shape::kTextMap, "map policy, or policy.metric: number, text or `none`", "",
      "The values that policies read when they judged the event, whether a rung holds or not."},
     [](Reader& r, const Member& m, CaseExpect& out) { out.values = read_text_map(r, m); }},
    {{"listed", shape::kTextMap, "map list: key, or list of keys", "",
      "Keys that are on a list now; a policy's name means its own lists. A key of several parts is "
      "a list "
      "in a list."},
     [](Reader& r, const Member& m, CaseExpect& out) { out.listed = read_case_entries(r, m); }},
    {{"not_listed", shape::kTextMap, "map list: key, or list of keys", "",
      "Keys that are not on a list now."},
     [](Reader& r, const Member& m, CaseExpect& out) { out.not_listed = read_case_entries(r, m); }},
    {{"notified", shape::kTextMap, "map notification: number", "",
      "How many notifications were sent, since the case began."},
     [](Reader& r, const Member& m, CaseExpect& out) {
       if (!r.is_map(*m.value, "\"notified\"")) return;
       for (const Member& item : m.value->items) {
         if (const auto times = r.integer(item, 0, kMany)) {
           out.notified.emplace_back(Text{std::string(item.key->text), item.key->where},
                                     static_cast<std::size_t>(*times));
         }
       }
     }},
    {{"patterns", R"({"type":"object"})", "map policy: number, or list of matches (below)", "",
      "What a policy with `sequence` or `pair` has matched since the case began, in order."},
     [](Reader& r, const Member& m, CaseExpect& out) { out.patterns = read_patterns(r, m); }},
    {{"views", R"({"type":"object"})", "map view: map (below)", "", "What views show now."},
     [](Reader& r, const Member& m, CaseExpect& out) { out.views = read_views(r, m); }},
};

}  // namespace

void read_expect(Reader& reader, const Member& m, std::optional<CaseExpect>& out) {
  CaseExpect expect;
  expect.where = m.value->where;
  if (m.value->is_map()) {
    reader.walk(*m.value, "\"expect\"", kExpect, expect);
  } else {
    kExpect[0].read(reader, m, expect);
  }
  out = std::move(expect);
}

void add_expect_tables(std::vector<TableDoc>& out) {
  out.push_back(doc_of<kExpect>("expect", "\"expect\"", "Expectations",
                                "`expect: flag` is `expect: {verdict: flag}`."));
  out.push_back(doc_of<kMatch>("case_match", "a match that is expected", "Expected matches",
                               "`patterns:` of an expectation maps policies to lists of these."));
  out.push_back(doc_of<kCaseView>("case_view", "a view that is expected", "Expected views",
                                  "`views:` of an expectation maps views to these keys."));
}

}  // namespace weir::config
