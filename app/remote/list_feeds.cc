#include "app/remote/list_feeds.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "app/remote/remote_text.h"
#include "app/support/files.h"
#include "app/support/thread.h"
#include "config/text/secrets.h"
#include "core/no_memory.h"
#include "net/deadline.h"
#include "policies/set/bulk_text.h"

namespace weir::app {

namespace asio = boost::asio;

namespace {

constexpr milliseconds kFeedLimit{60'000};  // for what a reload's lists are read from

/// A lower priority than that of the threads that serve requests. Beside a worker that is never
/// idle, the thread gets a tenth of a core. At 19 that would be 1.5 %, and a list of millions would
/// take minutes, or would never end. A thread that has lowered its priority cannot raise it again,
/// so there is one for all loads.
constexpr int kNiceness = 10;
constexpr std::size_t kEntriesMax = 50'000'000;
constexpr std::size_t kReasonMax = 512;
constexpr const char* kNoMemory = "no memory";  // short: the text itself takes none

/// The attributes of a file that change if it is replaced or written to.
struct FileMark {
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  timespec modified{};
  bool there = false;
  bool operator==(const FileMark& o) const noexcept {
    return there == o.there && device == o.device && inode == o.inode && size == o.size &&
           modified.tv_sec == o.modified.tv_sec && modified.tv_nsec == o.modified.tv_nsec;
  }
};

FileMark mark_of(const std::string& path) noexcept {
  struct stat status {};
  FileMark out;
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return out;
  out.device = status.st_dev;
  out.inode = status.st_ino;
  out.size = status.st_size;
  out.modified = status.st_mtim;
  out.there = true;
  return out;
}

/// The list and the source of its entries: the slot stays as long as this text does.
std::string source_of(const policies::List& list) {
  std::string out = list.kept_as + "\n";
  if (list.file) return out + *list.file;
  const auto add = [&out](const std::optional<config::Text>& text) {
    out += "\n" + (text ? text->value : std::string("-"));
  };
  out += list.url->url.value + "\n" + std::to_string(list.url->every.count());
  for (const auto* text :
       {&list.url->sha256, &list.url->signer, &list.url->token_file, &list.url->ca_file})
    add(*text);
  return out;
}

std::string joined_problems(const std::vector<std::string>& problems, std::size_t count) {
  std::string out;
  for (const std::string& problem : problems) {
    if (out.size() > kReasonMax) break;
    out += (out.empty() ? "" : "; ") + problem;
  }
  if (count > 1) out += " (" + std::to_string(count) + " lines are wrong)";
  return out;
}

}  // namespace

struct ListFeeds::Feed {
  policies::List shape;  // for reading entries; has none itself
  std::string source;
  std::shared_ptr<limiter::BulkSlot> slot = std::make_shared<limiter::BulkSlot>();
  std::unique_ptr<RemoteText> remote;
  TimePoint next_ask{};
  FileMark loaded, seen;
  bool fresh = true;  // not looked at yet
  // With the mutex:
  admin::SourceFacts facts;
  std::string unkept;  // why its text is not on disk, as the log says
};

/// A caller that waits until the thread has read the new lists. On the control thread.
struct ListFeeds::Call {
  explicit Call(asio::io_context& io) : timer(io, kFeedLimit) {}
  std::optional<std::string> refusal;
  asio::steady_timer timer;
};

ListFeeds::ListFeeds(asio::io_context& control, const HashSecret& secret, std::string directory,
                     const Clock& clock, Log& log, Retire retire)
    : control_(control),
      secret_(secret),
      directory_(std::move(directory)),
      clock_(clock),
      log_(log),
      retire_(std::move(retire)) {}

ListFeeds::~ListFeeds() { stop(); }

std::vector<std::shared_ptr<ListFeeds::Feed>> ListFeeds::all() const {
  const std::scoped_lock hold(mutex_);
  return feeds_;
}

void ListFeeds::attach(policies::PolicySet& set) {
  const std::scoped_lock hold(mutex_);
  for (policies::List& list : set.lists) {
    if (!list.file && !list.url) continue;
    const std::string source = source_of(list);
    const auto known = std::find_if(feeds_.begin(), feeds_.end(),
                                    [&](const auto& feed) { return feed->source == source; });
    std::shared_ptr<Feed> feed = known != feeds_.end() ? *known : nullptr;
    if (feed == nullptr) {
      feed = std::make_shared<Feed>();
      feed->source = source;
      feed->shape = list;
      feed->shape.entries.clear();
      feed->shape.fixed = {};
      feed->facts.kind = "list";
      feed->facts.name = list.name;
      feed->facts.from = list.file ? *list.file : config::without_secrets(list.url->name());
      if (list.url) feed->remote = std::make_unique<RemoteText>(*list.url, directory_, kTextMax);
      feeds_.push_back(feed);
    }
    list.bulk = feed->slot;
  }
}

void ListFeeds::use(const policies::PolicySet& set) {
  const std::scoped_lock hold(mutex_);
  std::erase_if(feeds_, [&](const std::shared_ptr<Feed>& feed) {
    return std::none_of(set.lists.begin(), set.lists.end(),
                        [&](const policies::List& list) { return list.bulk == feed->slot; });
  });
  if (!feeds_.empty()) start();
}

std::string ListFeeds::put(Feed& feed, const std::string& text) {
  const TimePoint begin = clock_.now();
  policies::BulkText read =
      policies::read_bulk_list(feed.shape, text, secret_, clock_.now(), kEntriesMax);
  if (read.entries == nullptr) return joined_problems(read.problems, read.problem_count);
  const milliseconds took = clock_.now() - begin;
  LogLine line("a list was loaded");
  line.add("list", feed.shape.name)
      .add("from", feed.facts.from)
      .add("entries", static_cast<std::int64_t>(read.entries->size()))
      .add("ended", static_cast<std::int64_t>(read.ended))
      .add("bytes", static_cast<std::int64_t>(read.entries->bytes()))
      .add("took_ms", took.count());
  {
    const std::scoped_lock hold(mutex_);
    feed.facts.entries = read.entries->size();
    feed.facts.bytes = read.entries->bytes();
    feed.facts.loaded = Clock::wall();
    feed.facts.problem.clear();
    ++feed.facts.loads;
  }
  auto former = feed.slot->put(std::move(read.entries));
  if (former != nullptr) {
    if (running_) retire_(former);  // before that there are no readers
    retired_.push_back(std::move(former));
  }
  log_.write(Level::info, line);
  return {};
}

void ListFeeds::failed(Feed& feed, const std::string& why) {
  bool said = false;
  {
    const std::scoped_lock hold(mutex_);
    said = feed.facts.problem == why;
    feed.facts.problem = why;
    ++feed.facts.failures;
  }
  if (said) return;
  log_.write(Level::error, LogLine(feed.slot->get() == nullptr
                                       ? "a list could not be loaded; it has no such entries"
                                       : "a list could not be loaded; the entries before it stay")
                               .add("list", feed.shape.name)
                               .add("from", feed.facts.from)
                               .add("reason", why));
}

/// `settled`: the file must have been the same twice, for others may be writing it.
bool ListFeeds::load_file(Feed& feed, bool settled) {
  const FileMark now = mark_of(*feed.shape.file);
  if (settled) {
    const bool same = now == feed.seen;
    feed.seen = now;
    if (!same || now == feed.loaded) return true;
  }
  feed.seen = feed.loaded = now;
  std::string wrong;
  const bool has_memory = survives_no_memory([&] {
    const auto text = read_file(*feed.shape.file, kTextMax);
    wrong = text ? put(feed, *text) : text.error().message();
  });
  if (!has_memory) {
    feed.loaded = {};  // it is tried again
    wrong = kNoMemory;
  }
  if (wrong.empty()) return true;
  failed(feed, wrong);
  return false;
}

/// A line when the text of a list can't be written, and one when it is written again.
void ListFeeds::tell_of_disk(Feed& feed) {
  const std::string& unkept = feed.remote->unkept();
  {
    const std::scoped_lock hold(mutex_);
    if (std::exchange(feed.unkept, unkept).empty() == unkept.empty()) return;
  }
  LogLine line(unkept.empty() ? "a list that was fetched is kept on disk again"
                              : "a list that was fetched can't be kept on disk");
  line.add("list", feed.shape.name).add("from", feed.facts.from);
  if (!unkept.empty()) line.add("reason", unkept);
  log_.write(unkept.empty() ? Level::info : Level::warn, line);
}

bool ListFeeds::load_url(Feed& feed, milliseconds deadline) {
  feed.next_ask = clock_.now() + feed.remote->def().every;
  const auto turn = feed.remote->ask(deadline, nullptr, &stopping_);
  if (stopping_) return false;
  if (turn == RemoteText::Turn::fresh) {
    if (const std::string wrong = put(feed, feed.remote->fresh()); !wrong.empty()) {
      feed.remote->refuse(wrong);
    } else {
      feed.remote->keep(false);
    }
  }
  tell_of_disk(feed);
  if (feed.remote->why().empty()) {
    bool failed_before = false;
    {
      const std::scoped_lock hold(mutex_);
      failed_before = !feed.facts.problem.empty();
      feed.facts.problem.clear();
    }
    if (failed_before)
      log_.write(Level::info, LogLine("a list can be fetched again; it has not changed")
                                  .add("list", feed.shape.name)
                                  .add("from", feed.facts.from));
    return true;
  }
  failed(feed, feed.remote->why());
  return false;
}

std::string ListFeeds::read_new() {
  std::string refusal;
  for (const std::shared_ptr<Feed>& feed : all()) {
    if (!feed->fresh) continue;
    feed->fresh = false;
    if (feed->shape.file) {
      if (!load_file(*feed, false) && refusal.empty())
        refusal =
            "list \"" + feed->shape.name + "\": " + *feed->shape.file + ": " + feed->facts.problem;
      continue;
    }
    // A list that was good before the restart is in force at once, and is fetched again soon.
    if (feed->remote->restore() && put(*feed, feed->remote->take_text()).empty()) {
      feed->next_ask = clock_.now();
      continue;
    }
    load_url(*feed, kFirstFetch);
  }
  return refusal;
}

std::string ListFeeds::load_new() { return read_new(); }

// Not a coroutine: g++ 12 destroys a closure twice that is made within a co_await expression.
std::shared_ptr<ListFeeds::Call> ListFeeds::begin_feeding() {
  const auto call = std::make_shared<Call>(control_);
  const std::scoped_lock hold(mutex_);
  wanted_.push_back([&control = control_, call](std::string refusal) {
    asio::post(control, [call, refusal = std::move(refusal)]() mutable {
      call->refusal = std::move(refusal);
      call->timer.cancel();
    });
  });
  wake_.notify_all();
  return call;
}

asio::awaitable<std::string> ListFeeds::feed(policies::PolicySet& set) {
  attach(set);
  const bool any = std::any_of(set.lists.begin(), set.lists.end(),
                               [](const policies::List& list) { return list.bulk != nullptr; });
  if (!any) co_return std::string();
  start();
  const auto call = begin_feeding();
  if (!call->refusal) co_await call->timer.async_wait(net::kToken);
  co_return call->refusal ? *call->refusal
                          : std::string("a list takes longer than a minute to load");
}

void ListFeeds::start() {
  if (stopping_ || running_.exchange(true)) return;
  thread_ = start_thread("weir/feeds", [this] { run(); });
}

void ListFeeds::look(TimePoint now) {
  for (const std::shared_ptr<Feed>& feed : all()) {
    if (stopping_) return;
    if (feed->fresh) continue;
    if (feed->shape.file) {
      load_file(*feed, true);
    } else if (feed->next_ask <= now) {
      load_url(*feed, kFetch);
    }
  }
}

void ListFeeds::run() {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), kNiceness);
  while (!stopping_) {
    std::vector<std::function<void(std::string)>> wanted;
    {
      std::unique_lock hold(mutex_);
      wake_.wait_for(hold, kLook, [this] { return stopping_.load() || !wanted_.empty(); });
      wanted.swap(wanted_);
    }
    if (!wanted.empty()) {
      std::string refusal;
      if (!survives_no_memory([&] { refusal = read_new(); })) refusal = kNoMemory;
      for (const auto& done : wanted) static_cast<void>(survives_no_memory([&] { done(refusal); }));
    }
    if (!stopping_) static_cast<void>(survives_no_memory([this] { look(clock_.now()); }));
    std::erase_if(retired_, [](const auto& list) { return list.use_count() == 1; });
  }
}

