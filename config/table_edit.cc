#include "config/table_edit.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "config/checks/exactness.h"
#include "config/table_check.h"
#include "core/words.h"

namespace weir::config {
namespace {

constexpr std::size_t kCellsMax = 100'000;

TableChild* child_of(TableNode& node, const std::string& value) {
  const auto found =
      std::find_if(node.children.begin(), node.children.end(),
                   [&](const TableChild& child) { return child.value.value == value; });
  return found == node.children.end() ? nullptr : &*found;
}

/// Takes out the limit at the path, and levels that are empty then.
void take_out(TableNode& node, std::span<const std::string> path) {
  if (path.empty()) {
    node.limit.reset();
    return;
  }
  TableChild* const child = child_of(node, path.front());
  if (child == nullptr) return;
  take_out(child->node, path.subspan(1));
  if (child->node.limit || !child->node.children.empty()) return;
  node.children.erase(node.children.begin() + (child - node.children.data()));
}

std::string put_in(TableNode& root, const TableCell& cell) {
  TableNode* node = &root;
  std::string way;
  for (const std::string& value : cell.path) {
    if (node->limit)
      return "\"" + way + "\" is a limit already, " + limit_text(node->limit) +
             ": take it out to set others below it";
    way += (way.empty() ? "" : ",") + value;
    TableChild* child = child_of(*node, value);
    if (child == nullptr) {
      child = &node->children.emplace_back();
      child->value = {value, node->where};
      child->node.where = node->where;
    }
    node = &child->node;
  }
  if (!node->children.empty())
    return "\"" + way + "\" has limits below it: set one of them, such as " + way + ",*";
  node->limit = cell.limit;
  return {};
}

void collect(const TableNode& node, std::vector<std::string>& path, std::vector<TableCell>& out) {
  if (node.limit) out.push_back({path, node.limit});
  for (const TableChild& child : node.children) {
    path.push_back(child.value.value);
    collect(child.node, path, out);
    path.pop_back();
  }
}

/// Counts never do; nor do sums, for amounts below 0 are not applied.
bool reads_below_zero(Metric metric) noexcept {
  const Takes takes = row_of(metric).takes;
  return takes == Takes::datum || (takes == Takes::amount && metric != Metric::sum) ||
         metric == Metric::score;
}

/// The first limit of the table that `is_wrong`; null: there is none.
template <class Wrong>
const TableNode* find_limit(const TableNode& node, std::vector<std::string>& path,
                            const Wrong& is_wrong) {
  if (node.limit && is_wrong(*node.limit)) return &node;
  for (const TableChild& child : node.children) {
    path.push_back(child.value.value);
    if (const TableNode* const found = find_limit(child.node, path, is_wrong)) return found;
    path.pop_back();
  }
  return nullptr;
}

std::string limit_of_table(const TableDef& table, const TableNode& node,
                           const std::vector<std::string>& path) {
  return "table \"" + table.name.value + "\": the limit " + limit_text(node.limit) + " of \"" +
         path_text(path) + "\"";
}

/// Whether the rung compares with a limit of the table itself, not with an expression of it.
bool asks(const Rung& rung, std::string_view table) {
  const auto* const text = std::get_if<Text>(&rung.limit);
  return text != nullptr && text->value == table;
}

/// Warns of the first limit that is above all that the rung's counter can read.
void check_reach(const TableDef& table, const PolicyDef& policy, const Rung& rung,
                 Problems& problems) {
  const auto largest = largest_reading(policy, window_of(policy, rung));
  if (!largest) return;
  std::vector<std::string> path;
  const TableNode* const found = find_limit(table.values, path, [&](const Number& limit) {
    return largest->is_below(rung.compare, limit);
  });
  if (found == nullptr) return;
  problems.warning(
      found->where,
      limit_of_table(table, *found, path) + " in policy \"" + policy.name.value + "\" " +
          largest->text(rung.compare),
      rung.compare == Compare::under ? "" : "write unlimited if the rung shall not hold");
}

}  // namespace

std::string apply(const TableEdit& edit, Model& model) {
  const auto table =
      std::find_if(model.tables.begin(), model.tables.end(),
                   [&](const TableDef& def) { return def.name.value == edit.table; });
  if (table == model.tables.end()) return "there is no table of that name";
  // Removals come first and make room for new limits.
  for (const TableCell& cell : edit.cells) {
    if (!cell.limit) take_out(table->values, cell.path);
  }
  for (const TableCell& cell : edit.cells) {
    if (!cell.limit) continue;
    if (cell.path.empty() || cell.path.size() > table->by.size()) {
      return "\"" + path_text(cell.path) + "\" has " + std::to_string(cell.path.size()) +
             " values, and the table is by " + std::to_string(table->by.size());
    }
    for (const std::string& value : cell.path) {
      if (value.empty()) return "a value in \"" + path_text(cell.path) + "\" is empty";
    }
    if (std::isnan(cell.limit->as_real())) return "a limit is a number or unlimited";
    if (std::string wrong = put_in(table->values, cell); !wrong.empty()) return wrong;
  }
  const std::size_t left = cells_of(*table).size();
  if (left == 0) return "the table would be empty";
  if (left > kCellsMax) return "the table would have more than 100000 limits";
  return {};
}

std::vector<TableCell> cells_of(const TableDef& table) {
  std::vector<TableCell> out;
  std::vector<std::string> path;
  collect(table.values, path, out);
  return out;
}

std::optional<Number> limit_at(const TableDef& table, const std::vector<std::string>& path) {
  const TableNode* node = &table.values;
  for (const std::string& value : path) {
    const auto child =
        std::find_if(node->children.begin(), node->children.end(),
                     [&](const TableChild& each) { return each.value.value == value; });
    if (child == node->children.end()) return std::nullopt;
    node = &child->node;
  }
  return node->limit;
}

bool same_limit(const std::optional<Number>& a, const std::optional<Number>& b) {
  return limit_text(a) == limit_text(b);
}

void merge_cell(std::vector<TableCell>& cells, TableCell cell) {
  const auto same = std::find_if(cells.begin(), cells.end(),
                                 [&](const TableCell& other) { return other.path == cell.path; });
  if (same == cells.end()) {
    cells.push_back(std::move(cell));
  } else {
    *same = std::move(cell);
  }
}

std::vector<std::string> read_path(const TableDef& table, std::string_view text) {
  char between = ',';
  if (table.by.size() > 1 && text.find(',') == std::string_view::npos)
    between = text.find('/') != std::string_view::npos ? '/' : '.';
  std::vector<std::string> out;
  if (table.by.size() <= 1) return {std::string(text)};
  while (out.size() + 1 < table.by.size()) {
    const std::size_t end = text.find(between);
    if (end == std::string_view::npos) break;
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  out.emplace_back(text);
  return out;
}

std::string wrong_path(const TableDef& table, std::string_view text) {
  const auto values = static_cast<std::size_t>(std::count(text.begin(), text.end(), ',')) + 1;
  if (values <= table.by.size() || limit_at(table, read_path(table, text))) return {};
  std::string out = "\"" + std::string(text) + "\" has " + std::to_string(values) +
                    " values, and the table is by ";
  for (const Text& field : table.by) out += (&field == table.by.data() ? "" : ", ") + field.value;
  return out;
}

bool may_be_negative(const Model& model, std::string_view table) {
  bool asked = false;
  for (const PolicyDef& policy : model.policies) {
    const bool asked_here = std::any_of(policy.then.begin(), policy.then.end(),
                                        [&](const Rung& rung) { return asks(rung, table); });
    if (!asked_here) continue;
    if (reads_below_zero(policy.metric.kind)) return true;
    asked = true;
  }
  return !asked;
}

std::string beyond_reading(const Model& model, std::string_view table, const Number& limit) {
  std::string out;
  for (const PolicyDef& policy : model.policies) {
    for (const Rung& rung : policy.then) {
      if (!asks(rung, table)) continue;
      const auto largest = largest_reading(policy, window_of(policy, rung));
      if (!largest || !largest->is_below(rung.compare, limit)) return {};
      if (out.empty()) out = largest->text(rung.compare);
    }
  }
  return out;
}

void check_limits(const Model& model, Problems& problems) {
  for (const TableDef& table : model.tables) {
    std::vector<std::string> path;
    const TableNode* const found =
        find_limit(table.values, path, [](const Number& limit) { return limit.is_negative(); });
    if (found != nullptr && !may_be_negative(model, table.name.value)) {
      problems.warning(found->where, limit_of_table(table, *found, path) +
                                         " makes no sense: nothing is counted below 0");
    }
    for (const PolicyDef& policy : model.policies) {
      for (const Rung& rung : policy.then) {
        if (asks(rung, table.name.value)) check_reach(table, policy, rung, problems);
      }
    }
  }
}

std::string path_text(const std::vector<std::string>& path) {
  std::string out;
  for (const std::string& value : path) out += (out.empty() ? "" : ",") + value;
  return out;
}

std::string limit_text(const std::optional<Number>& limit) {
  if (!limit) return "none";
  return limit->is_finite() ? limit->to_string() : std::string(kUnlimited);
}

}  // namespace weir::config
