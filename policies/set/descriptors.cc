#include "policies/set/descriptors.h"

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <unordered_map>

namespace weir::policies {
namespace {

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept {
    return std::hash<std::string_view>{}(text);
  }
};
template <class T>
using ByText = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

/// Longer descriptors match nothing but the event of their domain.
constexpr std::size_t kEntriesMax = 32;

}  // namespace

std::vector<std::string> split_pattern(std::string_view pattern) {
  std::vector<std::string> out;
  while (true) {
    const std::size_t star = pattern.find('*');
    out.emplace_back(pattern.substr(0, star));
    if (star == std::string_view::npos) return out;
    pattern.remove_prefix(star + 1);
  }
}

bool matches_pattern(const std::vector<std::string>& parts, std::string_view text) noexcept {
  const std::string& first = parts.front();
  const std::string& last = parts.back();
  if (parts.size() == 1) return text == first;
  if (text.size() < first.size() + last.size() || !text.starts_with(first) || !text.ends_with(last))
    return false;
  text.remove_prefix(first.size());
  text.remove_suffix(last.size());
  for (std::size_t i = 1; i + 1 < parts.size(); ++i) {
    const std::size_t at = text.find(parts[i]);
    if (at == std::string_view::npos) return false;
    text.remove_prefix(at + parts[i].size());
  }
  return true;
}

namespace {

struct Step;

/// Patterns of one key. They are looked up by the text before the first star, by its length: as
/// many look-ups as there are different lengths.
struct Patterns {
  struct One {
    std::vector<std::string> parts;
    std::size_t order = 0;
    std::unique_ptr<Step> next;
  };
  std::vector<std::unique_ptr<One>> all;
  std::vector<std::size_t> lengths;  ///< of the texts before the first star, ascending
  ByText<std::vector<const One*>> by_start;

  One& add(std::string_view pattern);
  /// The first that was added of those that match and of which `wanted` is not false.
  template <class F>
  bool find(std::string_view value, F&& wanted) const;
};

struct OfKey {
  ByText<std::unique_ptr<Step>> values;
  Patterns patterns;
  std::unique_ptr<Step> any;
};

struct Step {
  std::optional<std::uint16_t> event;
  ByText<OfKey> keys;
};

Patterns::One& Patterns::add(std::string_view pattern) {
  std::vector<std::string> parts = split_pattern(pattern);
  for (const auto& one : all) {
    if (one->parts == parts) return *one;
  }
  auto one = std::make_unique<One>();
  one->parts = std::move(parts);
  one->order = all.size();
  one->next = std::make_unique<Step>();
  const std::string& start = one->parts.front();
  by_start[start].push_back(one.get());
  const auto at = std::lower_bound(lengths.begin(), lengths.end(), start.size());
  if (at == lengths.end() || *at != start.size()) lengths.insert(at, start.size());
  all.push_back(std::move(one));
  return *all.back();
}

template <class F>
bool Patterns::find(std::string_view value, F&& wanted) const {
  // For each length the first that matches; they are tried in the order of the file.
  std::size_t tried = 0;  // below this order everything has been tried
  while (true) {
    const One* first = nullptr;
    for (const std::size_t length : lengths) {
      if (length > value.size()) break;
      const auto found = by_start.find(value.substr(0, length));
      if (found == by_start.end()) continue;
      for (const One* one : found->second) {
        if (one->order < tried) continue;
        if (first != nullptr && first->order < one->order) break;
        if (!matches_pattern(one->parts, value)) continue;
        first = one;
        break;
      }
    }
    if (first == nullptr) return false;
    if (wanted(*first->next)) return true;
    tried = first->order + 1;
  }
}

Step& child(std::unique_ptr<Step>& slot) {
  if (slot == nullptr) slot = std::make_unique<Step>();
  return *slot;
}

/// Without going back: the first that fits in each step.
std::optional<std::uint16_t> walk(const Step& from, std::span<const DescriptorEntry> entries) {
  const Step* at = &from;
  for (const DescriptorEntry& entry : entries) {
    const auto key = at->keys.find(entry.key);
    if (key == at->keys.end()) return std::nullopt;
    const auto value = key->second.values.find(entry.value);
    const Step* next = value == key->second.values.end() ? nullptr : value->second.get();
    if (next == nullptr && !key->second.patterns.all.empty()) {
      key->second.patterns.find(entry.value, [&](const Step& step) {
        next = &step;
        return true;
      });
    }
    if (next == nullptr) next = key->second.any.get();
    if (next == nullptr) return std::nullopt;
    at = next;
  }
  return at->event;
}

/// Tries the next best where a step leads nowhere.
std::optional<std::uint16_t> seek(const Step& from, std::span<const DescriptorEntry> entries) {
  if (entries.empty()) return from.event;
  const auto key = from.keys.find(entries.front().key);
  if (key == from.keys.end()) return std::nullopt;
  const auto rest = entries.subspan(1);
  const auto value = key->second.values.find(entries.front().value);
  if (value != key->second.values.end()) {
    if (const auto found = seek(*value->second, rest)) return found;
  }
  std::optional<std::uint16_t> found;
  if (!key->second.patterns.all.empty()) {
    key->second.patterns.find(entries.front().value, [&](const Step& step) {
      found = seek(step, rest);
      return found.has_value();
    });
  }
  if (!found && key->second.any != nullptr) found = seek(*key->second.any, rest);
  return found;
}

}  // namespace

