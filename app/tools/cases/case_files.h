#pragma once

#include <string>
#include <vector>

#include "app/tools/cases/case_run.h"
#include "config/cases.h"
#include "config/text/render.h"

/// Files of cases: which there are, and how they went.
namespace weir::app {

struct CaseResult {
  std::string name;
  config::Where where;
  std::vector<CaseFailure> failures;
};

/// The result of one file: problems of the file or of its configuration, or the results of its
/// cases.
struct CaseFileResult {
  std::string path, text;
  std::string config;    ///< path of the configuration
  std::string problems;  ///< rendered for people; empty: it was run
  std::vector<CaseResult> cases;
  std::size_t failed() const noexcept;
};

/// The case files in the directories, sorted.
std::vector<std::string> case_files_in(const std::vector<std::string>& directories);

/// Runs the cases of a file whose names contain `filter`. `config`: where the file names none.
CaseFileResult run_case_file(const std::string& path, const std::string& config,
                             const std::string& filter, const config::Environment& environment,
                             bool colour);
/// From memory, for the recipes that are built in.
CaseFileResult run_case_text(const std::string& path, std::string text,
                             const Configuration& configuration, const std::string& filter,
                             bool colour);

/// For people: a line per file, the failures with their places, `N passed, N failed`.
std::string cases_to_text(const std::vector<CaseFileResult>& files, bool each, bool colour);
std::string cases_to_json(const std::vector<CaseFileResult>& files);

}  // namespace weir::app
