#include "policies/lang/threshold_table.h"

#include <algorithm>
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

// Whether every lookup from here on finds a limit.
bool ThresholdTable::reach(const Node& node, std::span<const std::optional<std::string_view>> rest,
                           std::optional<Reach>& out) {
  if (node.limit) {
    if (!out) out = Reach{*node.limit, *node.limit};
    out->least = std::min(out->least, *node.limit);
    out->most = std::max(out->most, *node.limit);
    return true;
  }
  if (rest.empty()) return false;
  const auto any = node.children.find(kAnyValue);
  const auto reach_any = [&] {
    return any != node.children.end() && reach(any->second, rest.subspan(1), out);
  };
  if (rest.front() && *rest.front() != kAnyValue) {
    const auto child = node.children.find(*rest.front());
    return (child != node.children.end() && reach(child->second, rest.subspan(1), out)) ||
           reach_any();
  }
  for (const auto& [value, child] : node.children)
    if (value != kAnyValue && !rest.front()) reach(child, rest.subspan(1), out);
  return reach_any();
}

std::optional<ThresholdTable::Reach> ThresholdTable::reach(
    std::span<const std::optional<std::string_view>> known) const {
  std::optional<Reach> out;
  const bool always = reach(root_, known, out);
  if (out) out->always = always;
  return out;
}

void ThresholdTable::each(const Node& node, std::vector<std::string>& path, const Visit& visit) {
  if (node.limit) return visit(path, *node.limit);
  for (const auto& [value, child] : node.children) {
    path.push_back(value);
    each(child, path, visit);
    path.pop_back();
  }
}

void ThresholdTable::each(const Visit& visit) const {
  std::vector<std::string> path;
  each(root_, path, visit);
}

}  // namespace weir::policies