void ListFeeds::stop() {
  {
    const std::scoped_lock hold(mutex_);
    stopping_ = true;
    wake_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

std::vector<admin::SourceFacts> ListFeeds::facts() const {
  const std::scoped_lock hold(mutex_);
  std::vector<admin::SourceFacts> out;
  for (const std::shared_ptr<Feed>& feed : feeds_) {
    admin::SourceFacts& facts = out.emplace_back(feed->facts);
    facts.newest = facts.problem.empty() && !feed->unkept.empty();
    if (facts.newest) facts.problem = std::string(kUnkept) + feed->unkept;
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> fill_lists(policies::PolicySet& set,
                                                            const HashSecret& secret, TimePoint now,
                                                            bool fetch) {
  std::vector<std::pair<std::string, std::string>> out;
  for (policies::List& list : set.lists) {
    if (!list.file && (!list.url || !fetch)) continue;
    const std::string from = list.file ? *list.file : list.url->name();
    std::string text, wrong;
    if (list.file) {
      auto read = read_file(from, ListFeeds::kTextMax);
      if (read) text = std::move(*read);
      if (!read) wrong = read.error().message();
    } else {
      RemoteText remote(*list.url, {}, ListFeeds::kTextMax);
      if (remote.ask(ListFeeds::kFirstFetch, nullptr) == RemoteText::Turn::fresh) {
        text = remote.fresh();
      } else {
        wrong = remote.why();
      }
    }
    if (wrong.empty()) {
      policies::BulkText read = policies::read_bulk_list(list, text, secret, now, kEntriesMax);
      wrong = joined_problems(read.problems, read.problem_count);
      if (read.entries != nullptr) {
        list.bulk = std::make_shared<limiter::BulkSlot>();
        static_cast<void>(list.bulk->put(std::move(read.entries)));
      }
    }
    if (!wrong.empty()) out.emplace_back(list.name, from + ": " + wrong);
  }
  return out;
}

}  // namespace weir::app
