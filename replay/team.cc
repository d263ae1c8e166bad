#include "replay/team.h"

#include <sys/stat.h>

#include <algorithm>

#include "core/assert.h"
#include "policies/set/compile.h"

namespace weir::replay {
namespace {

/// Whether it can be read again from its beginning.
bool is_plain_file(const std::string& path) {
  struct stat status {};
  return path != "-" && ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

std::vector<bool> told_by(const std::vector<unsigned>& owners, unsigned index) {
  std::vector<bool> out;
  for (const unsigned owner : owners)
    out.push_back(owner == index || (owner == Split::kEvery && index == 0));
  return out;
}

}  // namespace

Team::Team(Task task) : task_(std::move(task)) {}

Team::~Team() { stop(); }

std::unique_ptr<Team> Team::make(Task task, Failure& failure, std::string& problem) {
  std::unique_ptr<Team> out(new Team(std::move(task)));
  out->share_out();
  return out->start(failure, problem) ? std::move(out) : nullptr;
}

void Team::share_out() {
  if (task_.threads < 2) {
    split_.text = "one is asked for";
    return;
  }
  for (const Plan::Source& source : task_.plan.sources) {
    if (is_plain_file(source.path)) continue;
    split_.text = source.path + " is not a plain file, and is read once";
    return;
  }
  const policies::PolicySet* const other = task_.other ? task_.other->set.get() : nullptr;
  split_ = make_split(*task_.side.set, other, task_.threads, task_.rows.has_value());
}

/// Judges read too. One more thread for each of them reads faster than they judge.
void Team::begin_reading() {
  reader_.reset();
  const unsigned judges = split_.threads;
  if (task_.threads < 2) return;
  reader_ = std::make_unique<ParallelReader>(judges, std::min(judges, task_.threads - judges),
                                             task_.block);
}

/// The reader finds the owner of each row while it parses the row.
void Team::share_out_rows() {
  const Engine& engine = *members_.front()->engine;
  reader_->share_out([&] {
    return std::make_unique<RowShare>(engine.set(), split_.places, engine.secret(), split_.threads);
  });
}

/// Routes and keys mean the same to all judges, and are found once for all of them. Where rows are
/// shared out, each row has one judge, which finds them as well as its reader does. Rows that are
/// sorted are read again when they are judged.
void Team::prepare_requests() {
  if (task_.plan.lateness) return;
  const Engine& engine = *members_.front()->engine;
  reader_->prepare(
      [&] { return std::make_unique<policies::Preparing>(engine.set(), engine.secret()); });
}

bool Team::start(Failure& failure, std::string& problem) {
  if (task_.rows)
    rows_.emplace([this](std::string_view text) { give(text); }, task_.rows->readings,
                  task_.rows->form);
  begin_reading();
  for (unsigned i = 0; i < split_.threads; ++i) {
    if (!add_member(i, failure, problem)) return false;
  }
  if (reader_) reader_->start();
  for (std::size_t i = 1; i < members_.size(); ++i)
    members_[i]->thread = std::thread([this, i] { run_slices(*members_[i]); });
  return true;
}

/// The set of the first part, once, is the one that was given; the others are compiled of the same
/// model.
std::shared_ptr<policies::PolicySet> Team::part_of(const Task::Side& side,
                                                   const std::vector<unsigned>& policies,
                                                   const std::vector<unsigned>& views,
                                                   unsigned index) {
  std::shared_ptr<policies::PolicySet> set = side.set;
  if (index != 0 || !restarted_.empty()) {
    config::Problems problems;
    set = policies::compile(*side.model, problems);
    WEIR_ASSERT(set != nullptr);  // it has been compiled before
  }
  if (split_.by == Split::By::policies) keep_part(*set, policies, views, index);
  return set;
}

std::unique_ptr<Engine> Team::engine_of(const Task::Side& side,
                                        const std::vector<unsigned>& policies,
                                        const std::vector<unsigned>& views, unsigned index,
                                        std::string& problem) {
  const auto order = task_.plan.lateness ? Engine::Order::time : Engine::Order::arrival;
  auto engine = Engine::make(*side.model, part_of(side, policies, views, index), order, problem);
  if (engine != nullptr && task_.prepare) task_.prepare(*engine);
  return engine;
}

bool Team::add_member(unsigned index, Failure& failure, std::string& problem) {
  Member& member = *members_.emplace_back(std::make_unique<Member>());
  failure = Failure::configuration;
  member.engine = engine_of(task_.side, split_.policies, split_.views, index, problem);
  if (member.engine == nullptr) return false;
  if (task_.other) {
    const std::vector<unsigned> none(task_.other->set->views.size(), 0);
    member.other = engine_of(*task_.other, split_.other_policies, none, index, problem);
    if (member.other == nullptr) return false;
  }
  Part part;
  part.index = index;
  part.reader = reader_.get();
  part.by_rows = split_.by == Split::By::rows;
  if (reader_ && index == 0) part.by_rows ? share_out_rows() : prepare_requests();
  if (split_.by == Split::By::policies) {
    part.verdicts = index == 0 ? EventVerdicts::Keep::all : EventVerdicts::Keep::severe;
    if (index != 0) {
      part.shown_policies = told_by(split_.policies, index);
      part.other_shown_policies = told_by(split_.other_policies, index);
    }
  }
  RowWriter* writer = rows_ ? &*rows_ : nullptr;
  if (rows_ && split_.threads > 1)
    writer = &member.rows.emplace(member.pieces, task_.rows->readings, task_.rows->form);
  failure = Failure::input;
  member.replay = Replay::make(task_.plan, *member.engine, member.other.get(), writer, problem,
                               std::move(part));
  if (member.replay == nullptr) return false;
  member.replay->use_labels(task_.labels);
  failure = Failure::none;
  return true;
}

void Team::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  begins_.notify_all();
  for (const auto& member : members_) {
    if (member->thread.joinable()) member->thread.join();
  }
}

void Team::run_slices(Member& member) {
  for (std::uint64_t done = 0;; ++done) {
    std::uint64_t rows = 0;
    {
      std::unique_lock lock(mutex_);
      begins_.wait(lock, [&] { return stopping_ || slice_ > done; });
      if (stopping_) return;
      rows = slice_rows_;
    }
    member.more = member.replay->run(rows);
    const std::lock_guard lock(mutex_);
    if (--running_ == 0) ends_.notify_one();
  }
}

/// A slice by all threads; returns when each has done its part.
void Team::run_all(std::uint64_t rows) {
  {
    const std::lock_guard lock(mutex_);
    ++slice_;
    slice_rows_ = rows;
    running_ = members_.size() - 1;
  }
  begins_.notify_all();
  members_.front()->more = members_.front()->replay->run(rows);
  std::unique_lock lock(mutex_);
  ends_.wait(lock, [&] { return running_ == 0; });
}

bool Team::run(std::uint64_t rows) {
  Replay& first = *members_.front()->replay;
  if (members_.size() == 1) return first.run(rows);
  run_all(rows);
  if (const std::string why = lack_of_room(); !why.empty()) return start_again(why);
  for (std::size_t i = 1; i < members_.size(); ++i) {
    first.merge_verdicts(*members_[i]->replay);
    members_[i]->replay->begin_slice();
  }
  first.begin_slice();
  if (rows_) merge_rows();
  if (members_.front()->more) return true;
  for (std::size_t i = 1; i < members_.size(); ++i) first.merge(*members_[i]->replay);
  for (const Tally* tally : {&first.tally(), first.other_tally()}) {
    if (split_.by == Split::By::rows && tally != nullptr && tally->overflowed())
      return start_again("more keys are hit than a report keeps");
  }
  return false;
}

void Team::merge_rows() {
  std::vector<RowPieces*> parts;
  for (const auto& member : members_) parts.push_back(&member->pieces);
  merge_pieces(parts, [this](std::string_view text) { rows_->lines(text); });
}

/// All threads together stay within the limit of one thread: then no key would have been dropped
/// for lack of room, in any order of keys.
std::string Team::lack_of_room() const {
  std::string why = lack_of_room(false);
  return why.empty() && task_.other ? lack_of_room(true) : why;
}

std::string Team::lack_of_room(bool of_other) const {
  Engine::Room all;
  for (const auto& member : members_) {
    const Engine& engine = of_other ? *member->other : *member->engine;
    const Engine::Room room = engine.room();
    all.keys += room.keys;
    all.memory += room.memory;
    all.patterns += room.patterns;
    all.lost += room.lost;
    all.keys_most = room.keys_most;
    all.memory_most = room.memory_most;
    all.patterns_most = room.patterns_most;
    all.lists.resize(room.lists.size());
    for (std::size_t i = 0; i < room.lists.size(); ++i) {
      all.lists[i] += room.lists[i];
      const bool shared_out = split_.by == Split::By::rows;
      if (shared_out && 2 * all.lists[i] > engine.set().lists[i].max)
        return "list " + engine.set().lists[i].name + " becomes full";
    }
  }
  if (all.lost != 0 || 8 * all.keys > 5 * all.keys_most || 2 * all.memory > all.memory_most ||
      2 * all.patterns > all.patterns_most) {
    return "there are many keys for limits.memory and limits.keys";
  }
  return {};
}

/// Begins again with one judge. Rows that were written are not written again: up to here they are
/// equal to those of one thread.
bool Team::start_again(const std::string& why) {
  stop();
  reader_.reset();  // its threads use the judges' sets
  members_.clear();
  rows_.reset();
  restarted_ = why;
  split_ = {};
  split_.text = why;
  again_ = std::max(again_, given_);
  given_ = 0;
  Failure failure = Failure::none;
  return start(failure, failed_);
}

void Team::give(std::string_view text) {
  const std::uint64_t before = given_;
  given_ += text.size();
  if (given_ <= again_) return;
  task_.rows->out(before < again_ ? text.substr(again_ - before) : text);
}

void Team::finish_rows() {
  if (!rows_) return;
  rows_->line(replay().summary_json());
  rows_->flush();
}

}  // namespace weir::replay
