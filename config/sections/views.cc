#include <cmath>
#include <numeric>

#include "config/sections/descriptors.h"
#include "config/sections/sections.h"
#include "config/text/shapes.h"
#include "config/text/yaml_text.h"

/// The section `views:`.
namespace weir::config {
namespace {

using TopRows = WholeNumber<1, 10'000>;
using ExpectedMembers = WholeNumber<1, 100'000'000>;
constexpr std::int64_t kSketchWindowsMax = 100;

struct ViewDraft {
  ViewDef view;
  const Node* metric = nullptr;
  const Node* method = nullptr;
  const Node* expect = nullptr;
  const Node* error = nullptr;
};

constexpr Row<ViewDef> kTop[] = {
    {TopRows::doc("n", "required", "The number of rows for each value."),
     [](Reader& r, const Member& m, ViewDef& out) {
       if (const auto n = TopRows::read(r, m)) {
         out.top = located(m, static_cast<std::size_t>(*n));
       }
     }},
    {{"per", shape::kName, "a field", "required",
      "The rows of each value of this field are ranked separately; if `by` does not have the "
      "field, the field becomes "
      "the first part of the key."},
     [](Reader& r, const Member& m, ViewDef& out) { out.per = r.text(m); }},
};

constexpr Row<ViewDraft> kView[] = {
    {{"name", shape::kName, "name", "required", "The name in results, metrics and the admin API."},
     [](Reader& r, const Member& m, ViewDraft& d) { set(r.name(m, "a view", true), d.view.name); }},
    {{"watch", shape::kWatched, "an event, a call (below), or a list of them", "required",
      "What is counted."},
     [](Reader& r, const Member& m, ViewDraft& d) {
       d.view.watch = read_watched(r, m, d.view.described);
     }},
    {{"when", shape::kExpression, "expression", "`true`",
      "Only events for which the expression is true; lists are read as the policies left them."},
     [](Reader& r, const Member& m, ViewDraft& d) { d.view.when = r.expression(m); }},
    {{"by", shape::kKey, "field, or list of fields, as a policy's `key`", "one row for all",
      "What the events are grouped by."},
     [](Reader& r, const Member& m, ViewDraft& d) { read_key(r, m, d.view.by); }},
    {{"metric", kMetricSchemaOf<ViewMetrics>, kMetricValuesOf<ViewMetrics>, "`count`",
      "What is measured."},
     [](Reader& r, const Member& m, ViewDraft& d) {
       d.metric = m.value;
       read_metric(r, m, d.view.metric);
     }},
    {{"window",
      R"({"anyOf":[{"const":"all"},{"$ref":"#/$defs/duration"},{"$ref":"#/$defs/window"}]})",
      "`{last: 10m, hop: 5s}`, `{every: 1h}`, `{calendar: day, tz: Asia/Shanghai}` or `all`",
      "required", "Over which time: `[start, end)`. A result has both times; `all` has no end."},
     [](Reader& r, const Member& m, ViewDraft& d) {
       if (const auto window = read_view_window(r, m)) d.view.window = *window;
     }},
    {{"top", R"({"anyOf":[{"type":"integer","minimum":1,"maximum":10000},{"$ref":"#/$defs/top"}]})",
      "1 to 10000, or `{n: 5, per: category}`", "all rows",
      "Only the rows with the greatest values; `total` is over all events."},
     [](Reader& r, const Member& m, ViewDraft& d) {
       if (m.value->is_map()) {
         r.walk(*m.value, "\"top\"", kTop, d.view);
       } else if (const auto n = TopRows::read(r, m)) {
         d.view.top = located(m, static_cast<std::size_t>(*n));
       }
     }},
    {{"method", shape::kMethod, kValuesOf<kMethods>, "`exact`",
      "How `distinct` counts: with all members, a Bloom filter or HyperLogLog."},
     [](Reader& r, const Member& m, ViewDraft& d) {
       d.method = m.key;
       set(r.word(m, kMethods), d.view.method);
     }},
    {ExpectedMembers::doc("expect", "1000000",
                          "With `bloom`: the expected number of distinct members in a window, of "
                          "all keys together."),
     [](Reader& r, const Member& m, ViewDraft& d) {
       d.expect = m.key;
       set(ExpectedMembers::read(r, m), d.view.expect);
     }},
    {{"error", R"({"type":"number","minimum":0.0001,"maximum":0.5})",
      "0.0001 to 0.5; `hll`: from 0.002", "0.01",
      "With `bloom` and `hll`: the relative error of a number."},
     [](Reader& r, const Member& m, ViewDraft& d) {
       d.error = m.key;
       const auto word = r.scalar(m);
       const auto number = word ? r.take(*m.value, parse_number(*word)) : std::nullopt;
       if (!number) return;
       const double value = number->as_real();
       if (!(value >= 0.0001 && value <= 0.5)) {
         return r.error(*m.value, "an error is 0.0001 to 0.5, a part of the number");
       }
       d.view.error = value;
     }},
    {{"share", R"({"enum":["local","redis"]})", "`local` or `redis`", "`local`",
      "`redis`: the events of all replicas count in one view."},
     [](Reader& r, const Member& m, ViewDraft& d) {
       const auto redis = r.choice<bool>(m, {{"local", false}, {"redis", true}});
       if (redis && *redis) d.view.share = m.value->where;
     }},
};

void check_metric(Reader& reader, const ViewDraft& draft) {
  const Metric metric = draft.view.metric.kind;
  if (!row_of(metric).in_views) {
    return reader.error(*draft.metric, "a view cannot have this metric: a view sums up past events",
                        "allowed: " + sentence_of<kMetrics, ViewMetrics>(", "));
  }
  if (draft.method != nullptr && metric != Metric::distinct) {
    reader.error(*draft.method, "\"method\" is allowed only with metric: distinct(...)");
  }
}

void check_method(Reader& reader, const ViewDraft& draft) {
  const ViewDef& view = draft.view;
  using Method = ViewDef::Method;
  if (draft.expect != nullptr && view.method != Method::bloom) {
    reader.error(*draft.expect, "\"expect\" is allowed only with method: bloom");
  }
  if (draft.error != nullptr && view.method == Method::exact) {
    reader.error(*draft.error, "\"error\" is allowed only with method: bloom or hll");
  }
  if (view.method == Method::hll && view.error < 0.002) {
    reader.error(*draft.error, "hll needs an error of 0.002 or more",
                 "take method: exact or bloom");
  }
  const bool slides = view.window.kind == WindowDef::Kind::last && view.window.hop.count() > 0;
  if (view.method != Method::exact && slides &&
      view.window.length > kSketchWindowsMax * view.window.hop) {
    reader.error(
        *draft.method,
        "each open window has a sketch of its own, and more than 100 windows would be open",
        "choose a longer hop, or method: exact");
  }
}

/// Replicas exchange their counts once a second, by parts of the window.
void check_sharing(Reader& reader, const ViewDraft& draft) {
  const ViewDef& view = draft.view;
  if (!view.share) return;
  if (view.method == ViewDef::Method::bloom) {
    reader.error(*draft.method, "a Bloom filter can't be shared: it names no members",
                 "take method: exact or hll");
  }
  const WindowDef& window = view.window;
  if (window.kind != WindowDef::Kind::last && window.kind != WindowDef::Kind::every) return;
  const bool slides = window.kind == WindowDef::Kind::last;
  const milliseconds hop = slides ? window.hop : window.length;
  constexpr milliseconds kExchange{1'000};
  constexpr std::int64_t kPartsMax = 2'000;
  const milliseconds part{std::gcd(window.length.count(), hop.count())};
  if (part < kExchange) {
    reader.problems().error(
        *view.share,
        slides ? "the parts of the window are shorter than a second, the interval of the exchange"
               : "the window is shorter than a second, the interval of the exchange",
        slides ? "choose a hop of whole seconds that \"last\" is a multiple of"
               : "write every: 1s or more");
  } else if (window.length / part > kPartsMax) {
    reader.problems().error(*view.share, "the window would be shared in more than 2000 parts",
                            "choose a longer hop");
  }
}

void check_key(Reader& reader, const ViewDef& view) {
  if (const NearDef* near = radius_of(view.by)) {
    reader.problems().error(near->where, "a view groups by cells: circles overlap",
                            "write near: {lon, lat, cell: 6}");
  }
  if (view.per && view.by.empty()) {
    reader.problems().error(view.per->where, "\"per\" needs \"by\": what is ranked for each " +
                                                 quoted(view.per->value));
  }
}

}  // namespace

void read_views(Reader& reader, const Member& section, std::vector<ViewDef>& out) {
  if (section.value->is_null()) return;  // all of it commented out
  if (!section.value->is_list()) {
    reader.error(*section.value, "\"views\" must be a list", "begin each view with - name: ...");
    return;
  }
  for (const Member& item : section.value->items) {
    ViewDraft draft;
    const std::size_t errors = reader.problems().errors();
    reader.walk(*item.value, "a view", kView, draft);
    if (reader.problems().errors() == errors) {
      check_metric(reader, draft);
      check_method(reader, draft);
      check_sharing(reader, draft);
      check_key(reader, draft.view);
    }
    draft.view.sound = reader.problems().errors() == errors;
    if (!draft.view.name.value.empty()) out.push_back(std::move(draft.view));
  }
}

void add_view_tables(std::vector<TableDoc>& out) {
  out.push_back(doc_of<kView>(
      "view", "a view", "Views",
      "`views:` is a list of maps with these keys: of *these events*, *when* a filter holds, *by* "
      "key, a *metric* over each *window*, the *top* of it."));
  out.push_back(doc_of<kTop>("top", "\"top\"", "Top of each value",
                             "`top: {n: 5, per: category}` of a view."));
}

}  // namespace weir::config
