#include "app/tools/inject/manifest.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <climits>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "app/tools/inject/edits.h"
#include "app/tools/inject/manifest_edit.h"
#include "app/tools/inject/marks.h"
#include "app/tools/inject/objects.h"
#include "app/tools/inject/stream.h"
#include "core/chars/parse.h"
#include "embedded/sidecar.h"

namespace weir::app {
namespace {

/// For a text that is not a number: very long.
int whole_seconds(const std::string& text) { return parse_whole<int>(text).value_or(INT_MAX); }

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
  container["lifecycle"]["preStop"]["exec"]["command"].push_back(
      "--hold=" + std::to_string(kHoldSeconds) + "s");
  return out;
}

/// A container's probes of the app's port, by the kubelet.
std::string probes_of(const YAML::Node& container, const Pod& pod) {
  std::string out;
  if (pod.port.empty()) return out;
  for (const char* probe : {"startupProbe", "readinessProbe", "livenessProbe"}) {
    for (const char* way : {"httpGet", "tcpSocket", "grpc"}) {
      const std::string port = scalar_of(at_path(container, {probe, way, "port"}));
      if (!port.empty() && port_number(pod, port) == pod.port)
        out += (out.empty() ? "" : ", ") + std::string(probe);
    }
  }
  return out;
}

bool is_map(const YAML::Node& node) { return node.IsDefined() && node.IsMap(); }

/// A map in block form has a place for a key before one that is there.
bool takes_keys(const YAML::Node& node) {
  return is_map(node) && (node.size() != 0 || is_flow(node));
}

class Injector : public ManifestEdit {
 public:
  Injector(const std::string& text, const InjectOptions& options, Injected& out)
      : ManifestEdit(text, out), options_(options) {}

  void add_to(const Pod& pod) {
    const YAML::Node sidecar = sidecar_for(pod, options_);
    Marks marks;
    mark_empty(pod.holder, {"metadata"}, marks);
    mark_empty(pod.metadata, {"annotations", "labels"}, marks);
    mark_empty(pod.spec, {"volumes", "initContainers"}, marks);
    // In this order above `containers`.
    if (add_value(pod.spec, "containers", kGrace, YAML::Node(kGraceSeconds))) {
      marks.grace_period = true;
    } else if (const std::string grace = scalar_of(at_path(pod.spec, {kGrace}));
               whole_seconds(grace) < kGraceSeconds) {
      note(pod, std::string(kGrace) + " is " + grace + "; weir and the app may need " +
                    std::to_string(kGraceSeconds));
    }
    for (const YAML::Node& volume : sidecar["volumes"]) add_volume(pod, volume);
    if (options_.classic) {
      edits_.add_last(at_path(pod.spec, {"containers"}), sidecar["native"]);
    } else {
      add_to_list(pod.spec, "initContainers", sidecar["native"]);
    }
    keep_app_listening(pod, marks);
    add_to_metadata(pod, marks);
    look_at_probes(pod);
    const std::string where =
        pod.port.empty()
            ? "where weir.yaml says (proxy.upstream), because no port is named here (--app-port)"
            : "at 127.0.0.1:" + pod.port;
    note(pod,
         "the app is expected " + where + ", the policies in ConfigMap " + options_.config_map);
  }

