#include "config/sections.h"
#include "config/shapes.h"
#include "config/yaml_text.h"

/// A place as part of a key.
namespace weir::config {
namespace {

struct Draft {
  NearDef near;
  const Node* lon = nullptr;
  const Node* lat = nullptr;
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
    {{"radius", "", "", "", "True distance."}, nullptr},
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
  if (draft.cell == nullptr) {
    reader.error(*m.key, "\"near\" needs \"cell\"", "write near: {lon, lat, cell: 6}");
    return std::nullopt;
  }
  return draft.near;
}

void add_near_tables(std::vector<TableDoc>& out) {
  out.push_back(doc_of<kNear>("near", "\"near\"", "Places",
                              "`near: {lon, lat, cell: 6}` stands for a part of a key."));
}

}  // namespace weir::config
