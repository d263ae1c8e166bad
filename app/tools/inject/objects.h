#pragma once

#include <yaml-cpp/yaml.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "config/default_ports.h"

/// The objects that `weir inject` finds in manifests: pods, Services, and the ports between them.
/// Pure.
namespace weir::app {

/// Where weir's proxy listens.
inline const std::string kPort = std::to_string(config::kProxyPort);

/// Which `weir inject` puts on a pod.
inline constexpr const char* kLabel = "weir.example/sidecar";
inline constexpr const char* kGrace = "terminationGracePeriodSeconds";

/// The end of a pod (docs/kubernetes.md): the app listens on for so long while load balancers still
/// send requests; a classic sidecar holds its own hook for longer, so that it ends after the app;
/// and the grace of the pod is enough for that and for the longest drain of weir (tests/app).
inline constexpr int kSleepSeconds = 5;
inline constexpr int kHoldSeconds = 10;
inline constexpr int kGraceSeconds = 60;

/// A pod of the manifests: its template, and where it comes from.
struct Pod {
  std::string kind, name, space;
  YAML::Node holder;          // the template, which has the metadata and the spec
  YAML::Node metadata, spec;  // of the template; metadata may be undefined
  YAML::Node selector;        // of the workload: its labels; may be undefined
  std::size_t from = 0;       // which manifest
  std::string port;           // the app's, once it is known; empty: no manifest says it
  bool there = false;         // the pod has weir already
  std::string left_out;       // why it is not to have it; empty: it is
  bool is_wanted() const { return !there && left_out.empty(); }
  std::string title() const { return kind + "/" + name; }
};

/// The objects of all manifests.
struct Objects {
  struct Service {
    YAML::Node node;
    std::size_t from;  // which manifest
  };
  std::vector<Pod> pods;
  std::vector<Service> services;
};

/// The text of a scalar; empty: the node is none.
std::string scalar_of(const YAML::Node& node);
/// The node under these keys; undefined if one is not there.
YAML::Node at_path(YAML::Node node, std::initializer_list<const char*> path);
/// How many of a pod's containers, or of its volumes, have that name.
std::size_t count_named(const YAML::Node& spec, const char* list, std::string_view name);
/// How many containers named weir a pod has.
std::size_t count_weir(const YAML::Node& spec);

/// Adds the objects of a document. A pod template is in one of a few places; kinds of
/// others (Argo's Rollout) too.
void collect(const YAML::Node& document, std::size_t from, Objects& out);

/// Whether the Service's selector takes this pod.
bool selects_pod(const YAML::Node& service, const Pod& pod);
/// Whether weir listens on this port: its proxy, admin API, probes, gRPC or HTTP door.
bool is_own_port(std::string_view text);
bool is_port_number(const std::string& text);
/// A container's port by its name, as a Service's targetPort may say it; a number is one.
std::string port_number(const Pod& pod, const std::string& port);
/// Where a port of a Service leads: its targetPort, or else its own number.
std::string target_of(const YAML::Node& port);
/// A list of ports: those for TCP.
std::vector<YAML::Node> tcp_ports(const YAML::Node& holder);
/// How well the name, the number or the protocol of a Service's port indicates HTTP.
enum class HttpSign : std::uint8_t { none, likely, clear };
HttpSign sign_of_http(const YAML::Node& port);
/// The app's port in the manifests. Of a pod that has weir: the target of that weir. Else that
/// of the pod's annotation; of a Service, where one for HTTP goes before others; or the first of a
/// container.
std::string port_of(const Pod& pod, const std::vector<Objects::Service>& services);

}  // namespace weir::app
