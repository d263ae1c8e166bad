#include "config/checks/policy_checks.h"
#include "config/sections/sections.h"
#include "config/text/shapes.h"
#include "config/text/yaml_text.h"

/// A place as part of a key.
namespace weir::config {
namespace {

struct NearDraft {
  NearDef near;
  const Node* lon = nullptr;
  const Node* lat = nullptr;
  const Node* cell = nullptr;
  const Node* radius = nullptr;
};

/// `lon` alone means the field of that name; `lon: x` names another.
void read_field(Reader& reader, const Member& m, Text& out) {
  if (m.value->is_null()) {
    out = {std::string(m.key->text), m.key->where};
  } else if (const auto text = reader.text(m)) {
    out = *text;
  }
}

using GeohashLength = WholeNumber<1, 12>;
constexpr Row<NearDraft> kNear[] = {
    {{"lon", R"({"type":["string","null"]})", "a field; alone: `lon`", "required",
      "Degrees east of Greenwich, -180 to 180."},
     [](Reader& r, const Member& m, NearDraft& d) {
       d.lon = m.key;
       read_field(r, m, d.near.lon);
     }},
    {{"lat", R"({"type":["string","null"]})", "a field; alone: `lat`", "required",
      "Degrees north of the equator, -90 to 90."},
     [](Reader& r, const Member& m, NearDraft& d) {
       d.lat = m.key;
       read_field(r, m, d.near.lat);
     }},
    {{"radius", R"({"type":"string","pattern":"^[0-9.]+(m|km)$"})", "`1m` to `1000km`", "",
      "Events within this distance of each other count together. It is the true distance, on the "
      "sphere."},
     [](Reader& r, const Member& m, NearDraft& d) {
       d.radius = m.key;
       const auto word = r.scalar(m);
       const auto metres = word ? r.take(*m.value, parse_distance(*word)) : std::nullopt;
       if (!metres) return;
       if (!(*metres >= 1 && *metres <= 1'000'000)) {
         return r.error(*m.value, "a radius is 1m to 1000km, not " + std::string(*word));
       }
       d.near.radius = *metres;
     }},
    {GeohashLength::doc(
         "cell", "",
         "Events in the same geohash cell count together. A cell has this number of letters."),
     [](Reader& r, const Member& m, NearDraft& d) {
       d.cell = m.key;
       set(GeohashLength::read(r, m), d.near.cell);
     }},
};

}  // namespace

const NearDef* radius_of(const std::vector<KeyPart>& key) {
  for (const KeyPart& part : key) {
    if (part.near && part.near->radius) return &*part.near;
  }
  return nullptr;
}

namespace {

constexpr std::size_t kNearKeepMax = 10'000;

/// Checks the metric and the window of a count within a radius.
void check_measure(Reader& reader, const MetricDef& metric,
                   const std::optional<WindowDef>& window) {
  if (!row_of(metric.kind).in_radius) {
    reader.problems().error(metric.where, "this metric does not work with a radius",
                            "allowed: " + sentence_of<kMetrics, RadiusMetrics>(", ") +
                                "; or take near: {lon, lat, cell: 6}");
  }
  if (window && window->kind != WindowDef::Kind::last) {
    reader.problems().error(window->where, "with a radius only a sliding window is allowed",
                            "write window: 10m; or take near: {lon, lat, cell: 6}");
  }
}

}  // namespace

void check_near(Reader& reader, const PolicyDef& policy) {
  const NearDef* near = radius_of(policy.key);
  const auto too_many = [&] {
    if (!policy.keep || policy.keep->value <= kNearKeepMax) return;
    reader.problems().error(policy.keep->where, "with a radius keep is at most 10000");
  };
  for (const NamedMetricDef& metric : policy.metrics) {
    if (radius_of(metric.has_key ? metric.key : policy.key) == nullptr) continue;
    check_measure(reader, metric.metric, metric.window);
    if (near == nullptr) too_many();
  }
  if (near == nullptr) return;
  too_many();
  if (policy.pattern) {
    reader.problems().error(near->where, "a pattern has no radius: its steps need the same key",
                            "take near: {lon, lat, cell: 6}");
    return;
  }
  check_measure(reader, policy.metric, policy.window);
  for (const Rung& rung : policy.then) {
    if (rung.in) check_measure(reader, {}, rung.in->value);
    const bool remembers = !rung.durations.empty() && !rung.list;
    if (remembers) {
      reader.problems().error(
          rung.where,
          "the policy's own list would be keyed by place, and two events rarely have exactly the "
          "same place",
          "write list: NAME, a list of a field that the event has, such as user or ip");
    }
  }
}

std::optional<NearDef> read_near(Reader& reader, const Member& m) {
  const std::size_t errors = reader.problems().errors();
  NearDraft draft;
  draft.near.where = m.key->where;
  reader.walk(*m.value, "\"near\"", kNear, draft);
  if (reader.problems().errors() != errors) return std::nullopt;
  if (draft.cell == nullptr && draft.radius == nullptr) {
    reader.error(*m.key, "\"near\" needs \"radius\" or \"cell\"",
                 "write near: {lon, lat, radius: 1000m} or near: {lon, lat, cell: 6}");
    return std::nullopt;
  }
  if (draft.cell != nullptr && draft.radius != nullptr) {
    reader.error(*draft.cell, "\"radius\" and \"cell\" exclude each other",
                 "radius is true distance, cell a square of the map");
    return std::nullopt;
  }
  return draft.near;
}

void add_near_tables(std::vector<TableDoc>& out) {
  out.push_back(
      doc_of<kNear>("near", "\"near\"", "Places",
                    "`near: {lon, lat, radius: 1000m}` or `near: {lon, lat, cell: 6}` is a "
                    "part of a key."));
}

}  // namespace weir::config
