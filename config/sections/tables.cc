#include <limits>

#include "config/sections/sections.h"
#include "config/text/merge.h"
#include "config/text/shapes.h"
#include "config/text/yaml_text.h"
#include "core/words.h"

namespace weir::config {
namespace {

struct TableDraft {
  TableDef table;
  const Member* values = nullptr;
  const Node* file = nullptr;
};

constexpr Row<TableDraft> kTable[] = {
    {{"by", shape::kNames, "a field, or a list of fields", "required",
      "The dimensions, the outermost first."},
     [](Reader& r, const Member& m, TableDraft& d) { d.table.by = r.texts(m); }},
    {{"values", R"({"type":"object"})",
      "map of values of the first field to limits, or to maps of the next field; `\"*\"` = any "
      "other; `unlimited`",
      "", "The limits: first an exact match, then `*`."},
     [](Reader&, const Member& m, TableDraft& d) { d.values = &m; }},
    {{"file", shape::kText, "path of a csv file, beside this file unless it begins with `/`", "",
      "The limits instead of `values`: a column for each field of `by`, then the limit. A line "
      "that "
      "begins with `#` is a comment (a value may be in quotes)."},
     [](Reader& r, const Member& m, TableDraft& d) {
       d.file = m.key;
       d.table.file = r.text(m);
     }},
};

void read_node(Reader& reader, const Member& m, std::size_t depth, std::size_t dimensions,
               TableNode& out) {
  out.where = m.value->where;
  if (m.value->is_map()) {
    if (depth >= dimensions) {
      reader.error(*m.key, "deeper than \"by\", which has " + std::to_string(dimensions) +
                               (dimensions == 1 ? " field" : " fields"));
      return;
    }
    if (m.value->items.empty()) reader.error(*m.value, "a level of a table is empty");
    for (const Member& child : m.value->items) {
      TableChild& entry = out.children.emplace_back();
      entry.value = {std::string(child.key->text), child.key->where};
      read_node(reader, child, depth + 1, dimensions, entry.node);
    }
    return;
  }
  const auto word = reader.scalar(m);
  if (!word) return;
  if (*word == kUnlimited) {
    out.limit = Number::real(std::numeric_limits<double>::infinity());
    return;
  }
  if (is_foreign_unlimited(*word)) {
    reader.error(*m.value, quoted(*word) + " is not a number", "for no limit write unlimited");
    return;
  }
  out.limit = reader.take(*m.value, parse_number(*word));
}

}  // namespace

void read_tables(Reader& reader, const Member& section, std::vector<TableDef>& out) {
  if (section.value->is_null()) return;  // all of it commented out
  if (!reader.is_map(*section.value, "\"tables\"")) return;
  for (const Member& m : section.value->items) {
    TableDraft draft;
    const std::size_t before = reader.problems().errors();
    set(reader.name(Member{m.key, m.key}, "a table", true), draft.table.name);
    if (draft.table.name.value.empty()) draft.table.name = {std::string(m.key->text), m.key->where};
    const std::size_t errors = reader.problems().errors();
    reader.walk(*m.value, "a table", kTable, draft);
    if (draft.values != nullptr && draft.file != nullptr) {
      reader.error(*draft.file, "a table has \"values\" or \"file\", not both");
    } else if (draft.values == nullptr && draft.file == nullptr &&
               reader.problems().errors() == errors) {
      reader.error(*m.key, "a table needs \"values\" or \"file\"",
                   "write values: {\"*\": 1500}, or file: limits.csv");
    }
    if (draft.values != nullptr && !draft.table.by.empty()) {
      if (!draft.values->value->is_map()) {
        reader.error(*draft.values->value, "\"values\" must be a map",
                     "write values: {\"*\": 1500}");
      } else {
        read_node(reader, *draft.values, 0, draft.table.by.size(), draft.table.values);
      }
    }
    draft.table.sound = reader.problems().errors() == before;
    draft.table.spelling = spelling(*m.value);
    if (!draft.table.name.value.empty()) out.push_back(std::move(draft.table));
  }
}

void add_table_tables(std::vector<TableDoc>& out) {
  out.push_back(doc_of<kTable>("table", "a table", "Tables",
                               "`tables:` maps names to thresholds by dimension."));
}

}  // namespace weir::config
