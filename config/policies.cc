#include <algorithm>

#include "config/policy_checks.h"
#include "config/sections.h"
#include "config/shapes.h"
#include "config/yaml_text.h"

namespace weir::config {

std::optional<Mode> read_mode(Reader& reader, const Member& m) {
  return reader.choice<Mode>(
      m, {{"enforce", Mode::enforce}, {"shadow", Mode::shadow}, {"disabled", Mode::disabled}});
}

namespace {

constexpr milliseconds kShortest{1};
constexpr milliseconds kLongest = std::chrono::hours{24 * 31};

struct WindowDraft {
  WindowDef window;
  const Node* last = nullptr;
  const Node* every = nullptr;
  const Node* buckets = nullptr;
  const Node* from = nullptr;
  const Node* exact = nullptr;
};

constexpr Row<WindowDraft> kWindow[] = {
    {{"last", shape::kDuration, "duration, 1ms to 31d", "", "A window that slides."},
     [](Reader& r, const Member& m, WindowDraft& d) {
       d.last = m.key;
       set(r.duration(m, kShortest, kLongest), d.window.length);
     }},
    {{"buckets", R"({"type":"integer","minimum":1,"maximum":3600})", "1 to 3600", "60",
      "Parts of a sliding window: it never undercounts, and overcounts by at most one part."},
     [](Reader& r, const Member& m, WindowDraft& d) {
       d.buckets = m.key;
       if (const auto n = r.integer(m, 1, 3600)) d.window.buckets = static_cast<unsigned>(*n);
     }},
    {{"exact", shape::kBoolean, "`true` or `false`", "`false`",
      "Keep each event, and read the true value."},
     [](Reader& r, const Member& m, WindowDraft& d) {
       d.exact = m.key;
       set(r.boolean(m), d.window.exact);
     }},
    {{"every", shape::kDuration, "duration, 1ms to 31d", "", "Fixed windows, one after the other."},
     [](Reader& r, const Member& m, WindowDraft& d) {
       d.every = m.key;
       d.window.kind = WindowDef::Kind::every;
       set(r.duration(m, kShortest, kLongest), d.window.length);
     }},
    {{"from", R"({"enum":["epoch","first"]})", "`epoch` or `first`", "`epoch`",
      "Whether fixed windows begin at multiples of their length or at the key's first event."},
     [](Reader& r, const Member& m, WindowDraft& d) {
       d.from = m.key;
       set(r.choice<bool>(m, {{"epoch", false}, {"first", true}}), d.window.from_first);
     }},
    {{"calendar", "", "", "", "Natural hours, days."}, nullptr},
    {{"tz", "", "", "", "The zone of calendar windows."}, nullptr},
    {{"events", "", "", "", "The last N events."}, nullptr},
    {{"leaky", "", "", "", "Leaky bucket."}, nullptr},
    {{"drain", "", "", "", "Leaky bucket."}, nullptr},
    {{"hop", "", "", "", "Windows of views."}, nullptr},
};

}  // namespace

std::optional<WindowDef> read_window(Reader& reader, const Member& m) {
  WindowDraft draft;
  draft.window.where = m.value->where;
  if (m.value->is_scalar()) {
    const auto length = reader.duration(m, kShortest, kLongest);
    if (!length) return std::nullopt;
    draft.window.length = *length;
    return draft.window;
  }
  if (!m.value->is_map()) {
    reader.error(*m.value,
                 "a window is a duration such as 10m, or a map such as {last: 10m, exact: true}");
    return std::nullopt;
  }
  const std::size_t errors = reader.problems().errors();
  reader.walk(*m.value, "a window", kWindow, draft);
  if (draft.last != nullptr && draft.every != nullptr) {
    reader.error(*draft.every, "a window has \"last\" or \"every\", not both");
  } else if (draft.last == nullptr && draft.every == nullptr) {
    if (reader.problems().errors() == errors)
      reader.error(*m.value, "a window needs \"last\" or \"every\"");
  } else if (draft.every != nullptr && (draft.buckets != nullptr || draft.exact != nullptr)) {
    reader.error(draft.buckets != nullptr ? *draft.buckets : *draft.exact,
                 "\"buckets\" and \"exact\" stand only with \"last\"");
  } else if (draft.last != nullptr && draft.from != nullptr) {
    reader.error(*draft.from, "\"from\" stands only with \"every\"");
  } else if (draft.buckets != nullptr && draft.window.exact) {
    reader.error(*draft.buckets, "an exact window has no buckets");
  } else if (draft.last != nullptr && !draft.window.exact && draft.window.length.count() > 0 &&
             draft.buckets != nullptr && draft.window.length.count() < draft.window.buckets) {
    reader.error(*draft.buckets, "a bucket would be shorter than 1ms");
  }
  if (reader.problems().errors() != errors) return std::nullopt;
  return draft.window;
}

namespace {

/// Splits `a, f(b, c)` at its own commas; each part keeps its place where the text shows it.
std::vector<Text> split_arguments(const Text& whole, std::size_t begin, std::size_t end) {
  std::vector<Text> out;
  const std::string_view text = whole.value;
  std::size_t from = begin;
  int depth = 0;
  char quote = '\0';
  for (std::size_t i = begin; i <= end; ++i) {
    const char c = i < end ? text[i] : ',';
    if (quote != '\0' && i < end) {
      if (c == '\\') {
        ++i;
      } else if (c == quote) {
        quote = '\0';
      }
      continue;
    }
    if (c == '"' || c == '\'') quote = c;
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (i < end && (c != ',' || depth > 0)) continue;
    std::size_t first = from, last = i;
    while (first < last && text[first] == ' ') ++first;
    while (last > first && text[last - 1] == ' ') --last;
    out.push_back(
        {std::string(text.substr(first, last - first)), within(whole, first, last - first)});
    from = i + 1;
  }
  return out;
}

struct MetricRow {
  std::string_view name;
  std::optional<MetricDef::Kind> kind;  // none: not built yet
  std::size_t least, most;              // arguments
};
constexpr MetricRow kMetrics[] = {
    {"count", MetricDef::Kind::count, 0, 0},
    {"sum", MetricDef::Kind::sum, 1, 1},
    {"distinct", MetricDef::Kind::distinct, 1, 8},
    {"in_flight", MetricDef::Kind::in_flight, 0, 0},
    {"avg", std::nullopt, 1, 1},
    {"min", std::nullopt, 1, 1},
    {"max", std::nullopt, 1, 1},
    {"exists", std::nullopt, 1, 1},
    {"last", std::nullopt, 1, 1},
};

void read_metric(Reader& reader, const Member& m, MetricDef& out) {
  const auto text = reader.expression(m);
  if (!text) return;
  const std::string_view all = text->value;
  const std::size_t paren = all.find('(');
  const std::string_view name = all.substr(0, paren);
  const auto* row = std::find_if(std::begin(kMetrics), std::end(kMetrics),
                                 [&](const MetricRow& r) { return r.name == name; });
  if (row == std::end(kMetrics)) {
    std::vector<std::string_view> allowed;
    for (const MetricRow& r : kMetrics) {
      if (r.kind) allowed.push_back(r.name);
    }
    reader.error(*m.value, quoted(name) + " is no metric", suggest(name, allowed));
    return;
  }
  if (!row->kind) return reader.later(*m.value, name);
  out.kind = *row->kind;
  out.where = m.value->where;
  out.arguments.clear();
  if (paren != std::string_view::npos) {
    if (all.back() != ')' || open_brackets(all) != 0) {
      return reader.error(*m.value, "the brackets of this metric do not match");
    }
    out.arguments = split_arguments(*text, paren + 1, all.size() - 1);
    if (out.arguments.size() == 1 && out.arguments[0].value.empty()) out.arguments.clear();
  }
  const bool blank = std::any_of(out.arguments.begin(), out.arguments.end(),
                                 [](const Text& t) { return t.value.empty(); });
  if (out.arguments.size() < row->least || out.arguments.size() > row->most || blank) {
    reader.error(*m.value, row->most == 0 ? std::string(name) + " takes no argument"
                           : row->most == 1
                               ? std::string(name) + " takes one argument, as in " +
                                     std::string(name) + "(gold)"
                               : std::string(name) + " takes one to eight arguments, as in " +
                                     std::string(name) + "(user)");
  }
}

/// `user`, `header.x_user_id`, `ip/24`, `ip/24,56`.
void read_key_part(Reader& reader, const Member& m, std::vector<KeyPart>& out) {
  if (m.value->is_map()) {
    for (const Member& inner : m.value->items) {
      if (inner.key->text == "near") return reader.later(*inner.key, "near");
    }
  }
  const auto text = reader.text(m);
  if (!text) return;
  const std::string_view all = text->value;
  const std::size_t slash = all.find('/');
  const std::string_view field = all.substr(0, slash);
  KeyPart part;
  std::size_t from = 0;
  bool ok = true;
  while (ok && from <= field.size()) {
    const std::size_t dot = std::min(field.find('.', from), field.size());
    ok = is_name(field.substr(from, dot - from), true);
    from = dot + 1;
  }
  if (!ok) {
    return reader.error(
        *m.value, quoted(field) + " is no field",
        "a key names fields; give an expression a name under \"fields\" of the event");
  }
  part.field = {std::string(field), within(*text, 0, field.size())};
  if (slash != std::string_view::npos) {
    const std::string_view masks = all.substr(slash + 1);
    const std::size_t comma = masks.find(',');
    const bool both = comma != std::string_view::npos;
    const auto first = parse_integer(masks.substr(0, comma));
    const auto second =
        both ? parse_integer(masks.substr(comma + 1)) : Parsed<std::int64_t>{0, "", ""};
    // One number applies to its family: what fits IPv4 is IPv4's.
    const bool v4 = first && *first.value >= 0 && *first.value <= 32;
    const bool v6 = first && !both && *first.value > 32 && *first.value <= 128;
    if (!(v4 || v6) || !second || *second.value < 0 || *second.value > 128) {
      return reader.error(
          *m.value, quoted(masks) + " is no mask",
          "write ip/24 (IPv4, 0 to 32), ip/48 (IPv6, 33 to 128) or ip/24,56 (both)");
    }
    if (v4) part.v4_bits = static_cast<unsigned>(*first.value);
    if (v6) part.v6_bits = static_cast<unsigned>(*first.value);
    if (both) part.v6_bits = static_cast<unsigned>(*second.value);
  }
  for (const KeyPart& other : out) {
    if (other.field.value == part.field.value)
      return reader.error(*m.value, quoted(field) + " stands twice in the key");
  }
  out.push_back(std::move(part));
}

void read_key(Reader& reader, const Member& m, std::vector<KeyPart>& out) {
  if (!m.value->is_list()) return read_key_part(reader, m, out);
  if (m.value->items.empty()) reader.error(*m.value, "\"key\" is an empty list");
  if (m.value->items.size() > 8) return reader.error(*m.value, "a key has at most 8 parts");
  for (const Member& item : m.value->items) read_key_part(reader, item, out);
}

std::vector<Text> read_event_names(Reader& reader, const Member& m) {
  std::vector<Text> out = reader.texts(m);
  for (std::size_t i = 0; i < out.size(); ++i) {
    for (std::size_t j = 0; j < i && i < 64; ++j) {
      if (out[i].value == out[j].value)
        reader.problems().error(out[i].where, quoted(out[i].value) + " stands twice");
    }
  }
  return out;
}

constexpr Row<PolicyDraft> kPolicy[] = {
    {{"name", shape::kName, "name", "required", "In verdicts, metrics and lists."},
     [](Reader& r, const Member& m, PolicyDraft& d) {
       set(r.name(m, "a policy", true), d.policy.name);
     }},
    {{"watch", shape::kNames, "an event, or a list of events", "required",
      "What is counted or judged."},
     [](Reader& r, const Member& m, PolicyDraft& d) { d.policy.watch = read_event_names(r, m); }},
    {{"when", shape::kExpression, "expression", "`true`", "Only events for which this holds."},
     [](Reader& r, const Member& m, PolicyDraft& d) { d.policy.when = r.expression(m); }},
    {{"key", R"({"$ref":"#/$defs/texts"})", "field, or list of fields; `ip/24,56` masks IPv4,IPv6",
      "one counter for all", "Whose events are counted together."},
     [](Reader& r, const Member& m, PolicyDraft& d) { read_key(r, m, d.policy.key); }},
    {{"metric",
      R"({"type":"string","pattern":"^(count|in_flight|sum\\(.+\\)|distinct\\(.+\\))(\\(\\))?$"})",
      "`count`, `sum(f)`, `distinct(f[, g])`, `in_flight`", "`count`", "What is measured."},
     [](Reader& r, const Member& m, PolicyDraft& d) {
       d.metric = m.key;
       read_metric(r, m, d.policy.metric);
     }},
    {{"window", R"({"anyOf":[{"$ref":"#/$defs/duration"},{"$ref":"#/$defs/window"}]})",
      "duration, or a window (below)", "required with a metric", "Over which time."},
     [](Reader& r, const Member& m, PolicyDraft& d) {
       d.window = m.key;
       d.policy.window = read_window(r, m);
     }},
    {{"reset", shape::kName, "an event", "",
      "An event of the same key whose answer empties the settled count."},
     [](Reader& r, const Member& m, PolicyDraft& d) { d.policy.reset = r.text(m); }},
    {{"then", R"({"type":"array","minItems":1,"items":{"$ref":"#/$defs/rung"}})",
      "list of rungs (below)", "required",
      "Thresholds and what follows; the severest rung that holds wins."},
     [](Reader& r, const Member& m, PolicyDraft& d) { read_rungs(r, m, d.policy.then); }},
    {{"charge", R"({"enum":["when_allowed","always"]})", "`when_allowed` or `always`",
      "`when_allowed`", "Whether refused requests count."},
     [](Reader& r, const Member& m, PolicyDraft& d) {
       set(m,
           r.choice<Charge>(m,
                            {{"when_allowed", Charge::when_allowed}, {"always", Charge::always}}),
           d.policy.charge);
     }},
    {{"missing", R"({"enum":["skip","same","deny"]})", "`skip`, `same` or `deny`", "`skip`",
      "When a key part or amount is missing or unreadable."},
     [](Reader& r, const Member& m, PolicyDraft& d) {
       set(m,
           r.choice<Missing>(
               m, {{"skip", Missing::skip}, {"same", Missing::same}, {"deny", Missing::deny}}),
           d.policy.missing);
     }},
    {{"guard", shape::kNames, "an event, or a list of events", "`watch`",
      "The requests that the verdict applies to."},
     [](Reader& r, const Member& m, PolicyDraft& d) { d.policy.guard = read_event_names(r, m); }},
    {{"mode", shape::kMode, "`enforce`, `shadow` or `disabled`", "`enforce`",
      "Shadow judges and counts apart, and changes nothing."},
     [](Reader& r, const Member& m, PolicyDraft& d) { set(m, read_mode(r, m), d.policy.mode); }},
    {{"keep", R"({"type":"integer","minimum":1,"maximum":100000})", "1 to 100000", "1000",
      "Members or log entries per key at most."},
     [](Reader& r, const Member& m, PolicyDraft& d) {
       if (const auto n = r.integer(m, 1, 100'000))
         d.policy.keep = located(m, static_cast<std::size_t>(*n));
     }},
    {{"keys", shape::kCount, "1 to 1000000000", "`limits.keys`", "Keys of this counter at most."},
     [](Reader& r, const Member& m, PolicyDraft& d) {
       if (const auto n = r.integer(m, 1, 1'000'000'000))
         d.policy.keys = located(m, static_cast<std::size_t>(*n));
     }},
    {{"announce", shape::kBoolean, "`true` or `false`", "`false`",
      "RateLimit headers on passing answers as well."},
     [](Reader& r, const Member& m, PolicyDraft& d) { set(r.boolean(m), d.policy.announce); }},
    {{"metrics", "", "", "", ""}, nullptr},
    {{"sequence", "", "", "", ""}, nullptr},
    {{"within", "", "", "", ""}, nullptr},
    {{"strict", "", "", "", ""}, nullptr},
    {{"among", "", "", "", ""}, nullptr},
    {{"overlap", "", "", "", ""}, nullptr},
    {{"pair", "", "", "", ""}, nullptr},
    {{"clock", "", "", "", ""}, nullptr},
    {{"late", "", "", "", ""}, nullptr},
    {{"share", "", "", "", ""}, nullptr},
    {{"on_error", "", "", "", ""}, nullptr},
    {{"retain", "", "", "", ""}, nullptr},
    {{"version", "", "", "", ""}, nullptr},
};

}  // namespace

void read_policies(Reader& reader, const Member& section, std::vector<PolicyDef>& out) {
  if (section.value->is_null()) return;  // all of it commented out
  if (!section.value->is_list()) {
    reader.error(*section.value, "\"policies\" must be a list",
                 "begin each policy with - name: ...");
    return;
  }
  for (const Member& item : section.value->items) {
    PolicyDraft draft;
    draft.map = item.value;
    const std::size_t errors = reader.problems().errors();
    const Seen seen = reader.walk(*item.value, "a policy", kPolicy, draft);
    // A misspelt key is told once: what its absence would bring about is not told as well.
    draft.has_window = Reader::has(seen, kPolicy, "window") ||
                       Reader::has(seen, kPolicy, "sequence") ||
                       Reader::has(seen, kPolicy, "pair") || Reader::has(seen, kPolicy, "metrics");
    draft.sound = reader.problems().errors() == errors;
    check_policy(reader, draft);
    if (!draft.policy.name.value.empty()) out.push_back(std::move(draft.policy));
  }
}

void add_policy_tables(std::vector<TableDoc>& out) {
  out.push_back(doc_of<kPolicy>("policy", "a policy", "Policies",
                                "`policies:` is a list of maps with these keys. A policy reads as "
                                "one sentence: *watch* this event, "
                                "*when* a filter holds, per *key*, take this *metric* over this "
                                "*window*; *then* these rungs."));
  out.push_back(doc_of<kWindow>(
      "window", "a window", "Windows",
      "`window: 10m` is `{last: 10m, buckets: 60}`. A rung may have one of its own under `in`."));
}

}  // namespace weir::config
