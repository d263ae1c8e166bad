#include <algorithm>

#include "config/import/nginx_file.h"

namespace weir::config {
namespace {

constexpr std::size_t kHostsMax = 2'048;  // bytes of other servers' names in one condition

bool has(const std::vector<std::string>& in, const std::string& what) {
  return std::find(in.begin(), in.end(), what) != in.end();
}

bool is_default(const std::vector<NginxServer>& servers, const NginxServer& of,
                const std::string& at) {
  if (has(of.default_of, at)) return true;
  const NginxServer* first = nullptr;
  for (const NginxServer& server : servers) {
    if (has(server.default_of, at)) return false;
    if (first == nullptr && has(server.listens, at)) first = &server;
  }
  return first == &of;
}

/// Whether nginx takes `other` for some hosts of `name`, where both are asked.
bool comes_before(const NginxName& other, const NginxName& name, bool earlier) {
  using Kind = NginxName::Kind;
  const auto within = [](const NginxName& inner, const NginxName& outer) {
    return outer.kind == Kind::ending ? inner.text.ends_with(outer.text)
                                      : inner.text.starts_with(outer.text);
  };
  if (other.kind != name.kind) {
    const bool may_meet =
        other.kind != Kind::exact || name.kind == Kind::pattern || within(other, name);
    return other.kind < name.kind && may_meet;
  }
  if (name.kind == Kind::pattern) return earlier;
  if (name.kind == Kind::exact) return earlier && other.text == name.text;
  return other.text != name.text ? within(other, name) : earlier;
}

/// Conditions joined by `||`, each once.
class Either {
 public:
  void add(const std::string& condition) {
    if (!(seen_.insert({condition, true}).second)) return;
    out_ += (out_.empty() ? "" : " || ") + condition;
  }
  const std::string& text() const { return out_; }
  /// As a part of a longer condition.
  std::string grouped() const { return seen_.size() > 1 ? "(" + out_ + ")" : out_; }

 private:
  std::map<std::string, bool> seen_;
  std::string out_;
};

class HostReader {
 public:
  HostReader(const std::vector<NginxServer>& servers, const NginxServer& of)
      : servers_(servers), of_(of) {}

  NginxHosts read() {
    Either either;
    for (const NginxName& name : of_.names) {
      if (takes_as_default(name)) continue;
      const auto before = names_before(name);
      if (before) {
        either.add(before->empty() ? name.condition
                                   : "(" + name.condition + " && !(" + *before + "))");
      }
    }
    for (const std::string& at : of_.listens) {
      if (!is_default(servers_, of_, at)) continue;
      const std::string others = others_at(at);
      if (others.empty()) return {false, {}};
      either.add("!(" + others + ")");
    }
    return {either.text().empty(), either.grouped()};
  }

 private:
  /// Whether the default server gets the hosts of this name anyway.
  bool takes_as_default(const NginxName& name) const {
    for (const std::string& at : of_.listens) {
      if (!is_default(servers_, of_, at)) return false;
      for (const NginxServer& server : servers_) {
        if (&server == &of_ || !has(server.listens, at)) continue;
        for (const NginxName& other : server.names) {
          if (comes_before(name, other, &of_ < &server)) return false;
        }
      }
    }
    return true;
  }

  /// Names that nginx asks before this one wherever it asks this one; none: this one among them.
  std::optional<std::string> names_before(const NginxName& name) const {
    Either out;
    bool earlier = true;
    for (const NginxServer& server : servers_) {
      if (&server == &of_) {
        earlier = false;
        continue;
      }
      const bool everywhere =
          std::all_of(of_.listens.begin(), of_.listens.end(),
                      [&](const std::string& at) { return has(server.listens, at); });
      if (!everywhere) continue;
      for (const NginxName& other : server.names) {
        if (!comes_before(other, name, earlier)) continue;
        if (other.condition == name.condition) return std::nullopt;
        if (out.text().size() < kHostsMax) out.add(other.condition);
      }
    }
    return out.text();
  }

  /// The names of the other servers at an address, whose requests its default server does not get.
  std::string others_at(const std::string& at) const {
    Either out;
    for (const NginxServer& server : servers_) {
      if (&server == &of_ || !has(server.listens, at)) continue;
      for (const NginxName& name : server.names) {
        if (out.text().size() < kHostsMax) out.add(name.condition);
      }
    }
    return out.text();
  }

  const std::vector<NginxServer>& servers_;
  const NginxServer& of_;
};

}  // namespace

NginxHosts nginx_hosts(const std::vector<NginxServer>& servers, const NginxServer& of) {
  return HostReader(servers, of).read();
}

}  // namespace weir::config
