#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "app/tools/inject/edits.h"
#include "app/tools/inject/manifest.h"
#include "app/tools/inject/manifest_edit.h"
#include "app/tools/inject/marks.h"
#include "app/tools/inject/objects.h"
#include "app/tools/inject/stream.h"

namespace weir::app {
namespace {

constexpr std::string_view kBeyond = "its form is beyond this command; take weir out by hand";
constexpr std::string_view kVolumes[] = {"weir-config", "weir-run"};

/// The number of a member of a map; none: there is no such key.
std::optional<std::size_t> place_of(const YAML::Node& map, std::string_view key) {
  std::size_t i = 0;
  for (const auto& member : map) {
    if (member.first.IsScalar() && member.first.Scalar() == key) return i;
    ++i;
  }
  return std::nullopt;
}

std::string key_at(const YAML::Node& map, std::size_t i) {
  if (i >= map.size()) return {};
  return scalar_of(std::next(map.begin(), static_cast<std::ptrdiff_t>(i))->first);
}

bool is_list(const YAML::Node& node) { return node.IsDefined() && node.IsSequence(); }

/// The hook that inject gives to an app without one.
bool is_hook_of_inject(const YAML::Node& lifecycle) {
  if (!lifecycle.IsMap() || lifecycle.size() != 1) return false;
  const YAML::Node hook = at_path(lifecycle, {"preStop"});
  if (!hook.IsDefined() || !hook.IsMap() || hook.size() != 1) return false;
  const std::string seconds = std::to_string(kSleepSeconds);
  if (scalar_of(at_path(hook, {"sleep", "seconds"})) == seconds) return true;
  const YAML::Node command = at_path(hook, {"exec", "command"});
  return is_list(command) && command.size() == 2 && scalar_of(command[0]) == "sleep" &&
         scalar_of(command[1]) == seconds;
}

/// Whether a key is where inject puts it: in flow form first, else before `before`.
bool stands_as_added(const YAML::Node& map, std::size_t number, std::string_view before) {
  return is_flow(map) ? number == 0 : key_at(map, number + 1) == before;
}

/// Whether a list or map, of which nothing would be left, goes with its key. One in block form
/// can't be empty. Without marks: in flow form inject has put its keys in front; a key after
/// others was there, and empty.
bool goes_with_key(const std::optional<Marks>& marks, const YAML::Node& map, std::size_t number,
                   const YAML::Node& value) {
  if (!is_flow(value)) return true;
  if (marks) return marks->empty.count(key_at(map, number)) == 0;
  if (!is_flow(map)) return false;
  for (std::size_t i = 0; i < number; ++i) {
    const std::string key = key_at(map, i);
    if (key != kGrace && key != "volumes" && key != "initContainers") return false;
  }
  return true;
}

/// Takes weir out of the objects of one manifest.
class Remover : public ManifestEdit {
 public:
  Remover(const std::string& text, Injected& out) : ManifestEdit(text, out) {}

  /// Gives why it cannot.
  std::string take_from(const Pod& pod) {
    const std::optional<Marks> marks = Marks::of(pod);
    std::set<std::size_t> keys;  // of the pod's spec
    for (const char* list : {"initContainers", "containers"}) {
      const auto is_weir = [](const YAML::Node& one) {
        return scalar_of(at_path(one, {"name"})) == "weir";
      };
      if (!take_items(pod, marks, list, is_weir, keys)) return beyond(pod);
    }
    const auto is_unused = [&](const YAML::Node& volume) { return is_unused_volume(pod, volume); };
    if (!take_items(pod, marks, "volumes", is_unused, keys)) return beyond(pod);
    take_grace(pod, marks, keys);
    if (!edits_.remove(pod.spec, keys) || !take_hooks(pod, marks) || !take_metadata(pod, marks))
      return beyond(pod);
    note(pod, "weir is out of it");
    return {};
  }

