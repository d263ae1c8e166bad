#include "app/tools/inject/manifest.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <iterator>
#include <utility>

#include "app/tools/inject/edits.h"
#include "embedded/sidecar.h"

namespace weir::app {
namespace {

constexpr const char* kLabel = "weir.example/sidecar";
// Annotations of a pod, as the admission policy of k8s/injection reads them.
constexpr const char* kWanted = "weir.example/inject";
constexpr const char* kAppPort = "weir.example/app-port";
constexpr int kGraceSeconds = 45;
constexpr std::string_view kPort = "8480";
constexpr std::string_view kPorts[] = {kPort, "8481", "8482"};  // with its admin API and its probes
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// A pod of the manifests: its template, and where it comes from.
struct Pod {
  std::string kind, name, space;
  YAML::Node metadata, spec;  // of the template; metadata may be undefined
  std::size_t from = 0;       // which manifest
  std::string port;           // the app's, once it is known; empty: no manifest says it
  bool there = false;         // the pod has weir already
  std::string left_out;       // why it is not to have it; empty: it is
  bool is_wanted() const { return !there && left_out.empty(); }
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

/// How many of a pod's containers, or of its volumes, have that name.
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

std::string annotation_of(const Pod& pod, const char* name) {
  return scalar_of(at_path(pod.metadata, {"annotations", name}));
}

std::string why_left_out(const Pod& pod) {
  if (annotation_of(pod, kWanted) == "false") return std::string(kWanted) + " is \"false\"";
  if (scalar_of(at_path(pod.spec, {"hostNetwork"})) == "true")
    return "hostNetwork: weir's ports would be the node's";
  return {};
}

/// What the manifests have.
struct Objects {
  struct Service {
    YAML::Node node;
    std::size_t from;  // which manifest
  };
  std::vector<Pod> pods;
  std::vector<Service> services;
};

void add_pod(const YAML::Node& document, const YAML::Node& metadata, const YAML::Node& spec,
             std::size_t from, std::vector<Pod>& out) {
  const YAML::Node containers = at_path(spec, {"containers"});
  if (!containers.IsDefined() || !containers.IsSequence() || containers.size() == 0) return;
  Pod pod;
  pod.kind = scalar_of(at_path(document, {"kind"}));
  pod.name = scalar_of(at_path(document, {"metadata", "name"}));
  pod.space = scalar_of(at_path(document, {"metadata", "namespace"}));
  std::transform(pod.kind.begin(), pod.kind.end(), pod.kind.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  pod.metadata.reset(metadata);
  pod.spec.reset(spec);
  pod.from = from;
  pod.there = count_weir(spec) != 0;
  pod.left_out = why_left_out(pod);
  out.push_back(std::move(pod));
}

/// Whatever has a pod template has it in one of these places; kinds of others (Argo's Rollout) too.
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
    add_pod(document, at_path(document, {"metadata"}), at_path(document, {"spec"}), from, out.pods);
  } else if (kind == "PodTemplate") {
    add_pod(document, at_path(document, {"template", "metadata"}),
            at_path(document, {"template", "spec"}), from, out.pods);
  } else {
    for (const YAML::Node& holder :
         {at_path(document, {"spec"}), at_path(document, {"spec", "jobTemplate", "spec"})}) {
      add_pod(document, at_path(holder, {"template", "metadata"}),
              at_path(holder, {"template", "spec"}), from, out.pods);
    }
  }
}

/// Whether the Service's selector takes this pod.
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

/// The app's port in the manifests: of the pod's annotation, or else the first one of a Service, or
/// else the first of a container.
std::string port_of(const Pod& pod, const std::vector<Objects::Service>& services) {
  if (std::string said = annotation_of(pod, kAppPort); !said.empty()) return said;
  for (const Objects::Service& service : services) {
    const YAML::Node ports = at_path(service.node, {"spec", "ports"});
    if (!selects_pod(service.node, pod) || !ports.IsDefined() || !ports.IsSequence()) continue;
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
  if (pod.port.empty())
    out["native"]["env"].remove(std::size_t{0});  // WEIR_PROXY_UPSTREAM: weir.yaml says it
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
    const std::string where =
        pod.port.empty()
            ? "where weir.yaml says (proxy.upstream), because no port is named here (--app-port)"
            : "at 127.0.0.1:" + pod.port;
    note(pod,
         "the app is expected " + where + ", the policies in ConfigMap " + options_.config_map);
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

/// What weir would bring, and the pod has already.
std::string name_taken(const Pod& pod) {
  for (const char* volume : {"weir-config", "weir-run"}) {
    if (count_named(pod.spec, "volumes", volume) != 0)
      return pod.title() + ": it has a volume " + volume + ", as weir would; give it another name";
  }
  for (const YAML::Node& container : at_path(pod.spec, {"containers"})) {
    const YAML::Node ports = at_path(container, {"ports"});
    if (!ports.IsDefined() || !ports.IsSequence()) continue;
    for (const YAML::Node& port : ports) {
      const std::string number = scalar_of(at_path(port, {"containerPort"}));
      if (std::find(std::begin(kPorts), std::end(kPorts), number) != std::end(kPorts))
        return pod.title() + ": the app listens on " + number +
               ", which is weir's; let it listen elsewhere";
    }
  }
  return {};
}

/// Where weir cannot be put into a pod: what to do about it.
std::string why_refused(const Pod& pod, const InjectOptions& options) {
  if (options.classic && (pod.kind == "job" || pod.kind == "cronjob"))
    return pod.title() +
           ": with --classic its pods would never complete; a native sidecar ends with the app";
  if (std::string problem = null_list(pod); !problem.empty()) return problem;
  if (std::string problem = name_taken(pod); !problem.empty()) return problem;
  if (std::find(std::begin(kPorts), std::end(kPorts), pod.port) != std::end(kPorts))
    return pod.title() + ": the app can't listen on " + pod.port + ", which is weir's";
  if (!pod.port.empty() && !is_port_number(pod.port))
    return pod.title() + ": " + pod.port + " is no port number; say --app-port";
  return {};
}

/// Reads the result again: every pod has weir once if it is to have it, and none was added or
/// removed.
std::string check_result(const std::string& text, std::size_t pods) {
  Objects after;
  for (const YAML::Node& document : YAML::LoadAll(text)) collect(document, 0, after);
  const bool all = std::all_of(after.pods.begin(), after.pods.end(), [](const Pod& pod) {
    return !pod.left_out.empty() || count_weir(pod.spec) == 1;
  });
  return all && after.pods.size() == pods
             ? std::string()
             : "its form is beyond this command; use the kustomize component";
}

/// One stream of documents. What reads it may take a stream that begins with a brace for JSON to
/// its end, so a separator stands before such a one too.
std::string join(const std::vector<std::string>& texts) {
  if (texts.size() == 1) return texts.front();
  std::string out;
  for (const std::string& text : texts) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string::npos) continue;
    if (!out.empty() && out.back() != '\n') out += '\n';
    const bool separated = text.compare(begin, 3, "---") == 0;
    if (!separated && (!out.empty() || text[begin] == '{')) out += "---\n";
    out += text;
  }
  return out;
}

std::string problem_of(const Manifest& manifest, const YAML::Exception& error) {
  return manifest.name + ":" + std::to_string(error.mark.line + 1) + ":" +
         std::to_string(error.mark.column + 1) + ": " + error.msg;
}

/// One run of the command.
class Injection {
 public:
  Injection(std::vector<Manifest> manifests, const InjectOptions& options)
      : manifests_(std::move(manifests)), options_(options) {}

