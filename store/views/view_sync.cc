#include "store/views/view_sync.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "core/number.h"
#include "store/resp/resp_writer.h"

namespace weir::store {
namespace {

constexpr std::size_t kHeader = 16;         // of a piece: origin, number
constexpr std::size_t kOriginsMax = 2'000;  // whose pieces are known by number
constexpr std::size_t kOldMax = 24;         // pieces of a fold: an answer holds 8 MiB
constexpr std::size_t kBasesOfCall = 512;   // keys
constexpr std::size_t kBaseBytesOfCall = std::size_t{2} << 20;
constexpr std::size_t kBaseBytesMax = std::size_t{7} << 20;
constexpr std::int64_t kSequenceMax = kExactInteger;

std::string bytes_of(std::uint64_t number) {
  std::string out(sizeof number, '\0');
  std::memcpy(out.data(), &number, sizeof number);
  return out;
}

/// Hears the starts of a chunk's panes, and nothing else.
class PaneStarts final : public limiter::ChunkSink {
 public:
  explicit PaneStarts(std::set<std::int64_t>& out) : out_(out) {}
  bool on_pane(const limiter::ViewPane& pane) override {
    out_.insert(pane.start);
    return false;
  }
  void on_key(std::string_view, const limiter::ViewPart&) override {}
  void on_member(std::string_view, const Hash128&) override {}
  void on_register(std::string_view, std::uint32_t) override {}

 private:
  std::set<std::int64_t>& out_;
};

}  // namespace

/// Appends words of a call.
class ViewSync::Words {
 public:
  explicit Words(std::string& out) : out_(out) {}
  void key(std::string_view name) {
    append_bulk(out_, name);
    ++question_.keys;
    ++question_.words;
  }
  void word(std::string_view text) {
    append_bulk(out_, text);
    ++question_.words;
  }
  void number(std::int64_t value) { word(std::to_string(value)); }
  Question question() const noexcept { return question_; }

 private:
  std::string& out_;
  Question question_;
};

/// Walks an answer.
class ViewSync::Heard {
 public:
  explicit Heard(const Reply& reply) : reply_(reply) {}
  bool integer(std::int64_t& out, std::int64_t least = 0) {
    if (!is(Reply::Type::integer)) return false;
    out = reply_[at_++].integer;
    return out >= least && out <= kSequenceMax;
  }
  bool string(std::string_view& out) {
    if (!is(Reply::Type::string)) return false;
    out = reply_.text(reply_[at_++]);
    return true;
  }

