#include <algorithm>

#include "config/import/nginx_file.h"

namespace weir::config {
namespace {

constexpr std::size_t kBeforeMax = 2'048;  // bytes of other locations in one condition

std::string linked(const std::string& a, const std::string& b, std::string_view by) {
  return a.empty() ? b : b.empty() ? a : a + std::string(by) + b;
}

/// A location among those around it.
struct LocationNode {
  const NginxLocation* location = nullptr;
  std::size_t parent = 0;  ///< itself: none
  std::size_t depth = 0;
};

/// nginx takes the longest prefix location and searches inside it; then, unless that is `^~`, the
/// first pattern beside it, unless it found a pattern or an exact location inside.
class LocationTree {
  using Kind = NginxLocation::Kind;

 public:
  explicit LocationTree(const NginxServer& server) { add(server.locations, 0, 0); }

  std::vector<NginxPlace> places() const {
    std::vector<NginxPlace> out;
    bool whole = false;
    std::string anywhere;
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      const NginxLocation& location = *nodes_[n].location;
      if (!chain_known(n)) continue;
      const auto others = before(n);
      if (others) out.push_back({&location, linked(holds(n), *others, " && ")});
      if (!is_top(n)) continue;
      whole = whole || (location.kind == Kind::prefix && is_all(location));
      if (anywhere.size() < kBeforeMax)
        anywhere = linked(anywhere, location.condition.excludes, " || ");
    }
    if (!whole) out.push_back({nullptr, anywhere.empty() ? "" : "!(" + anywhere + ")"});
    return out;
  }

 private:
  static bool is_all(const NginxLocation& location) {
    return location.kind == Kind::prefix && (location.text == "/" || location.text.empty());
  }

  void add(const std::vector<NginxLocation>& locations, std::size_t parent, std::size_t depth) {
    for (const NginxLocation& location : locations) {
      const std::size_t n = nodes_.size();
      nodes_.push_back({&location, depth == 0 ? n : parent, depth});
      add(location.inner, n, depth + 1);
    }
  }

  bool is_top(std::size_t n) const { return nodes_[n].depth == 0; }

  bool chain_known(std::size_t n) const {
    for (;; n = nodes_[n].parent) {
      if (!nodes_[n].location->known || nodes_[n].location->kind == Kind::named) return false;
      if (is_top(n)) return true;
    }
  }

  bool is_inside(std::size_t n, std::size_t of) const {
    while (!is_top(n)) {
      n = nodes_[n].parent;
      if (n == of) return true;
    }
    return false;
  }

  /// The condition of the location and of those around it that it does not imply.
  template <class Side>
  std::string chain(std::size_t n, Side side) const {
    std::string out;
    std::string_view prefix;
    for (;; n = nodes_[n].parent) {
      const NginxLocation& location = *nodes_[n].location;
      const bool implied = is_all(location) || (location.kind == Kind::prefix && !prefix.empty() &&
                                                prefix.starts_with(location.text));
      if (!implied) out = linked(side(location), out, " && ");
      if (location.kind != Kind::pattern) prefix = location.text;
      if (is_top(n)) return out;
    }
  }

  std::string holds(std::size_t n) const {
    return chain(n, [](const NginxLocation& l) { return l.condition.holds; });
  }

  /// True only where nginx comes to this location: a longer prefix beside it takes the path.
  std::string reached(std::size_t n, std::size_t of) const {
    std::string out = chain(n, [](const NginxLocation& l) { return l.condition.excludes; });
    for (;; n = nodes_[n].parent) {
      for (std::size_t other = 0; other < nodes_.size() && out.size() < kBeforeMax; ++other) {
        if (is_longer(other, n) && chain_known(other) && !comes_before(other, of))
          out = linked(out, "!(" + nodes_[other].location->condition.holds + ")", " && ");
      }
      if (is_top(n)) return out;
    }
  }

  bool are_beside(std::size_t a, std::size_t b) const {
    return nodes_[a].depth == nodes_[b].depth &&
           (is_top(a) || nodes_[a].parent == nodes_[b].parent);
  }

  /// Prefixes beside each other of which the first is taken where both hold.
  bool is_longer(std::size_t a, std::size_t b) const {
    const NginxLocation& x = *nodes_[a].location;
    const NginxLocation& y = *nodes_[b].location;
    return are_beside(a, b) && x.kind == Kind::prefix && y.kind == Kind::prefix &&
           x.text.size() > y.text.size() && x.text.starts_with(y.text);
  }

  /// Whether nginx, once inside `around`, takes `n` without a look at the patterns beside `around`.
  bool is_final(std::size_t n, std::size_t around) const {
    if (nodes_[around].location->firm) return true;
    for (; n != around; n = nodes_[n].parent) {
      const Kind kind = nodes_[n].location->kind;
      if (kind == Kind::pattern || kind == Kind::exact) return true;
    }
    return false;
  }

  /// Whether nginx takes `m`, or a location inside it, if both it and `n` match.
  bool comes_before(std::size_t m, std::size_t n) const {
    if (m == n || is_inside(n, m)) return false;
    if (is_inside(m, n)) return true;
    std::size_t a = m, b = n;
    while (!are_beside(a, b)) {
      std::size_t& deeper = nodes_[a].depth >= nodes_[b].depth ? a : b;
      deeper = nodes_[deeper].parent;
    }
    const NginxLocation& x = *nodes_[a].location;
    const NginxLocation& y = *nodes_[b].location;
    if (y.kind == Kind::exact) return false;
    if (x.kind == Kind::exact) return true;
    if (x.kind == Kind::pattern) return y.kind == Kind::pattern ? a < b : !is_final(n, b);
    return y.kind == Kind::prefix ? is_longer(a, b) : is_final(m, a);
  }

  /// The locations that nginx takes before this one for some of its paths; none: for all of them.
  std::optional<std::string> before(std::size_t n) const {
    std::string out;
    std::vector<bool> told(nodes_.size());
    for (std::size_t m = 0; m < nodes_.size() && out.size() < kBeforeMax; ++m) {
      if (!is_top(m) && told[nodes_[m].parent]) {
        told[m] = true;
        continue;
      }
      if (!chain_known(m) || !comes_before(m, n) || cannot_meet(m, n)) continue;
      told[m] = true;
      const std::string condition = reached(m, n);
      if (condition.empty()) return std::nullopt;
      out += (out.empty() ? "!(" : " || ") + condition;
    }
    return out.empty() ? out : out + ")";
  }

  /// Whether, by their texts, no path is in both.
  bool cannot_meet(std::size_t m, std::size_t n) const {
    const NginxLocation& x = *nodes_[m].location;
    const NginxLocation& y = *nodes_[n].location;
    if (y.kind != Kind::prefix || x.kind == Kind::pattern) return false;
    return !x.text.starts_with(y.text);
  }

  std::vector<LocationNode> nodes_;
};

}  // namespace

std::vector<NginxPlace> nginx_places(const NginxServer& server) {
  return LocationTree(server).places();
}

}  // namespace weir::config
