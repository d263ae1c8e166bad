#include <algorithm>

#include "config/sections/sections.h"
#include "config/text/fields.h"
#include "config/text/shapes.h"
#include "config/text/yaml_text.h"
#include "core/chars/parse.h"

/// Settings of the records that weir writes about its work: `access_log`, `tracing`, `audit`.
namespace weir::config {
namespace {

constexpr std::string_view kPart =
    R"({"anyOf":[{"type":"number","minimum":0,"maximum":1},{"type":"string","pattern":"^[0-9.]+%$"}]})";

/// `1%`, `0.01`, `1`.
void read_part(Reader& r, const Member& m, double& out) {
  const auto word = r.scalar(m);
  if (!word) return;
  std::string_view text = *word;
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  auto value = parse_whole<double>(text);
  if (value && percent) *value /= 100;
  if (!value || !(*value >= 0 && *value <= 1))
    return r.error(*m.value, quoted(*word) + " is not a share", "write 1%, or 0.01; 1 is all");
  out = *value;
}

void read_fields_of_lines(Reader& r, const Member& m, Server::AccessLog& out) {
  std::vector<telemetry::AccessField> fields;
  for (const Text& text : r.texts(m)) {
    if (const auto field = telemetry::access_field_named(text.value)) {
      if (std::find(fields.begin(), fields.end(), *field) == fields.end()) {
        fields.push_back(*field);
      } else {
        r.problems().error(text.where, quoted(text.value) + " is given twice");
      }
      continue;
    }
    std::vector<std::string_view> names;
    std::string all;
    for (const auto& row : telemetry::access_fields()) {
      names.push_back(row.name);
      all.append(all.empty() ? "" : ", ").append(row.name);
    }
    const std::string_view near = nearest(text.value, names);
    r.problems().error(
        text.where, quoted(text.value) + " is not a field of the access log",
        near.empty() ? "there are " + all : "did you mean " + quoted(near) + "? there are " + all);
  }
  out.wants.fields = std::move(fields);
}

constexpr Row<Server::AccessLog> kAccessLog[] = {
    {{"path", shape::kText, "path of a file, `stdout` or `stderr`", "`stdout`",
      "Where the lines go. A file is opened again on SIGHUP, and when it was moved."},
     [](Reader& r, const Member& m, Server::AccessLog& out) {
       if (const auto text = r.text(m)) out.path = text->value;
     },
     same<&Server::AccessLog::is_on, &Server::AccessLog::path>},
    {{"sample", kPart, "`1%`, or 0 to 1", "`100%`", "Which part of the requests has a line."},
     [](Reader& r, const Member& m, Server::AccessLog& out) { read_part(r, m, out.wants.sample); }},
    {{"always",
      R"({"anyOf":[{"enum":["refused","errors","none"]},{"type":"array","items":{"enum":["refused","errors"]}}]})",
      "`refused`, `errors`, both in a list, or `none`", "`refused`",
      "What has a line whatever the sample says: what a policy or list refused, held or "
      "challenged; "
      "answers of weir itself with 400 or more, of the app with 500 or more, and broken ones."},
     [](Reader& r, const Member& m, Server::AccessLog& out) {
       out.wants.always_refused = out.wants.always_errors = false;
       for (const Text& text : r.texts(m)) {
         if (text.value == "refused") {
           out.wants.always_refused = true;
         } else if (text.value == "errors") {
           out.wants.always_errors = true;
         } else if (text.value != "none") {
           r.problems().error(text.where, quoted(text.value) + " is none of refused, errors, none");
         }
       }
     }},
    {{"fields", shape::kTexts, "list of names", "those of the [table](observability.md#access-log)",
      "What a line says, in this order."},
     read_fields_of_lines},
    {{"format", R"({"const":"json"})", "`json`", "`json`", "One JSON object a line."},
     [](Reader& r, const Member& m, Server::AccessLog&) {
       r.choice<bool>(m, {{"json", true}});
     }},
};

constexpr Row<Server::Tracing> kTracing[] = {
    {{"endpoint", shape::kText, "`http://HOST:PORT`", "nowhere: nothing is traced",
      "Where the collector takes OTLP over HTTP, in JSON; without a path `/v1/traces`."},
     [](Reader& r, const Member& m, Server::Tracing& out) {
       const auto text = r.text(m);
       if (!text) return;
       const std::string_view url = text->value;
       const std::size_t end = std::min(url.find('/', 7), url.size());
       if (!url.starts_with("http://") || !parse_upstream(url.substr(0, end))) {
         return r.error(*m.value, quoted(url) + " is not an address of a collector",
                        "write http://127.0.0.1:4318; for a collector behind TLS, let one on this "
                        "machine pass the spans on");
       }
       out.endpoint = text;
     },
     same<&Server::Tracing::endpoint>},
    {{"sample", kPart, "`1%`, or 0 to 1", "`1%`",
      "Which part of the requests is traced; of requests by trusted peers, what their "
      "`traceparent` "
      "says."},
     [](Reader& r, const Member& m, Server::Tracing& out) { read_part(r, m, out.sample); },
     same<&Server::Tracing::sample>},
    {{"service", shape::kText, "text", "`weir`", "`service.name` of the spans."},
     [](Reader& r, const Member& m, Server::Tracing& out) {
       if (const auto text = r.text(m)) out.service = text->value;
     },
     same<&Server::Tracing::service>},
};

constexpr Row<Server::Audit> kAudit[] = {
    {{"path", shape::kText, "path of a file", "the log",
      "Where the lines go. Opened again on SIGHUP, and when it was moved."},
     [](Reader& r, const Member& m, Server::Audit& out) { out.path = r.text(m); },
     same<&Server::Audit::path>},
    number<&Server::Audit::keep, 1, 10'000>(
        "keep", "1000", "How many entries `GET /v1/audit` can show.", TakesEffect::at_start),
};

}  // namespace

bool same_tracing(const Server& a, const Server& b) {
  return same_in<kTracing>(a.tracing, b.tracing);
}

bool same_audit(const Server& a, const Server& b) { return same_in<kAudit>(a.audit, b.audit); }

void add_access_log_changes(const Server::AccessLog& a, const Server::AccessLog& b,
                            std::vector<std::string>& out) {
  add_changes<kAccessLog>("access_log", a, b, out);
}

void read_access_log(Reader& reader, const Member& m, Server& out) {
  out.access_log.is_on = true;
  reader.walk(*m.value, "\"access_log\"", kAccessLog, out.access_log);
}

void read_tracing(Reader& reader, const Member& m, Server& out) {
  reader.walk(*m.value, "\"tracing\"", kTracing, out.tracing);
}

void read_audit(Reader& reader, const Member& m, Server& out) {
  reader.walk(*m.value, "\"audit\"", kAudit, out.audit);
}

void add_observe_tables(std::vector<TableDoc>& out) {
  out.push_back(doc_of<kAccessLog>(
      "access_log", "\"access_log\"", "access_log",
      "Off without this section. [observability.md](observability.md#access-log) has the fields."));
  out.push_back(doc_of<kTracing>("tracing", "\"tracing\"", "tracing", "Off without this section."));
  out.push_back(doc_of<kAudit>("audit", "\"audit\"", "audit", ""));
}

}  // namespace weir::config
