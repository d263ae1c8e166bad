#include "replay/replay.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/text.h"
#include "core/words.h"
#include "limiter/views/view_row.h"

namespace weir::replay {

class Replay::Fan final : public policies::RowSink, public policies::PatternSink {
 public:
  Fan(Replay& replay, RowWriter& writer)
      : replay_(replay), tally_(replay.tally_), writer_(writer) {}
  void expect(const policies::Policy& policy, const Hash128& key) override {
    tally_.expect(policy, key);
  }
  void reading(const Row& row) override {
    tally_.reading(row);
    writer_.reading(row);
  }
  void ruled(const Row& row) override { tally_.ruled(row); }
  void verdict(const Row& row, const policies::Rung& rung, std::size_t index,
               std::optional<Number> limit) override {
    tally_.verdict(row, rung, index, limit);
    writer_.verdict(row, rung, index, limit);
  }
  void remembered(const Row& row, const policies::Rung& rung, std::size_t index,
                  std::optional<Number> limit) override {
    tally_.remembered(row, rung, index, limit);
    writer_.remembered(row, rung, index, limit);
  }
  void listed(const Row& row, const policies::List& list) override { writer_.listed(row, list); }
  void pattern(const policies::MatchedPattern& match) override {
    tally_.pattern(match);
    if (!replay_.between_rows_) return writer_.pattern(match, replay_.engine_.answering());
    std::string& json = replay_.timed_.emplace_back(Timed{match.fires, 0, {}}).json;
    append_pattern(json, match);
  }

 private:
  Replay& replay_;
  Tally& tally_;
  RowWriter& writer_;
};

class Replay::PolicyFilter final : public policies::RowSink, public policies::PatternSink {
 public:
  PolicyFilter(const std::vector<bool>& shown_policies, policies::RowSink& rows,
               policies::PatternSink& patterns)
      : shown_policies_(shown_policies), rows_(rows), patterns_(patterns) {}
  void expect(const policies::Policy& policy, const Hash128& key) override {
    if (shown_policies_[policy.index]) rows_.expect(policy, key);
  }
  void reading(const Row& row) override {
    if (shown_policies_[row.policy->index]) rows_.reading(row);
  }
  void ruled(const Row& row) override {
    if (shown_policies_[row.policy->index]) rows_.ruled(row);
  }
  void verdict(const Row& row, const policies::Rung& rung, std::size_t index,
               std::optional<Number> limit) override {
    if (shown_policies_[row.policy->index]) rows_.verdict(row, rung, index, limit);
  }
  void remembered(const Row& row, const policies::Rung& rung, std::size_t index,
                  std::optional<Number> limit) override {
    if (shown_policies_[row.policy->index]) rows_.remembered(row, rung, index, limit);
  }
  void listed(const Row& row, const policies::List& list) override {
    if (shown_policies_[row.policy->index]) rows_.listed(row, list);
  }
  void pattern(const policies::MatchedPattern& match) override {
    if (shown_policies_[match.policy->index]) patterns_.pattern(match);
  }

