#include "config/sections.h"
#include "config/shapes.h"
#include "config/yaml_text.h"

/// A place as part of a key.
namespace weir::config {
namespace {

constexpr double kRadiusMin = 1, kRadiusMax = 100'000;  // metres

struct Draft {
  NearDef near;
  const Node* lon = nullptr;
  const Node* lat = nullptr;
  const Node* radius = nullptr;
  const Node* cell = nullptr;
};

/// `lon` alone means the field of that name; `lon: x` names another.
void read_field(Reader& reader, const Member& m, Text& out) {
  if (m.value->is_null()) {
    out = {std::string(m.key->text), m.key->where};
  } else if (const auto text = reader.text(m)) {
    out = *text;
  }
}

constexpr Row<Draft> kNear[] = {
    {{"lon", R"({"type":["string","null"]})", "a field; alone: `lon`", "required",
      "Degrees east of Greenwich, -180 to 180."},
     [](Reader& r, const Member& m, Draft& d) {
       d.lon = m.key;
       read_field(r, m, d.near.lon);
     }},
    {{"lat", R"({"type":["string","null"]})", "a field; alone: `lat`", "required",
      "Degrees north of the equator, -90 to 90."},
     [](Reader& r, const Member& m, Draft& d) {
       d.lat = m.key;
       read_field(r, m, d.near.lat);
     }},
    {{"radius", R"({"type":"string","pattern":"^[0-9.]+ ?k?m$"})", "`1000m`, `1.5km`; 1m to 100km",
      "", "Events within this true distance count together, whatever cell they are in."},
     [](Reader& r, const Member& m, Draft& d) {
       d.radius = m.key;
       const auto word = r.scalar(m);
       const auto metres = word ? r.take(*m.value, parse_distance(*word)) : std::nullopt;
       if (!metres) return;
       if (*metres < kRadiusMin || *metres > kRadiusMax) {
         return r.error(*m.value, "a radius is 1m to 100km");
       }
       d.near.radius = *metres;
     }},
    {{"cell", R"({"type":"integer","minimum":1,"maximum":12})", "1 to 12", "",
      "Events in one geohash cell of so many letters count together."},
     [](Reader& r, const Member& m, Draft& d) {
       d.cell = m.key;
       set(r.integer(m, 1, 12), d.near.cell);
     }},
};

}  // namespace

std::optional<NearDef> read_near(Reader& reader, const Member& m) {
  const std::size_t errors = reader.problems().errors();
  Draft draft;
  draft.near.where = m.key->where;
  reader.walk(*m.value, "\"near\"", kNear, draft);
  if (reader.problems().errors() != errors) return std::nullopt;
  if (draft.radius != nullptr && draft.cell != nullptr) {
    reader.error(*draft.cell, "\"near\" has \"radius\" or \"cell\", not both");
    return std::nullopt;
  }
  if (draft.radius == nullptr && draft.cell == nullptr) {
    reader.error(*m.key, "\"near\" needs \"radius\" or \"cell\"",
                 "write near: {lon, lat, radius: 1000m} or near: {lon, lat, cell: 6}");
    return std::nullopt;
  }
  return draft.near;
}

void add_near_tables(std::vector<TableDoc>& out) {
  out.push_back(doc_of<kNear>("near", "\"near\"", "Places",
                              "`near: {lon, lat, radius: 1000m}` or `near: {lon, lat, cell: 6}` "
                              "stands for a part of a key."));
}

}  // namespace weir::config
