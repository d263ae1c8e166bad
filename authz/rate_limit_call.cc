#include "authz/rate_limit_call.h"

#include <algorithm>
#include <limits>

#include "core/assert.h"
#include "core/chars/own_headers.h"
#include "core/kept_memory.h"
#include "core/no_memory.h"

namespace weir::authz {
namespace {

// The memory that a finished call keeps.
constexpr std::size_t kKeptDescriptors = 32;
constexpr std::size_t kKeptEntries = 256;
constexpr std::size_t kKeptBytes = 4 << 10;  // of lines for the app
constexpr std::int64_t kRemainingMax = std::numeric_limits<std::uint32_t>::max();

}  // namespace

void RateLimitCall::Part::counted(const policies::Policy& policy, const policies::Binding&,
                                  const policies::Counter&,
                                  const policies::PlannedCounter& planned) {
  call->readings_.push_back({index, policy.name, planned.reading.value});
}

Descriptor& RateLimitCall::add() {
  sizes_.push_back(0);
  Descriptor& out = descriptors_.emplace_back();
  out.domain = domain_;
  return out;
}

void RateLimitCall::add_entry(std::string_view key, std::string_view value) {
  WEIR_ASSERT(!sizes_.empty());
  entries_.push_back({key, value});
  ++sizes_.back();
}

std::string_view RateLimitCall::wrong() const noexcept {
  if (domain_.empty()) return "the domain is empty";
  if (descriptors_.empty()) return "there is no descriptor";
  for (const Descriptor& descriptor : descriptors_) {
    if (descriptor.limit && descriptor.limit->unit == RateUnit::unknown)
      return "the limit that a descriptor brings along has no unit";
  }
  return {};
}

bool RateLimitCall::judge(Mode mode, TimePoint now, Waiting& waiting) {
  mode_ = mode;
  waiting_ = &waiting;
  std::size_t at = 0;
  for (std::size_t i = 0; i < descriptors_.size(); ++i) {
    descriptors_[i].entries = {entries_.data() + at, sizes_[i]};
    at += sizes_[i];
  }
  if (statuses_.size() < descriptors_.size()) statuses_.resize(descriptors_.size());
  while (parts_.size() < descriptors_.size()) {
    Part& part = parts_.emplace_back();
    part.call = this;
    part.index = parts_.size() - 1;
  }
  verdict_ = Action::none;
  verdict_line_.clear();
  request_lines_.clear();
  metadata_.clear();
  readings_.clear();
  speaker_ = nullptr;
  set_ = nullptr;
  open_ = descriptors_.size();
  for (std::size_t i = 0; i < descriptors_.size(); ++i) judge(i, now);
  if (open_ != 0) return false;
  finish(gate_.set());
  return true;
}

void RateLimitCall::judge(std::size_t index, TimePoint now) {
  const policies::PolicySet& set = gate_.set();
  if (set_ != &set) {  // also where other policies have come into force while it waited
    policies::find_events(set, descriptors_, found_);
    set_ = &set;
  }
  const policies::FoundDescriptor& found = found_[index];
  Part& part = parts_[index];
  part.lines.clear();
  part.body.clear();
  part.content_type.clear();
  if (!found.event) {
    if (watching_ != nullptr) watching_->will_judge(index, found, nullptr);
    gate_.give_up(part, now);
    statuses_[index].what = policies::status_of(found);
    statuses_[index].name.clear();
    --open_;
    return;
  }
  const policies::Record record = policies::record_of(found, descriptors_[index], now);
  if (watching_ != nullptr) watching_->will_judge(index, found, &record);
  const bool resumes = part.waits_for_store();
  const bool insists = mode_ == Mode::insist;
  const auto judged = mode_ == Mode::look ? (resumes ? gate_.resume_query(record, now, part, part)
                                                     : gate_.query(record, now, part, part))
                      : resumes           ? gate_.resume(record, Answer{}, now, part, insists)
                                          : gate_.judge(record, Answer{}, now, part, insists);
  if (!judged) {
    part.waits = true;
    return;
  }
  take(index, *judged, now);
  --open_;
}

void RateLimitCall::take(std::size_t index, const gate::Gate::Judged& judged, TimePoint now) {
  Status& out = statuses_[index];
  out.what =
      policies::status_of(*set_, judged.plan, judged.verdict, found_[index], gate_.instant(now));
  out.name = out.what.name;
  out.what.name = {};
  if (mode_ != Mode::look) meter_.count(*set_, found_[index], descriptors_[index], out.what);
  const auto* rule = found_[index].what != nullptr && found_[index].what->rule
                         ? &*found_[index].what->rule
                         : nullptr;
  const bool counts = rule != nullptr && rule->has_limit && !rule->unlimited &&
                      !found_[index].replaced;  // as there
  if (counts && !out.what.over && !rule->metadata.empty()) metadata_.push_back(rule->metadata);
  // If there are several verdicts, the headers show the severest one, and every policy that judged.
  for (std::string_view lines = judged.effect.upstream_headers; !lines.empty();) {
    const std::size_t end = std::min(lines.find('\n'), lines.size() - 1) + 1;
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end);
    if (!line.starts_with(kVerdictHeader)) {
      request_lines_ += line;
    } else if (judged.verdict.effect >= verdict_) {
      verdict_ = judged.verdict.effect;
      verdict_line_ = line;
    }
  }
  parts_[index].lines = judged.effect.response_headers;
  parts_[index].body = judged.effect.body;
  parts_[index].content_type = judged.effect.content_type;
}

