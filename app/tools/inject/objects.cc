#include "app/tools/inject/objects.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/chars/ascii.h"
#include "core/chars/parse.h"

namespace weir::app {
namespace {

// Annotations of a pod, as the admission policy of k8s/injection reads them.
constexpr const char* kWanted = "weir.example/inject";
constexpr const char* kAppPort = "weir.example/app-port";

std::string annotation_of(const Pod& pod, const char* name) {
  return scalar_of(at_path(pod.metadata, {"annotations", name}));
}

std::string why_left_out(const Pod& pod) {
  if (annotation_of(pod, kWanted) == "false") return std::string(kWanted) + " is \"false\"";
  if (scalar_of(at_path(pod.spec, {"hostNetwork"})) == "true")
    return "hostNetwork: weir's ports would be the node's";
  if (scalar_of(at_path(pod.spec, {"os", "name"})) == "windows")
    return "os: windows: weir's image is for Linux";
  return {};
}

void add_pod(const YAML::Node& document, const YAML::Node& holder, std::size_t from,
             std::vector<Pod>& out) {
  const YAML::Node spec = at_path(holder, {"spec"});
  const YAML::Node containers = at_path(spec, {"containers"});
  if (!containers.IsDefined() || !containers.IsSequence() || containers.size() == 0) return;
  Pod pod;
  pod.kind = ascii::lowered(scalar_of(at_path(document, {"kind"})));
  pod.name = scalar_of(at_path(document, {"metadata", "name"}));
  pod.space = scalar_of(at_path(document, {"metadata", "namespace"}));
  pod.holder.reset(holder);
  pod.metadata.reset(at_path(holder, {"metadata"}));
  pod.spec.reset(spec);
  pod.selector.reset(at_path(document, {"spec", "selector", "matchLabels"}));
  pod.from = from;
  pod.there = count_weir(spec) != 0;
  pod.left_out = why_left_out(pod);
  out.push_back(std::move(pod));
}

std::string first_port(const Pod& pod) {
  for (const YAML::Node& container : at_path(pod.spec, {"containers"})) {
    const std::vector<YAML::Node> ports = tcp_ports(container);
    if (!ports.empty()) return scalar_of(at_path(ports.front(), {"containerPort"}));
  }
  return {};
}

/// The port to which weir forwards in this pod, as inject has written it; empty: weir.yaml has it.
std::string port_of_weir(const Pod& pod) {
  constexpr std::string_view kHere = "http://127.0.0.1:";
  for (const char* list : {"initContainers", "containers"}) {
    for (const YAML::Node& container : at_path(pod.spec, {list})) {
      if (scalar_of(at_path(container, {"name"})) != "weir") continue;
      for (const YAML::Node& variable : at_path(container, {"env"})) {
        const std::string value = scalar_of(at_path(variable, {"value"}));
        if (scalar_of(at_path(variable, {"name"})) == "WEIR_PROXY_UPSTREAM" &&
            value.starts_with(kHere))
          return value.substr(kHere.size());
      }
    }
  }
  return {};
}

}  // namespace

std::string scalar_of(const YAML::Node& node) {
  return node.IsDefined() && node.IsScalar() ? node.Scalar() : std::string();
}

YAML::Node at_path(YAML::Node node, std::initializer_list<const char*> path) {
  for (const char* key : path) {
    if (!node.IsDefined() || !node.IsMap()) return YAML::Node(YAML::NodeType::Undefined);
    const YAML::Node next =
        std::as_const(node)[key];  // a constant node: the lookup creates nothing
    if (!next.IsDefined()) return YAML::Node(YAML::NodeType::Undefined);
    node.reset(next);
  }
  return node;
}

std::size_t count_named(const YAML::Node& spec, const char* list, std::string_view name) {
  const YAML::Node each = at_path(spec, {list});
  if (!each.IsDefined() || !each.IsSequence()) return 0;
  return static_cast<std::size_t>(std::count_if(
      each.begin(), each.end(),
      [&](const YAML::Node& one) { return scalar_of(at_path(one, {"name"})) == name; }));
}

std::size_t count_weir(const YAML::Node& spec) {
  return count_named(spec, "initContainers", "weir") + count_named(spec, "containers", "weir");
}

void collect(const YAML::Node& document, std::size_t from, Objects& out) {
  if (!document.IsDefined() || !document.IsMap()) return;
  const std::string kind = scalar_of(at_path(document, {"kind"}));
  const YAML::Node items = at_path(document, {"items"});
  if (kind.ends_with("List") && items.IsDefined() && items.IsSequence()) {
    for (const YAML::Node& item : items) collect(item, from, out);
    return;
  }
  if (kind == "Service") {
    out.services.push_back({document, from});
  } else if (kind == "Pod") {
    add_pod(document, document, from, out.pods);
  } else if (kind == "PodTemplate") {
    add_pod(document, at_path(document, {"template"}), from, out.pods);
  } else {
    for (const YAML::Node& holder :
         {at_path(document, {"spec"}), at_path(document, {"spec", "jobTemplate", "spec"})}) {
      add_pod(document, at_path(holder, {"template"}), from, out.pods);
    }
  }
}

bool selects_pod(const YAML::Node& service, const Pod& pod) {
  const YAML::Node selector = at_path(service, {"spec", "selector"});
  const YAML::Node labels = at_path(pod.metadata, {"labels"});
  if (!selector.IsDefined() || !selector.IsMap() || selector.size() == 0) return false;
  const std::string space = scalar_of(at_path(service, {"metadata", "namespace"}));
  if (!space.empty() && !pod.space.empty() && space != pod.space) return false;
  for (const auto& member : selector) {
    const std::string key = member.first.Scalar();
    if (scalar_of(at_path(labels, {key.c_str()})) != scalar_of(member.second)) return false;
  }
  return true;
}

bool is_own_port(std::string_view text) {
  const std::uint16_t port = parse_whole<std::uint16_t>(text).value_or(0);
  return port >= config::kProxyPort && port <= config::kApiPort;
}

bool is_port_number(const std::string& text) {
  return parse_whole<std::uint16_t>(text).value_or(0) != 0;
}

std::string port_number(const Pod& pod, const std::string& port) {
  if (is_port_number(port)) return port;
  for (const YAML::Node& container : at_path(pod.spec, {"containers"})) {
    const YAML::Node ports = at_path(container, {"ports"});
    if (!ports.IsDefined() || !ports.IsSequence()) continue;
    for (const YAML::Node& each : ports) {
      if (scalar_of(at_path(each, {"name"})) == port)
        return scalar_of(at_path(each, {"containerPort"}));
    }
  }
  return {};
}

std::string target_of(const YAML::Node& port) {
  const std::string target = scalar_of(at_path(port, {"targetPort"}));
  return target.empty() ? scalar_of(at_path(port, {"port"})) : target;
}

HttpSign sign_of_http(const YAML::Node& port) {
  const std::string name = scalar_of(at_path(port, {"name"}));
  const std::string number = scalar_of(at_path(port, {"port"}));
  if (name == "http" || name == "web" || number == "80" ||
      scalar_of(at_path(port, {"appProtocol"})) == "http")
    return HttpSign::clear;
  const bool is_metrics = name.find("metrics") != std::string::npos;
  return name.starts_with("http-") && !is_metrics ? HttpSign::likely : HttpSign::none;
}

std::string port_of(const Pod& pod, const std::vector<Objects::Service>& services) {
  if (pod.there) return port_of_weir(pod);
  if (std::string said = annotation_of(pod, kAppPort); !said.empty()) return said;
  std::string best;
  HttpSign of_best = HttpSign::none;
  for (const Objects::Service& service : services) {
    if (!selects_pod(service.node, pod)) continue;
    for (const YAML::Node& port : tcp_ports(at_path(service.node, {"spec"}))) {
      const std::string number = port_number(pod, target_of(port));
      if (number.empty() || number == kPort) continue;
      const HttpSign sign = sign_of_http(port);
      if (!best.empty() && sign <= of_best) continue;
      best = number;
      of_best = sign;
    }
  }
  return best.empty() ? first_port(pod) : best;
}

std::vector<YAML::Node> tcp_ports(const YAML::Node& holder) {
  std::vector<YAML::Node> out;
  const YAML::Node ports = at_path(holder, {"ports"});
  if (!ports.IsDefined() || !ports.IsSequence()) return out;
  for (const YAML::Node& port : ports) {
    const std::string protocol = scalar_of(at_path(port, {"protocol"}));
    if (protocol.empty() || protocol == "TCP") out.push_back(port);
  }
  return out;
}

}  // namespace weir::app