  /// The ports of the Service that lead to weir lead to the app again. Gives why they cannot.
  std::string point_back(const YAML::Node& service, const Pod& pod) {
    const std::string title = "service/" + scalar_of(at_path(service, {"metadata", "name"}));
    for (const YAML::Node& port : tcp_ports(at_path(service, {"spec"}))) {
      const std::string target = scalar_of(at_path(port, {"targetPort"}));
      if (target != kPort && target != "weir-proxy") continue;
      if (!is_first_visit(port)) continue;
      if (pod.port.empty())
        return title +
               ": weir.yaml says where the app listens, and no manifest does; pass "
               "--app-port";
      const std::size_t number = *place_of(port, "targetPort");
      const bool was_none =
          scalar_of(at_path(port, {"port"})) == pod.port && stands_as_added(port, number, "port");
      const bool done =
          was_none ? edits_.remove(port, {number}) : edits_.replace(port, "targetPort", pod.port);
      if (!done) return title + ": its targetPort has an anchor or an alias; write the port there";
      out_.notes.push_back(title + ": targetPort is the app's again, " + pod.port);
    }
    return {};
  }

 private:
  static std::string beyond(const Pod& pod) { return pod.title() + ": " + std::string(kBeyond); }

  /// Items of a list of the pod; the list itself (`keys`) where inject has made it.
  template <class F>
  bool take_items(const Pod& pod, const std::optional<Marks>& marks, const char* name, F&& is_ours,
                  std::set<std::size_t>& keys) {
    const YAML::Node list = at_path(pod.spec, {name});
    if (!is_list(list)) return true;
    std::set<std::size_t> items;
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (is_ours(list[i])) items.insert(i);
    }
    if (items.empty() || items.size() < list.size()) return edits_.remove(list, items);
    const std::size_t number = *place_of(pod.spec, name);
    if (!goes_with_key(marks, pod.spec, number, list)) return edits_.remove(list, items);
    keys.insert(number);
    return true;
  }

  bool is_unused_volume(const Pod& pod, const YAML::Node& volume) {
    const std::string name = scalar_of(at_path(volume, {"name"}));
    if (std::find(std::begin(kVolumes), std::end(kVolumes), name) == std::end(kVolumes))
      return false;
    for (const char* list : {"initContainers", "containers"}) {
      for (const YAML::Node& container : at_path(pod.spec, {list})) {
        if (scalar_of(at_path(container, {"name"})) == "weir" ||
            count_named(container, "volumeMounts", name) == 0)
          continue;
        note(pod, "it keeps the volume " + name + ", which container " +
                      scalar_of(at_path(container, {"name"})) + " mounts");
        return false;
      }
    }
    return true;
  }

  /// That something stays which looks like what inject adds, but which no annotation names.
  void note_unmarked(const Pod& pod, const std::string& what) {
    note(pod, what + "; it may be the pod's own, for the pod has no annotation " + kAdded);
  }

  void take_grace(const Pod& pod, const std::optional<Marks>& marks, std::set<std::size_t>& keys) {
    const auto number = place_of(pod.spec, kGrace);
    if (!number || (marks && !marks->grace_period)) return;
    const std::string seconds = scalar_of(at_path(pod.spec, {kGrace}));
    const bool is_as_added = seconds == std::to_string(kGraceSeconds);
    const std::string stays = std::string(kGrace) + " stays " + seconds;
    if (marks && is_as_added)
      keys.insert(*number);
    else if (marks)
      note(pod, stays + ", which is not what inject has added");
    else if (is_as_added)
      note_unmarked(pod, stays);
  }

  bool take_hooks(const Pod& pod, const std::optional<Marks>& marks) {
    for (const YAML::Node& container : at_path(pod.spec, {"containers"})) {
      const std::string name = scalar_of(at_path(container, {"name"}));
      const YAML::Node lifecycle = at_path(container, {"lifecycle"});
      if (name == "weir" || !lifecycle.IsDefined()) continue;
      if (marks && marks->hooks.count(name) == 0) continue;
      const std::string stays = "container " + name + " keeps its preStop hook";
      if (!is_hook_of_inject(lifecycle)) {
        if (marks) note(pod, stays + ", which is not what inject has added");
      } else if (!marks) {
        note_unmarked(pod, stays);
      } else if (!edits_.remove(container, {*place_of(container, "lifecycle")})) {
        return false;
      }
    }
    return true;
  }