  /// The ports of the Service that lead to the app now lead to weir. Gives why they cannot.
  std::string point(const YAML::Node& service, const Pod& pod) {
    const std::string title = "service/" + scalar_of(at_path(service, {"metadata", "name"}));
    const std::vector<YAML::Node> ports = tcp_ports(at_path(service, {"spec"}));
    for (const YAML::Node& port : ports) {
      const std::string target = target_of(port);
      if (target == kPort || !is_first_visit(port)) continue;
      const std::string number = port_number(pod, target);
      // A name that no container declares.
      const bool may_be = number.empty() && !pod.there &&
                          (ports.size() == 1 || sign_of_http(port) != HttpSign::none);
      if (!may_be && (number.empty() || number != pod.port)) {
        if (!pod.there)
          out_.notes.push_back(
              title + ": port " + target + " leads to " + pod.title() + " past weir" +
              (pod.port.empty() ? std::string() : ", which is before " + pod.port + " only"));
        continue;
      }
      const YAML::Node given = at_path(port, {"targetPort"});
      if (!given.IsDefined()) {
        edits_.add_key(port, "port", "targetPort", YAML::Node(config::kProxyPort));
      } else if (!edits_.replace(port, "targetPort", kPort)) {
        return title +
               ": its targetPort is empty, or has an anchor or an alias; write the port there" +
               (number.empty() ? std::string() : ", " + number);
      }
      out_.notes.push_back(title + ": targetPort is weir's, " + kPort);
    }
    return {};
  }

 private:
  static void mark_empty(const YAML::Node& map, std::initializer_list<const char*> keys,
                         Marks& marks) {
    for (const char* key : keys) {
      const YAML::Node value = at_path(map, {key});
      if (value.IsDefined() && (value.IsMap() || value.IsSequence()) && value.size() == 0)
        marks.empty.insert(key);
    }
  }

  /// A key that the map lacks, before `before`, or that has no value there. False: it has one.
  bool add_value(const YAML::Node& map, std::string_view before, const char* key,
                 const YAML::Node& value) {
    const YAML::Node there = at_path(map, {key});
    if (is_null(there)) return edits_.fill(map, key, value);
    if (there.IsDefined()) return false;
    edits_.add_key(map, before, key, value);
    return true;
  }

  void add_to_list(const YAML::Node& map, const char* key, const YAML::Node& item) {
    const YAML::Node list = at_path(map, {key});
    if (list.IsDefined() && list.IsSequence()) return edits_.add_first(list, item);
    YAML::Node one;
    one.push_back(item);
    add_value(map, "containers", key, one);
  }

  void add_volume(const Pod& pod, const YAML::Node& volume) {
    const YAML::Node list = at_path(pod.spec, {"volumes"});
    if (list.IsDefined() && list.IsSequence()) return edits_.add_first(list, volume);
    // All of them under one key, with the first.
    if (volume["name"].Scalar() != "weir-config") return;
    add_value(pod.spec, "containers", "volumes", sidecar_for(pod, options_)["volumes"]);
  }

  /// An app that ends at once stops before weir and before the load balancers notice: clients still
  /// come for some seconds.
  void keep_app_listening(const Pod& pod, Marks& marks) {
    if (pod.kind == "job" || pod.kind == "cronjob") return;
    for (const YAML::Node& container : at_path(pod.spec, {"containers"})) {
      if (!container.IsMap()) continue;
      // Before Kubernetes 1.30 there is no action to sleep.
      const std::string seconds = std::to_string(kSleepSeconds);
      const YAML::Node hook =
          YAML::Load(options_.classic ? "{preStop: {exec: {command: [sleep, \"" + seconds + "\"]}}}"
                                      : "{preStop: {sleep: {seconds: " + seconds + "}}}");
      // Not before the name, by which people find it.
      std::string second;
      if (container.size() > 1) second = std::next(container.begin())->first.Scalar();
      if (!add_value(container, second, "lifecycle", hook)) continue;
      marks.hooks.insert(scalar_of(at_path(container, {"name"})));
      if (options_.classic) {
        note(pod, "container " + scalar_of(at_path(container, {"name"})) +
                      ": its preStop hook is now sleep " + seconds +
                      "; if its image has no such program, give it another hook, or it ends "
                      "before load balancers have noticed");
      }
    }
  }

  /// The kubelet asks at the address of the pod, where an app on loopback does not listen.
  void look_at_probes(const Pod& pod) {
    for (const YAML::Node& container : at_path(pod.spec, {"containers"})) {
      if (const std::string probes = probes_of(container, pod); !probes.empty()) {
        note(pod, "container " + scalar_of(at_path(container, {"name"})) + ": " + probes + " of " +
                      pod.port + " fails once the app listens on 127.0.0.1 only; let httpGet ask " +
                      kPort + ", from where weir passes it on, or use exec");
      }
    }
  }

