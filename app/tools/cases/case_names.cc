#include "app/tools/cases/case_names.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

namespace weir::app {
namespace {

using Names = std::vector<std::string_view>;

/// Resolves the names in case files. The views are of the set's own names.
class CaseNames {
 public:
  CaseNames(const policies::PolicySet& set, config::Problems& problems)
      : set_(set), problems_(problems) {
    for (const policies::Policy& policy : set.policies) {
      readings_.push_back(policy.name);  // a meter's too: `policy.metric`
      if (policy.is_meter) continue;
      policies_.push_back(policy.name);
      if (policy.pattern) patterns_.push_back(policy.name);
      if (!policy.own_lists.empty()) listing_.push_back(policy.name);
    }
    for (const policies::List& list : set.lists) lists_.push_back(list.name);
    for (const policies::View& view : set.views) views_.push_back(view.name);
    for (const policies::Event& event : set.events) events_.push_back(event.name);
    for (const auto& notify : set.notify) notifications_.push_back(notify.name.value);
    disabled_.assign(set.disabled.begin(), set.disabled.end());
    if (set.call_event) built_in_.push_back(set.events[*set.call_event].name);
    for (const auto& [unit, event] : set.override_events) {
      built_in_.push_back(set.events[event].name);
      for (const policies::PolicySet::Watcher& watcher : set.watchers[event])
        built_in_.push_back(set.policies[watcher.policy].name);
    }
  }

  void check(const config::CaseStep& step) {
    if (step.event) one_of(*step.event, {&events_}, "event");
    if (step.expect) check(*step.expect);
  }

 private:
  void check(const config::CaseExpect& expect) {
    if (expect.by) one_of(*expect.by, {&policies_, &lists_, &disabled_}, "policy or list");
    for (const auto& [policy, value] : expect.values)
      one_of(policy, {&readings_, &disabled_}, "policy");
    for (const auto* entries : {&expect.listed, &expect.not_listed}) {
      for (const config::CaseEntry& entry : *entries)
        one_of(entry.list, {&lists_, &listing_, &disabled_}, "list",
               ", and no policy of that name with a list of its own");
    }
    for (const auto& [name, times] : expect.notified)
      one_of(name, {&notifications_}, "notification");
    for (const config::CasePattern& pattern : expect.patterns)
      one_of(pattern.policy, {&patterns_, &disabled_}, "policy", " with a pattern");
    for (const config::CaseView& view : expect.views) one_of(view.view, {&views_}, "view");
  }

  void one_of(const config::Text& name, std::initializer_list<const Names*> known,
              std::string_view what, std::string_view more = {}) {
    Names all;
    for (const Names* names : known) {
      if (has(*names, name.value)) return;
      if (names == &disabled_ && names_disabled(set_, name.value)) return;
      std::copy_if(names->begin(), names->end(), std::back_inserter(all),
                   [this](std::string_view each) { return !has(built_in_, each); });
    }
    std::string hint = config::suggest(name.value, all);
    if (hint.empty()) {
      constexpr std::size_t kShown = 8;
      for (std::size_t i = 0; i < std::min(all.size(), kShown); ++i)
        hint += (i == 0 ? "there is " : ", ") + std::string(all[i]);
      if (all.size() > kShown) hint += ", and more";
    }
    problems_.error(
        name.where,
        "there is no " + std::string(what) + " \"" + name.value + "\"" + std::string(more),
        std::move(hint));
  }

  static bool has(const Names& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  const policies::PolicySet& set_;
  config::Problems& problems_;
  Names disabled_;
  Names built_in_;  // of weir itself: known, and in no hint
  Names policies_, readings_, patterns_, listing_, lists_, views_, events_, notifications_;
};

}  // namespace

void check_names(const config::CaseFile& file, const policies::PolicySet& set,
                 config::Problems& problems) {
  CaseNames names(set, problems);
  for (const config::Case& one : file.cases) {
    for (const config::CaseStep& step : one.steps) names.check(step);
  }
  problems.sort();
}

bool names_disabled(const policies::PolicySet& set, std::string_view name) noexcept {
  return std::any_of(set.disabled.begin(), set.disabled.end(), [&](const std::string& policy) {
    return name.starts_with(policy) && (name.size() == policy.size() ||
                                        name[policy.size()] == '.' || name[policy.size()] == ':');
  });
}

}  // namespace weir::app
