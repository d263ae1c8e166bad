#include <algorithm>

#include "config/sections/sections.h"
#include "config/text/log_format.h"
#include "config/text/shapes.h"
#include "config/text/time_form.h"
#include "config/text/units.h"
#include "config/text/yaml_text.h"

/// `source:` of an event: the form of its records in a file.
namespace weir::config {
namespace {

/// `time:` as it is written; its meaning depends on the format beside it.
struct TimeParts {
  std::optional<Text> field, as;
};

constexpr Row<TimeParts> kTime[] = {
    {{"field", shape::kText, "a column", "required, except for a log",
      "The column or JSON member that holds the event's time."},
     [](Reader& r, const Member& m, TimeParts& out) { out.field = r.text(m); }},
    {{"as", shape::kText,
      "`seconds`, `millis`, `micros`, `nanos` or a pattern such as `%d/%m/%Y:%H:%M:%S %z`",
      "log: `%d/%b/%Y:%H:%M:%S %z`", "The format of the time. A time without a zone is UTC."},
     [](Reader& r, const Member& m, TimeParts& out) { out.as = r.text(m); }},
};

struct Parts {
  SourceDef def;
  std::optional<TimeParts> time;
  const Node* time_node = nullptr;
  bool has_header = false, json = false;
  std::string time_form;  ///< log: of `%{FORM}t`
  Where header_where;
};

void read_csv(Reader& r, const Member& m, Parts& out) {
  out.def.columns = r.texts(m);
  for (std::size_t i = 0; i < out.def.columns.size(); ++i) {
    const Text& column = out.def.columns[i];
    if (column.value == "_") continue;  // a skipped column
    if (!is_name(column.value, false)) {
      r.problems().error(column.where, quoted(column.value) + " is not a name for a column",
                         "a name is a letter or _, then letters, digits and _, at most 64; _ alone "
                         "skips a column");
    }
    const auto before = out.def.columns.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::any_of(out.def.columns.begin(), before,
                    [&](const Text& t) { return t.value == column.value; })) {
      r.problems().error(column.where, "column " + quoted(column.value) + " is given twice",
                         "_ skips a column that nobody reads");
    }
  }
}

void read_log(Reader& r, const Member& m, Parts& out) {
  const auto text = r.text(m);
  if (!text) return;
  out.def.format = SourceDef::Format::log;
  out.def.pattern = *text;
  LogFormat::Problem problem;
  if (const auto format = LogFormat::compile(text->value, problem)) {
    for (const std::string& column : format->columns)
      out.def.columns.push_back({column, text->where});
    out.time_form = format->time_form;
  } else {
    r.problems().error(within(*text, problem.offset, problem.length), problem.message,
                       problem.hint);
  }
}

constexpr Row<Parts> kSource[] = {
    {{"csv", shape::kTexts, "names of the columns", "",
      "Comma-separated records; values are strings, an empty one is null."},
     read_csv},
    {{"log", shape::kText,
      "`common`, `combined`, `vhost_combined` or directives: `%h - %u %t %m %U`", "",
      "Lines of an access log; `%h %m %U` are the columns `ip`, `method`, `url`; `%{FORM}t` is a "
      "time in another form than `%t`."},
     read_log},
    {{"json", R"({"const":true})", "`true`", "",
      "One JSON object per line; values keep their types."},
     [](Reader& r, const Member& m, Parts& out) {
       const auto json = r.boolean(m);
       if (json && !*json) r.error(*m.value, "\"json\" can only be true");
       out.def.format = SourceDef::Format::json;
       out.json = true;
     }},
    {{"header", shape::kBoolean, "`true`, `false`", "`false`",
      "The first line of a csv file names its columns: it is skipped."},
     [](Reader& r, const Member& m, Parts& out) {
       set(r.boolean(m), out.def.header);
       out.has_header = true;
       out.header_where = m.key->where;
     }},
    {{"time", R"({"$ref":"#/$defs/source_time"})", "map", "required, except for a log",
      "Where an event's time is, and in which format."},
     [](Reader& r, const Member& m, Parts& out) {
       out.time.emplace();
       out.time_node = m.value;
       r.walk(*m.value, "a record's time", kTime, *out.time);
     }},
};

void check_form(Reader& r, const Text& as, SourceDef& out) {
  TimePattern::Problem problem;
  if (auto form = parse_time_form(as.value, problem)) {
    out.time = std::move(*form);
  } else {
    r.problems().error(within(as, problem.offset, problem.length), problem.message, problem.hint);
  }
}

void check_time(Reader& r, const Node& node, Parts& parts) {
  SourceDef& out = parts.def;
  const bool log = out.format == SourceDef::Format::log;
  if (!parts.time && !log) {
    r.error(node, "records need \"time\"", "such as time: {field: ts, as: seconds}");
    return;
  }
  if (log) {
    if (parts.time && parts.time->field) {
      r.problems().error(parts.time->field->where, "the time of a log is where %t is",
                         "leave out \"field\"");
    }
    const std::string own = parts.time_form.empty() ? std::string(kLogTime) : parts.time_form;
    const bool has_as = parts.time && parts.time->as;
    if (has_as && !parts.time_form.empty()) {
      r.problems().error(parts.time->as->where,
                         "the format has the form of the time already, in %{...}t",
                         "write %t there, or leave out \"as\"");
    }
    check_form(r, has_as ? *parts.time->as : Text{own, node.where}, out);
    return;
  }
  if (!parts.time->field) {
    r.error(*parts.time_node, "\"time\" needs \"field\"",
            "the column that holds it: {field: ts, as: seconds}");
  } else {
    out.time_field = *parts.time->field;
    std::vector<std::string_view> columns;
    for (const Text& column : out.columns) columns.push_back(column.value);
    if (out.format == SourceDef::Format::csv && !columns.empty() &&
        std::find(columns.begin(), columns.end(), out.time_field.value) == columns.end()) {
      r.problems().error(out.time_field.where, "there is no column " + quoted(out.time_field.value),
                         suggest(out.time_field.value, columns));
    }
  }
  if (!parts.time->as) {
    r.error(*parts.time_node, "\"time\" needs \"as\"", "it is one of " + known_time_forms());
  } else {
    check_form(r, *parts.time->as, out);
  }
}

}  // namespace