 private:
  const std::vector<bool>& shown_policies_;
  policies::RowSink& rows_;
  policies::PatternSink& patterns_;
};

namespace {

std::unique_ptr<Format> make_format(const Engine& engine, Engine::Kind kind,
                                    const std::string& log_format,
                                    const std::shared_ptr<MappedColumns>& mapped, bool& header,
                                    std::string& problem) {
  header = false;
  if (kind.request && mapped != nullptr) return make_mapped(mapped, engine.set());
  if (kind.request) return make_request_format(log_format, engine.set(), problem);
  const std::string& source = engine.set().events[kind.event].source;
  for (const config::EventDef& def : engine.model().events) {
    if (def.name.value != source || !def.source) continue;
    header = def.source->header;
    return make_record_format(*def.source, source, engine.set().slots);
  }
  problem = "event " + source + " has no source";
  return nullptr;
}

std::string known_events(const Engine& engine) {
  std::string out;
  for (const policies::Event& event : engine.set().events)
    out += (out.empty() ? "" : ", ") + event.name;
  return out;
}

}  // namespace

Replay::Replay(Plan plan, Engine& engine, Engine* other, RowWriter* rows, Part part)
    : plan_(std::move(plan)),
      engine_(engine),
      other_(other),
      writer_(rows),
      tally_(engine.set()),
      part_(std::move(part)),
      verdicts_(part_.verdicts),
      other_verdicts_(part_.verdicts),
      other_misses_(engine.set().policies.size()),
      other_view_misses_(engine.set().views.size()) {
  policies::PatternSink* patterns = &tally_;
  sink_ = &tally_;
  if (writer_ != nullptr) {
    fan_ = std::make_unique<Fan>(*this, *writer_);
    sink_ = fan_.get();
    patterns = fan_.get();
  }
  if (!part_.shown_policies.empty()) {
    filter_ = std::make_unique<PolicyFilter>(part_.shown_policies, *sink_, *patterns);
    sink_ = filter_.get();
    patterns = filter_.get();
  }
  engine_.report_patterns_to(patterns);
  if (other_ != nullptr) {
    other_tally_.emplace(other_->set());
    other_sink_ = &*other_tally_;
    policies::PatternSink* theirs = &*other_tally_;
    if (!part_.other_shown_policies.empty()) {
      other_filter_ =
          std::make_unique<PolicyFilter>(part_.other_shown_policies, *other_tally_, *other_tally_);
      other_sink_ = other_filter_.get();
      theirs = other_filter_.get();
    }
    other_->report_patterns_to(theirs);
  }
  if (plan_.lateness) reorder_.emplace(*plan_.lateness);
  views_.resize(engine.set().views.size());
  has_patterns_ =
      !engine.set().patterns.empty() || (other != nullptr && !other->set().patterns.empty());
  on_window_ = [this](std::size_t view, const limiter::ViewWindow& window) { show(view, window); };
}

Replay::~Replay() = default;

std::unique_ptr<Replay> Replay::make(Plan plan, Engine& engine, Engine* other, RowWriter* rows,
                                     std::string& problem, Part part) {
  std::unique_ptr<Replay> out(new Replay(std::move(plan), engine, other, rows, std::move(part)));
  problem = out->open();
  return problem.empty() ? std::move(out) : nullptr;
}

std::string Replay::open() {
  for (const Plan::Source& source : plan_.sources) {
    const auto kind = engine_.find_event(source.event);
    if (!kind)
      return "there is no event \"" + source.event + "\"; known are " + known_events(engine_);
    if (std::string problem = open_stream(streams_.size(), source, *kind); !problem.empty())
      return problem;
  }
  ended_.resize(streams_.size());
  current_ = streams_.size();
  return {};
}

std::string Replay::open_stream(std::size_t index, const Plan::Source& source, Engine::Kind kind) {
  std::string problem;
  bool header = false;
  std::shared_ptr<MappedColumns> mapped;
  if (plan_.mapping && part_.reader != nullptr) {
    mapped = part_.reader->columns(index, *plan_.mapping);
  } else if (plan_.mapping) {
    mapped = std::make_shared<MappedColumns>();
    mapped->mapping = *plan_.mapping;
  }
  const auto make = [&](const Engine& engine, Engine::Kind of, bool& has_header) {
    return make_format(engine, of, plan_.log_format, mapped, has_header, problem);
  };
  auto format = make(engine_, kind, header);
  if (format == nullptr) return problem;
  kinds_.push_back(kind);
  if (plan_.lateness) again_.push_back(make(engine_, kind, header));
  if (other_ != nullptr) {
    const auto theirs = other_->find_event(source.event);
    if (!theirs) return "the other configuration has no event \"" + source.event + "\"";
    if (theirs->request != kind.request)
      return "event \"" + source.event + "\" is not of the same kind in both configurations";
    other_kinds_.push_back(*theirs);
    bool ignored = false;
    other_formats_.push_back(make(*other_, *theirs, ignored));
    if (other_formats_.back() == nullptr) return problem;
  }
  if (part_.reader != nullptr) {
    const ParallelReader::Source file{source.path, header, kind.event,
                                      [&] { return make(engine_, kind, header); }, kind.request};
    streams_.push_back(part_.reader->open(index, part_.index, file));
  } else {
    streams_.push_back(std::make_unique<FileStream>(source.path, std::move(format), header));
  }
  const std::string& error = streams_.back()->error();
  return error.empty() ? std::string() : source.path + ": " + error;
}

/// The stream whose row is the earliest: of equal ones the one of the lower line, then the one
/// named first.
Stream* Replay::next_stream(std::size_t& index) {
  if (!std::exchange(begun_, true)) {
    for (std::size_t i = 0; i < streams_.size(); ++i) ended_[i] = !streams_[i]->next();
  }
  if (current_ < streams_.size()) ended_[current_] = !streams_[current_]->next();
  if (streams_.size() == 1) {  // mostly: nothing to merge
    const bool ended = ended_.front();
    index = current_ = ended ? 1 : 0;
    return ended ? nullptr : streams_.front().get();
  }
  index = streams_.size();
  const auto earlier = [](const Stream& a, const Stream& b) {
    return a.row().time != b.row().time ? a.row().time < b.row().time : a.line() < b.line();
  };
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (ended_[i]) continue;
    if (index == streams_.size() || earlier(*streams_[i], *streams_[index])) index = i;
  }
  current_ = index;
  return index == streams_.size() ? nullptr : streams_[index].get();
}

