#include "app/support/configuration.h"

#include <unistd.h>

#include <algorithm>

#include "app/support/certificates.h"
#include "app/support/command.h"
#include "app/support/files.h"
#include "app/support/route_check.h"
#include "config/text/render.h"
#include "policies/lang/expr/expression.h"
#include "policies/lang/extractors.h"
#include "policies/set/compile.h"

extern char** environ;

namespace weir::app {
namespace {

constexpr const char* kSystemConfig = "/etc/weir/weir.yaml";

/// Whether an error is within the other's text: it may follow from it.
bool overlaps(const config::Where& a, const config::Where& b) {
  return a.file == b.file && a.line == b.line && a.column < b.column + b.length &&
         b.column < a.column + a.length;
}

/// Adds further problems. A part that could not be read is taken to fit its uses.
void look_for_more(const config::Model& draft, config::Problems& problems) {
  config::Problems more;
  check_routes(draft, more);
  policies::compile(draft, more);
  const std::vector<config::Problem> told = problems.all();
  for (const config::Problem& problem : more.all()) {
    if (problem.severity != config::Problem::Severity::error) continue;
    const bool known = std::any_of(told.begin(), told.end(), [&](const config::Problem& one) {
      return one.severity == config::Problem::Severity::error && overlaps(one.where, problem.where);
    });
    if (!known) problems.error(problem.where, problem.message, problem.hint);
  }
  problems.sort();
}

}  // namespace

Configuration compile(config::Loaded loaded) {
  Configuration out{std::move(loaded), nullptr};
  if (out.loaded.draft) look_for_more(*out.loaded.draft, out.loaded.problems);
  if (!out.loaded.model) return out;
  check_routes(*out.loaded.model, out.loaded.problems);
  check_certificates(out.loaded.model->server, out.loaded.problems);
  std::shared_ptr<policies::PolicySet> set =
      policies::compile(*out.loaded.model, out.loaded.problems);
  out.loaded.problems.sort();
  if (set == nullptr || out.loaded.problems.has_errors()) return out;
  set->source_hash = out.loaded.hash;
  out.set = std::move(set);
  return out;
}

void look_at_disabled(Configuration& configuration) {
  if (!configuration.loaded.model) return;
  config::Model enabled = configuration.model();
  bool any = false;
  for (config::PolicyDef& policy : enabled.policies) {
    if (policy.mode.value != Mode::disabled) continue;
    policy.mode.value = Mode::shadow;
    any = true;
  }
  if (!any) return;
  config::Problems more;
  policies::compile(enabled, more);
  const std::vector<config::Problem> told = configuration.loaded.problems.all();
  for (const config::Problem& problem : more.all()) {
    if (problem.severity != config::Problem::Severity::error) continue;
    const bool known = std::any_of(told.begin(), told.end(), [&](const config::Problem& one) {
      return one.severity == config::Problem::Severity::error && overlaps(one.where, problem.where);
    });
    if (known) continue;
    configuration.loaded.problems.warning(
        problem.where, "an error once this policy is no longer disabled: " + problem.message,
        problem.hint);
  }
  configuration.loaded.problems.sort();
}

namespace {

/// Whether some condition on this line is not an expression.
bool is_broken(const config::Model& model, std::uint32_t line) {
  const auto broken = [line](const std::optional<config::Text>& condition) {
    return condition && condition->where.line == line && !policies::is_expression(*condition);
  };
  return std::any_of(model.events.begin(), model.events.end(),
                     [&](const config::EventDef& event) { return broken(event.when); }) ||
         std::any_of(
             model.policies.begin(), model.policies.end(), [&](const config::PolicyDef& policy) {
               return broken(policy.when) ||
                      std::any_of(policy.then.begin(), policy.then.end(),
                                  [&](const config::Rung& rung) { return broken(rung.condition); });
             });
}

}  // namespace

config::Imported import_what_compiles(
    std::string_view text,
    const std::function<config::Imported(std::string_view text,
                                         const config::RefusedRules& refused)>& import) {
  config::RefusedRules refused;
  std::string broken;  // the first
  for (;;) {
    config::Imported out = import(text, refused);
    out.broken = broken;
    if (!out.error.empty()) return out;
    const std::size_t before = refused.size();
    const Configuration compiled = compile(config::load_text("limits", out.yaml));
    for (const config::Problem& problem : compiled.loaded.problems.all()) {
      if (problem.severity != config::Problem::Severity::error) continue;
      const auto place = config::imported_from(out.yaml, problem.where.line);
      if (!place) continue;
      if (broken.empty() && compiled.loaded.model &&
          is_broken(*compiled.loaded.model, problem.where.line)) {
        broken = "line " + std::to_string(place->line) + ": " + problem.message;
      }
      refused.emplace(*place, problem.message);
    }
    if (refused.size() == before) return out;
  }
}

config::Environment process_environment() {
  config::Environment out;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    const std::string_view entry = *each;
    const std::size_t equals = entry.find('=');
    if (equals != std::string_view::npos)
      out.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return out;
}

std::string default_config_path(const config::Environment& environment) {
  const auto named = environment.find("WEIR_CONFIG");
  if (named != environment.end() && !named->second.empty()) return named->second;
  return ::access("weir.yaml", F_OK) == 0 ? "weir.yaml" : kSystemConfig;
}

bool no_default_config(const config::Environment& environment, std::string_view how) {
  const std::string path = default_config_path(environment);
  if (path != kSystemConfig || ::access(kSystemConfig, F_OK) == 0) return false;
  complain(
      "no configuration: $WEIR_CONFIG is not set, and there is neither ./weir.yaml nor "
      "/etc/weir/weir.yaml\nname a file (" +
      std::string(how) + "), begin with \"weir init\", or try \"weir dev PORT\" without one");
  return true;
}

std::optional<std::string> find_config(const std::string& flag, std::string_view how,
                                       const config::Environment& environment) {
  if (!flag.empty()) return flag;
  if (no_default_config(environment, how)) return std::nullopt;
  return default_config_path(environment);
}

void print_problems(const Configuration& configuration, bool colours) {
  const std::string text =
      config::render_human(configuration.loaded.problems, configuration.loaded.views(), colours);
  static_cast<void>(write_all(STDERR_FILENO, text).has_value());
}

admin::LoadReport report_of(const Configuration& configuration, TimePoint at) {
  admin::LoadReport out;
  out.ok = configuration.good();
  out.at = at;
  out.hash = configuration.loaded.hash;
  out.problem_count = configuration.loaded.problems.all().size();
  for (const config::Problem* problem :
       configuration.loaded.problems.first(admin::LoadReport::kProblemsMax)) {
    admin::ProblemLine line;
    line.is_error = problem->severity == config::Problem::Severity::error;
    if (problem->where.file < configuration.loaded.files.size()) {
      line.file = configuration.loaded.files[problem->where.file].name;
    }
    line.line = problem->where.line;
    line.column = problem->where.column;
    line.message = problem->message;
    line.hint = problem->hint;
    out.problems.push_back(std::move(line));
  }
  return out;
}

std::string place_of(const Configuration& configuration, const config::Where& where) {
  if (where.file >= configuration.loaded.files.size()) return {};
  std::string out = configuration.loaded.files[where.file].name;
  if (where.line != 0) out += ":" + std::to_string(where.line) + ":" + std::to_string(where.column);
  return out;
}

std::vector<std::string> used_header_names(const policies::PolicySet& set) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < set.slots.size(); ++i) {
    const policies::Slot& slot = set.slots[static_cast<policies::SlotId>(i)];
    if (slot.kind != policies::Slot::Kind::attribute || slot.extractor == nullptr) continue;
    if (slot.extractor->form != policies::ArgumentForm::header) continue;
    if (slot.extractor->side != policies::Side::request) continue;
    if (std::find(out.begin(), out.end(), slot.argument.name) == out.end()) {
      out.push_back(slot.argument.name);
    }
  }
  return out;
}

}  // namespace weir::app