void read_source(Reader& reader, const Member& m, std::optional<SourceDef>& out) {
  Parts parts;
  parts.def.where = m.key->where;
  const std::size_t errors = reader.problems().errors();
  const Seen seen = reader.walk(*m.value, "a source", kSource, parts);
  const int formats = static_cast<int>(Reader::has(seen, kSource, "csv")) +
                      static_cast<int>(Reader::has(seen, kSource, "log")) +
                      static_cast<int>(Reader::has(seen, kSource, "json"));
  if (reader.problems().errors() == errors) {
    if (formats != 1) {
      reader.error(*m.key, "a source is one of \"csv\", \"log\" and \"json\"",
                   "such as source: {csv: [user, ip, ts], time: {field: ts, as: seconds}}");
    } else {
      if (parts.has_header && parts.def.format != SourceDef::Format::csv) {
        reader.problems().error(parts.header_where, "only csv files have a header");
      }
      check_time(reader, *m.value, parts);
    }
  }
  out = std::move(parts.def);
}

void add_source_tables(std::vector<TableDoc>& out) {
  out.push_back(doc_of<kSource>(
      "source", "a source", "Sources",
      "`source:` makes each record of a file an event (`weir replay`): one of `csv`, "
      "`log` and `json`. Its columns are the fields of the event."));
  out.push_back(
      doc_of<kTime>("source_time", "a record's time", "Times of records", "`time:` of a source."));
}

}  // namespace weir::config
