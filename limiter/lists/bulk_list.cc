#include "limiter/lists/bulk_list.h"

#include <algorithm>

#include "limiter/lists/lists.h"

namespace weir::limiter {
namespace {

using Six = BulkList::Six;

std::uint32_t next_of(std::uint32_t word) noexcept { return word + 1; }
std::uint32_t before(std::uint32_t word) noexcept { return word - 1; }
Six next_of(Six word) noexcept {
  for (std::size_t i = 4; i-- > 0 && ++word.words[i] == 0;) continue;
  return word;
}
Six before(Six word) noexcept {
  for (std::size_t i = 4; i-- > 0 && word.words[i]-- == 0;) continue;
  return word;
}
bool is_greatest(std::uint32_t word) noexcept { return word == 0xffff'ffff; }
bool is_greatest(Six word) noexcept {
  return (word.words[0] & word.words[1] & word.words[2] & word.words[3]) == 0xffff'ffff;
}

std::uint32_t word_at(const Address& address, std::size_t at) noexcept {
  const auto& b = address.bytes();
  return std::uint32_t{b[at]} << 24 | std::uint32_t{b[at + 1]} << 16 |
         std::uint32_t{b[at + 2]} << 8 | b[at + 3];
}

std::uint32_t four_of(const Address& address) noexcept { return word_at(address, 12); }

Six six_of(const Address& address) noexcept {
  Six out;
  for (std::size_t i = 0; i < 4; ++i) out.words[i] = word_at(address, 4 * i);
  return out;
}

Address address_of(std::uint32_t word) noexcept { return Address::v4(word); }
Address address_of(const Six& word) noexcept {
  std::array<std::uint8_t, 16> bytes;
  for (std::size_t i = 0; i < 16; ++i)
    bytes[i] = static_cast<std::uint8_t>(word.words[i / 4] >> (24 - 8 * (i % 4)));
  return Address::v6(bytes);
}

/// The bits of a word that its network leaves open, of which `bits` are the network's.
std::uint32_t open_bits(unsigned bits) noexcept {
  return bits == 0 ? 0xffff'ffff : bits >= 32 ? 0 : (std::uint32_t{1} << (32 - bits)) - 1;
}

/// Rounded up: an entry never ends early.
std::uint32_t seconds_of(TimePoint until) noexcept {
  const std::int64_t seconds = (to_ms(until) + 999) / 1000;
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(seconds, 0, std::int64_t{BulkList::kNever}));
}

TimePoint time_of(std::uint32_t seconds) noexcept {
  return seconds == BulkList::kNever ? kForever : from_ms(std::int64_t{seconds} * 1000);
}

}  // namespace

template <class Word>
void RangeIndex<Word>::build() {
  const auto earlier = [](const Range& a, const Range& b) {
    if (a.first != b.first) return a.first < b.first;
    if (a.last != b.last) return b.last < a.last;  // the wider first
    return a.until > b.until;
  };
  if (!std::is_sorted(ranges_.begin(), ranges_.end(), earlier))
    std::sort(ranges_.begin(), ranges_.end(), earlier);
  bool apart = true;
  for (std::size_t i = 1; i < ranges_.size() && apart; ++i)
    apart = ranges_[i - 1].last < ranges_[i].first;
  if (!apart) {
    std::vector<Range> out;
    out.reserve(ranges_.size());
    std::vector<Range> open;  // each within the one before it, and holding longer
    Word at{};                // `out` is complete up to this address
    bool over = false;        // up to the greatest address
    const auto close = [&] {
      const Range top = open.back();
      open.pop_back();
      if (over || top.last < at) return;
      out.push_back({at, top.last, top.until});
      over = is_greatest(top.last);
      if (!over) at = next_of(top.last);
    };
    for (const Range& range : ranges_) {
      while (!open.empty() && open.back().last < range.first) close();
      if (!open.empty() && open.back().until >= range.until) continue;
      if (!open.empty() && at < range.first)
        out.push_back({at, before(range.first), open.back().until});
      open.push_back(range);
      at = range.first;
    }
    while (!open.empty()) close();
    ranges_.swap(out);
  }
  ranges_.shrink_to_fit();
  steps_.clear();
  steps_.reserve(ranges_.size() / kStep + 1);
  for (std::size_t i = 0; i < ranges_.size(); i += kStep) steps_.push_back(ranges_[i].first);
}

template <class Word>
const typename RangeIndex<Word>::Range* RangeIndex<Word>::find(Word at) const noexcept {
  const auto step = std::upper_bound(steps_.begin(), steps_.end(), at);
  if (step == steps_.begin()) return nullptr;
  const std::size_t begin = static_cast<std::size_t>(step - steps_.begin() - 1) * kStep;
  const std::size_t end = std::min(begin + kStep, ranges_.size());
  const auto range =
      std::upper_bound(ranges_.begin() + static_cast<std::ptrdiff_t>(begin),
                       ranges_.begin() + static_cast<std::ptrdiff_t>(end), at,
                       [](Word word, const Range& other) { return word < other.first; });
  const Range& found = *std::prev(range);
  return found.last < at ? nullptr : &found;
}

template <class Word>
std::pair<std::size_t, std::size_t> RangeIndex<Word>::numbers(Word first,
                                                              Word last) const noexcept {
  const auto begin = std::partition_point(ranges_.begin(), ranges_.end(),
                                          [&](const Range& range) { return range.last < first; });
  const auto end = std::partition_point(begin, ranges_.end(),
                                        [&](const Range& range) { return !(last < range.first); });
  return {static_cast<std::size_t>(begin - ranges_.begin()),
          static_cast<std::size_t>(end - ranges_.begin())};
}

template class RangeIndex<std::uint32_t>;
template class RangeIndex<BulkList::Six>;

void BulkList::reserve(std::size_t entries, bool addresses) {
  if (addresses) {
    four_.reserve(entries);
  } else {
    keys_.reserve(entries);
  }
}

void BulkList::add(const Cidr& block, TimePoint until) {
  ++added_;
  const std::uint32_t end = seconds_of(until);
  if (block.base.is_v4()) {
    const std::uint32_t first = four_of(block.base);
    four_.add({first, first | open_bits(block.bits), end});
    return;
  }
  const Six first = six_of(block.base);
  Six last = first;
  for (unsigned i = 0; i < 4; ++i)
    last.words[i] |= open_bits(block.bits <= 32 * i ? 0 : block.bits - 32 * i);
  six_.add({first, last, end});
}

void BulkList::add(const Hash128& key, TimePoint until) {
  ++added_;
  keys_.push_back({key, seconds_of(until)});
}

void BulkList::build() {
  four_.build();
  six_.build();
  std::sort(keys_.begin(), keys_.end(), [](const Keyed& a, const Keyed& b) {
    return a.key != b.key ? a.key < b.key : a.until > b.until;
  });
  keys_.erase(std::unique(keys_.begin(), keys_.end(),
                          [](const Keyed& a, const Keyed& b) { return a.key == b.key; }),
              keys_.end());
  keys_.shrink_to_fit();
}

std::string BulkList::Found::text() const {
  if (!first || !last) return {};
  if (*first == *last) return first->to_string();
  // As one network if it is one; a network with a narrower one cut out becomes a range.
  const unsigned width = first->is_v4() ? 32 : 128;
  for (unsigned bits = 0; bits <= width; ++bits) {
    BulkList one;
    one.add(Cidr{first->masked(bits, bits), bits}, kForever);
    const bool same = first->is_v4() ? one.four_.ranges()[0].first == four_of(*first) &&
                                           one.four_.ranges()[0].last == four_of(*last)
                                     : one.six_.ranges()[0].first == six_of(*first) &&
                                           one.six_.ranges()[0].last == six_of(*last);
    if (same) return first->to_string() + "/" + std::to_string(bits);
  }
  return first->to_string() + " - " + last->to_string();
}

namespace {

template <class Range>
std::optional<BulkList::Found> found_in(const Range* range, TimePoint now) noexcept {
  if (range == nullptr || time_of(range->until) <= now) return std::nullopt;
  return BulkList::Found{time_of(range->until), address_of(range->first), address_of(range->last)};
}

}  // namespace

BulkList::Numbers BulkList::numbers(const AddressRange& range) const noexcept {
  const bool v4 = range.first.is_v4();
  const auto [begin, end] = v4 ? four_.numbers(four_of(range.first), four_of(range.last))
                               : six_.numbers(six_of(range.first), six_of(range.last));
  return {v4, begin, end};
}

std::optional<BulkList::Found> BulkList::at(bool v4, std::size_t number,
                                            TimePoint now) const noexcept {
  return v4 ? found_in(&four_.ranges()[number], now) : found_in(&six_.ranges()[number], now);
}

std::optional<BulkList::Found> BulkList::find(const Hash128& key, const Address* address,
                                              TimePoint now) const noexcept {
  if (address != nullptr)
    return address->is_v4() ? found_in(four_.find(four_of(*address)), now)
                            : found_in(six_.find(six_of(*address)), now);
  const auto at = std::lower_bound(keys_.begin(), keys_.end(), key,
                                   [](const Keyed& a, const Hash128& b) { return a.key < b; });
  if (at == keys_.end() || at->key != key || time_of(at->until) <= now) return std::nullopt;
  return Found{time_of(at->until), std::nullopt, std::nullopt};
}

std::size_t BulkList::bytes() const noexcept {
  return four_.bytes() + six_.bytes() + keys_.capacity() * sizeof(Keyed);
}

}  // namespace weir::limiter
