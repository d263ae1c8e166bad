#include "store/lists/list_sharer.h"

#include <algorithm>
#include <utility>

#include "core/assert.h"
#include "store/redis/resp_writer.h"

namespace weir::store {
namespace {

// No request waits for a list's call, so a slow server is not given up because of it.
constexpr milliseconds kPatience{1'000};
constexpr milliseconds kConnects{20};
constexpr std::size_t kQuestionsMax = 10'000;

Settings patient(Settings settings) {
  settings.timeout = std::max(settings.timeout, kPatience);
  settings.budget = settings.timeout;
  return settings;
}

}  // namespace

class ListSharer::Exchange final : public ScriptCall {
 public:
  Exchange(ListSharer& owner, const SharedList& list, std::uint64_t seed)
      : shared(list),
        since(owner.worker_.now()),
        sync(owner.bank_, list.id, list.max, owner.origin_, seed),
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
  void send(TimePoint now) {
    const std::uint64_t connects = owner_.store_.stats().connects;
    if (std::exchange(connects_, connects) != connects) sync.doubt();
    words = key_words_;
    count = keys + sync.ask(words, now);
    if (owner_.store_.call(*this)) return;
    sync.failed(now);
    why = owner_.store_.why();
    if (why.empty()) why = "Redis is away";
  }
  void on_answer(const Reply& reply) override {
    const TimePoint now = owner_.worker_.now();
    if (!retired) why = sync.answered(reply, now) ? "" : "its answer is not what was asked for";
    owner_.turn(now);  // a retired one ends here
  }
  void on_failure(limiter::SharedError error, std::string_view text) override {
    const TimePoint now = owner_.worker_.now();
    why = std::string(limiter::row_of(error).name) + ": " + std::string(text);
    sync.failed(now);
    owner_.turn(now);
  }

  SharedList shared;
  const TimePoint since;
  ListSync sync;
  bool retired = false;
  std::string why = "not connected yet";

 private:
  ListSharer& owner_;
  std::string key_words_;
  std::uint64_t connects_ = 0;
};

ListSharer::ListSharer(net::Worker& worker, limiter::ListBank& bank, const HashSecret& secret,
                       Settings settings, std::uint64_t origin)
    : worker_(worker),
      bank_(bank),
      secret_(secret),
      origin_(ListOrigin::of(origin)),
      seed_(origin),
      store_(worker, patient(std::move(settings)), origin),
      self_(std::make_shared<ListSharer*>(this)) {
  // No calls come after the sharer has ended; a function that was posted before may run later.
  bank.on_shared_change([&worker, self = self_] {
    worker.post([self] {
      if (*self != nullptr && (*self)->running_) (*self)->turn((*self)->worker_.now());
    });
  });
}

ListSharer::~ListSharer() {
  for (const auto& exchange : exchanges_) bank_.share(exchange->shared.id, false);
  *self_ = nullptr;
  store_.stop();
}

void ListSharer::start() {
  if (running_) return;
  running_ = true;
  since_ = worker_.now();
  store_.start();
  turn(worker_.now());
}

void ListSharer::stop() {
  if (!running_) return;
  running_ = false;
  net::Wheel::disarm(*this);
  store_.stop();
  for (Question& question : questions_) question.tell(true);
  questions_.clear();
  if (flushed_) std::exchange(flushed_, nullptr)();
}

void ListSharer::flush(std::function<void()> then) {
  WEIR_ASSERT(!flushed_);
  if (!running_ || !store_.stats().up || exchanges_.empty()) return then();
  flushed_ = std::move(then);
  const TimePoint now = worker_.now();
  for (const auto& exchange : exchanges_) {
    exchange->sync.gather(now);
    exchange->sync.hurry(now);
  }
  turn(now);
}

void ListSharer::use(std::vector<SharedList> lists) {
  std::vector<std::unique_ptr<Exchange>> next;
  for (const SharedList& list : lists) {
    const auto same = std::find_if(exchanges_.begin(), exchanges_.end(), [&](const auto& exchange) {
      return exchange != nullptr && exchange->shared.is_same(list);
    });
    if (same != exchanges_.end()) {
      (*same)->use_max(list.max);
      next.push_back(std::move(*same));
    } else {
      next.push_back(std::make_unique<Exchange>(*this, list, seed_ + list.id.index));
      bank_.share(list.id, true);
    }
  }
  for (auto& exchange : exchanges_) {
    if (exchange == nullptr) continue;
    const bool stays = std::any_of(lists.begin(), lists.end(), [&](const SharedList& list) {
      return list.id == exchange->shared.id;
    });
    if (!stays) bank_.share(exchange->shared.id, false);
    exchange->retired = true;
    retired_.push_back(std::move(exchange));
  }
  exchanges_ = std::move(next);
  if (running_) turn(worker_.now());
}

void ListSharer::turn(TimePoint now) {
  if (!running_) return;
  // A first connection takes time: that is not a failure yet.
  const bool connecting = now < since_ + kPatience && !store_.stats().up;
  std::erase_if(retired_, [](const auto& exchange) { return !exchange->flying(); });
  TimePoint next = TimePoint::max();
  bool idle = true;
  for (const auto& exchange : exchanges_) {
    exchange->sync.gather(now);
    if (exchange->sync.due() <= now && !connecting) exchange->send(now);
    next = std::min(next, connecting ? now + kConnects : exchange->sync.due());
    idle = idle && exchange->sync.idle();
  }
  if (flushed_ && (idle || !store_.stats().up)) std::exchange(flushed_, nullptr)();
  answer_questions(now);
  for (const Question& question : questions_) next = std::min(next, question.deadline);
  publish(now);
  if (next != TimePoint::max()) worker_.wheel().arm(*this, next);
}

void ListSharer::ask_maker(limiter::ListId list, const Hash128& key, TimePoint deadline,
                           std::function<void(bool here)> tell) {
  if (!running_ || questions_.size() >= kQuestionsMax) return tell(true);
  questions_.push_back({list, key, deadline, std::move(tell)});
  turn(worker_.now());
}

void ListSharer::answer_questions(TimePoint now) {
  for (std::size_t i = 0; i < questions_.size();) {
    Question& question = questions_[i];
    const auto of = std::find_if(exchanges_.begin(), exchanges_.end(), [&](const auto& exchange) {
      return exchange->shared.id == question.list;
    });
    const auto maker = of != exchanges_.end() ? (*of)->sync.maker(question.key)
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
  out.lists = exchanges_.size();
  out.heard = now;
  ListSync::Stats& sum = out.sum;
  sum.last_answer = now;
  for (const auto& exchange : exchanges_) {
    const ListSync::Stats one = exchange->sync.stats();
    sum.entries += one.entries;
    sum.pending += one.pending;
    sum.sent += one.sent;
    sum.learned += one.learned;
    sum.rounds += one.rounds;
    sum.failures += one.failures;
    sum.dropped += one.dropped;
    sum.refused += one.refused;
    out.heard = std::min(out.heard, one.last_answer.value_or(exchange->since));
    if (!one.last_answer || !sum.last_answer) {
      sum.last_answer.reset();
    } else {
      sum.last_answer = std::min(*sum.last_answer, *one.last_answer);
    }
    if (!exchange->why.empty()) {
      out.up = false;
      out.why = exchange->why;
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
