#include "app/support/route_check.h"

#include <string>
#include <vector>

#include "net/http/target.h"
#include "policies/set/routes.h"

namespace weir::app {
namespace {

using Segment = policies::Route::Segment;

/// A path that the route matches.
std::string path_of(const policies::Route& route) {
  std::string out;
  for (const Segment& segment : route.segments) {
    out.append("/").append(segment.kind == Segment::Kind::literal ? segment.text : "x");
  }
  return out.empty() ? "/" : out;
}

void check_route(const config::Text& match, PathRules rules, config::Problems& problems) {
  rules.fold_case = false;  // routes are folded when they are compiled
  const auto parsed = policies::Route::parse(match.value);
  if (!parsed.route) return;  // the compiler says why it is none
  const std::string path = path_of(*parsed.route);
  std::vector<char> room(net::normal_path_room(path.size()));
  net::NormalTarget normal;
  config::Where where = match.where;
  const std::size_t start = match.value.find('/');
  where.column += static_cast<std::uint32_t>(start);
  where.length = static_cast<std::uint32_t>(match.value.size() - start);
  if (net::normalise_target(path, rules, room, normal) != net::HttpRefusal::none) {
    problems.error(where, "no request can have this path: broken escapes and %00 are refused");
  } else if (normal.path != path) {
    problems.error(where, "paths are matched in their normal form, which this one is not",
                   "its normal form is " + std::string(normal.path));
  } else if (normal.is_ambiguous()) {
    problems.warning(where,
                     "where a policy can refuse, requests with this path get 400: servers read it "
                     "in different ways",
                     "if the app reads it as it is, set proxy.path.encoded_slash or "
                     "proxy.path.other_escapes to keep");
  }
}

}  // namespace

void check_routes(const config::Model& model, config::Problems& problems) {
  for (const config::EventDef& event : model.events) {
    if (event.match && event.sound) check_route(*event.match, model.server.proxy.path, problems);
  }
}

}  // namespace weir::app
