#include "app/change/overrides.h"

#include <algorithm>

#include "core/text.h"

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
  for (std::size_t i = 0; i < overrides.size(); ++i) {
    const config::Override& each = overrides[i];
    // One of this replica alone lies over that of all.
    const bool hidden =
        std::any_of(overrides.begin() + static_cast<std::ptrdiff_t>(i) + 1, overrides.end(),
                    [&](const config::Override& other) { return same_kind(each, other); });
    if (hidden) continue;
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
                                                 std::vector<config::Override>& overrides,
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
  std::vector<config::Override> dropped;
  auto set = with_those_that_fit(files.model(), files.loaded.hash, overrides, dropped, kept).set;
  for (const config::Override& each : dropped)
    log.write(Level::warn, override_line("an override of the fleet does not fit here", each));
  return set;
}

LogLine override_line(const char* what, const config::Override& each) {
  LogLine line(what);
  line.add("policy", each.policy).add("override", config::override_text(each));
  line.add("until", iso_time(each.until)).add("by", each.by);
  if (!each.reason.empty()) line.add("reason", each.reason);
  return line;
}

bool same_kind(const config::Override& a, const config::Override& b) {
  return a.policy == b.policy && a.mode.has_value() == b.mode.has_value();
}

bool same_override(const config::Override& a, const config::Override& b) {
  return same_kind(a, b) && a.here == b.here && a.until == b.until && a.by == b.by &&
         a.reason == b.reason && config::override_text(a) == config::override_text(b);
}

void merge_override(std::vector<config::Override>& overrides, config::Override change) {
  const auto same = [&](const config::Override& other) {
    return same_kind(other, change) && (!change.here || other.here);
  };
  std::erase_if(overrides, same);
  overrides.push_back(std::move(change));
}

}  // namespace weir::app
