#include "app/tools/inject/manifest.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <utility>

#include "app/tools/inject/edits.h"
#include "embedded/sidecar.h"

namespace weir::app {
namespace {

constexpr const char* kLabel = "weir.example/sidecar";
constexpr int kGraceSeconds = 45;
constexpr std::string_view kPort = "8480";

/// A pod of the manifests: its template, and where it comes from.
struct Pod {
  std::string kind, name;
  YAML::Node metadata, spec;  // of the template; metadata may be undefined
  std::string port;           // the app's, once it is known
  bool there = false;         // the pod has weir already
  std::string title() const { return kind + "/" + name; }
};

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

bool has_container(const YAML::Node& spec, const char* list, std::string_view name) {
  const YAML::Node containers = at_path(spec, {list});
  if (!containers.IsDefined() || !containers.IsSequence()) return false;
  return std::any_of(containers.begin(), containers.end(), [&](const YAML::Node& each) {
    return scalar_of(at_path(each, {"name"})) == name;
  });
}

void add_pod(const YAML::Node& document, const YAML::Node& metadata, const YAML::Node& spec,
             std::vector<Pod>& out) {
  const YAML::Node containers = at_path(spec, {"containers"});
  if (!containers.IsDefined() || !containers.IsSequence() || containers.size() == 0) return;
  Pod pod;
  pod.kind = scalar_of(at_path(document, {"kind"}));
  pod.name = scalar_of(at_path(document, {"metadata", "name"}));
  std::transform(pod.kind.begin(), pod.kind.end(), pod.kind.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  pod.metadata.reset(metadata);
  pod.spec.reset(spec);
  pod.there =
      has_container(spec, "initContainers", "weir") || has_container(spec, "containers", "weir");
  out.push_back(std::move(pod));
}

/// Whatever has a pod template has it in one of these places; kinds of others (Argo's Rollout) too.
void collect_pods(const YAML::Node& document, std::vector<Pod>& pods,
                  std::vector<YAML::Node>& services) {
  if (!document.IsDefined() || !document.IsMap()) return;
  const std::string kind = scalar_of(at_path(document, {"kind"}));
  const YAML::Node items = at_path(document, {"items"});
  if (kind.ends_with("List") && items.IsDefined() && items.IsSequence()) {
    for (const YAML::Node& item : items) collect_pods(item, pods, services);
    return;
  }
  if (kind == "Service") {
    services.push_back(document);
  } else if (kind == "Pod") {
    add_pod(document, at_path(document, {"metadata"}), at_path(document, {"spec"}), pods);
  } else if (kind == "PodTemplate") {
    add_pod(document, at_path(document, {"template", "metadata"}),
            at_path(document, {"template", "spec"}), pods);
  } else {
    for (const YAML::Node& holder :
         {at_path(document, {"spec"}), at_path(document, {"spec", "jobTemplate", "spec"})}) {
      add_pod(document, at_path(holder, {"template", "metadata"}),
              at_path(holder, {"template", "spec"}), pods);
    }
  }
}

/// Whether the Service's selector takes this pod.
bool selects_pod(const YAML::Node& service, const Pod& pod) {
  const YAML::Node selector = at_path(service, {"spec", "selector"});
  const YAML::Node labels = at_path(pod.metadata, {"labels"});
  if (!selector.IsDefined() || !selector.IsMap() || selector.size() == 0) return false;
  for (const auto& member : selector) {
    const std::string key = member.first.Scalar();
    if (scalar_of(at_path(labels, {key.c_str()})) != scalar_of(member.second)) return false;
  }
  return true;
}

bool is_port_number(const std::string& text) {
  return !text.empty() && text.size() <= 5 &&
         text.find_first_not_of("0123456789") == std::string::npos;
}

/// For a text that is not a number: very long.
int whole_seconds(const std::string& text) {
  int out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size() ? out : INT_MAX;
}

/// A container's port by its name, as a Service's targetPort may say it; a number is one.
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

std::string first_port(const Pod& pod) {
  for (const YAML::Node& container : at_path(pod.spec, {"containers"})) {
    const YAML::Node ports = at_path(container, {"ports"});
    if (ports.IsDefined() && ports.IsSequence() && ports.size() != 0)
      return scalar_of(at_path(ports[0], {"containerPort"}));
  }
  return {};
}

std::string target_of(const YAML::Node& port) {
  const std::string target = scalar_of(at_path(port, {"targetPort"}));
  return target.empty() ? scalar_of(at_path(port, {"port"})) : target;
}

/// The app's port in the manifests: the first one of a Service, or else the first of a container.
std::string port_of(const Pod& pod, const std::vector<YAML::Node>& services) {
  for (const YAML::Node& service : services) {
    const YAML::Node ports = at_path(service, {"spec", "ports"});
    if (!selects_pod(service, pod) || !ports.IsDefined() || !ports.IsSequence()) continue;
    for (const YAML::Node& port : ports) {
      const std::string number = port_number(pod, target_of(port));
      if (!number.empty() && number != kPort) return number;
    }
  }
  return first_port(pod);
}

std::string filled_in(std::string text, const std::string& word, const std::string& with) {
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += with.size())
    text.replace(at, word.size(), with);
  return text;
}

/// The container and its volumes, for one pod.
YAML::Node sidecar_for(const Pod& pod, const InjectOptions& options) {
  std::string text(embedded::sidecar::k_sidecar_yaml);
  text = filled_in(text, "$IMAGE", options.image);
  text = filled_in(text, "$PORT", pod.port);
  text = filled_in(text, "$CONFIG_MAP", options.config_map);
  YAML::Node out = YAML::Load(text);
  if (!options.classic) return out;
  YAML::Node container = out["native"];
  container.remove("restartPolicy");
  container.remove("startupProbe");
  // Both get SIGTERM when their own hook ends: weir's must end last.
  container["lifecycle"]["preStop"]["exec"]["command"].push_back("--hold=10s");
  return out;
}

class Injector {
 public:
  Injector(const std::string& text, const InjectOptions& options, Injected& out)
      : edits_(text), options_(options), out_(out) {}

