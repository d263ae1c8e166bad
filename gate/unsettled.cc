#include "gate/unsettled.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/assert.h"
#include "core/chars/hex.h"
#include "core/chars/parse.h"
#include "core/no_memory.h"

namespace weir::gate {

using telemetry::Metric;

namespace {

// An id is a number, which says the worker, and a tag that only this process can make of it.
constexpr unsigned kWorkerBits = 12;
constexpr std::size_t kHalf = Unsettled::kIdSize / 2;

void put_hex(char* out, std::uint64_t value) noexcept {
  for (std::size_t i = 0; i < kHalf; ++i) out[i] = hex_digit(value >> (60 - 4 * i));
}

std::optional<std::uint64_t> read_hex(std::string_view text) noexcept {
  return parse_whole<std::uint64_t>(text, 16);
}

}  // namespace

Unsettled::Unsettled(Judge& judge, net::Wheel& wheel, std::size_t worker, milliseconds keep,
                     telemetry::MetricCells& metrics, std::size_t most)
    : judge_(judge),
      wheel_(wheel),
      worker_(worker),
      keep_(keep),
      most_(most),
      metrics_(metrics),
      secret_(HashSecret::random()) {
  WEIR_ASSERT(worker >> kWorkerBits == 0 && std::has_single_bit(most));
}

Unsettled::~Unsettled() { WEIR_ASSERT(open_ == 0); }

std::uint64_t Unsettled::tag(std::uint64_t number) const noexcept {
  std::array<char, sizeof number> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(number >> (8 * i));
  return secret_.hash({bytes.data(), bytes.size()}).lo;
}

Unsettled::Id Unsettled::next_id() const noexcept {
  const std::uint64_t number = next_ << kWorkerBits | worker_;
  Id out;
  put_hex(out.data(), number);
  put_hex(out.data() + kHalf, tag(number));
  return out;
}

void Unsettled::keep(Ticket& ticket, TimePoint now) {
  if (open_ == most_) {
    metrics_.add(Metric::unsettled_full);
    drop_first(now);
  }
  if (last_ - first_ == ring_.size()) make_room();
  at(last_++) = {next_++, &ticket, now + keep_};
  ++open_;
  note_size();
  if (!armed()) wheel_.arm(*this, now + keep_);
}

/// One slow request keeps the ring from moving on, whatever is settled behind it. A full ring that
/// is half open grows; another one is packed. So each packing frees half of the ring, and the ring
/// has at most 2 * most_ entries.
void Unsettled::make_room() {
  constexpr std::size_t kLeast = 64;
  if (2 * open_ >= ring_.size()) {
    std::vector<Entry> larger(std::max(std::min(kLeast, most_), 2 * ring_.size()));
    for (std::uint64_t n = first_; n != last_; ++n) larger[n & (larger.size() - 1)] = at(n);
    ring_ = std::move(larger);
    return;
  }
  std::uint64_t to = first_;
  for (std::uint64_t n = first_; n != last_; ++n) {
    if (at(n).ticket != nullptr) at(to++) = at(n);
  }
  last_ = to;
}

Unsettled::Entry* Unsettled::find(std::uint64_t number) noexcept {
  std::uint64_t low = first_, high = last_;
  while (low != high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (at(middle).number < number) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low != last_ && at(low).number == number ? &at(low) : nullptr;
}

std::optional<std::size_t> Unsettled::worker_of(std::string_view id) noexcept {
  if (id.size() != kIdSize) return std::nullopt;
  const auto number = read_hex(id.substr(0, kHalf));
  if (!number) return std::nullopt;
  return static_cast<std::size_t>(*number & ((1u << kWorkerBits) - 1));
}

bool Unsettled::settle(std::string_view id, const Answer& answer, TimePoint now) {
  if (worker_of(id) != worker_) return false;
  const auto number = read_hex(id.substr(0, kHalf));
  const auto theirs = read_hex(id.substr(kHalf));
  const std::uint64_t sequence = *number >> kWorkerBits;
  if (!theirs || *theirs != tag(*number)) return false;
  Entry* const entry = find(sequence);
  if (entry == nullptr || entry->ticket == nullptr) return false;
  Ticket* const ticket = std::exchange(entry->ticket, nullptr);
  --open_;
  skip_settled();
  note_size();
  // Without memory the event is settled by finish(); the app need not report it again.
  survives_no_memory([&] { judge_.answered_body(*ticket, answer, now); });
  judge_.finish(*ticket, End::complete, now);
  return true;
}

void Unsettled::release(Entry& entry, TimePoint now) {
  Ticket* const ticket = std::exchange(entry.ticket, nullptr);
  if (ticket == nullptr) return;
  --open_;
  judge_.finish(*ticket, End::not_sent, now);
}

void Unsettled::drop_first(TimePoint now) {
  Entry& oldest = at(first_++);
  release(oldest, now);
  skip_settled();
}

void Unsettled::skip_settled() noexcept {
  while (first_ != last_ && at(first_).ticket == nullptr) ++first_;
}

void Unsettled::on_timer(TimePoint now) {
  while (first_ != last_ && at(first_).end <= now) {
    metrics_.add(Metric::unsettled_expired);
    drop_first(now);
  }
  note_size();
  if (first_ != last_) wheel_.arm(*this, at(first_).end);
}

void Unsettled::release_all(TimePoint now) {
  while (first_ != last_) drop_first(now);
  note_size();
}

void Unsettled::note_size() {
  metrics_.set(Metric::unsettled_open, static_cast<std::int64_t>(open_));
}

}  // namespace weir::gate
