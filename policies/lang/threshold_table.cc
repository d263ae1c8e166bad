#include "policies/lang/threshold_table.h"

#include <algorithm>
#include <utility>

namespace weir::policies {
namespace {

constexpr std::string_view kAnyValue = "*";
constexpr std::size_t kLimitsMax = 40, kNamedMax = 3;  // of a summary

void join(std::optional<ThresholdTable::Reach>& to, const ThresholdTable::Reach& from) {
  if (!to) to = from;
  to->least = std::min(to->least, from.least);
  to->most = std::max(to->most, from.most);
}

bool is_less(const Number& a, const Number& b) { return a < b; }

}  // namespace

ThresholdTable::ThresholdTable(std::string name, std::vector<std::string> by,
                               const config::TableNode& values)
    : name_(std::move(name)),
      by_(std::move(by)),
      root_(build(values)),
      summary_(summarize(root_)) {}

ThresholdTable::Node ThresholdTable::build(const config::TableNode& from) {
  Node node;
  node.limit = from.limit;
  for (const auto& [value, child] : from.children) node.children.emplace(value.value, build(child));
  if (node.limit) return node;
  std::optional<Reach> all;
  bool always = false;
  for (const auto& [value, child] : node.children) {
    std::optional<Reach> one;
    if (child.limit) one = Reach{*child.limit, *child.limit};
    if (child.below) one = *child.below;
    if (value == kAnyValue) always = one && one->always;
    if (one) join(all, *one);
  }
  if (!all) return node;
  all->always = always;
  node.below = std::make_unique<const Reach>(*all);
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
                           std::size_t& left, std::optional<Reach>& out) {
  if (node.limit) {
    join(out, Reach{*node.limit, *node.limit});
    return true;
  }
  if (!node.below || rest.empty()) return false;
  const bool none_known =
      std::none_of(rest.begin(), rest.end(), [](const auto& value) { return value.has_value(); });
  if (none_known || left == 0) {
    join(out, *node.below);
    return node.below->always;
  }
  --left;
  const auto any = node.children.find(kAnyValue);
  const auto reach_any = [&] {
    return any != node.children.end() && reach(any->second, rest.subspan(1), left, out);
  };
  if (rest.front() && *rest.front() != kAnyValue) {
    const auto child = node.children.find(*rest.front());
    return (child != node.children.end() && reach(child->second, rest.subspan(1), left, out)) ||
           reach_any();
  }
  if (rest.front()) return reach_any();
  for (const auto& [value, child] : node.children) {
    if (left == 0) {
      join(out, *node.below);
      break;
    }
    if (value != kAnyValue) reach(child, rest.subspan(1), left, out);
  }
  return reach_any();
}

std::optional<ThresholdTable::Reach> ThresholdTable::reach(
    std::span<const std::optional<std::string_view>> known) const {
  std::optional<Reach> out;
  std::size_t left = kVisitsMax;
  const bool always = reach(root_, known, left, out);
  if (out) out->always = always;
  return out;
}

// Whether every lookup from here on finds a limit.
bool ThresholdTable::search(const Node& node, std::span<const std::optional<std::string_view>> rest,
                            Search& wanted) {
  if (node.limit) {
    wanted.found = wanted.found || *node.limit == wanted.limit;
    return true;
  }
  if (!node.below || rest.empty()) return false;
  const bool outside = wanted.limit < node.below->least || wanted.limit > node.below->most;
  if (wanted.found || (outside && node.below->always)) return node.below->always;
  if (wanted.left == 0) {
    wanted.found = true;
    return node.below->always;
  }
  --wanted.left;
  if (rest.front() && *rest.front() != kAnyValue) {
    const auto child = node.children.find(*rest.front());
    if (child != node.children.end() && search(child->second, rest.subspan(1), wanted)) return true;
  } else if (!rest.front()) {
    for (const auto& [value, child] : node.children) {
      if (wanted.found) break;
      if (value != kAnyValue) search(child, rest.subspan(1), wanted);
    }
  }
  const auto any = node.children.find(kAnyValue);
  return any != node.children.end() && search(any->second, rest.subspan(1), wanted);
}

bool ThresholdTable::may_give(const Number& limit,
                              std::span<const std::optional<std::string_view>> known) const {
  Search wanted{limit, kVisitsMax};
  search(root_, known, wanted);
  return wanted.found;
}

void ThresholdTable::each(const Node& node, std::vector<std::string>& path, const Visit& visit) {
  if (node.limit) return visit(path, *node.limit);
  for (const auto& [value, child] : node.children) {
    path.push_back(value);
    each(child, path, visit);
    path.pop_back();
  }
}

ThresholdTable::Summary ThresholdTable::summarize(const Node& root) {
  Summary out;
  std::vector<Number> all;
  std::vector<std::string> path;
  each(root, path, [&](const std::vector<std::string>&, const Number& limit) {
    if (limit.is_finite())
      all.push_back(limit);
    else
      ++out.unlimited;
  });
  std::sort(all.begin(), all.end(), is_less);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  out.left_out = all.size() > kLimitsMax ? all.size() - kLimitsMax : 0;
  for (std::size_t i = 0; i < all.size() - out.left_out; ++i) {
    // Where there are too many: at even distances, the first and the last with them.
    const std::size_t at = out.left_out == 0 ? i : i * (all.size() - 1) / (kLimitsMax - 1);
    out.limits.push_back({all[at], 0, {}});
  }
  each(root, path, [&](const std::vector<std::string>& of, const Number& limit) {
    const auto shown =
        std::lower_bound(out.limits.begin(), out.limits.end(), limit,
                         [](const Summary::Limit& a, const Number& b) { return a.limit < b; });
    if (shown == out.limits.end() || shown->limit != limit) return;
    ++shown->cells;
    if (shown->of.size() < kNamedMax) shown->of.push_back(of);
  });
  return out;
}

}  // namespace weir::policies