  Injected run() {
    if (!read()) return fail();
    for (Pod& pod : objects_.pods) {
      pod.port = options_.app_port.empty() ? port_of(pod, objects_.services) : options_.app_port;
      if (!pod.is_wanted()) continue;
      if (const std::string why = why_refused(pod, options_); !why.empty())
        return fail(pod.from, why);
    }
    for (const Manifest& manifest : manifests_)
      injectors_.emplace_back(manifest.text, options_, out_);
    put_into_pods();
    point_services();
    return finish();
  }

 private:
  Injected fail() {
    out_.text.clear();
    return std::move(out_);
  }
  Injected fail(std::size_t manifest, const std::string& why) {
    out_.problem = manifests_[manifest].name + ": " + why;
    return fail();
  }

  bool read() {
    for (std::size_t i = 0; i < manifests_.size(); ++i) {
      std::string& text = manifests_[i].text;
      if (text.starts_with(kByteOrderMark)) {  // the parser does not count it
        text.erase(0, kByteOrderMark.size());
        marked_ = manifests_.size() == 1;
      }
      try {
        for (const YAML::Node& document : YAML::LoadAll(text)) collect(document, i, objects_);
      } catch (const YAML::Exception& error) {
        out_.problem = problem_of(manifests_[i], error);
        return false;
      }
    }
    if (!objects_.pods.empty()) return true;
    for (const Manifest& manifest : manifests_)
      out_.problem += (out_.problem.empty() ? "" : ", ") + manifest.name;
    out_.problem += ": no pod and nothing with a pod template in it";
    return false;
  }