void Replay::show(std::size_t view, const limiter::ViewWindow& window) {
  ViewTally& tally = views_[view];
  ++tally.windows;
  tally.start = window.start;
  tally.end = window.end;
  tally.complete = window.complete;
  tally.total = window.total;
  tally.rows = window.rows.size();
  if (writer_ != nullptr) {
    std::string& json =
        timed_.emplace_back(Timed{window.end, 1 + static_cast<std::uint32_t>(view), {}}).json;
    limiter::append_view_row(json, engine_.set().views[view].name, window);
    return;
  }
  tally.shown.clear();
  for (const limiter::ViewRow& row : window.rows.first(std::min(kViewRows, window.rows.size()))) {
    auto& [key, value] = tally.shown.emplace_back();
    limiter::for_each_part(row.parts,
                           [&, &parts = key](std::string_view part) { parts.emplace_back(part); });
    value = row.value;
  }
}

/// Windows end and timers fire by the watermark, which an event moves before it is judged: windows
/// that end at its time hold nothing of it. At the end of the input the rows that are held move the
/// timers on; windows beyond the watermark end with `flush` only.
void Replay::advance(TimePoint watermark, TimePoint timers) {
  if (watermark <= watermark_ && timers <= timers_) return;
  watermark_ = std::max(watermark_, watermark);
  timers_ = std::max(timers_, timers);
  fire_due();
}

/// All parts of a replay count their steps alike.
void Replay::begin_step() {
  ++step_;
  if (writer_ != nullptr) writer_->set_step(step_);
}

void Replay::fire_due() {
  begin_step();
  engine_.advance(watermark_, timers_, on_window_);
  if (other_ != nullptr) {
    other_->advance(watermark_, timers_, [](std::size_t, const limiter::ViewWindow&) {});
  }
  if (!timed_.empty()) write_timed();
}

void Replay::end() {
  begin_step();
  const TimePoint last = last_.value_or(TimePoint{});
  engine_.end(last, plan_.flush, on_window_);
  if (other_ != nullptr) {
    other_->end(last, plan_.flush, [](std::size_t, const limiter::ViewWindow&) {});
  }
  write_timed();
}

/// Patterns have come before views: of equal times they stay first.
void Replay::write_timed() {
  std::stable_sort(timed_.begin(), timed_.end(),
                   [](const Timed& a, const Timed& b) { return a.time < b.time; });
  for (const Timed& row : timed_) writer_->timed(row.time, row.rank, row.json);
  timed_.clear();
}

