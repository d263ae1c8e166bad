#include "app/support/problem_log.h"

namespace weir::app {

void log_problems(Log& log, const Configuration& configuration) {
  const config::Problems& problems = configuration.loaded.problems;
  for (const config::Problem* problem : problems.first(kProblemLines)) {
    const bool error = problem->severity == config::Problem::Severity::error;
    LogLine line(error ? "error in the configuration" : "warning about the configuration");
    line.add("at", place_of(configuration, problem->where)).add("problem", problem->message);
    if (!problem->hint.empty()) line.add("hint", problem->hint);
    log.write(error ? Level::error : Level::warn, line);
  }
  if (problems.all().size() <= kProblemLines) return;
  LogLine line("more problems of the configuration");
  line.add("count", static_cast<std::int64_t>(problems.all().size() - kProblemLines))
      .add("hint", "\"weir check\" lists them all");
  log.write(problems.has_errors() ? Level::error : Level::warn, line);
}

}  // namespace weir::app
