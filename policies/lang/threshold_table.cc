#include "policies/lang/threshold_table.h"

#include <utility>

namespace weir::policies {
namespace {

constexpr std::string_view kAnyValue = "*";

}  // namespace

ThresholdTable::ThresholdTable(std::string name, std::vector<std::string> by,
                               const config::TableNode& values)
    : name_(std::move(name)), by_(std::move(by)), root_(build(values)) {}

ThresholdTable::Node ThresholdTable::build(const config::TableNode& from) {
  Node node;
  node.limit = from.limit;
  for (const auto& [value, child] : from.children) node.children.emplace(value.value, build(child));
  return node;
}

const Number* ThresholdTable::find(const Node& node, std::uint32_t bit,
                                   std::span<const std::optional<std::string_view>> rest,
                                   std::uint32_t* open) {
  // A limit above the last dimension holds for all values below it: `"*": 1500` of a two-level
  // table.
  if (node.limit) return &*node.limit;
  if (rest.empty()) return nullptr;
  const auto descend = [&](std::string_view value) -> const Number* {
    const auto child = node.children.find(value);
    return child == node.children.end() ? nullptr
                                        : find(child->second, bit << 1, rest.subspan(1), open);
  };
  if (rest.front() && *rest.front() != kAnyValue) {
    if (const Number* found = descend(*rest.front())) return found;
  }
  const bool names_values = node.children.size() > node.children.count(kAnyValue);
  if (open != nullptr && !rest.front() && names_values) *open |= bit;
  return descend(kAnyValue);
}

std::optional<Number> ThresholdTable::find(
    std::span<const std::optional<std::string_view>> dimensions, std::uint32_t* open) const {
  if (const Number* found = find(root_, 1, dimensions, open)) return *found;
  return std::nullopt;
}

}  // namespace weir::policies