struct DescriptorRoutes::Domain {
  std::optional<std::uint16_t> whole;
  Step ordered, sorted;
  bool any_sorted = false;
};

struct DescriptorRoutes::Inside {
  ByText<Domain> domains;
};

DescriptorRoutes::DescriptorRoutes() : inside_(std::make_unique<Inside>()) {}
DescriptorRoutes::~DescriptorRoutes() = default;
DescriptorRoutes::DescriptorRoutes(DescriptorRoutes&&) noexcept = default;
DescriptorRoutes& DescriptorRoutes::operator=(DescriptorRoutes&&) noexcept = default;

bool DescriptorRoutes::empty() const noexcept { return inside_->domains.empty(); }

bool DescriptorRoutes::add(const config::DescriptorDef& def, std::uint16_t event) {
  Domain& domain = inside_->domains[def.domain.value];
  const auto put = [&](std::optional<std::uint16_t>& slot) {
    if (slot) return false;
    slot = event;
    return true;
  };
  if (def.whole_domain) return put(domain.whole);
  std::vector<const config::DescriptorDef::Entry*> entries;
  for (const auto& entry : def.entries) entries.push_back(&entry);
  if (!def.ordered) {
    domain.any_sorted = true;
    std::stable_sort(entries.begin(), entries.end(),
                     [](const auto* a, const auto* b) { return a->key.value < b->key.value; });
  }
  Step* at = def.ordered ? &domain.ordered : &domain.sorted;
  using Kind = config::DescriptorDef::Entry::Kind;
  for (const auto* entry : entries) {
    OfKey& key = at->keys[entry->key.value];
    switch (entry->kind) {
      case Kind::value:
        at = &child(key.values[entry->value.value]);
        break;
      case Kind::pattern:
        at = key.patterns.add(entry->value.value).next.get();
        break;
      case Kind::any:
        at = &child(key.any);
        break;
    }
  }
  return put(at->event);
}

DescriptorRoutes::Found DescriptorRoutes::match(
    std::string_view domain, std::span<const DescriptorEntry> entries) const noexcept {
  Found out;
  const auto found = inside_->domains.find(domain);
  if (found == inside_->domains.end()) return out;
  out.known = true;
  out.domain = found->second.whole;
  if (entries.empty() || entries.size() > kEntriesMax) return out;
  out.event = walk(found->second.ordered, entries);
  if (out.event || !found->second.any_sorted) return out;
  std::array<DescriptorEntry, kEntriesMax> sorted;
  for (std::size_t n = 0; n < entries.size(); ++n) {  // a handful: no allocation
    std::size_t at = n;
    for (; at > 0 && entries[n].key < sorted[at - 1].key; --at) sorted[at] = sorted[at - 1];
    sorted[at] = entries[n];
  }
  out.event = seek(found->second.sorted, {sorted.data(), entries.size()});
  return out;
}

}  // namespace weir::policies
