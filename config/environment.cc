#include "config/environment.h"

#include <algorithm>

#include "config/sections/sections.h"
#include "config/text/shapes.h"
#include "config/text/yaml_text.h"
#include "core/chars/ascii.h"

namespace weir::config {
namespace {

struct Setting {
  std::string name;
  std::vector<std::string> path;
  bool list = false;
};

/// The table that a row's schema points to (`{"$ref":"#/$defs/timeouts"}`), if it is a table.
const TableDoc* table_of(std::string_view schema, const std::vector<TableDoc>& tables) {
  constexpr std::string_view kRef = R"({"$ref":"#/$defs/)";
  if (!schema.starts_with(kRef)) return nullptr;
  const std::string_view id =
      schema.substr(kRef.size(), schema.find('"', kRef.size()) - kRef.size());
  const auto found =
      std::find_if(tables.begin(), tables.end(), [&](const TableDoc& t) { return t.id == id; });
  return found == tables.end() ? nullptr : &*found;
}

void collect(const TableDoc& table, const std::vector<TableDoc>& tables,
             const std::vector<std::string>& path, std::vector<Setting>& out) {
  for (std::size_t i = 0; i < table.size; ++i) {
    KeyDoc doc;
    if (!table.row(i, doc)) continue;
    std::vector<std::string> inner = path;
    inner.emplace_back(doc.name);
    if (const TableDoc* sub = table_of(doc.schema, tables)) {
      collect(*sub, tables, inner, out);
      continue;
    }
    Setting setting{"WEIR", inner, doc.schema == shape::kTexts};
    for (const std::string& part : inner) {
      setting.name += '_';
      for (const char c : part) setting.name += ascii::upper(c);
    }
    out.push_back(std::move(setting));
  }
}

std::vector<Setting> settings() {
  std::vector<TableDoc> tables;
  add_server_tables(tables);
  std::vector<Setting> out;
  collect(tables.front(), tables, {}, out);
  return out;
}

/// WEIR_CONFIG is the command line's. For a Service called weir Kubernetes sets WEIR_SERVICE_HOST,
/// WEIR_PORT_8480_TCP and the like in every pod of the namespace.
bool is_foreign(std::string_view name) {
  return name == "WEIR_CONFIG" || name.starts_with("WEIR_SERVICE_") || name == "WEIR_PORT" ||
         name.starts_with("WEIR_PORT_");
}

const Node* value_node(const Setting& setting, const std::string& value, Where where, Tree& tree) {
  const auto scalar = [&](std::string_view text) -> const Node* {
    Node& node = tree.make(Node::Kind::scalar, where);
    node.plain = true;
    node.text = tree.keep(ascii::trimmed(text, " "));
    return &node;
  };
  if (!setting.list) return scalar(value);
  std::vector<Member> items;
  for (std::size_t from = 0; from <= value.size();) {
    const std::size_t comma = std::min(value.find(',', from), value.size());
    items.push_back({nullptr, scalar(std::string_view(value).substr(from, comma - from))});
    from = comma + 1;
  }
  Node& node = tree.make(Node::Kind::list, where);
  node.items = tree.keep(items);
  return &node;
}

}  // namespace

std::vector<std::string> environment_names() {
  std::vector<std::string> out;
  for (const Setting& s : settings()) out.push_back(s.name);
  std::sort(out.begin(), out.end());
  return out;
}

void read_environment(const Environment& environment, Reader& reader, Tree& tree, Model& model) {
  const std::vector<Setting> known = settings();
  for (auto it = environment.lower_bound("WEIR_");
       it != environment.end() && it->first.starts_with("WEIR_"); ++it) {
    const auto& [name, value] = *it;
    if (is_foreign(name)) continue;
    const Where where{static_cast<std::uint32_t>(model.files.size()), 1, 1, 1};
    model.files.push_back("$" + name);
    const auto setting =
        std::find_if(known.begin(), known.end(), [&](const Setting& s) { return s.name == name; });
    if (setting == known.end()) {
      std::vector<std::string_view> names;
      for (const Setting& s : known) names.push_back(s.name);
      reader.problems().warning(where, "unknown environment variable " + name,
                                suggest(name, names));
      continue;
    }
    // The same tree that the file would have had: {proxy: {timeouts: {connect: VALUE}}}.
    Member member{nullptr, value_node(*setting, value, where, tree)};
    for (auto part = setting->path.rbegin(); part != setting->path.rend(); ++part) {
      Node& key = tree.make(Node::Kind::scalar, where);
      key.plain = true;
      key.text = tree.keep(std::string_view(*part));
      member.key = &key;
      if (std::next(part) == setting->path.rend()) break;
      Node& map = tree.make(Node::Kind::map, where);
      map.items = tree.keep(std::span<const Member>(&member, 1));
      member = {nullptr, &map};
    }
    read_server(reader, member, model.server);
  }
}

}  // namespace weir::config
