#pragma once

#include <yaml-cpp/yaml.h>

#include <string>
#include <vector>

#include "app/tools/inject/manifest.h"
#include "app/tools/inject/objects.h"

/// Files of manifests, as one stream of documents.
namespace weir::app {

/// Parses them, and takes the mark of the byte order off their texts. False: `problem` says why.
bool read_objects(std::vector<Manifest>& manifests, Objects& out, std::string& problem);

/// One stream of documents; a single one begins with the mark of its file.
std::string join_manifests(const std::vector<std::string>& texts,
                           const std::vector<Manifest>& manifests);

/// `file:line:column: the mistake: what to do`, in the words of the configuration reader.
std::string problem_of(const Manifest& manifest, const YAML::Exception& error);

}  // namespace weir::app
