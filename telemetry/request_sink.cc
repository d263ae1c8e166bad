#include "telemetry/request_sink.h"

#include <algorithm>
#include <limits>

#include "core/no_memory.h"

namespace weir::telemetry {
namespace {

constexpr std::uint32_t kEverything = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();

std::uint64_t part_of_all(double part) noexcept {
  return part >= 1 ? kAll : static_cast<std::uint64_t>(std::max(part, 0.0) * 0x1p64);
}

}  // namespace

RequestSink::RequestSink(MetricCells& cells, SinkBell& bell, std::uint64_t seed,
                         std::size_t facts_most) noexcept
    : cells_(cells), bell_(bell), random_(seed | 1), facts_most_(facts_most) {}

void RequestSink::log(std::shared_ptr<const AccessSettings> settings) {
  if (settings != nullptr) {
    line_ = std::make_unique<AccessLine>(settings->fields);
    log_below_ = part_of_all(settings->sample);
    wanted_ = 0;
    for (const AccessField field : settings->fields) wanted_ |= 1U << static_cast<unsigned>(field);
    if (is_tracing()) wanted_ = kEverything;
    const std::lock_guard lock(mutex_);
    queue_.reserve(kQueueBytes);
  }
  settings_ = std::move(settings);
}

void RequestSink::trace(double sample) {
  trace_below_ = part_of_all(sample);
  wanted_ = kEverything;
  if (spans_ == nullptr) spans_ = std::make_unique<Spans>();
}

// xorshift64* (Vigna, 2016): a sample is no secret.
bool RequestSink::draw(std::uint64_t below) noexcept {
  if (below == kAll) return true;
  random_ ^= random_ >> 12;
  random_ ^= random_ << 25;
  random_ ^= random_ >> 27;
  return random_ * 0x2545f4914f6cdd1d < below;
}

RequestFacts* RequestSink::lend() noexcept {
  RequestFacts* facts = nullptr;
  if (lent_ == facts_most_ || !survives_no_memory([&] { facts = &facts_.lend(); })) {
    cells_.add(Metric::access_lost);
    return nullptr;
  }
  ++lent_;
  facts->clear();
  return facts;
}

bool RequestSink::is_wanted(const RequestFacts& facts) const noexcept {
  if (settings_ == nullptr) return false;
  if (facts.sampled || (facts.refused && settings_->always_refused)) return true;
  const bool error = facts.status >= 500 || facts.end == RequestEnd::cut ||
                     facts.end == RequestEnd::drained ||
                     (facts.end == RequestEnd::local && facts.status >= 400);
  return error && settings_->always_errors;
}

void RequestSink::finish(RequestFacts& facts) {
  if (is_wanted(facts)) write_line(facts);
  if (facts.traced && spans_ != nullptr) {
    if (RequestFacts* const place = spans_->reserve()) {
      *place = facts;
      spans_->publish();
    } else {
      cells_.add(Metric::spans_dropped);
    }
  }
  --lent_;
  facts_.take_back(facts);
}

void RequestSink::write_line(const RequestFacts& facts) {
  const std::string_view line = line_->write(facts);
  std::size_t before = 0;
  bool lost = false;
  {
    const std::lock_guard lock(mutex_);
    before = queue_.size();
    lost = before + line.size() > kQueueBytes;
    if (!lost) queue_.append(line);
  }
  cells_.add(lost ? Metric::access_lost : Metric::access_queued);
  // The thread looks several times a second by itself: a wake-up that is missed costs nothing.
  if (before < kQueueBytes / 2 && before + line.size() >= kQueueBytes / 2) bell_.rung.notify_one();
}

void RequestSink::take(std::string& into) {
  into.reserve(kQueueBytes);
  const std::lock_guard lock(mutex_);
  std::swap(into, queue_);
}

}  // namespace weir::telemetry
