#include "app/tools/cases/case_names.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace weir::app {
namespace {

using Names = std::vector<std::string_view>;

/// What the names of case files stand for. Views of the set's own names.
class CaseNames {
 public:
  CaseNames(const policies::PolicySet& set, config::Problems& problems) : problems_(problems) {
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
  }

  void check(const config::CaseStep& step) {
    if (step.event) one_of(*step.event, {&events_}, "event");
    if (step.expect) check(*step.expect);
  }

 private:
  void check(const config::CaseExpect& expect) {
    if (expect.by) one_of(*expect.by, {&policies_, &lists_}, "policy or list");
    for (const auto& [policy, value] : expect.values) one_of(policy, {&readings_}, "policy");
    for (const auto* entries : {&expect.listed, &expect.not_listed}) {
      for (const config::CaseEntry& entry : *entries)
        one_of(entry.list, {&lists_, &listing_}, "list",
               ", and no policy of that name with a list of its own");
    }
    for (const auto& [name, times] : expect.notified)
      one_of(name, {&notifications_}, "notification");
    for (const config::CasePattern& pattern : expect.patterns)
      one_of(pattern.policy, {&patterns_}, "policy", " with a pattern");
    for (const config::CaseView& view : expect.views) one_of(view.view, {&views_}, "view");
  }

  void one_of(const config::Text& name, std::initializer_list<const Names*> known,
              std::string_view what, std::string_view more = {}) {
    Names all;
    for (const Names* names : known) {
      if (std::find(names->begin(), names->end(), name.value) != names->end()) return;
      all.insert(all.end(), names->begin(), names->end());
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

  config::Problems& problems_;
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

}  // namespace weir::app
