#include <algorithm>
#include <vector>

#include "limiter/lists/lists_impl.h"

/// Lists that no policy set uses any more: their entries and names.
namespace weir::limiter {
namespace {

/// After a failed reload the list may come back soon. And a thread that found the list by a stale
/// id is finished with it by then.
constexpr milliseconds kEmptyListStays{600'000};
/// Entries that a call of maintain() takes out.
constexpr std::size_t kEndedPerSlice = 2'000;
/// How many names go at once where none is left: a reload may bring thousands of new ones.
constexpr std::size_t kNamesAtOnce = 1'024;

}  // namespace

void ListBank::close_unused(std::span<const ListId> used) {
  std::vector<std::uint16_t> generations(kListsMax);  // 0: not in use
  for (const ListId id : used) {
    if (id.index < kListsMax) generations[id.index] = id.generation;
  }
  const std::scoped_lock hold(impl_->mutex);
  for (List& list : impl_->all) {
    if (list.closed || generations[list.id.index] == list.id.generation) continue;
    list.closed = true;
    list.closed_at = {};
    list.closing = ++impl_->closings;
  }
}

/// From now on, a lookup by its id finds nothing.
void ListBank::Impl::give_up(std::list<List>::iterator list) {
  by_index[list->id.index].store(nullptr, std::memory_order_release);
  by_name.erase(list->name);
  free_indices.push_back(list->id.index);
  list->given_up_at = maintained;
  given_up.splice(given_up.end(), all, list);
}

/// Whether there is an index for one more list, be it that of an empty one that is closed: those
/// that were closed first go.
bool ListBank::Impl::find_index() {
  if (!free_indices.empty()) return true;
  if (next_index < kListsMax) {
    free_indices.push_back(next_index++);
    return true;
  }
  std::vector<std::list<List>::iterator> empty;
  for (auto at = all.begin(); at != all.end(); ++at) {
    if (!at->closed) continue;
    const std::scoped_lock hold(at->mutex);
    if (at->entries.empty() && at->changed.empty()) empty.push_back(at);
  }
  std::sort(empty.begin(), empty.end(),
            [](const auto& a, const auto& b) { return a->closing < b->closing; });
  if (empty.size() > kNamesAtOnce) empty.resize(kNamesAtOnce);
  for (const auto list : empty) give_up(list);
  return !empty.empty();
}

void ListBank::maintain(TimePoint now) {
  const std::scoped_lock hold(impl_->mutex);
  impl_->maintained = now;
  std::size_t left = kEndedPerSlice;
  for (auto at = impl_->all.begin(); at != impl_->all.end();) {
    const auto list = at++;
    if (!list->closed) continue;
    if (list->closed_at == TimePoint{} || now < list->closed_at) list->closed_at = now;
    bool empty = false;
    {
      const std::scoped_lock hold_list(list->mutex);
      // By the ends of their terms; an entry that is remembered for its level stays until that is
      // forgotten.
      auto term = list->terms.begin();
      while (left != 0 && term != list->terms.end() && term->first <= now) {
        --left;
        const auto entry = list->entries.find((term++)->second);
        if (List::end_of(entry->second) <= now) list->take_out(entry);
      }
      empty = list->entries.empty() && list->changed.empty();
    }
    if (empty && now - list->closed_at > kEmptyListStays) impl_->give_up(list);
  }
  std::erase_if(impl_->given_up, [now](List& list) {
    if (now < list.given_up_at) list.given_up_at = now;  // the clock was set back
    return now - list.given_up_at > kEmptyListStays;
  });
}

}  // namespace weir::limiter