void RateLimitCall::resumed(Part& part, TimePoint now) {
  if (!part.waits) return;
  part.waits = false;
  std::erase_if(readings_, [&](const auto& one) { return one.descriptor == part.index; });
  const bool survived = survives_no_memory([&] {
    judge(part.index, now);
    if (open_ == 0) finish(*set_);
  });
  if (!survived) {
    gate_.give_up(part, now);
    give_up(now);
    waiting_->failed(*this);
  } else if (open_ == 0) {
    waiting_->judged(*this, now);
  }
}

void RateLimitCall::give_up(TimePoint now) {
  for (Part& part : parts_) {
    if (!part.waits) continue;
    part.waits = false;
    gate_.give_up(part, now);
  }
  open_ = 0;
}

void RateLimitCall::clear() noexcept {
  domain_ = {};
  speaker_ = nullptr;
  clear_keeping(entries_, kKeptEntries);
  clear_keeping(sizes_, kKeptDescriptors);
  clear_keeping(descriptors_, kKeptDescriptors);
  clear_keeping(found_, kKeptDescriptors);
  clear_keeping(plain_, kKeptDescriptors);
  clear_keeping(metadata_, kKeptDescriptors);
  clear_keeping(readings_, kKeptDescriptors);
  clear_keeping(request_lines_, kKeptBytes);
  // Status and part of a descriptor keep their texts.
  if (statuses_.size() > kKeptDescriptors) std::vector<Status>().swap(statuses_);
  if (parts_.size() > kKeptDescriptors) std::deque<Part>().swap(parts_);
}

void RateLimitCall::finish(const policies::PolicySet& set) {
  plain_.clear();
  for (std::size_t i = 0; i < descriptors_.size(); ++i) plain_.push_back(statuses_[i].what);
  all_quota_ = set.ratelimit.quota;
  over_ = !set.ratelimit.shadow && policies::is_over(plain_, all_quota_);
  request_lines_.insert(0, verdict_line_);
  speaker_ = speaker();
}

/// The part whose refusal defines when to retry: not a quota beside another quota that has some
/// left, and no part in shadow mode.
const RateLimitCall::Part* RateLimitCall::speaker() const noexcept {
  const auto is_quota = [&](std::size_t i) { return policies::is_quota(plain_[i], all_quota_); };
  bool by_limit = false;
  for (std::size_t i = 0; i < plain_.size(); ++i)
    by_limit = by_limit || (plain_[i].over && !is_quota(i));
  const Part* out = nullptr;
  for (std::size_t i = 0; i < plain_.size(); ++i) {
    const Part& part = parts_[i];
    if (part.lines.empty() && part.body.empty()) continue;
    const bool refuses = over_ && plain_[i].over && (!by_limit || !is_quota(i));
    if (refuses != plain_[i].over || (over_ && !refuses)) continue;
    if (out == nullptr) {
      out = &part;
    } else if (refuses) {  // all limits have to let it pass, and one of the quotas
      const milliseconds before = plain_[out->index].reset, now = plain_[i].reset;
      if (by_limit ? now > before : now < before) out = &part;
    }
  }
  return out;
}

const RateLimitCall::Status* RateLimitCall::scarcest() const noexcept {
  const Status* out = nullptr;
  for (std::size_t i = 0; i < descriptors_.size(); ++i) {
    const Status& status = statuses_[i];
    if (!status.what.has_limit) continue;
    // If several refuse, the last one counts, as in envoyproxy/ratelimit.
    const bool refuses = status.what.over && !policies::is_quota(status.what, all_quota_);
    // envoyproxy/ratelimit looks for less than the most that a rule can admit.
    if (status.what.rule && !refuses && status.what.remaining >= kRemainingMax) continue;
    if (out == nullptr || refuses || status.what.remaining < out->what.remaining) {
      out = &status;
    }
  }
  return out;
}

}  // namespace weir::authz
