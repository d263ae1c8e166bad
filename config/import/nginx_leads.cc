#include <algorithm>

#include "config/import/nginx_file.h"

namespace weir::config {
namespace {

/// Requests that nginx sends on are limited where they arrive, if they were not before. weir knows
/// the path that the client has asked for, and not the one after nginx's changes.
class LeadReader {
  using Kind = NginxLocation::Kind;

 public:
  LeadReader(const NginxServer& server, std::vector<ImportNote>& out)
      : server_(server), out_(out) {}

  void read() {
    gather(server_.locations, true);
    from(server_.scope, true);
    for (const NginxLocation* location : all_) from(location->scope, false);
  }

 private:
  void gather(const std::vector<NginxLocation>& locations, bool known) {
    for (const NginxLocation& location : locations) {
      all_.push_back(&location);
      unreachable(location, known && location.known);
      gather(location.inner, known && location.known);
    }
  }

  void note(const NginxLead& lead, std::string why) {
    std::string what;
    for (const std::string& word : lead.words) what += (what.empty() ? "" : " ") + word;
    out_.push_back({lead.line, std::move(what), std::move(why)});
  }

  void from(const NginxScope& scope, bool of_server) {
    for (const NginxLead& lead : scope.leads) {
      const std::string& name = lead.words[0];
      if (name == "rewrite") {
        rewrite(lead, scope, of_server);
      } else if (name == "try_files" || name == "error_page") {
        if (lead.words.size() > 1) target(lead, lead.words.back(), scope);
      } else {
        for (std::size_t i = 1; i < lead.words.size(); ++i) {
          if (target(lead, "/" + lead.words[i], scope)) break;
        }
      }
    }
  }

  /// nginx has not counted the request yet: only the limits of where it arrives hold.
  void rewrite(const NginxLead& lead, const NginxScope& scope, bool of_server) {
    if (lead.words.size() < 3) return;
    const std::string& to = lead.words[2];
    const std::string flag = lead.words.size() > 3 ? lead.words[3] : "";
    const bool answers = to.starts_with("http://") || to.starts_with("https://") ||
                         to.starts_with("$scheme") || flag == "redirect" || flag == "permanent";
    if (answers || (flag == "break" && !of_server)) return;
    const bool other = std::any_of(all_.begin(), all_.end(), [&](const NginxLocation* location) {
      return location->kind != Kind::named && !location->scope.limits_alike(scope);
    });
    if (other) {
      note(lead,
           "nginx limits by the path after this directive, weir by the path that the client asks "
           "for: "
           "write such paths into `when`");
    }
  }

  bool target(const NginxLead& lead, std::string_view to, const NginxScope& scope) {
    if (to.starts_with('=') || to.starts_with('@') || !to.starts_with('/')) return false;
    to = to.substr(0, to.find('?'));
    const bool open = scope.requests.empty() || scope.connections.empty();
    if (!open) return false;
    const bool other = std::any_of(all_.begin(), all_.end(), [&](const NginxLocation* location) {
      const NginxScope& there = location->scope;
      const bool more = (scope.requests.empty() && !there.requests.empty()) ||
                        (scope.connections.empty() && !there.connections.empty());
      return more && may_take(*location, to, lead.words[0] == "try_files");
    });
    if (other) {
      note(lead,
           "it leads to a location with limits: weir goes by the path that the client asks for, so "
           "write such paths into `when`");
    }
    return other;
  }

  /// Whether the location could be the one for this path, of which `$` begins the unknown part.
  static bool may_take(const NginxLocation& location, std::string_view path, bool any_pattern) {
    const std::string_view sure = path.substr(0, path.find('$'));
    if (location.kind == Kind::exact)
      return sure.size() == path.size() ? path == location.text : location.text.starts_with(sure);
    if (location.kind == Kind::prefix)
      return sure.starts_with(location.text) ||
             (sure.size() < path.size() && std::string_view(location.text).starts_with(sure));
    if (location.kind == Kind::named) return false;
    const std::size_t dot = path.rfind('.');
    return any_pattern || dot == std::string_view::npos ||
           location.text.find(path.substr(dot + 1)) != std::string::npos;
  }

  /// Limits of locations that no path leads to, that answer before nginx counts, or whose pattern
  /// weir does not read.
  void unreachable(const NginxLocation& location, bool known) {
    const bool sent = location.kind == Kind::named || location.internal;
    if (!sent && known && location.scope.returns == 0) return;
    std::string why =
        "requests come there from other locations alone (try_files, error_page, rewrite): write a "
        "policy with their paths in `when`";
    if (!sent && location.scope.returns != 0) {
      why = "nginx answers there before it counts (line " + std::to_string(location.scope.returns) +
            "): no request is limited";
    } else if (!known) {
      why = "weir cannot use the pattern of this location: write a policy with its paths in `when`";
    }
    const std::string where =
        " in location " + (location.text.empty() ? std::string("?") : location.text);
    const auto tell = [&](const NginxUse& use) {
      out_.push_back({use.line, use.to_string() + where, why});
    };
    const NginxScope& scope = location.scope;
    if (scope.own_requests) std::for_each(scope.requests.begin(), scope.requests.end(), tell);
    if (scope.own_connections)
      std::for_each(scope.connections.begin(), scope.connections.end(), tell);
  }

  const NginxServer& server_;
  std::vector<ImportNote>& out_;
  std::vector<const NginxLocation*> all_;
};

}  // namespace

void note_nginx_leads(const NginxServer& server, std::vector<ImportNote>& left_out) {
  LeadReader(server, left_out).read();
}

}  // namespace weir::config
