#include "config/sections/descriptors.h"
#include "config/sections/sections.h"
#include "config/text/shapes.h"
#include "config/text/yaml_text.h"

/// The `metrics:` of a policy: several numbers, each with its own events, key and window.
namespace weir::config {
namespace {

constexpr std::size_t kMetricsMax = 16;

struct NamedMetricDraft {
  NamedMetricDef named;
  const Node* window = nullptr;
};

constexpr Row<NamedMetricDraft> kNamedMetric[] = {
    {{"watch", shape::kWatched, "an event, a call (below), or a list of them", "required",
      "What is counted."},
     [](Reader& r, const Member& m, NamedMetricDraft& d) {
       d.named.watch = read_watched(r, m, d.named.described);
     }},
    {{"when", shape::kExpression, "expression", "`true`",
      "Only events for which the expression is true."},
     [](Reader& r, const Member& m, NamedMetricDraft& d) { d.named.when = r.expression(m); }},
    {{"key", shape::kKey, "as a policy's", "the policy's",
      "Events with the same key are counted together; each judged event must have this key too."},
     [](Reader& r, const Member& m, NamedMetricDraft& d) {
       d.named.has_key = true;
       read_key(r, m, d.named.key);
     }},
    {{"metric", shape::kText, "as a policy's", "`count`", "What is measured."},
     [](Reader& r, const Member& m, NamedMetricDraft& d) { read_metric(r, m, d.named.metric); }},
    {{"window", shape::kWindow, "duration, or a window", "required, except for `in_flight`",
      "Over which time."},
     [](Reader& r, const Member& m, NamedMetricDraft& d) {
       d.window = m.key;
       d.named.window = read_window(r, m);
     }},
};

}  // namespace

void read_named_metrics(Reader& reader, const Member& m, std::vector<NamedMetricDef>& out) {
  if (!reader.is_map(*m.value, "\"metrics\"")) return;
  if (m.value->items.size() > kMetricsMax) {
    return reader.error(*m.value, "a policy has at most 16 metrics");
  }
  for (const Member& item : m.value->items) {
    NamedMetricDraft draft;
    set(reader.name(Member{item.key, item.key}, "a metric", false), draft.named.name);
    if (is_reserved(item.key->text)) {
      reader.error(*item.key, quoted(item.key->text) + " is built in",
                   "choose another name for the metric");
    }
    const std::size_t errors = reader.problems().errors();
    reader.walk(*item.value, "a metric of a policy", kNamedMetric, draft);
    const bool sound = reader.problems().errors() == errors;
    if (draft.named.metric.kind == Metric::score) {
      reader.problems().error(draft.named.metric.where,
                              "the score is the request's: write it as the policy's own metric",
                              "write metric: score, and {over: 70, do: challenge}");
    }
    const bool in_flight = draft.named.metric.kind == Metric::in_flight;
    if (sound && in_flight && draft.window != nullptr) {
      reader.error(*draft.window, "in_flight has no window: it counts the requests in flight now");
    } else if (sound && !in_flight && draft.window == nullptr) {
      reader.error(*item.key, "a metric needs \"window\", such as window: 10m");
    }
    if (!draft.named.name.value.empty()) out.push_back(std::move(draft.named));
  }
}

void add_named_metric_tables(std::vector<TableDoc>& out) {
  out.push_back(doc_of<kNamedMetric>("metric", "a metric of a policy", "Several metrics",
                                     "`metrics:` of a policy maps names to these keys; its rungs "
                                     "compare them: `if: 'orders > 4 && "
                                     "pays == 0'`. `watch` of the policy says which events are "
                                     "judged; a metric includes the judged "
                                     "event if the metric watches it."));
}

}  // namespace weir::config
