#include "store/board/board_sync.h"

#include <algorithm>
#include <chrono>

#include "core/chars/parse.h"
#include "core/number.h"

namespace weir::store {
namespace {

// A call stays short for the server, which does nothing else meanwhile.
constexpr std::size_t kItemsAtOnce = 32, kNewsAtOnce = 64, kBytesAtOnce = 512 << 10;
// Replicas about which one call asks: in a large fleet a replica does not ask about all others in
// each second.
constexpr std::size_t kReplicasABeat = 16;
// Clocks that differ by less are the same: answers take some time.
constexpr milliseconds kSameClock{250};
// Numbers of a script are doubles. A number beyond the integers of a double is no valid time or
// sequence, and differences of two that are within do not overflow.
constexpr std::int64_t kNumberMax = kExactInteger;
// An end that has travelled is the same end.
constexpr milliseconds kSameEnd{2'000};

/// The words of an answer, one after the other.
class BoardWords {
 public:
  explicit BoardWords(const Reply& reply) : reply_(reply) {}
  bool text(std::string& out) {
    if (!has(1) || reply_[at_].type != Reply::Type::string) return false;
    out = reply_.text(reply_[at_++]);
    return true;
  }
  bool number(std::int64_t& out) {
    std::string word;
    if (!text(word)) return false;
    const auto number = parse_whole<std::int64_t>(word);
    if (!number || *number < -kNumberMax || *number > kNumberMax) return false;
    out = *number;
    return true;
  }
  /// A count of things of `words` each.
  bool count(std::int64_t& out, std::size_t words) {
    return number(out) && out >= -1 && (out <= 0 || has(static_cast<std::size_t>(out) * words));
  }
  bool has(std::size_t n) const { return reply_.size() - at_ >= n; }

 private:
  const Reply& reply_;
  std::size_t at_ = 1;
};

}  // namespace

std::optional<BoardAnswer> BoardAnswer::read(const Reply& reply, std::size_t told) {
  if (reply.size() == 0 || reply.root().type != Reply::Type::array) return std::nullopt;
  BoardAnswer out;
  BoardWords words(reply);
  std::int64_t more = 0, replicas = 0, versions = 0, items = 0;
  if (!words.number(out.now) || !words.text(out.epoch) || !words.number(out.sequence) ||
      !words.number(out.news_sequence) || !words.number(more) || !words.count(replicas, 3))
    return std::nullopt;
  out.more = more != 0;
  if (replicas >= 0) out.replicas.emplace();
  for (; replicas > 0; --replicas) {
    BoardReplica one;
    std::int64_t silent = 0;
    if (!words.text(one.name) || !words.number(silent) || !words.text(one.words))
      return std::nullopt;
    one.silent = milliseconds{silent};
    out.replicas->push_back(std::move(one));
  }
  if (!words.count(versions, 2)) return std::nullopt;
  for (; versions > 0; --versions) {
    auto& [hash, since] = out.versions.emplace_back();
    if (!words.text(hash) || !words.number(since)) return std::nullopt;
  }
  if (!words.count(items, 4)) return std::nullopt;
  for (; items > 0; --items) {
    Item one;
    if (!words.text(one.name) || !words.number(one.stamp) || !words.number(one.until) ||
        !words.text(one.value))
      return std::nullopt;
    out.items.push_back(std::move(one));
  }
  for (; told > 0; --told) {
    if (!words.number(out.told.emplace_back())) return std::nullopt;
  }
  while (words.has(1)) {
    if (!words.text(out.news.emplace_back())) return std::nullopt;
  }
  return out;
}

BoardSync::BoardSync(std::string name, std::string fresh)
    : name_(std::move(name)), fresh_(std::move(fresh)) {}

void BoardSync::say(std::string words, std::string version, bool by_reload) {
  by_reload_ = by_reload || (by_reload_ && version == version_);
  words_ = std::move(words);
  version_ = std::move(version);
  if (by_reload) reload_flying_ = false;
}

const BoardSync::Unsent* BoardSync::newest(std::string_view name) const {
  for (const std::vector<Unsent>* all : {&unsent_, &flying_}) {
    for (const Unsent& told : *all) {
      if (told.item.name == name) return &told;
    }
  }
  return nullptr;
}

bool BoardSync::put(BoardItem item, bool guarded) {
  if (item.value.size() > kValueMax) return false;
  Unsent next;
  next.guarded = guarded;
  const Unsent* const before = newest(item.name);
  if (before == nullptr) {
    const auto known = known_.find(item.name);
    next.base = known == known_.end() ? 0 : known->second.stamp;
  } else if (before >= flying_.data() && before < flying_.data() + flying_.size()) {
    next.base = kAfterFlying;
  } else {
    next.base = before->base;
    next.guarded = guarded && before->guarded;
  }
  item.stamp = 0;
  next.item = std::move(item);
  std::erase_if(unsent_, [&](const Unsent& told) { return told.item.name == next.item.name; });
  if (unsent_.size() >= kUnsentMax) return false;
  unsent_.push_back(std::move(next));
  return true;
}

bool BoardSync::tell(std::string news) {
  if (news.size() > kNewsBytesMax) return false;
  if (news_.size() >= kNewsMax) news_.erase(news_.begin());
  news_.push_back(std::move(news));
  return true;
}

bool BoardSync::wants_replicas() {
  const std::size_t every = (replicas_.size() + kReplicasABeat - 1) / kReplicasABeat;
  return beats_++ % std::max<std::size_t>(every, 1) == 0;
}

std::vector<std::string> BoardSync::ask(TimePoint now, bool leaves) {
  std::erase_if(unsent_, [&](const Unsent& told) { return is_over(told.item, now); });
  std::size_t bytes = 0, count = 0;
  while (count < std::min(unsent_.size(), kItemsAtOnce) &&
         (count == 0 || bytes + unsent_[count].item.value.size() <= kBytesAtOnce))
    bytes += unsent_[count++].item.value.size();
  const auto end = unsent_.begin() + static_cast<std::ptrdiff_t>(count);
  flying_.assign(std::move_iterator(unsent_.begin()), std::move_iterator(end));
  unsent_.erase(unsent_.begin(), end);
  const auto news_end =
      news_.begin() + static_cast<std::ptrdiff_t>(std::min(news_.size(), kNewsAtOnce));
  news_flying_.assign(std::move_iterator(news_.begin()), std::move_iterator(news_end));
  news_.erase(news_.begin(), news_end);
  reload_flying_ = by_reload_;

  std::vector<std::string> out{
      name_, leaves ? std::string() : words_, version_, by_reload_ ? "r" : "s", epoch_,
      std::to_string(sequence_), news_sequence_ ? std::to_string(*news_sequence_) : std::string(),
      // Each time another: a store that was emptied twice is noticed twice.
      fresh_ + "." + std::to_string(beats_), wants_replicas() ? "1" : "",
      std::to_string(flying_.size())};
  for (const Unsent& told : flying_) {
    out.push_back(told.item.name);
    out.push_back(told.item.value);
    out.push_back(told.item.until == TimePoint{} ? std::string()
                                                 : std::to_string((told.item.until - now).count()));
    out.push_back(told.again ? std::to_string(told.item.stamp) : std::string());
    out.push_back(told.guarded ? std::to_string(told.base) : std::string());
  }
  out.insert(out.end(), news_flying_.begin(), news_flying_.end());
  return out;
}

void BoardSync::failed(std::string why) {
  // An item that was set since then goes before these, and replaces the one of the same name.
  std::vector<Unsent> back;
  for (Unsent& told : flying_) {
    const auto newer = std::find_if(unsent_.begin(), unsent_.end(), [&](const Unsent& other) {
      return other.item.name == told.item.name;
    });
    if (newer == unsent_.end()) {
      back.push_back(std::move(told));
    } else {
      newer->base = told.base;
      newer->guarded = newer->guarded && told.guarded;
    }
  }
  unsent_.insert(unsent_.begin(), std::move_iterator(back.begin()), std::move_iterator(back.end()));
  flying_.clear();
  news_.insert(news_.begin(), std::move_iterator(news_flying_.begin()),
               std::move_iterator(news_flying_.end()));
  if (news_.size() > kNewsMax)
    news_.erase(news_.begin(), news_.end() - static_cast<std::ptrdiff_t>(kNewsMax));
  news_flying_.clear();
  reload_flying_ = more_ = false;
  why_ = std::move(why);
}

void BoardSync::take_told(const std::vector<std::int64_t>& told, Heard& heard) {
  for (std::size_t i = 0; i < flying_.size(); ++i) {
    Unsent& ours = flying_[i];
    const std::int64_t stamp = i < told.size() ? told[i] : 0;
    for (Unsent& next : unsent_) {
      if (next.item.name == ours.item.name && next.base == kAfterFlying)
        next.base = std::max<std::int64_t>(stamp, 0);
    }
    if (stamp == 0) continue;  // another replica was faster: its item comes
    heard.full = heard.full || stamp < 0;
    // Unsent again, and there is a newer one: that comes.
    if (ours.again && stamp != ours.item.stamp) continue;
    ours.item.stamp = std::max<std::int64_t>(stamp, 0);
    const bool newer = std::any_of(unsent_.begin(), unsent_.end(), [&](const Unsent& next) {
      return next.item.name == ours.item.name;
    });
    if (stamp > 0 && !newer) heard.told.push_back(ours.item.name);
    known_[ours.item.name] = std::move(ours.item);
  }
  flying_.clear();
}

void BoardSync::take_items(std::vector<BoardAnswer::Item> items, std::int64_t store_now,
                           TimePoint now, Heard& heard) {
  std::size_t bytes = 0;
  for (const auto& [name, item] : known_) bytes += name.size() + item.value.size();
  for (BoardAnswer::Item& from : items) {
    const auto before = known_.find(from.name);
    const std::size_t size = from.name.size() + from.value.size();
    const std::size_t held =
        before == known_.end() ? 0 : before->first.size() + before->second.value.size();
    // The script keeps less; a writer that bypasses it must not fill the memory of each replica.
    if ((before == known_.end() && known_.size() >= kKnownMax) ||
        bytes - held + size > kKnownBytesMax) {
      heard.left_out = true;
      continue;
    }
    bytes += size - held;
    BoardItem& known = known_[from.name];
    if (known.stamp == from.stamp && known.name == from.name) continue;
    BoardItem item{std::move(from.name), std::move(from.value), {}, from.stamp};
    if (from.until != 0) item.until = now + milliseconds{from.until - store_now};
    const bool same = known.value == item.value && known.until - item.until < kSameEnd &&
                      item.until - known.until < kSameEnd;
    if (same) item.until = known.until;
    known = item;
    // It would be refused: its base is gone. Its author receives this item, and puts its own again.
    std::erase_if(unsent_,
                  [&](const Unsent& told) { return told.guarded && told.item.name == item.name; });
    heard.items.push_back(std::move(item));
  }
}

void BoardSync::tell_again() {
  for (const auto& [name, item] : known_) {
    if (item.stamp == 0 || newest(name) != nullptr || unsent_.size() >= kUnsentMax) continue;
    Unsent told;
    told.item = item;
    told.again = true;
    unsent_.push_back(std::move(told));
  }
}

BoardSync::Heard BoardSync::answered(BoardAnswer answer, TimePoint now) {
  Heard heard;
  take_told(answer.told, heard);
  news_flying_.clear();
  if (std::exchange(reload_flying_, false)) by_reload_ = false;
  if (answer.epoch != epoch_) {
    if (!epoch_.empty()) tell_again();
    epoch_ = answer.epoch;
  }
  take_items(std::move(answer.items), answer.now, now, heard);
  std::erase_if(known_, [&](const auto& each) { return is_over(each.second, now); });
  sequence_ = answer.sequence;
  news_sequence_ = answer.news_sequence;
  heard.news = std::move(answer.news);
  more_ = answer.more;
  if (answer.replicas) {
    replicas_ = std::move(*answer.replicas);
    std::sort(replicas_.begin(), replicas_.end(),
              [](const BoardReplica& a, const BoardReplica& b) { return a.name < b.name; });
    versions_ = std::move(answer.versions);
  }
  const milliseconds ahead{answer.now - to_ms(now)};
  if (!last_answer_ || std::chrono::abs(ahead - ahead_) > kSameClock) ahead_ = ahead;
  last_answer_ = now;
  why_.clear();
  return heard;
}

std::optional<BoardItem> BoardSync::item(std::string_view name, TimePoint now) const {
  const Unsent* const told = newest(name);
  const auto known = known_.find(name);
  const bool ours = told != nullptr && !told->again;
  if (!ours && known == known_.end()) return std::nullopt;
  const BoardItem& out = ours ? told->item : known->second;
  return is_over(out, now) ? std::nullopt : std::optional<BoardItem>(out);
}

std::vector<BoardItem> BoardSync::items(std::string_view prefix, TimePoint now) const {
  std::map<std::string_view, bool> names;
  for (auto at = known_.lower_bound(prefix); at != known_.end(); ++at) {
    if (!at->first.starts_with(prefix)) break;
    names[at->first] = true;
  }
  for (const std::vector<Unsent>* all : {&flying_, &unsent_}) {
    for (const Unsent& told : *all) {
      if (told.item.name.starts_with(prefix)) names[told.item.name] = true;
    }
  }
  std::vector<BoardItem> out;
  for (const auto& [each, _] : names) {
    if (auto found = item(each, now)) out.push_back(std::move(*found));
  }
  return out;
}

}  // namespace weir::store
