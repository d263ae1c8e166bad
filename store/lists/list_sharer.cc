#include "store/lists/list_sharer.h"

#include <algorithm>
#include <utility>

#include "store/resp/resp_writer.h"

namespace weir::store {
namespace {

constexpr std::size_t kQuestionsMax = 10'000;

}  // namespace

class ListSharer::ListSide final : public Side {
 public:
  ListSide(ListSharer& owner, const SharedList& list)
      : Side(owner),
        shared(list),
        since(owner.now()),
        sync(owner.bank_, list.id, list.max, owner.origin_, owner.seed_ + list.id.index),
        owner_(owner) {
    const auto names = list_keys(list.name, owner.secret_.hash("list").owned_by(list.identity));
    for (const std::string& name : names) append_bulk(key_words_, name);
    script = &list_script();
    slot = slot_of(names.front());
    keys = static_cast<unsigned>(names.size());
  }

  void use_max(std::size_t max) {
    shared.max = max;
    sync.set_max(max);
  }
  void gather(TimePoint now) override { sync.gather(now); }
  TimePoint due() const noexcept override { return sync.due(); }
  void ask(TimePoint now) override {
    const std::uint64_t connects = owner_.connects();
    if (std::exchange(connects_, connects) != connects) sync.doubt();
    words = key_words_;
    count = keys + sync.ask(words, now);
  }
  void answered(const Reply& reply, TimePoint now) override {
    why = sync.answered(reply, now) ? "" : "its answer is not what was asked for";
  }
  void failed(TimePoint now, std::string reason, bool) override {
    why = std::move(reason);
    sync.failed(now);
  }
  void hurry(TimePoint now) override {
    sync.gather(now);
    sync.hurry(now);
  }
  bool is_sent() const noexcept override { return sync.idle(); }

  SharedList shared;
  const TimePoint since;
  ListSync sync;
  std::string why = "not connected yet";

 private:
  ListSharer& owner_;
  std::string key_words_;
  std::uint64_t connects_ = 0;
};

ListSharer::ListSide& ListSharer::list_of(Side& side) noexcept {
  return static_cast<ListSide&>(side);
}

ListSharer::ListSharer(net::Worker& worker, limiter::ListBank& bank, const HashSecret& secret,
                       Settings settings, std::uint64_t origin)
    : ScriptSharer(worker, std::move(settings), origin),
      bank_(bank),
      secret_(secret),
      origin_(ListOrigin::of(origin)),
      seed_(origin),
      self_(std::make_shared<ListSharer*>(this)) {
  // No calls come after the sharer has ended; a function that was posted before may run later.
  bank.on_shared_change([&worker, self = self_] {
    worker.post([self] {
      if (*self != nullptr) (*self)->turn((*self)->now());
    });
  });
}

ListSharer::~ListSharer() {
  for (const auto& side : sides()) bank_.share(list_of(*side).shared.id, false);
  *self_ = nullptr;
}

void ListSharer::stop() {
  if (!is_running()) return;
  ScriptSharer::stop();
  for (Question& question : questions_) question.tell(true);
  questions_.clear();
}

void ListSharer::use(const std::vector<SharedList>& lists) {
  for (const auto& side : sides()) {
    const limiter::ListId id = list_of(*side).shared.id;
    const bool stays = std::any_of(lists.begin(), lists.end(),
                                   [id](const SharedList& list) { return list.id == id; });
    if (!stays) bank_.share(id, false);
  }
  Sides next;
  for (const SharedList& list : lists) {
    std::unique_ptr<Side> same = leave([&list](const Side& side) {
      return static_cast<const ListSide&>(side).shared.is_same(list);
    });
    if (same == nullptr) {
      same = std::make_unique<ListSide>(*this, list);
      bank_.share(list.id, true);
    }
    list_of(*same).use_max(list.max);
    next.push_back(std::move(same));
  }
  share(std::move(next));
}

void ListSharer::turned(TimePoint now, TimePoint& next) {
  answer_questions(now);
  for (const Question& question : questions_) next = std::min(next, question.deadline);
  publish(now);
}

void ListSharer::ask_maker(limiter::ListId list, const Hash128& key, TimePoint deadline,
                           std::function<void(bool here)> tell) {
  if (!is_running() || questions_.size() >= kQuestionsMax) return tell(true);
  questions_.push_back({list, key, deadline, std::move(tell)});
  turn(now());
}

void ListSharer::answer_questions(TimePoint now) {
  for (std::size_t i = 0; i < questions_.size();) {
    Question& question = questions_[i];
    const auto of = std::find_if(sides().begin(), sides().end(), [&](const auto& side) {
      return list_of(*side).shared.id == question.list;
    });
    const auto maker = of != sides().end() ? list_of(**of).sync.maker(question.key)
                                           : ListSync::Maker::here;  // shared no more
    if (maker == ListSync::Maker::not_known_yet && now < question.deadline) {
      ++i;
      continue;
    }
    const auto tell = std::move(question.tell);
    questions_.erase(questions_.begin() + static_cast<std::ptrdiff_t>(i));
    tell(maker != ListSync::Maker::elsewhere);
  }
}

void ListSharer::publish(TimePoint now) {
  ListSharingStats out;
  out.up = true;
  out.lists = sides().size();
  out.heard = now;
  ListSync::Stats& sum = out.sum;
  sum.last_answer = now;
  for (const auto& side : sides()) {
    const ListSide& list = list_of(*side);
    const ListSync::Stats one = list.sync.stats();
    sum.entries += one.entries;
    sum.pending += one.pending;
    sum.sent += one.sent;
    sum.learned += one.learned;
    sum.rounds += one.rounds;
    sum.failures += one.failures;
    sum.dropped += one.dropped;
    sum.refused += one.refused;
    out.heard = std::min(out.heard, one.last_answer.value_or(list.since));
    if (!one.last_answer || !sum.last_answer) {
      sum.last_answer.reset();
    } else {
      sum.last_answer = std::min(*sum.last_answer, *one.last_answer);
    }
    if (!list.why.empty()) {
      out.up = false;
      out.why = list.why;
    }
  }
  const std::scoped_lock hold(mutex_);
  published_ = std::move(out);
}

ListSharingStats ListSharer::stats() const {
  const std::scoped_lock hold(mutex_);
  return published_;
}

milliseconds ListSharingStats::lag(TimePoint now) const noexcept {
  if (lists == 0) return milliseconds{0};
  return std::max(milliseconds{0}, now - heard);
}

}  // namespace weir::store