  bool take_metadata(const Pod& pod, const std::optional<Marks>& marks) {
    std::set<std::size_t> keys;
    if (!take_member(pod.metadata, marks, "annotations", kAdded, keys)) return false;
    const YAML::Node labels = at_path(pod.metadata, {"labels"});
    // Without weir, the label alone would do harm: the NetworkPolicy closes the ports of the app.
    const bool is_ours = marks ? marks->label : !labels.is(pod.selector);
    if (is_ours && !take_member(pod.metadata, marks, "labels", kLabel, keys)) return false;
    if (keys.empty()) return true;
    const std::size_t number = *place_of(pod.holder, "metadata");
    if (keys.size() < pod.metadata.size() || !marks ||
        !goes_with_key(marks, pod.holder, number, pod.metadata))
      return edits_.remove(pod.metadata, keys);
    return edits_.remove(pod.holder, {number});
  }

  /// A member of a map; the map itself (`keys`, of its holder) where nothing would be left of it.
  bool take_member(const YAML::Node& holder, const std::optional<Marks>& marks, const char* name,
                   const char* key, std::set<std::size_t>& keys) {
    const YAML::Node map = at_path(holder, {name});
    if (!map.IsDefined() || !map.IsMap()) return true;
    const auto number = place_of(map, key);
    // Two templates may share it by an alias: its text is there once.
    if (!number || !taken_.insert(map.Mark().pos).second) return true;
    const std::size_t of_map = *place_of(holder, name);
    if (map.size() > 1 || !goes_with_key(marks, holder, of_map, map))
      return edits_.remove(map, {*number});
    keys.insert(of_map);
    return true;
  }

  // By their place: an alias is the same text.
  std::set<int> taken_;  // labels and annotations of templates
};

/// Reads the result again: no pod has weir, and none was added or removed.
std::string check_removed(const std::string& text, std::size_t pods) {
  Objects after;
  for (const YAML::Node& document : YAML::LoadAll(text)) collect(document, 0, after);
  const bool none = std::all_of(after.pods.begin(), after.pods.end(),
                                [](const Pod& pod) { return count_weir(pod.spec) == 0; });
  return none && after.pods.size() == pods ? std::string() : std::string(kBeyond);
}

/// One run of the command.
class Removal : ManifestRun<Remover> {
 public:
  using ManifestRun::ManifestRun;

  Injected run() {
    if (!read_objects(manifests_, objects_, out_.problem)) return fail();
    for (const Manifest& manifest : manifests_) editors_.emplace_back(manifest.text, out_);
    std::vector<Pod>& pods = objects_.pods;
    for (std::size_t i = 0; i < pods.size(); ++i) {
      Pod& pod = pods[i];
      if (!pod.there) {
        ++out_.left_out;
        out_.notes.push_back(pod.title() + ": has no weir; left as it is");
        continue;
      }
      pod.port = options_.app_port.empty() ? port_of(pod, objects_.services) : options_.app_port;
      if (count_named(pod.spec, "containers", "weir") == at_path(pod.spec, {"containers"}).size())
        return fail(pod.from, pod.title() + ": it has no container but weir");
      ++out_.pods;
      if (is_written(i)) continue;
      if (const std::string why = editors_[pod.from].take_from(pod); !why.empty())
        return fail(pod.from, why);
    }
    for (const Objects::Service& service : objects_.services) {
      if (const std::string why = point_back(service); !why.empty()) return fail(service.from, why);
    }
    return finish(check_removed, [](const Manifest& manifest, const YAML::Exception& error) {
      return manifest.name + ": " + std::string(kBeyond) + " (" + error.msg + ")";
    });
  }

 private:
  std::string point_back(const Objects::Service& service) {
    const Pod* to = nullptr;
    for (const Pod& pod : objects_.pods) {
      if (!pod.there || !selects_pod(service.node, pod)) continue;
      if (to != nullptr && to->port != pod.port)
        return "service/" + scalar_of(at_path(service.node, {"metadata", "name"})) +
               ": it leads to " + to->title() + " on " + to->port + " and to " + pod.title() +
               " on " + pod.port + "; give them selectors of their own";
      to = &pod;
    }
    return to == nullptr ? std::string() : editors_[service.from].point_back(service.node, *to);
  }
};

}  // namespace

Injected take_out(std::vector<Manifest> manifests, const InjectOptions& options) {
  try {
    return Removal(std::move(manifests), options).run();
  } catch (const YAML::Exception& error) {  // of a form that nothing above expects
    Injected out;
    out.problem = "the manifests: " + error.msg;
    return out;
  }
}

}  // namespace weir::app
