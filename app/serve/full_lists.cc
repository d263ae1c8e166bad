#include "app/serve/full_lists.h"

#include <utility>

namespace weir::app {

std::uint64_t FullLists::hear(std::string_view list, std::uint64_t refused, TimePoint now) {
  if (refused == 0) return 0;  // as nearly all lists, always
  auto at = told_.find(list);
  if (at == told_.end()) at = told_.emplace(std::string(list), Told{}).first;
  Told& told = at->second;
  if (refused <= told.refused || now < told.again) return 0;
  told.again = now + kAgain;
  return refused - std::exchange(told.refused, refused);
}

}  // namespace weir::app
