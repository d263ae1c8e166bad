#include <algorithm>
#include <boost/json/array.hpp>

#include "admin/routes.h"
#include "admin/views.h"

namespace weir::admin {
namespace {

namespace json = boost::json;

constexpr std::size_t kWindowsDefault = 12;

/// The state of a shared view with the other replicas.
json::object sharing_of(const policies::LiveView& view, TimePoint now) {
  const limiter::ViewSharing sharing = view.sharing();
  json::object out;
  out["whole"] = sharing.up && sharing.silent == 0;
  out["up"] = sharing.up;
  out["why"] = sharing.why;
  out["age_ms"] = sharing.synced == TimePoint{}
                      ? json::value()
                      : json::value(std::max<std::int64_t>(0, (now - sharing.synced).count()));
  out["replicas"] = sharing.replicas;
  out["silent"] = sharing.silent;
  out["pending_bytes"] = sharing.pending;
  out["sent_bytes"] = sharing.sent;
  out["received_bytes"] = sharing.received;
  out["lost"] = sharing.lost;
  return out;
}

json::object view_of(const policies::View& view, TimePoint now) {
  json::object out;
  out["name"] = view.name;
  json::array by;
  for (const std::string& part : view.key_names) by.emplace_back(part);
  out["by"] = std::move(by);
  out["metric"] = view.metric;
  out["window"] = policies::window_text(view.spec);
  out["top"] = view.spec.top != 0 ? json::value(view.spec.top) : json::value();
  const policies::LiveView::Stats stats =
      view.live != nullptr ? view.live->stats() : policies::LiveView::Stats{};
  out["keys"] = stats.counted.keys;
  out["memory_used_bytes"] = stats.counted.bytes;
  out["memory_limit_bytes"] = stats.limit;
  out["events"] = stats.counted.events;
  out["late"] = stats.counted.late;
  out["dropped"] = stats.counted.dropped;
  out["missing"] = stats.missing;
  const bool shared = view.live != nullptr && view.live->is_shared();
  out["share"] = shared ? "redis" : "local";
  out["sharing"] = shared ? json::value(sharing_of(*view.live, now)) : json::value();
  return out;
}

}  // namespace

net::HttpReply get_views(Call& call) {
  if (auto refused = call.refuse_unknown({})) return std::move(*refused);
  json::array rows;
  for (const policies::View& view : call.set->views) rows.push_back(view_of(view, call.at.now));
  return json_reply({{"views", std::move(rows)}});
}

net::HttpReply get_view(Call& call) {
  if (auto refused = call.refuse_unknown({"windows"})) return std::move(*refused);
  const policies::View* const view = call.set->find_view(call.name());
  if (view == nullptr) return problem(404, "there is no view of that name");
  std::size_t windows = kWindowsDefault;
  if (!call.read_count("windows", 0, policies::LiveView::kResultsMax, windows)) {
    return problem(400, "\"windows\" is a number from 0 to " +
                            std::to_string(policies::LiveView::kResultsMax));
  }
  policies::LiveView::Results results;
  if (view->live != nullptr) {
    view->advance(call.at.now, call.at.wall);
    results = view->live->results(windows);
  }
  // The rows are JSON already, in the form of a replay.
  net::HttpReply reply = json_reply(view_of(*view, call.at.now));
  std::string& body = reply.body;
  body.resize(body.rfind('}'));
  body += ",\"windows\":[";
  for (const std::string& line : results.complete) {
    if (&line != results.complete.data()) body += ',';
    body += line;
  }
  body += "],\"running\":" + (results.running.empty() ? "null" : results.running) + "}\n";
  return reply;
}

}  // namespace weir::admin
