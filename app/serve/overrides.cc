#include "app/serve/overrides.h"

#include <algorithm>

namespace weir::app {

Configuration with_overrides(const config::Model& files, const std::string& hash,
                             const std::vector<config::Override>& overrides) {
  config::Loaded loaded;
  loaded.model = files;
  loaded.hash = hash;
  for (const config::Override& each : overrides) {
    if (const std::string wrong = config::apply(each, *loaded.model); !wrong.empty())
      loaded.problems.error({}, "policy \"" + each.policy + "\": " + wrong, {});
  }
  return compile(std::move(loaded));
}

Configuration with_those_that_fit(const config::Model& files, const std::string& hash,
                                  std::vector<config::Override>& overrides,
                                  std::vector<config::Override>& dropped) {
  Configuration out = with_overrides(files, hash, overrides);
  if (out.good()) return out;
  std::vector<config::Override> kept;
  for (config::Override& each : overrides) {
    kept.push_back(each);
    if (with_overrides(files, hash, kept).good()) continue;
    kept.pop_back();
    dropped.push_back(std::move(each));
  }
  overrides = std::move(kept);
  return with_overrides(files, hash, overrides);
}

void merge_override(std::vector<config::Override>& overrides, config::Override change) {
  const auto same = [&](const config::Override& other) {
    return other.policy == change.policy && other.mode.has_value() == change.mode.has_value();
  };
  std::erase_if(overrides, same);
  overrides.push_back(std::move(change));
}

}  // namespace weir::app
