#include "app/tools/cases/case_files.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>

#include "app/remote/included_texts.h"
#include "app/support/files.h"
#include "app/tools/cases/case_names.h"
#include "core/text.h"

namespace weir::app {
namespace {

constexpr std::size_t kCaseFileMax = std::size_t{4} << 20;

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string{} : path.substr(0, slash + 1);
}

/// `policies/login_test.yaml` -> `policies/login.yaml`
std::string sibling(const std::string& path) {
  const std::size_t at = path.rfind("_test.");
  return path.substr(0, at) + path.substr(at + 5);
}

std::string place(const CaseFileResult& file, const config::Where& where) {
  return file.path + ":" + std::to_string(where.line) + ":" + std::to_string(where.column);
}

}  // namespace

std::size_t CaseFileResult::failed() const noexcept {
  if (!problems.empty()) return 1;
  return static_cast<std::size_t>(std::count_if(
      cases.begin(), cases.end(), [](const CaseResult& one) { return !one.failures.empty(); }));
}

std::vector<std::string> case_files_in(const std::vector<std::string>& directories) {
  std::vector<std::string> out;
  for (const std::string& directory : directories) {
    DIR* const open = ::opendir(directory.c_str());
    if (open == nullptr) continue;
    while (const dirent* entry = ::readdir(open)) {
      const std::string name = entry->d_name;
      if (config::is_case_file(name) && !name.starts_with('.')) {
        out.push_back(directory == "." ? name : directory + "/" + name);
      }
    }
    ::closedir(open);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

CaseFileResult run_case_file(const std::string& path, const std::string& config,
                             const std::string& filter, const config::Environment& environment,
                             bool colour) {
  CaseFileResult out;
  out.path = path;
  auto text = read_file(path, kCaseFileMax);
  if (!text) {
    out.problems = "weir: " + path + ": " + text.error().message() + "\n";
    return out;
  }
  config::Problems problems;
  const config::CaseFile file = config::parse_cases(*text, 0, problems);
  if (file.config) {
    out.config = file.config->value.starts_with('/') ? file.config->value
                                                     : directory_of(path) + file.config->value;
  } else if (!config.empty()) {
    out.config = config;
  } else {
    out.config = config::is_case_file(path) ? sibling(path) : std::string{};
  }
  if (::access(out.config.c_str(), R_OK) != 0) {
    const config::Where where = file.config ? file.config->where : config::Where{0, 1, 1, 1};
    problems.error(where, "there is no configuration \"" + out.config + "\"",
                   "name it with config: FILE or -c FILE");
    problems.sort();
    out.problems = config::render_human(problems, {{path, *text}}, colour);
    return out;
  }
  std::string config_path = out.config;
  const Configuration configuration = load_configuration(config_path, environment);
  out = run_case_text(path, std::move(*text), configuration, filter, colour);
  out.config = std::move(config_path);
  return out;
}

CaseFileResult run_case_text(const std::string& path, std::string text,
                             const Configuration& configuration, const std::string& filter,
                             bool colour) {
  CaseFileResult out;
  out.path = path;
  out.text = std::move(text);
  if (!configuration.good()) {
    out.problems =
        config::render_human(configuration.loaded.problems, configuration.loaded.views(), colour);
  }
  config::Problems problems;
  const config::CaseFile file = config::parse_cases(out.text, 0, problems);
  if (configuration.good()) check_names(file, *configuration.set, problems);
  if (problems.has_errors())
    out.problems += config::render_human(problems, {{path, out.text}}, colour);
  if (!out.problems.empty()) return out;
  for (const config::Case& one : file.cases) {
    if (one.name.value.find(filter) == std::string::npos) continue;
    const TimePoint start = one.start    ? one.start->value
                            : file.start ? file.start->value
                                         : config::kCaseStart;
    out.cases.push_back({one.name.value, one.name.where, CaseRun(configuration).run(one, start)});
  }
  return out;
}

std::string cases_to_text(const std::vector<CaseFileResult>& files, bool each, bool colour) {
  const auto paint = [&](const char* code, const std::string& text) {
    return colour ? "\x1b[" + std::string(code) + "m" + text + "\x1b[0m" : text;
  };
  std::string out;
  std::size_t passed = 0, failed = 0;
  for (const CaseFileResult& file : files) {
    failed += file.failed();
    if (!file.problems.empty()) {
      out += paint("31", "FAIL") + "  " + file.path + "\n" + file.problems;
      continue;
    }
    passed += file.cases.size() - file.failed();
    out += (file.failed() == 0 ? paint("32", "ok  ") : paint("31", "FAIL")) + "  " + file.path +
           paint("2", "  " + counted(file.cases.size(), "case", "cases")) + "\n";
    for (const CaseResult& one : file.cases) {
      if (one.failures.empty() && !each) continue;
      std::string name;
      append_plain(name, one.name);
      out += "  " + (one.failures.empty() ? paint("32", "ok  ") : paint("31", "FAIL")) + "  " +
             name + "\n";
      for (const CaseFailure& failure : one.failures) {
        std::string message, step;
        append_plain(message, failure.message);
        append_plain(step, failure.step);
        out += "        " + place(file, failure.where) + ": " + paint("1", message) + "\n";
        if (!step.empty()) out += "          of " + step + "\n";
        std::string_view rest = failure.why;
        while (!rest.empty()) {
          const std::size_t end = rest.find('\n');
          std::string line;
          append_plain(line, rest.substr(0, end));
          out += "          " + paint("2", line) + "\n";
          rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
        }
      }
    }
  }
  return out + std::to_string(passed) + " passed, " + std::to_string(failed) + " failed\n";
}

std::string cases_to_json(const std::vector<CaseFileResult>& files) {
  std::string out = "{\"files\":[";
  std::size_t passed = 0, failed = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const CaseFileResult& file = files[i];
    failed += file.failed();
    if (file.problems.empty()) passed += file.cases.size() - file.failed();
    out += i == 0 ? "{\"path\":" : ",\n{\"path\":";
    append_json(out, file.path);
    out += ",\"config\":";
    append_json(out, file.config);
    if (!file.problems.empty()) {
      out += ",\"problems\":";
      append_json(out, file.problems);
    }
    out += ",\"cases\":[";
    for (std::size_t k = 0; k < file.cases.size(); ++k) {
      const CaseResult& one = file.cases[k];
      out += k == 0 ? "{\"name\":" : ",{\"name\":";
      append_json(out, one.name);
      out += ",\"line\":" + std::to_string(one.where.line);
      out +=
          std::string(",\"ok\":") + (one.failures.empty() ? "true" : "false") + ",\"failures\":[";
      for (std::size_t f = 0; f < one.failures.size(); ++f) {
        const CaseFailure& failure = one.failures[f];
        out += f == 0 ? "{\"line\":" : ",{\"line\":";
        out += std::to_string(failure.where.line) +
               ",\"column\":" + std::to_string(failure.where.column) + ",\"message\":";
        append_json(out, failure.message);
        out += ",\"step\":";
        append_json(out, failure.step);
        out += ",\"why\":";
        append_json(out, failure.why);
        out += "}";
      }
      out += "]}";
    }
    out += "]}";
  }
  return out + "],\"passed\":" + std::to_string(passed) + ",\"failed\":" + std::to_string(failed) +
         "}\n";
}

}  // namespace weir::app
