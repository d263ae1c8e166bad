#include "policies/set/routes.h"

#include <algorithm>
#include <utility>

#include "core/chars/ascii.h"
#include "core/chars/method.h"
#include "core/path_readings.h"

namespace weir::policies {
namespace {

constexpr std::string_view kAnyMethod = "*";

bool is_name(std::string_view text) {
  const auto letter = [](char c) { return ascii::is_letter(c) || c == '_'; };
  return !text.empty() && letter(text[0]) && std::all_of(text.begin(), text.end(), [&](char c) {
    return letter(c) || ascii::is_digit(c);
  });
}

/// Cuts the first segment off; `rest` starts after a '/'.
std::string_view next_segment(std::string_view& rest) {
  std::size_t slash = 0;  // a few bytes away: no call
  while (slash < rest.size() && rest[slash] != '/') ++slash;
  if (slash == rest.size()) slash = std::string_view::npos;
  const auto segment = rest.substr(0, slash);
  rest = slash == std::string_view::npos ? std::string_view{} : rest.substr(slash + 1);
  return segment;
}

}  // namespace

Route::Parsed Route::parse(std::string_view text) {
  const auto fail = [](std::string problem, std::size_t offset) {
    return Parsed{std::nullopt, std::move(problem), offset};
  };
  const auto space = text.find(' ');
  if (space == std::string_view::npos) {
    return fail("a route is a method and a path, such as \"POST /api/login\" or \"* /api/*\"", 0);
  }
  Route route;
  route.method = text.substr(0, space);
  if (route.method != kAnyMethod && !is_method(route.method))
    return fail("\"" + route.method + "\" is not an HTTP method", 0);
  const auto start = text.find_first_not_of(' ', space);
  if (start == std::string_view::npos || text[start] != '/') {
    return fail("the path of a route starts with \"/\"",
                start == std::string_view::npos ? space : start);
  }
  if (const auto bad = text.find_first_of(" ?#;\\", start); bad != std::string_view::npos) {
    return fail(
        "a route's path has no blank, \"?\", \"#\", \";\" or \"\\\"; a query is tested with `when`",
        bad);
  }
  std::string_view rest = text.substr(start + 1);
  while (!rest.empty()) {
    const auto offset = static_cast<std::size_t>(rest.data() - text.data());
    const std::string_view part = next_segment(rest);
    Segment segment;
    if (part == "*") {
      if (!rest.empty())
        return fail("\"*\" stands for everything below and must come last", offset);
      segment.kind = Segment::Kind::rest;
    } else if (part.starts_with('{') && part.ends_with('}')) {
      segment.kind = Segment::Kind::parameter;
      segment.text = part.substr(1, part.size() - 2);
      if (!is_name(segment.text))
        return fail("\"{name}\" needs a name of letters, digits and _", offset);
    } else if (part.empty() || part == "." || part == "..") {
      return fail(
          "empty segments and dots never reach a route: paths are matched in their normal form",
          offset);
    } else if (part.find_first_of("*{}") != std::string_view::npos) {
      return fail("\"{name}\" and \"*\" stand for whole segments", offset);
    } else {
      segment.text = part;
    }
    route.segments.push_back(std::move(segment));
  }
  return {std::move(route), {}, 0};
}

void Route::fold_case() {
  for (Segment& segment : segments) {
    if (segment.kind == Segment::Kind::literal) fold_letters(segment.text);
  }
}

std::string Route::canonical() const {
  std::string out = method + " ";
  for (const Segment& segment : segments) {
    out += '/';
    switch (segment.kind) {
      case Segment::Kind::literal:
        out += segment.text;
        break;
      case Segment::Kind::parameter:
        out += "{}";
        break;
      case Segment::Kind::rest:
        out += '*';
        break;
    }
  }
  return out;
}

bool covers_method(std::string_view route_method, std::string_view method) noexcept {
  return route_method == kAnyMethod || route_method == method ||
         (method == "HEAD" && route_method == "GET");
}

struct Routes::Node {
  struct Leaf {
    std::string method;  // "*": any
    std::uint16_t id;
  };
  /// The node below a literal segment; null: there is none.
  const Node* child(std::string_view segment) const noexcept;
  Node& add_child(const std::string& segment);

  struct Literal {
    std::size_t size;  // of the text; it and the first character mostly differ from the others
    char first;
    std::string text;
    std::unique_ptr<Node> node;
  };
  static constexpr std::size_t kFew = 12;  // so few literals are searched faster one by one

  std::vector<Literal> literals;  // ascending
  std::unique_ptr<Node> parameter;
  std::vector<Leaf> here;   // the path ends at this node
  std::vector<Leaf> below;  // at least one more segment follows
};

const Routes::Node* Routes::Node::child(std::string_view segment) const noexcept {
  const char first = segment.empty() ? '\0' : segment.front();
  if (literals.size() <= kFew) {
    for (const Literal& literal : literals) {
      if (literal.size == segment.size() && literal.first == first && literal.text == segment)
        return literal.node.get();
    }
    return nullptr;
  }
  const auto found = std::lower_bound(
      literals.begin(), literals.end(), segment,
      [](const Literal& literal, std::string_view text) { return literal.text < text; });
  return found != literals.end() && found->text == segment ? found->node.get() : nullptr;
}

Routes::Node& Routes::Node::add_child(const std::string& segment) {
  const auto at = std::lower_bound(
      literals.begin(), literals.end(), segment,
      [](const Literal& literal, const std::string& text) { return literal.text < text; });
  if (at != literals.end() && at->text == segment) return *at->node;
  const char first = segment.empty() ? '\0' : segment.front();
  return *literals.insert(at, {segment.size(), first, segment, std::make_unique<Node>()})->node;
}

Routes::Routes() : root_(std::make_unique<Node>()) {}
Routes::~Routes() = default;
Routes::Routes(Routes&&) noexcept = default;
Routes& Routes::operator=(Routes&&) noexcept = default;

void Routes::add(const Route& route, std::uint16_t id) {
  Node* node = root_.get();
  for (const Route::Segment& segment : route.segments) {
    if (segment.kind == Route::Segment::Kind::rest) {
      node->below.push_back({route.method, id});
      return;
    }
    if (segment.kind == Route::Segment::Kind::literal) {
      node = &node->add_child(segment.text);
    } else {
      if (!node->parameter) node->parameter = std::make_unique<Node>();
      node = node->parameter.get();
    }
  }
  node->here.push_back({route.method, id});
}

void Routes::match_raw(std::string_view method, std::string_view path, Found found,
                       void* context) const {
  const auto emit = [&](const std::vector<Node::Leaf>& leaves) {
    for (const Node::Leaf& leaf : leaves) {
      if (covers_method(leaf.method, method)) found(context, leaf.id);
    }
  };
  // A literal and a parameter may both fit a segment: walk every branch. The depth is bounded by
  // the routes, not by the path.
  const auto walk = [&](const auto& self, const Node& node, std::string_view rest) -> void {
    if (rest.empty()) {
      emit(node.here);
      return;
    }
    emit(node.below);
    if (node.literals.empty() && !node.parameter) return;
    const std::string_view segment = next_segment(rest);
    if (const Node* const child = node.child(segment)) self(self, *child, rest);
    if (node.parameter) self(self, *node.parameter, rest);
  };
  if (path.starts_with('/')) path.remove_prefix(1);
  walk(walk, *root_, path);
}

std::string_view path_segment(std::string_view path, std::size_t k) noexcept {
  if (path.starts_with('/')) path.remove_prefix(1);
  for (; k > 0 && !path.empty(); --k) next_segment(path);
  return next_segment(path);
}

}  // namespace weir::policies
