#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::policies {

/// A route as an event's `match` spells it: `POST /api/users/{id}`. The method is a token or `*`
/// (see covers_method()); the path is `/`-separated literal segments, `{name}` for any one segment,
/// and at the end `*` for anything below.
struct Route {
  struct Segment {
    enum class Kind : std::uint8_t { literal, parameter, rest };
    Kind kind = Kind::literal;
    std::string text;  ///< the literal, or the parameter's name
  };
  std::string method;
  std::vector<Segment> segments;

  /// Or the error in the text, as a message for people.
  struct Parsed;
  static Parsed parse(std::string_view text);
  void fold_case();               ///< its literals become lower case, in ASCII
  std::string canonical() const;  ///< equal for routes that match the same requests
};

struct Route::Parsed {
  std::optional<Route> route;
  std::string problem;
  std::size_t offset = 0;  ///< of the problem in the text
};

/// Whether a route with this method is for a request with that one: `*` is for any, GET for HEAD
/// too, as servers run the handler of GET for HEAD (RFC 9110, 9.3.2). HEAD is for HEAD alone. All
/// doors ask here.
bool covers_method(std::string_view route_method, std::string_view method) noexcept;

/// Index of routes: a trie over path segments, so that the cost of a lookup grows with the length
/// of the path and with the matches, not with how many routes are loaded. Immutable after the last
/// add(); thread-safe then.
class Routes {
 public:
  Routes();
  ~Routes();
  Routes(Routes&&) noexcept;
  Routes& operator=(Routes&&) noexcept;

  void add(const Route& route, std::uint16_t id);

  /// Calls `found(id)` for every route that matches; `path` is the normal form ("/a/b", no query).
  template <class F>
  void match(std::string_view method, std::string_view path, F&& found) const {
    auto call = [](void* context, std::uint16_t id) { (*static_cast<F*>(context))(id); };
    match_raw(method, path, call, const_cast<void*>(static_cast<const void*>(&found)));
  }

 private:
  struct Node;
  using Found = void (*)(void* context, std::uint16_t id);
  void match_raw(std::string_view method, std::string_view path, Found found, void* context) const;
  std::unique_ptr<Node> root_;
};

/// The k-th segment (0-based) of a normal path; empty if there is none.
std::string_view path_segment(std::string_view path, std::size_t k) noexcept;

}  // namespace weir::policies