  void add_to(const Pod& pod) {
    const YAML::Node sidecar = sidecar_for(pod, options_);
    // In this order above `containers`.
    if (!at_path(pod.spec, {"terminationGracePeriodSeconds"}).IsDefined()) {
      edits_.add_key(pod.spec, "containers", "terminationGracePeriodSeconds",
                     YAML::Node(kGraceSeconds));
    } else if (const std::string grace =
                   scalar_of(at_path(pod.spec, {"terminationGracePeriodSeconds"}));
               whole_seconds(grace) < kGraceSeconds) {
      note(pod, "terminationGracePeriodSeconds is " + grace + "; weir and the app may need " +
                    std::to_string(kGraceSeconds));
    }
    for (const YAML::Node& volume : sidecar["volumes"]) add_volume(pod, volume);
    if (options_.classic) {
      edits_.add_last(at_path(pod.spec, {"containers"}), sidecar["native"]);
    } else {
      add_to_list(pod.spec, "initContainers", sidecar["native"]);
    }
    keep_app_listening(pod);
    add_label(pod);
    note(pod, "the app is expected at 127.0.0.1:" + pod.port + ", the policies in ConfigMap " +
                  options_.config_map);
  }

  /// The port of the Service that leads to the app now leads to weir.
  void point(const YAML::Node& service, const Pod& pod) {
    const YAML::Node ports = at_path(service, {"spec", "ports"});
    if (!ports.IsDefined() || !ports.IsSequence()) return;
    for (const YAML::Node& port : ports) {
      const std::string target = target_of(port);
      if (target == kPort) return;
      if (port_number(pod, target) != pod.port && ports.size() != 1) continue;
      const YAML::Node given = at_path(port, {"targetPort"});
      if (given.IsDefined()) {
        edits_.replace(given, std::string(kPort));
      } else {
        edits_.add_key(port, "port", "targetPort", YAML::Node(8480));
      }
      out_.notes.push_back("service/" + scalar_of(at_path(service, {"metadata", "name"})) +
                           ": targetPort is weir's, " + std::string(kPort));
      return;
    }
  }

  std::string apply() const { return edits_.apply(); }

 private:
  void note(const Pod& pod, const std::string& words) {
    out_.notes.push_back(pod.title() + ": " + words);
  }

  void add_to_list(const YAML::Node& map, const char* key, const YAML::Node& item) {
    const YAML::Node list = at_path(map, {key});
    if (list.IsDefined() && list.IsSequence()) return edits_.add_first(list, item);
    YAML::Node one;
    one.push_back(item);
    edits_.add_key(map, "containers", key, one);
  }

  void add_volume(const Pod& pod, const YAML::Node& volume) {
    const YAML::Node list = at_path(pod.spec, {"volumes"});
    if (list.IsDefined() && list.IsSequence()) return edits_.add_first(list, volume);
    // All of them under one key, with the first.
    if (volume["name"].Scalar() != "weir-config") return;
    edits_.add_key(pod.spec, "containers", "volumes", sidecar_for(pod, options_)["volumes"]);
  }

