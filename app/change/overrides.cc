#include "app/change/overrides.h"

#include <algorithm>

namespace weir::app {

Configuration with_overrides(const config::Model& files, const std::string& hash,
                             const std::vector<config::Override>& overrides,
                             const std::vector<config::TableEdit>& edits) {
  config::Loaded loaded;
  loaded.model = files;
  loaded.hash = hash;
  for (const config::TableEdit& edit : edits) {
    if (const std::string wrong = config::apply(edit, *loaded.model); !wrong.empty())
      loaded.problems.error({}, "table \"" + edit.table + "\": " + wrong, {});
  }
  for (const config::Override& each : overrides) {
    if (const std::string wrong = config::apply(each, *loaded.model); !wrong.empty())
      loaded.problems.error({}, "policy \"" + each.policy + "\": " + wrong, {});
  }
  return compile(std::move(loaded));
}

Configuration with_those_that_fit(const config::Model& files, const std::string& hash,
                                  std::vector<config::Override>& overrides,
                                  std::vector<config::Override>& dropped,
                                  const std::vector<config::TableEdit>& edits) {
  Configuration out = with_overrides(files, hash, overrides, edits);
  if (out.good()) return out;
  std::vector<config::Override> kept;
  for (config::Override& each : overrides) {
    kept.push_back(each);
    if (with_overrides(files, hash, kept, edits).good()) continue;
    kept.pop_back();
    dropped.push_back(std::move(each));
  }
  overrides = std::move(kept);
  return with_overrides(files, hash, overrides, edits);
}

std::shared_ptr<policies::PolicySet> with_tables(const Configuration& files,
                                                 const std::vector<config::TableEdit>& edits,
                                                 Log& log) {
  std::vector<config::TableEdit> kept;
  for (const config::TableEdit& edit : edits) {
    kept.push_back(edit);
    if (with_overrides(files.model(), files.loaded.hash, {}, kept).good()) continue;
    kept.pop_back();
    log.write(Level::warn, LogLine("what was set in a table does not fit the configuration; it "
                                   "waits until it does")
                               .add("table", edit.table));
  }
  return with_overrides(files.model(), files.loaded.hash, {}, kept).set;
}

void merge_override(std::vector<config::Override>& overrides, config::Override change) {
  const auto same = [&](const config::Override& other) {
    return other.policy == change.policy && other.mode.has_value() == change.mode.has_value();
  };
  std::erase_if(overrides, same);
  overrides.push_back(std::move(change));
}

}  // namespace weir::app