/// `row`, `text`: of an event that is ours.
void Replay::judge(const At& at, const Row& row, std::string_view text) {
  now_ = std::max(now_, at.time);
  const TimePoint passed = (reorder_ ? at.time : now_) - milliseconds{1};
  const TimePoint watermark = reorder_ ? std::min(passed, reorder_->watermark()) : passed;
  // When all is read, none of the rows that are still held is earlier than this one.
  advance(watermark, all_read_ ? passed : watermark);
  begin_step();
  if (at.ours) {
    const bool counts = part_.verdicts != EventVerdicts::Keep::severe;
    tally_.set_time(at.time);
    if (writer_ != nullptr) writer_->begin(at.time, at.line);
    between_rows_ = false;
    if (!row.refused) {
      const policies::Verdict& verdict =
          engine_.judge(row, at.line, kinds_[at.stream], now_, sink_);
      if (counts) tally_.judged(verdict);
      verdicts_.add(row.time, verdict.effect);
    } else if (counts) {
      tally_.refused();
    }
    between_rows_ = true;
    if (writer_ != nullptr) writer_->end();
    if (other_ != nullptr) judge_by_other(at.stream, at.line, text);
  }
  // A row that is late may begin what is due already.
  if (has_patterns_ && at.time < timers_) fire_due();
}

void Replay::judge_by_other(std::size_t stream, std::uint64_t line, std::string_view text) {
  Row row;
  if (other_formats_[stream]->read(text, row) != Format::Got::row) return;
  const bool counts = part_.verdicts != EventVerdicts::Keep::severe;
  other_tally_->set_time(row.time);
  if (!row.refused) {
    const policies::Verdict& verdict =
        other_->judge(row, line, other_kinds_[stream], now_, other_sink_);
    if (counts) other_tally_->judged(verdict);
    other_verdicts_.add(row.time, verdict.effect);
  } else if (counts) {
    other_tally_->refused();
  }
}

/// Up to `most` events that are held back. False: there are no more.
bool Replay::release(bool all, std::uint64_t most) {
  for (; most > 0; --most) {
    const auto held = reorder_->release(all);
    if (!held) return false;
    const std::string_view text = reorder_->text(*held);
    const At at{held->stream, held->line, held->time, is_ours(held->owner)};
    Row row;
    if (at.ours && again_[at.stream]->read(text, row) != Format::Got::row) continue;
    judge(at, row, text);
  }
  return true;
}

void Replay::take(std::size_t index) {
  Stream& stream = *streams_[index];
  const TimePoint time = stream.row().time;
  if ((plan_.from && time < *plan_.from) || (plan_.to && time >= *plan_.to)) return;
  ++rows_;
  first_ = first_ ? std::min(*first_, time) : time;
  last_ = last_ ? std::max(*last_, time) : time;
  const bool ours = is_ours(stream.owner());
  if (!reorder_) {
    judge({index, stream.line(), time, ours}, stream.row(), stream.text());
  } else if (reorder_->add(static_cast<std::uint32_t>(index), stream.line(), time, stream.owner(),
                           ours ? stream.text() : std::string_view{})) {
    static_cast<void>(release(false, std::numeric_limits<std::uint64_t>::max()));
    advance(reorder_->watermark(), reorder_->watermark());
  }
}

bool Replay::run(std::uint64_t rows) {
  if (done_) return false;
  std::size_t index = 0;
  while (!all_read_ && rows > 0) {
    all_read_ = next_stream(index) == nullptr;
    if (all_read_) break;
    take(index);
    --rows;
  }
  if (!all_read_ || (reorder_ && release(true, rows))) return true;
  end();
  done_ = true;
  return false;
}

void Replay::merge_verdicts(const Replay& other) {
  verdicts_.apply(other.verdicts_, tally_);
  if (other_tally_) other_verdicts_.apply(other.other_verdicts_, *other_tally_);
}

void Replay::begin_slice() {
  verdicts_.clear();
  other_verdicts_.clear();
}

void Replay::merge(Replay& other) {
  tally_.merge(std::move(other.tally_));
  if (other_tally_) other_tally_->merge(std::move(*other.other_tally_));
  const auto& shown_policies = other.part_.shown_policies;
  for (const policies::Policy& policy : engine_.set().policies) {
    if (!shown_policies.empty() && !shown_policies[policy.index])
      continue;  // we have judged by it as well
    const Misses theirs = other.misses(policy);
    Misses& all = other_misses_[policy.index];
    all.missing += theirs.missing;
    all.late += theirs.late;
    all.amounts_refused += theirs.amounts_refused;
  }
  for (std::size_t i = 0; i < views_.size(); ++i) {
    const Misses theirs = other.view_misses(i);
    other_view_misses_[i].missing += theirs.missing;
    other_view_misses_[i].late += theirs.late;
    if (other.views_[i].windows != 0) views_[i] = std::move(other.views_[i]);
  }
  other_dropped_ += other.dropped();
}

