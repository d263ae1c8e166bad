#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/operations.h"
#include "config/load.h"
#include "policies/set/policy_set.h"

namespace weir::app {

/// A configuration, loaded and compiled, with all its problems.
struct Configuration {
  config::Loaded loaded;                     ///< compile's problems are with the loader's
  std::shared_ptr<policies::PolicySet> set;  ///< null: there are errors

  bool good() const noexcept { return set != nullptr; }
  const config::Model& model() const noexcept { return *loaded.model; }
};

/// Compiles what was loaded, if it could be loaded.
Configuration compile(config::Loaded loaded);

/// Warns of problems that would be errors if the disabled policies were enabled. Their expressions
/// are not compiled otherwise, and a misspelt field would show only when an operator enables the
/// policy.
void look_at_disabled(Configuration& configuration);

/// Limits of another program, except those whose conditions weir cannot compile: they are left
/// out, with their errors.
config::Imported import_what_compiles(
    std::string_view text,
    const std::function<config::Imported(std::string_view text,
                                         const config::RefusedRules& refused)>& import);

/// Loads the configuration (again).
using Loader = std::function<Configuration()>;

/// The process's variables.
config::Environment process_environment();
/// The file that --config leaves open: $WEIR_CONFIG, else ./weir.yaml if there is one, else
/// /etc/weir/weir.yaml.
std::string default_config_path(const config::Environment& environment);
/// Whether there is no such file; then a message on stderr has listed the places, and `how` a
/// command line names a file.
bool no_default_config(const config::Environment& environment, std::string_view how);

/// The main file: the value of the flag --config, else the default. nullopt: there is none, and a
/// message on stderr has said so; `how` is as above.
std::optional<std::string> find_config(const std::string& flag, std::string_view how,
                                       const config::Environment& environment);
/// Writes all problems to stderr, for people.
void print_problems(const Configuration& configuration, bool colours);

/// How the last load went, for the admin API.
admin::LoadReport report_of(const Configuration& configuration, TimePoint at);

/// The place of a problem: `policies/login.yaml:14:5`, or the file alone.
std::string place_of(const Configuration& configuration, const config::Where& where);

/// The header fields that policies read, in lower case, as proxy::Server::use() wants them.
std::vector<std::string> used_header_names(const policies::PolicySet& set);

}  // namespace weir::app