  /// An app that ends at once stops before weir and before the load balancers notice: clients still
  /// come for some seconds.
  void keep_app_listening(const Pod& pod) {
    if (pod.kind == "job" || pod.kind == "cronjob") return;
    for (const YAML::Node& container : at_path(pod.spec, {"containers"})) {
      if (!container.IsMap() || at_path(container, {"lifecycle"}).IsDefined()) continue;
      const YAML::Node hook = YAML::Load("{preStop: {sleep: {seconds: 5}}}");
      // Not before the name, by which people find it.
      std::string second;
      if (container.size() > 1) second = std::next(container.begin())->first.Scalar();
      edits_.add_key(container, second, "lifecycle", hook);
    }
  }

  void add_label(const Pod& pod) {
    if (!pod.metadata.IsDefined() || !pod.metadata.IsMap()) return;
    YAML::Node yes("true");
    yes.SetTag("!");
    const YAML::Node labels = at_path(pod.metadata, {"labels"});
    if (labels.IsDefined() && labels.IsMap() && labels.size() != 0) {
      if (!at_path(labels, {kLabel}).IsDefined()) edits_.add_key(labels, "", kLabel, yes);
      return;
    }
    if (labels.IsDefined()) return;
    YAML::Node map;
    map[kLabel] = yes;
    edits_.add_key(pod.metadata, "", "labels", map);
  }

  Edits edits_;
  const InjectOptions& options_;
  Injected& out_;
};

/// A null where a list should stand can't be added to, and a second key of that name would be none.
std::string null_list(const Pod& pod) {
  for (const char* key : {"initContainers", "volumes"}) {
    const YAML::Node list = at_path(pod.spec, {key});
    if (list.IsDefined() && !list.IsSequence())
      return pod.title() + ": \"" + key + "\" is no list; take the line out, or write []";
  }
  return {};
}

std::string why_refused(const std::vector<Pod>& pods, const InjectOptions& options) {
  if (pods.empty()) return "no pod and nothing with a pod template in it";
  for (const Pod& pod : pods) {
    if (pod.there) continue;
    if (options.classic && (pod.kind == "job" || pod.kind == "cronjob"))
      return pod.title() +
             ": with --classic its pods would never complete; a native sidecar ends with the app";
    if (std::string problem = null_list(pod); !problem.empty()) return problem;
    if (pod.port == kPort)
      return pod.title() + ": the app listens on 8480, which is weir's; let it listen elsewhere";
    if (!is_port_number(pod.port))
      return pod.title() + ": on which port does the app listen? Say --app-port";
  }
  return {};
}

/// Reads the result again: every pod has weir, and nothing else was added or removed.
std::string check_result(const std::string& text, std::size_t pods) {
  std::vector<Pod> after;
  std::vector<YAML::Node> services;
  for (const YAML::Node& document : YAML::LoadAll(text)) collect_pods(document, after, services);
  const bool all =
      std::all_of(after.begin(), after.end(), [](const Pod& pod) { return pod.there; });
  return all && after.size() == pods
             ? std::string()
             : "its form is beyond this command; use the kustomize component";
}

}  // namespace

Injected inject(const std::string& text, std::string_view name, const InjectOptions& options) {
  Injected out;
  const auto failed = [&](const std::string& why) {
    out.problem = std::string(name) + ": " + why;
    out.text.clear();
    return out;
  };
  try {
    std::vector<Pod> pods;
    std::vector<YAML::Node> services;
    for (const YAML::Node& document : YAML::LoadAll(text)) collect_pods(document, pods, services);
    for (Pod& pod : pods)
      pod.port = options.app_port.empty() ? port_of(pod, services) : options.app_port;
    if (const std::string why = why_refused(pods, options); !why.empty()) return failed(why);
    Injector injector(text, options, out);
    for (const Pod& pod : pods) {
      if (pod.there) {
        ++out.there;
        out.notes.push_back(pod.title() + ": has weir already; left as it is");
        continue;
      }
      injector.add_to(pod);
      ++out.pods;
    }
    for (const YAML::Node& service : services) {
      const auto pod = std::find_if(pods.begin(), pods.end(), [&](const Pod& each) {
        return !each.there && selects_pod(service, each);
      });
      if (pod != pods.end()) injector.point(service, *pod);
    }
    out.text = injector.apply();
    if (const std::string why = check_result(out.text, pods.size()); !why.empty())
      return failed(why);
  } catch (const YAML::Exception& error) {
    return failed(std::to_string(error.mark.line + 1) + ":" +
                  std::to_string(error.mark.column + 1) + ": " + error.msg);
  }
  return out;
}

}  // namespace weir::app