  void put_into_pods() {
    const std::vector<Pod>& pods = objects_.pods;
    for (std::size_t i = 0; i < pods.size(); ++i) {
      if (pods[i].there) {
        ++out_.there;
        out_.notes.push_back(pods[i].title() + ": has weir already; left as it is");
        continue;
      }
      if (!pods[i].left_out.empty()) {
        ++out_.left_out;
        out_.notes.push_back(pods[i].title() + ": left as it is; " + pods[i].left_out);
        continue;
      }
      ++out_.pods;
      // Two workloads may share one template by an alias: its text stands there once.
      const bool written =
          std::any_of(pods.begin(), pods.begin() + static_cast<std::ptrdiff_t>(i),
                      [&](const Pod& other) { return other.spec.is(pods[i].spec); });
      if (!written) injectors_[pods[i].from].add_to(pods[i]);
    }
  }

  void point_services() {
    for (const Objects::Service& service : objects_.services) {
      const auto pod = std::find_if(
          objects_.pods.begin(), objects_.pods.end(),
          [&](const Pod& each) { return each.is_wanted() && selects_pod(service.node, each); });
      if (pod != objects_.pods.end()) injectors_[service.from].point(service.node, *pod);
    }
  }

  Injected finish() {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < manifests_.size(); ++i) {
      texts.push_back(injectors_[i].apply());
      const auto pods =
          static_cast<std::size_t>(std::count_if(objects_.pods.begin(), objects_.pods.end(),
                                                 [&](const Pod& pod) { return pod.from == i; }));
      try {
        if (const std::string why = check_result(texts.back(), pods); !why.empty())
          return fail(i, why);
      } catch (const YAML::Exception& error) {
        out_.problem = problem_of(manifests_[i], error);
        return fail();
      }
    }
    out_.text = (marked_ ? std::string(kByteOrderMark) : std::string()) + join(texts);
    return std::move(out_);
  }

  std::vector<Manifest> manifests_;
  const InjectOptions& options_;
  Objects objects_;
  bool marked_ = false;              // by a mark of the byte order
  std::vector<Injector> injectors_;  // of each manifest
  Injected out_;
};

}  // namespace

Injected inject(std::vector<Manifest> manifests, const InjectOptions& options) {
  try {
    return Injection(std::move(manifests), options).run();
  } catch (const YAML::Exception& error) {  // of a form that nothing above expects
    Injected out;
    out.problem = "the manifests: " + error.msg;
    return out;
  }
}

}  // namespace weir::app