 private:
  bool is(Reply::Type type) const { return at_ < reply_.size() && reply_[at_].type == type; }
  const Reply& reply_;
  std::size_t at_ = 1;
};

ViewSync::ViewSync(limiter::SharedView& view, std::string stem, const HashSecret& secret,
                   std::uint64_t origin, milliseconds fold_age)
    : view_(view),
      stem_(std::move(stem)),
      secret_(secret),
      origin_(bytes_of(origin)),
      fresh_(origin_ + bytes_of(secret.hash(origin_).lo)),
      fold_age_(fold_age),
      spans_(view.spec()),
      fold_(view.spec()) {
  fold_.limit(kFoldMax);
}

std::vector<std::int64_t> ViewSync::open_panes(TimePoint wall) const {
  if (spans_.endless()) return {spans_.pane(0).start};
  std::vector<std::int64_t> out;
  const std::int64_t end = to_ms(wall) + kInterval.count();
  // Windows stay open a little longer, for late events.
  const std::int64_t begin = spans_.first(to_ms(wall) - 60 * kInterval.count()).start;
  for (limiter::Span pane = spans_.pane(begin); pane.start <= end; pane = spans_.pane(pane.end)) {
    out.push_back(pane.start);
  }
  return out;
}

std::string ViewSync::base_key(std::int64_t pane) const {
  return stem_ + ':' + (spans_.endless() ? std::string("all") : std::to_string(pane));
}

milliseconds ViewSync::lifetime() const {
  if (spans_.endless()) return kEndless;
  const limiter::Span window = spans_.first(to_ms(wall_));
  return milliseconds{window.end - window.start} + kAfterwards;
}

milliseconds ViewSync::base_lifetime(std::int64_t pane, TimePoint wall) const {
  if (spans_.endless()) return kEndless;
  return std::max(milliseconds{0}, from_ms(spans_.last(pane).end) - wall) + kAfterwards;
}

ViewSync::Question ViewSync::ask(std::string& words, TimePoint now, TimePoint wall, bool may_fold) {
  flying_ = true;
  wall_ = wall;
  asked_at_ = now;
  asked_ = 0;
  Words out(words);
  switch (step_) {
    case Step::meet:
    case Step::log:
    case Step::exchange:
      ask_exchange(out, may_fold);
      break;
    case Step::bases: {
      const std::size_t end = std::min(panes_.size(), pane_ + kBasesOfCall);
      for (std::size_t i = pane_; i < end; ++i) out.key(base_key(panes_[i]));
      out.word("bases");
      out.number(static_cast<std::int64_t>(kBaseBytesOfCall));
      out.number(static_cast<std::int64_t>(kBaseBytesMax));
      break;
    }
    case Step::fold:
      out.key(base_key(panes_[pane_]));
      out.word("bases");
      out.number(1);
      out.number(static_cast<std::int64_t>(kBaseBytesMax));
      break;
    case Step::old:
      for (const char* name : {"", ":order", ":who"}) out.key(stem_ + name);
      out.word("old");
      out.number(0);
      out.number(fold_age_.count());
      out.number(static_cast<std::int64_t>(kOldMax));
      break;
    case Step::write:
      out.key(base_key(panes_[pane_]));
      out.word("write");
      out.number(fold_base_);
      out.number(fold_upto_);
      out.number(base_lifetime(panes_[pane_], wall).count());
      for (const std::string& chunk : write_) out.word(chunk);
      break;
    case Step::fill:
      out.key(base_key(filling_.begin()->first));
      out.word("write");
      out.number(0);
      out.number(last_);
      out.number(base_lifetime(filling_.begin()->first, wall).count());
      for (const std::string& chunk : filling_.begin()->second) out.word(chunk);
      break;
    case Step::filled:
      for (const char* name : {"", ":order", ":who"}) out.key(stem_ + name);
      out.word("filled");
      out.word(epoch_);
      for (const auto& [origin, number] : read_) {
        out.word(origin);
        out.number(static_cast<std::int64_t>(number));
      }
      break;
    case Step::cut:
      for (const char* name : {"", ":order", ":who"}) out.key(stem_ + name);
      out.word("cut");
      out.word(epoch_);
      out.number(fold_upto_);
      out.number(static_cast<std::int64_t>(fold_bytes_));
      break;
  }
  return out.question();
}

void ViewSync::ask_exchange(Words& out, bool may_fold) {
  const bool exchanges = step_ == Step::exchange;
  const bool brings = exchanges && !may_be_forgotten();
  if (brings) gather();
  for (const char* name : {"", ":order", ":who"}) out.key(stem_ + name);
  out.word("exchange");
  out.word(epoch_);
  out.word(fresh_);
  out.word(origin_);
  out.number(step_ == Step::meet ? -1 : cursor_);
  out.number(static_cast<std::int64_t>(kPiecesMax));
  out.word(exchanges ? origin_ : "");
  out.number(lifetime().count());
  out.word(exchanges && may_fold ? "1" : "0");
  std::size_t bytes = 0;
  for (const Piece& piece : queue_) {
    if (!brings || (asked_ != 0 && bytes + piece.bytes.size() > kPieceBytesOfCall)) break;
    out.number(static_cast<std::int64_t>(piece.number));
    out.word(piece.bytes);
    bytes += piece.bytes.size();
    ++asked_;
  }
}

void ViewSync::gather() {
  if (!queue_.empty() || fills_) return;
  hurries_ = false;
  std::vector<std::string> chunks;
  view_.take_delta(kPieceMax, chunks);
  for (const std::string& chunk : chunks) {
    ++number_;
    queue_.push_back({number_, origin_ + bytes_of(number_) + chunk, {}, false});
  }
}

bool ViewSync::answered(const Reply& reply, TimePoint now) {
  flying_ = false;
  due_ = now;  // the steps of one turn follow one another
  const bool sound = reply.root().type == Reply::Type::array && take(reply, now);
  if (!sound) failed(now, "its answer is not what was asked for");
  return sound;
}

void ViewSync::failed(TimePoint now, std::string why) {
  for (std::size_t i = 0; i < asked_; ++i) queue_[i].in_doubt = true;
  not_sent(now, std::move(why));
}

void ViewSync::not_sent(TimePoint now, std::string why) {
  flying_ = hurries_ = false;
  due_ = now + kInterval;
  if (is_folding()) end_fold(due_);  // some replica folds later
  publish(false, std::move(why));
}

bool ViewSync::take(const Reply& reply, TimePoint now) {
  Heard heard(reply);
  std::int64_t time = 0;
  if (!heard.integer(time)) return false;
  switch (step_) {
    case Step::meet:
    case Step::log:
    case Step::exchange:
      return take_exchange(heard, now);
    case Step::bases:
      return take_bases(heard);
    case Step::old:
      return take_old(heard);
    case Step::fold:
      return take_fold_base(heard);
    case Step::write:
      return take_written(heard);
    case Step::fill:
      filling_.erase(filling_.begin());  // be it written, or there already
      next_fill();
      return true;
    case Step::filled:
      fills_ = false;
      step_ = Step::exchange;
      return true;
    case Step::cut:
      end_fold(now);
      return true;
  }
  return false;
}

bool ViewSync::take_exchange(Heard& heard, TimePoint now) {
  std::string_view epoch;
  std::int64_t folded = 0, number = 0, fold = 0, alive = 0, silent = 0;
  if (!heard.string(epoch) || epoch.size() != fresh_.size() || !heard.integer(folded) ||
      !heard.integer(last_) || !heard.integer(number, -1) || !heard.integer(fold) ||
      !heard.integer(alive) || !heard.integer(silent)) {
    return false;
  }
  sharing_.replicas = static_cast<std::uint64_t>(alive);
  sharing_.silent = static_cast<std::uint64_t>(silent);
  if (!epoch_.empty() && epoch != epoch_ && step_ != Step::log) {
    lost_memory(epoch);
    return true;
  }
  if (fold == 2 && step_ != Step::exchange) {
    due_ = now + kInterval;
    publish(false, "another replica fills Redis again");
    return true;
  }
  const bool met = epoch_ == epoch;
  // It is unknown whether the store has these pieces. Sending them again could count them twice for
  // a whole window, so they are dropped.
  if (met && number == 0 && may_be_forgotten())
    std::erase_if(queue_, [](const Piece& piece) { return piece.in_doubt; });
  heard_at_ = asked_at_;
  adopt(epoch);
  settle(number, now);
  asked_ = 0;  // the store has answered which of them it has
  if (step_ == Step::meet) {
    if (met) {  // it was here before, and has been away for too long
      view_.begin_again();
      for (const Piece& piece : queue_) {
        view_.absorb(std::string_view(piece.bytes).substr(kHeader), [](auto) { return true; });
      }
    }
    cursor_ = folded;
    begin_loading();
    return true;
  }
  if (!met || folded > cursor_) {  // unread pieces are no longer in the log
    step_ = Step::meet;
    return true;
  }
  std::int64_t count = 0;
  if (!take_pieces(heard, count)) return false;
  const bool all = count < static_cast<std::int64_t>(kPiecesMax);
  if (step_ == Step::log && all) {
    loaded_.clear();
    step_ = Step::exchange;
  }
  const bool full = number < 0;
  const bool waits = fold == 2;
  if (fills_ && queue_.empty()) {
    next_fill();
    return true;
  }
  if (all && (queue_.empty() || full || waits)) due_ = now + kInterval;
  publish(all && step_ == Step::exchange && !full && !waits,
          full    ? "its log is full: other replicas don't fold it"
          : waits ? "another replica fills Redis again"
                  : "other replicas' counts load");
  if (fold == 1 && step_ == Step::exchange) {
    step_ = Step::old;
    due_ = now;
  }
  return true;
}

/// Whether it was this replica that began it.
bool ViewSync::adopt(std::string_view epoch) {
  const bool own = epoch == fresh_;
  epoch_ = epoch;
  if (own) fresh_ = origin_ + bytes_of(secret_.hash(origin_).lo + ++epochs_);
  return own;
}

/// The store has lost its memory, but this replica has not: it continues, and resends what others
/// may not have received. If it is the first to notice, it fills the store with what it has.
void ViewSync::lost_memory(std::string_view epoch) {
  fills_ = adopt(epoch);
  heard_at_ = asked_at_;
  cursor_ = 0;
  queue_.insert(queue_.begin(), std::make_move_iterator(recent_.begin()),
                std::make_move_iterator(recent_.end()));
  recent_.clear();
  step_ = Step::exchange;
  filling_.clear();
  if (!fills_) return;
  std::vector<std::string> delta;
  view_.take_all(kPieceMax, kPaneMax, filling_, delta);
  for (const std::string& chunk : delta) {
    ++number_;
    queue_.push_back({number_, origin_ + bytes_of(number_) + chunk, {}, false});
  }
}

/// Its pieces are in the log, so bases that have them go up to its end.
void ViewSync::next_fill() { step_ = filling_.empty() ? Step::filled : Step::fill; }

/// The store has pieces up to this number; -1: it has no room.
void ViewSync::settle(std::int64_t number, TimePoint now) {
  while (!recent_.empty() && recent_.front().sent + kRecent < now) recent_.pop_front();
  while (!queue_.empty() && static_cast<std::int64_t>(queue_.front().number) <= number) {
    sharing_.sent += queue_.front().bytes.size();
    queue_.front().sent = now;
    recent_.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
}

bool ViewSync::may_be_forgotten() const noexcept {
  return heard_at_ != TimePoint{} && asked_at_ - heard_at_ >= kForgets;
}

bool ViewSync::take_pieces(Heard& heard, std::int64_t& count) {
  if (!heard.integer(count)) return false;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t sequence = 0;
    std::string_view bytes;
    if (!heard.integer(sequence) || !heard.string(bytes) || sequence <= cursor_) return false;
    cursor_ = sequence;
    take_piece(sequence, bytes);
  }
  return true;
}

void ViewSync::take_piece(std::int64_t sequence, std::string_view bytes) {
  if (bytes.size() < kHeader) return;  // one's own, or nothing
  std::uint64_t number = 0;
  std::memcpy(&number, bytes.data() + origin_.size(), sizeof number);
  const std::string_view origin = bytes.substr(0, origin_.size());
  if (origin == origin_ && step_ == Step::exchange) return;
  auto known = read_.find(origin);
  if (known == read_.end()) {
    if (read_.size() >= kOriginsMax) read_.erase(read_.begin());
    known = read_.emplace(origin, 0).first;
  }
  if (number <= known->second) return;
  known->second = number;
  sharing_.received += bytes.size();
  // An unreadable piece may come from another version: the rest counts.
  view_.absorb(bytes.substr(kHeader), [&](std::int64_t pane) {
    const auto base = loaded_.find(pane);
    return base == loaded_.end() || sequence > base->second;
  });
}

void ViewSync::begin_loading() {
  loaded_.clear();
  read_.clear();
  panes_ = open_panes(wall_);
  pane_ = 0;
  step_ = Step::bases;
}

bool ViewSync::take_bases(Heard& heard) {
  std::int64_t count = 0;
  if (!heard.integer(count, 1)) return false;
  for (std::int64_t i = 0; i < count && pane_ < panes_.size(); ++i, ++pane_) {
    std::int64_t upto = 0, chunks = 0;
    if (!heard.integer(upto) || !heard.integer(chunks)) return false;
    loaded_[panes_[pane_]] = upto;
    for (std::int64_t k = 0; k < chunks; ++k) {
      std::string_view chunk;
      if (!heard.string(chunk)) return false;
      sharing_.received += chunk.size();
      view_.absorb(chunk, [&](std::int64_t pane) { return pane == panes_[pane_]; });
    }
  }
  if (pane_ == panes_.size()) step_ = Step::log;
  return true;
}

bool ViewSync::take_old(Heard& heard) {
  std::int64_t count = 0;
  if (!heard.integer(count)) return false;
  old_.clear();
  std::set<std::int64_t> panes;
  PaneStarts starts(panes);
  const limiter::ViewShape shape = limiter::ViewShape::of(view_.spec());
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t sequence = 0;
    std::string_view bytes;
    if (!heard.integer(sequence) || !heard.string(bytes)) return false;
    const std::string_view chunk = bytes.substr(std::min(bytes.size(), kHeader));
    limiter::read_chunk(chunk, shape, starts);
    old_.emplace_back(sequence, chunk);
    fold_upto_ = sequence;
  }
  panes_.clear();
  for (const std::int64_t pane : panes) {
    if (spans_.endless() || from_ms(spans_.last(pane).end) + kAfterwards > wall_) {
      panes_.push_back(pane);
    }
  }
  pane_ = 0;
  fold_bytes_ = 0;
  step_ = old_.empty() ? Step::exchange : Step::fold;
  if (step_ == Step::fold && panes_.empty()) step_ = Step::cut;
  return true;
}