  void add_to_metadata(const Pod& pod, Marks& marks) {
    if (pod.metadata.IsDefined() && !pod.metadata.IsNull()) {
      marks.label = is_free_for_label(pod);
      add_marks(pod, marks);
      if (marks.label) add_to_map(pod.metadata, "labels", kLabel, quoted("true"));
      return;
    }
    marks.label = true;
    YAML::Node metadata;
    metadata["annotations"][kAdded] = quoted(marks.text());
    metadata["labels"][kLabel] = quoted("true");
    if (!add_value(pod.holder, "spec", "metadata", metadata)) note_no_annotation(pod, marks.text());
  }

  static YAML::Node quoted(const std::string& text) {
    YAML::Node out(text);
    out.SetTag("!");
    return out;
  }

  void add_to_map(const YAML::Node& holder, const char* name, const char* key,
                  const YAML::Node& value) {
    const YAML::Node map = at_path(holder, {name});
    if (is_map(map)) return edits_.add_key(map, "", key, value);
    YAML::Node made;
    made[key] = value;
    add_value(holder, "", name, made);
  }

  /// Whether a map in a map takes keys: it is there, has no value, or is not there yet.
  bool takes_keys_in(const YAML::Node& holder, const char* name) const {
    const YAML::Node map = at_path(holder, {name});
    return takes_keys(holder) &&
           (!map.IsDefined() || takes_keys(map) || (map.IsNull() && edits_.can_fill(holder, name)));
  }

  /// The place of the keys of a map in a holder, now or later: its own, that of its key where it
  /// has no value, or the holder's.
  static int place_of_keys(const YAML::Node& holder, const char* name) {
    const YAML::Node map = at_path(holder, {name});
    if (is_null(map)) return key_node(holder, name).Mark().pos;
    return (map.IsDefined() ? map : holder).Mark().pos;
  }

  /// Whether the pod gets the label by which the PodMonitor and the NetworkPolicy of k8s/ find it.
  bool is_free_for_label(const Pod& pod) {
    const YAML::Node labels = at_path(pod.metadata, {"labels"});
    // A selector can't be changed later, and an alias makes one text of both.
    const bool is_selector = is_map(labels) && pod.selector.IsDefined() && labels.is(pod.selector);
    if (!takes_keys_in(pod.metadata, "labels") || is_selector) {
      note(pod, std::string("it does not get the label ") + kLabel +
                    ": \"true\", for its template has no labels of its own; the PodMonitor "
                    "and the NetworkPolicy of weir do not see it");
      return false;
    }
    if (at_path(labels, {kLabel}).IsDefined()) return false;
    return labelled_.insert(place_of_keys(pod.metadata, "labels")).second;
  }

  /// Adds the annotation that tells take_out() the additions of inject().
  void add_marks(const Pod& pod, const Marks& marks) {
    const YAML::Node annotations = at_path(pod.metadata, {"annotations"});
    const std::string text = marks.text();
    bool done = takes_keys_in(pod.metadata, "annotations");
    if (done) {
      // Two templates may share one map by an alias: its text is there once.
      const int place = place_of_keys(pod.metadata, "annotations");
      const auto [before, is_new] = marked_.emplace(place, text);
      if (!is_new)
        done = before->second == text;
      else if (at_path(annotations, {kAdded}).IsDefined())
        done = edits_.replace(annotations, kAdded, "\"" + text + "\"");
      else
        add_to_map(pod.metadata, "annotations", kAdded, quoted(text));
    }
    if (!done) note_no_annotation(pod, text);
  }
  void note_no_annotation(const Pod& pod, const std::string& text) {
    note(pod, std::string("it does not get the annotation ") + kAdded + ": \"" + text +
                  "\", for its template has no annotations of its own; --remove will leave the "
                  "grace period and the hooks");
  }

