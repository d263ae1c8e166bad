#pragma once

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "app/tools/inject/edits.h"
#include "app/tools/inject/manifest.h"
#include "app/tools/inject/objects.h"
#include "app/tools/inject/stream.h"

/// The common part of adding weir to manifests and removing it from them.
namespace weir::app {

/// The edits of one manifest. `out` must outlive it.
class ManifestEdit {
 public:
  std::string apply() const { return edits_.apply(); }

 protected:
  ManifestEdit(const std::string& text, Injected& out) : edits_(text), out_(out) {}
  void note(const Pod& pod, const std::string& words) {
    out_.notes.push_back(pod.title() + ": " + words);
  }
  /// False: this port of a Service has been here already, by an alias.
  bool is_first_visit(const YAML::Node& port) { return pointed_.insert(port.Mark().pos).second; }

  Edits edits_;
  Injected& out_;

 private:
  std::set<int> pointed_;  // ports of Services, by their place: an alias is the same text
};

/// One run of the command over all manifests. Each is edited by an Edit of its own.
template <class Edit>
class ManifestRun {
 public:
  ManifestRun(std::vector<Manifest> manifests, const InjectOptions& options)
      : manifests_(std::move(manifests)), options_(options) {}

 protected:
  Injected fail() {
    out_.text.clear();
    return std::move(out_);
  }
  Injected fail(std::size_t manifest, const std::string& why) {
    out_.problem = manifests_[manifest].name + ": " + why;
    return fail();
  }

  /// Two workloads may share one template by an alias: its text is there once.
  bool is_written(std::size_t pod) const {
    const std::vector<Pod>& pods = objects_.pods;
    return std::any_of(pods.begin(), pods.begin() + static_cast<std::ptrdiff_t>(pod),
                       [&](const Pod& other) { return other.spec.is(pods[pod].spec); });
  }

  /// Applies the edits. `check(text, pods)` reads a result again, and returns its error;
  /// `broken(manifest, error)` reports a result that is not even YAML.
  template <class Check, class Broken>
  Injected finish(Check check, Broken broken) {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < manifests_.size(); ++i) {
      texts.push_back(editors_[i].apply());
      const auto pods =
          static_cast<std::size_t>(std::count_if(objects_.pods.begin(), objects_.pods.end(),
                                                 [&](const Pod& pod) { return pod.from == i; }));
      try {
        if (const std::string why = check(texts.back(), pods); !why.empty()) return fail(i, why);
      } catch (const YAML::Exception& error) {
        out_.problem = broken(manifests_[i], error);
        return fail();
      }
    }
    out_.text = join_manifests(texts, manifests_);
    return std::move(out_);
  }

  std::vector<Manifest> manifests_;
  const InjectOptions& options_;
  Objects objects_;
  std::vector<Edit> editors_;  // of each manifest
  Injected out_;
};

}  // namespace weir::app