bool ViewSync::take_fold_base(Heard& heard) {
  std::int64_t count = 0, chunks = 0;
  const std::int64_t pane = panes_[pane_];
  if (!heard.integer(count, 1) || !heard.integer(fold_base_) || !heard.integer(chunks))
    return false;
  fold_.clear();
  for (std::int64_t k = 0; k < chunks; ++k) {
    std::string_view chunk;
    if (!heard.string(chunk)) return false;
    fold_.absorb(chunk, secret_, pane);
  }
  if (fold_base_ >= fold_upto_) {  // a fold that did not come to its end has done it
    next_fold();
    return true;
  }
  for (const auto& [sequence, chunk] : old_) {
    if (sequence > fold_base_) fold_.absorb(chunk, secret_, pane);
  }
  write_.clear();
  fold_.take(kPieceMax, write_, kPaneMax);
  for (const std::string& chunk : write_) fold_bytes_ += chunk.size();
  step_ = Step::write;
  return true;
}

bool ViewSync::take_written(Heard& heard) {
  std::int64_t written = 0;
  if (!heard.integer(written)) return false;
  if (written == 0) {
    end_fold(due_);  // another replica folds
  } else {
    next_fold();
  }
  return true;
}

void ViewSync::next_fold() { step_ = ++pane_ < panes_.size() ? Step::fold : Step::cut; }

void ViewSync::end_fold(TimePoint now) {
  step_ = Step::exchange;
  due_ = now;
  old_.clear();
  write_.clear();
  fold_.clear();
}

void ViewSync::publish(bool complete, std::string why) {
  sharing_.up = complete;
  sharing_.why = complete ? std::string() : std::move(why);
  if (complete) sharing_.synced = asked_at_;
  sharing_.lost = fold_.lost();
  sharing_.pending = 0;
  for (const Piece& piece : queue_) sharing_.pending += piece.bytes.size();
  view_.heard(sharing_);
}

}  // namespace weir::store