  // By their place: an alias is the same text.
  std::set<int> labelled_;             // labels of templates
  std::map<int, std::string> marked_;  // annotations of templates, and their marks
  const InjectOptions& options_;
};

/// A null in place of a list can't be added to, and a second key of that name would be none.
std::string null_list(const Pod& pod) {
  for (const char* key : {"initContainers", "volumes"}) {
    const YAML::Node list = at_path(pod.spec, {key});
    if (list.IsDefined() && !list.IsSequence())
      return pod.title() + ": \"" + key + "\" is not a list; take the line out, or write []";
  }
  return {};
}

/// Reports a name or port that weir would add, and that the pod already uses. Empty: none.
std::string name_taken(const Pod& pod) {
  for (const char* volume : {"weir-config", "weir-run"}) {
    if (count_named(pod.spec, "volumes", volume) != 0)
      return pod.title() + ": it has a volume " + volume + ", as weir would; give it another name";
  }
  for (const YAML::Node& container : at_path(pod.spec, {"containers"})) {
    for (const YAML::Node& port : tcp_ports(container)) {
      const std::string number = scalar_of(at_path(port, {"containerPort"}));
      if (is_own_port(number))
        return pod.title() + ": the app listens on " + number +
               ", which is weir's; let it listen elsewhere";
    }
  }
  return {};
}

/// If weir cannot be put into a pod: the remedy.
std::string why_refused(const Pod& pod, const InjectOptions& options) {
  if (options.classic && (pod.kind == "job" || pod.kind == "cronjob"))
    return pod.title() +
           ": with --classic its pods would never complete; a native sidecar ends with the app";
  if (std::string problem = null_list(pod); !problem.empty()) return problem;
  if (std::string problem = name_taken(pod); !problem.empty()) return problem;
  if (is_own_port(pod.port))
    return pod.title() + ": the app can't listen on " + pod.port + ", which is weir's";
  if (!pod.port.empty() && !is_port_number(pod.port))
    return pod.title() + ": " + pod.port + " is not a port number (1 to 65535); pass --app-port";
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

/// One run of the command.
class Injection : ManifestRun<Injector> {
 public:
  using ManifestRun::ManifestRun;

  Injected run() {
    if (!read_objects(manifests_, objects_, out_.problem)) return fail();
    for (Pod& pod : objects_.pods) {
      const bool is_said = !options_.app_port.empty() && !pod.there;
      pod.port = is_said ? options_.app_port : port_of(pod, objects_.services);
      if (!pod.is_wanted()) continue;
      if (const std::string why = why_refused(pod, options_); !why.empty())
        return fail(pod.from, why);
    }
    for (const Manifest& manifest : manifests_)
      editors_.emplace_back(manifest.text, options_, out_);
    put_into_pods();
    if (!point_services()) return fail();
    return finish(check_result, problem_of);
  }

 private:
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
      if (!is_written(i)) editors_[pods[i].from].add_to(pods[i]);
    }
  }

  /// False: one of them cannot be pointed at weir.
  bool point_services() {
    for (const Objects::Service& service : objects_.services) {
      const Pod* with = nullptr;
      const Pod* without = nullptr;
      for (const Pod& pod : objects_.pods) {
        if (!selects_pod(service.node, pod)) continue;
        const Pod*& one = pod.there || pod.left_out.empty() ? with : without;
        if (one == nullptr) one = &pod;
      }
      if (with == nullptr || (with->there && with->port.empty())) continue;
      std::string wrong;
      if (without != nullptr) {
        wrong = "service/" + scalar_of(at_path(service.node, {"metadata", "name"})) +
                ": it leads to " + with->title() + " with weir and to " + without->title() +
                " without; give them selectors of their own";
      } else {
        wrong = editors_[service.from].point(service.node, *with);
      }
      if (wrong.empty()) continue;
      out_.problem = manifests_[service.from].name + ": " + wrong;
      return false;
    }
    return true;
  }
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
