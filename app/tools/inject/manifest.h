#pragma once

#include <string>
#include <string_view>
#include <vector>

/// Puts weir into the pods of Kubernetes manifests, and leaves every other byte unchanged: the text
/// is parsed to find places, and additions go between its characters.
namespace weir::app {

/// A file of manifests.
struct Manifest {
  std::string name;  ///< for problems
  std::string text;
  bool marked = false;  ///< its file begins with a mark of the byte order, which `text` has not
};

struct InjectOptions {
  std::string image;
  std::string config_map = "weir";
  std::string app_port;  ///< empty: the port in the manifests
  bool classic = false;  ///< a second container, instead of a native sidecar
};

struct Injected {
  std::string text;                ///< the manifests, changed; several are one stream of documents
  std::vector<std::string> notes;  ///< for people: the changes, and points to check
  std::string problem;             ///< why there is no text; empty: there is one
  std::size_t pods = 0;            ///< that weir was put into, or taken out of
  std::size_t there = 0;           ///< that had it before
  std::size_t left_out = 0;        ///< that are not to have it, or had none
};

/// Any number of documents in each of them, as YAML or JSON: pods, objects with a pod template,
/// `List`s of them, and the Services before these pods, which are pointed at weir, also those of
/// another file. A pod that has a container named weir is left as it is, so doing it twice changes
/// nothing. So is a pod with the annotation `weir.example/inject: "false"`, and one in the network
/// of its node, where weir's ports would be the node's.
Injected inject(std::vector<Manifest> manifests, const InjectOptions& options);

/// The way back: manifests of inject() become what they were, except that the
/// targetPort of a Service is the app's port by its number. A grace period, hooks and a label go if
/// the pod's annotation says that inject() has added them (marks.h); without the annotation, the
/// label alone goes. A pod without weir is left as it is, so doing it twice changes nothing. Of
/// `options` app_port alone is of use: where no manifest says it.
Injected take_out(std::vector<Manifest> manifests, const InjectOptions& options);

}  // namespace weir::app