Replay::Misses Replay::misses(const policies::Policy& policy) const {
  const Misses& others = other_misses_[policy.index];
  return {engine_.missing(policy.name) + others.missing, engine_.late(policy.name) + others.late,
          engine_.amounts_refused(policy.name) + others.amounts_refused};
}

Replay::Misses Replay::view_misses(std::size_t view) const {
  const Misses& others = other_view_misses_[view];
  return {engine_.view_missing(view) + others.missing, engine_.view_late(view) + others.late, 0};
}

Replay::Progress Replay::progress() const {
  Progress out;
  out.rows = rows_;
  bool known = true;
  for (const auto& stream : streams_) {
    out.bytes += stream->consumed();
    out.bytes_total += stream->size();
    known = known && stream->size() != 0;
  }
  if (!known) out.bytes_total = 0;
  return out;
}

std::uint64_t Replay::bad() const noexcept {
  std::uint64_t bad = 0;
  for (const auto& stream : streams_) bad += stream->bad().count;
  return bad;
}

std::uint64_t Replay::dropped() const noexcept { return engine_.dropped() + other_dropped_; }

std::string Replay::read_error() const {
  for (const auto& stream : streams_) {
    if (!stream->error().empty()) return stream->path() + ": " + stream->error();
  }
  return {};
}

std::string Replay::summary_json() const {
  const auto number = [](std::uint64_t n) { return std::to_string(n); };
  const std::string refused = tally_.refused_paths() == 0
                                  ? std::string()
                                  : ",\"refused_paths\":" + number(tally_.refused_paths());
  std::string out = "{\"type\":\"summary\",\"rows\":" + number(rows_) +
                    ",\"bad\":" + number(bad()) + refused + ",\"late\":" + number(late()) +
                    ",\"dropped\":" + number(dropped()) + ",\"policies\":{";
  const policies::PolicySet& set = engine_.set();
  bool first = true;
  for (const policies::Policy& policy : set.policies) {
    const PolicyTally& tally = tally_.policies()[policy.index];
    if (!first) out += ',';
    first = false;
    append_json(out, policy.name);
    out += ":{\"events\":" + number(tally.events) +
           (tally.listed == 0 ? "" : ",\"listed\":" + number(tally.listed)) +
           (tally.remembered == 0 ? "" : ",\"remembered\":" + number(tally.remembered)) +
           (tally.unread == 0 ? "" : ",\"unread\":" + number(tally.unread)) +
           ",\"keys\":" + number(tally.maxima.keys()) +
           ",\"keys_hit\":" + number(tally.hits.size() + tally.hits_dropped) +
           ",\"verdicts\":" + number(tally.verdicts()) + ",\"rungs\":[";
    for (std::size_t r = 0; r < tally.rungs.size(); ++r)
      out += (r == 0 ? "" : ",") + number(tally.rungs[r]);
    out += "]";
    const bool own_time =
        !policy.counters.empty() && set.counters[policy.counters.front()].spec.late.has_value();
    if (own_time) out += ",\"late\":" + number(misses(policy).late);
    for (std::size_t k = 0; policy.pattern && k < tally.matches.size(); ++k) {
      out += ",\"";
      out += match_word(static_cast<limiter::MatchKind>(k));
      out += "\":" + number(tally.matches[k]);
    }
    out += "}";
  }
  out += "}";
  first = true;
  for (std::size_t i = 0; i < set.views.size(); ++i) {
    const std::uint64_t late = view_misses(i).late;
    if (late == 0) continue;
    out += first ? ",\"views\":{" : ",";
    first = false;
    append_json(out, set.views[i].name);
    out += ":{\"late\":" + number(late) + "}";
  }
  return out + (first ? "}" : "}}");
}

}  // namespace weir::replay
