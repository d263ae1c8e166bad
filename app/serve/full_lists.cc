#include "app/serve/full_lists.h"

#include <utility>

namespace weir::app {

std::uint64_t FullLists::hear(std::string_view list, std::uint64_t refused, TimePoint now) {
  if (refused == 0) return 0;  // as nearly all lists, always
  auto at = reported_.find(list);
  if (at == reported_.end()) at = reported_.emplace(std::string(list), Reported{}).first;
  Reported& reported = at->second;
  if (refused <= reported.refused || now < reported.again) return 0;
  reported.again = now + kAgain;
  return refused - std::exchange(reported.refused, refused);
}

void FullLists::tell(const policies::PolicySet& set, const limiter::ListBank& bank, TimePoint now,
                     Log& log) {
  for (const policies::List& list : set.lists) {
    const std::uint64_t count = hear(list.name, bank.refused(list.id), now);
    if (count == 0) continue;
    log.write(Level::warn, LogLine("a list is full; new keys are not added")
                               .add("list", list.name)
                               .add("max", static_cast<std::int64_t>(list.max))
                               .add("refused", static_cast<std::int64_t>(count)));
  }
}

}  // namespace weir::app
