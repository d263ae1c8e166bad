#include <algorithm>
#include <array>

#include "config/sections/descriptors.h"
#include "config/sections/match.h"
#include "config/sections/sections.h"
#include "config/text/merge.h"
#include "config/text/shapes.h"
#include "config/text/yaml_text.h"

namespace weir::config {
namespace {

/// Words of the expression language that a field may not hide: a policy that reads `ip` must mean
/// the caller's address in every place.
constexpr std::array<std::string_view, 23> kReserved = {
    "method", "path", "url",    "host",     "scheme", "ip",   "query", "header",
    "cookie", "body", "status", "response", "envoy",  "time", "event", "value",
    "limit",  "true", "false",  "null",     "in",     "and",  "or"};

}  // namespace

bool is_reserved(std::string_view name) {
  return name == "not" || std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end();
}

namespace {

constexpr Row<EventDef> kEvent[] = {
    {{"match", shape::kText, "`METHOD /route`; `*` = any method; `{name}` segments become fields",
      "",
      "The requests that are this event. `GET` includes HEAD. The path is in its normal form, such "
      "as "
      "`/caf%C3%A9`; segments are decoded."},
     [](Reader& r, const Member& m, EventDef& out) {
       if (m.value->is_list() || m.value->is_map()) return tell_match(r, m);
       out.match = r.text(m);
       if (out.match) check_match(r, m, *out.match);
     }},
    {{"is", shape::kName, "an event", "", "Another event that this one is a kind of."},
     [](Reader& r, const Member& m, EventDef& out) { out.is = r.name(m, "an event", false); }},
    {{"when", shape::kExpression, "expression", "true",
      "Only requests for which the expression is true; it can read the answer."},
     [](Reader& r, const Member& m, EventDef& out) { out.when = r.expression(m); }},
    {{"fields", shape::kFields, "map name: expression", "",
      "Fields of the event, besides the built-in ones."},
     [](Reader& r, const Member& m, EventDef& out) { read_fields(r, m, out.fields); }},
    {{"body", R"({"enum":["json","form","multipart"]})", "`json`, `form` or `multipart`",
      "as Content-Type says",
      "The only kind of body that the app reads here: weir treats another kind as unreadable. "
      "`json` includes "
      "a body whose Content-Type names no kind."},
     [](Reader& r, const Member& m, EventDef& out) {
       set(m,
           r.choice<BodyKind>(m, {{"json", BodyKind::json},
                                  {"form", BodyKind::form},
                                  {"multipart", BodyKind::multipart}}),
           out.body);
     }},
    {{"source", R"({"$ref":"#/$defs/source"})", "map, see Sources", "",
      "Records of a file instead of requests."},
     [](Reader& r, const Member& m, EventDef& out) { read_source(r, m, out.source); }},
    {{"domain", shape::kText, "text", "", "A call of the rate limit service with this domain."},
     [](Reader& r, const Member& m, EventDef& out) { read_domain(r, m, out.descriptor); }},
    {{"descriptors", R"({"type":["object","array"]})",
      "map key: value, or a list of such maps, each with one entry",
      "every descriptor of the domain", "With `domain`: the entries of the descriptor."},
     [](Reader& r, const Member& m, EventDef& out) { read_descriptors(r, m, out.descriptor); }},
    {{"replaces", shape::kNames, "an event, or a list of events", "",
      "With `descriptors`: the events that a call with this event does not count as, whatever its "
      "other "
      "descriptors say."},
     [](Reader& r, const Member& m, EventDef& out) {
       if (!out.descriptor) out.descriptor.emplace();
       out.descriptor->replaces = r.texts(m);
     }},
    {{"quota", shape::kBoolean, "`true` or `false`", "`false`",
      "With `descriptors`: this event refuses a call only if all events with `quota` of the call "
      "are "
      "refused."},
     [](Reader& r, const Member& m, EventDef& out) {
       if (!out.descriptor) out.descriptor.emplace();
       set(r.boolean(m), out.descriptor->quota);
     }},
};

void read_event(Reader& reader, const Member& m, std::vector<EventDef>& out) {
  EventDef event;
  const std::size_t before = reader.problems().errors();
  set(reader.name(Member{m.key, m.key}, "an event", false), event.name);
  // By a name that is none it is known too, so that its uses are not reported as well.
  if (event.name.value.empty()) event.name = {std::string(m.key->text), m.key->where};
  if (m.key->text == "request" || is_reserved(m.key->text)) {
    reader.error(*m.key, quoted(m.key->text) + " is built in", "choose another name for the event");
  }
  const std::size_t errors = reader.problems().errors();
  reader.walk(*m.value, "an event", kEvent, event);
  const std::size_t found = reader.problems().errors() - errors;
  const bool sound = found == 0;
  const bool call = event.descriptor.has_value();
  const int kinds =
      (event.match ? 1 : 0) + (event.is ? 1 : 0) + (event.source ? 1 : 0) + (call ? 1 : 0);
  if (sound && kinds == 0) {
    reader.error(*m.key, "an event needs \"match\", \"is\", \"source\" or \"domain\"",
                 "write match: POST /api/login");
  } else if (kinds > 1) {
    reader.error(*m.key, "an event has one of \"match\", \"is\", \"source\" and \"domain\"");
  } else if (sound && call && event.descriptor->domain.value.empty()) {
    reader.error(*m.key, "\"descriptors\", \"replaces\" and \"quota\" need \"domain\"",
                 "write domain: api");
  } else if (sound && call && event.descriptor->entries.empty() &&
             (!event.descriptor->replaces.empty() || event.descriptor->quota)) {
    reader.error(*m.key, "\"replaces\" and \"quota\" need \"descriptors\"");
  } else if (sound && !event.match && event.body.value != BodyKind::none) {
    reader.error(*m.key, "\"body\" is allowed only beside \"match\"",
                 event.is ? "say it of the event with the route" : "records have columns");
  }
  if (call) event.descriptor->whole_domain = event.descriptor->entries.empty();
  // A field whose expression cannot be read is known by name.
  const auto unread = static_cast<std::size_t>(std::count_if(
      event.fields.begin(), event.fields.end(), [](const FieldDef& f) { return !f.sound; }));
  event.sound = found == unread && reader.problems().errors() == before + found;
  event.spelling = spelling(*m.value);
  if (!event.name.value.empty()) out.push_back(std::move(event));
}

}  // namespace

void read_fields(Reader& reader, const Member& section, std::vector<FieldDef>& out) {
  if (section.value->is_null()) return;  // all of it commented out
  if (!reader.is_map(*section.value, "\"fields\"")) return;
  for (const Member& m : section.value->items) {
    const auto name = reader.name(Member{m.key, m.key}, "a field", false);
    if (name && is_reserved(name->value)) {
      reader.error(*m.key, quoted(name->value) + " is built in",
                   "choose another name for the field");
      continue;
    }
    const auto expression = reader.expression(m);
    if (name) out.push_back({*name, expression.value_or(Text{}), expression.has_value()});
  }
}

void read_events(Reader& reader, const Member& section, std::vector<EventDef>& out) {
  if (section.value->is_null()) return;  // all of it commented out
  if (!reader.is_map(*section.value, "\"events\"")) return;
  for (const Member& m : section.value->items) read_event(reader, m, out);
}

void add_event_tables(std::vector<TableDoc>& out) {
  out.push_back(doc_of<kEvent>(
      "event", "an event", "Events",
      "`events:` maps names to these keys. `request` is built in: every HTTP request."));
  add_source_tables(out);
  add_descriptor_tables(out);
}

}  // namespace weir::config
