#include "app/tools/inject/stream.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "config/text/problem.h"
#include "config/text/yaml_text.h"

namespace weir::app {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

bool read_objects(std::vector<Manifest>& manifests, Objects& out, std::string& problem) {
  for (std::size_t i = 0; i < manifests.size(); ++i) {
    std::string& text = manifests[i].text;
    manifests[i].marked = text.starts_with(kByteOrderMark);
    if (manifests[i].marked) text.erase(0, kByteOrderMark.size());  // the parser does not count it
    try {
      for (const YAML::Node& document : YAML::LoadAll(text)) collect(document, i, out);
    } catch (const YAML::Exception& error) {
      problem = problem_of(manifests[i], error);
      return false;
    }
  }
  if (!out.pods.empty()) return true;
  for (const Manifest& manifest : manifests)
    problem += (problem.empty() ? "" : ", ") + manifest.name;
  problem += ": no pod and nothing with a pod template in it";
  return false;
}

std::string join_manifests(const std::vector<std::string>& texts,
                           const std::vector<Manifest>& manifests) {
  if (texts.size() == 1)
    return (manifests.front().marked ? std::string(kByteOrderMark) : std::string()) + texts.front();
  std::string out;
  // A reader of the stream may parse a stream that begins with a brace as JSON to its end, so a
  // separator precedes such a document too.
  for (const std::string& text : texts) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string::npos) continue;
    if (!out.empty() && out.back() != '\n') out += '\n';
    const bool separated = text.compare(begin, 3, "---") == 0;
    if (!separated && (!out.empty() || text[begin] == '{')) out += "---\n";
    out += text;
  }
  return out;
}

std::string problem_of(const Manifest& manifest, const YAML::Exception& error) {
  const config::Where where{0, static_cast<std::uint32_t>(std::max(error.mark.line, 0) + 1),
                            static_cast<std::uint32_t>(std::max(error.mark.column, 0) + 1), 1};
  config::Problems problems;
  config::tell_syntax(error.msg, where, manifest.text, problems);
  const config::Problem& problem = problems.all().front();
  return manifest.name + ":" + std::to_string(problem.where.line) + ":" +
         std::to_string(problem.where.column) + ": " + problem.message +
         (problem.hint.empty() ? "" : ": " + problem.hint);
}

}  // namespace weir::app
