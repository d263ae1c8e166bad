#include "gate/unsettled.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <utility>

#include "core/assert.h"
#include "core/chars/hex.h"

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
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value, 16);
  if (error != std::errc() || at != end) return std::nullopt;
  return value;
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
  if (next_ - first_ == ring_.size()) grow();
  if (next_ - first_ == ring_.size()) {  // all are taken
    metrics_.add(Metric::unsettled_full);
    drop_first(now);
  }
  at(next_++) = {&ticket, now + keep_};
  ++open_;
  note_size();
  if (!armed()) wheel_.arm(*this, now + keep_);
}

void Unsettled::grow() {
  constexpr std::size_t kLeast = 64;
  if (ring_.size() >= most_) return;
  std::vector<Entry> larger(std::max(std::min(kLeast, most_), 2 * ring_.size()));
  for (std::uint64_t n = first_; n != next_; ++n) larger[n & (larger.size() - 1)] = at(n);
  ring_ = std::move(larger);
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
  if (!theirs || *theirs != tag(*number) || !knows(sequence)) return false;
  Ticket* const ticket = std::exchange(at(sequence).ticket, nullptr);
  if (ticket == nullptr) return false;
  --open_;
  note_size();
  judge_.answered_body(*ticket, answer, now);
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
  release(at(first_++), now);
  while (first_ != next_ && at(first_).ticket == nullptr) ++first_;
}

void Unsettled::on_timer(TimePoint now) {
  while (first_ != next_ && (at(first_).ticket == nullptr || at(first_).end <= now)) {
    if (at(first_).ticket != nullptr) metrics_.add(Metric::unsettled_expired);
    drop_first(now);
  }
  note_size();
  if (first_ != next_) wheel_.arm(*this, at(first_).end);
}

void Unsettled::release_all(TimePoint now) {
  while (first_ != next_) drop_first(now);
  note_size();
}

void Unsettled::note_size() {
  metrics_.set(Metric::unsettled_open, static_cast<std::int64_t>(open_));
}

}  // namespace weir::gate
