#include "app/tools/inject/marks.h"

#include <algorithm>
#include <string_view>

namespace weir::app {
namespace {

constexpr std::string_view kGracePeriod = "grace-period";
constexpr std::string_view kOfLabel = "label";
constexpr std::string_view kHook = "hook:";
constexpr std::string_view kEmpty = "empty:";

}  // namespace

std::string Marks::text() const {
  std::string out;
  const auto add = [&](const std::string& word) { out += (out.empty() ? "" : ",") + word; };
  if (grace_period) add(std::string(kGracePeriod));
  if (label) add(std::string(kOfLabel));
  for (const std::string& container : hooks) add(std::string(kHook) + container);
  for (const std::string& key : empty) add(std::string(kEmpty) + key);
  return out.empty() ? "none" : out;
}

std::optional<Marks> Marks::of(const Pod& pod) {
  const YAML::Node said = at_path(pod.metadata, {"annotations", kAdded});
  if (!said.IsDefined() || !said.IsScalar()) return std::nullopt;
  const std::string_view text = said.Scalar();
  Marks out;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    const std::string_view word = text.substr(from, comma - from);
    if (word == kGracePeriod) out.grace_period = true;
    if (word == kOfLabel) out.label = true;
    if (word.starts_with(kHook)) out.hooks.emplace(word.substr(kHook.size()));
    if (word.starts_with(kEmpty)) out.empty.emplace(word.substr(kEmpty.size()));
    from = comma + 1;
  }
  return out;
}

}  // namespace weir::app
