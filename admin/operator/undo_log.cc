#include "admin/operator/undo_log.h"

#include "core/chars/hex.h"
#include "core/key.h"

namespace weir::admin {
namespace {

// The token cannot be guessed. It is not a secret either: a caller that may undo may also change.
std::string new_token() {
  const HashSecret random = HashSecret::random();
  std::string out;
  append_hex(out, std::span(random.bytes()).first(8));
  return out;
}

// Entries that others listed since, or extended, stay. The times of an operator's entry and of its
// change may come from another replica, each by a way of its own: the clocks agree within kClocks.
milliseconds told_late(const limiter::ListEntry& entry) {
  return entry.policy.empty() ? UndoLog::kClocks : milliseconds{0};
}

}  // namespace

std::string UndoLog::keep(Change change, TimePoint now) {
  if (change.steps.empty() || change.steps.size() > kEntriesMax) return {};
  forget(now, change.steps.size());
  change.at = now;
  if (change.token.empty()) change.token = new_token();
  entries_ += change.steps.size();
  changes_.push_back(std::move(change));
  if (teller_) teller_(changes_.back(), false);
  return changes_.back().token;
}

void UndoLog::learn(Change change, TimePoint now) {
  if (change.steps.empty() || change.steps.size() > kEntriesMax || change.at + kKept <= now) return;
  forget(now, change.steps.size());
  entries_ += change.steps.size();
  changes_.push_back(std::move(change));
}

void UndoLog::drop(std::string_view token) {
  std::erase_if(changes_, [&](const Change& change) {
    if (change.token != token) return false;
    entries_ -= change.steps.size();
    return true;
  });
}

std::string UndoLog::list_of(std::string_view token) const {
  for (const Change& change : changes_) {
    if (change.token == token) return change.list;
  }
  return {};
}

void UndoLog::forget(TimePoint now, std::size_t room) {
  while (!changes_.empty() &&
         (changes_.front().at + kKept <= now || entries_ + room > kEntriesMax ||
          (room != 0 && changes_.size() >= kChangesMax))) {
    entries_ -= changes_.front().steps.size();
    changes_.pop_front();
  }
}

std::optional<UndoLog::Undone> UndoLog::undo(std::string_view token, limiter::ListBank& lists,
                                             TimePoint now) {
  forget(now, 0);
  std::optional<Undone> out;
  // The last piece first: a key may be in several.
  for (std::size_t i = changes_.size(); i-- > 0;) {
    if (changes_[i].token != token) continue;
    const bool is_last = !out;
    if (is_last) out.emplace();
    const Change change = std::move(changes_[i]);
    changes_.erase(changes_.begin() + static_cast<std::ptrdiff_t>(i));
    entries_ -= change.steps.size();
    if (is_last) out->what = change.what;
    if (teller_) teller_(change, true);
    const auto list = lists.by_name(change.list);
    for (auto step = change.steps.rbegin(); step != change.steps.rend(); ++step) {
      const auto entry = list ? lists.get(*list, step->key, now) : std::nullopt;
      const bool ours = !entry || entry->listed <= change.at + change.about + told_late(*entry);
      if (!list || !ours) {
        ++out->left;
        continue;
      }
      const bool gone = entry && lists.remove(*list, step->key, now);
      if (step->before && lists.restore(*list, *step->before, now))
        ++out->restored;
      else if (!step->before && gone)
        ++out->removed;
      else
        ++out->left;
    }
  }
  return out;
}

std::vector<const UndoLog::Change*> UndoLog::changes(TimePoint now) {
  forget(now, 0);
  std::vector<const Change*> out;
  for (auto change = changes_.rbegin(); change != changes_.rend(); ++change)
    out.push_back(&*change);
  return out;
}

}  // namespace weir::admin
