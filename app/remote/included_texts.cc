#include "app/remote/included_texts.h"

#include <algorithm>
#include <set>

#include "app/remote/redis_key.h"
#include "app/remote/remote_text.h"
#include "app/support/files.h"
#include "app/support/thread.h"
#include "config/parse.h"
#include "config/text/secrets.h"
#include "core/no_memory.h"

namespace weir::app {
namespace {

constexpr std::size_t kMainMax = std::size_t{16} << 20;
constexpr milliseconds kLookEvery{250};

std::string identity_of(const config::RemoteDef& def) {
  std::string out = def.name() + "\n" + std::to_string(def.every.count());
  for (const auto* text : {&def.sha256, &def.signer, &def.token_file, &def.ca_file})
    out += "\n" + (*text ? (*text)->value : std::string("-"));
  return out;
}

/// Empty: the last good text is on disk.
std::string unkept_problem(const RemoteText& remote) {
  return remote.unkept().empty() ? std::string() : std::string(kUnkept) + remote.unkept();
}

std::string first_error(const Configuration& configuration) {
  for (const config::Problem& problem : configuration.loaded.problems.all()) {
    if (problem.severity != config::Problem::Severity::error) continue;
    const std::string place = place_of(configuration, problem.where);
    return place.empty() ? problem.message : place + ": " + problem.message;
  }
  return "it can't be loaded";
}

}  // namespace

struct IncludedTexts::Item {
  Item(const config::RemoteDef& def, const std::string& directory, std::string is)
      : identity(std::move(is)), remote(def, directory, kTextMax) {
    facts.kind = "include";
    facts.name = facts.from = config::without_secrets(def.name());
    name = def.name();
  }
  const std::string identity;
  std::string name;
  RemoteText remote;     // without the mutex: one thread at a time uses it
  TimePoint next_ask{};  // as well
  // With the mutex:
  std::optional<std::string> good, fresh;  // `fresh` waits for a load to say whether it is good
  enum class Said { nothing, good, bad } said = Said::nothing;  // of `fresh`; not carried out yet
  std::string why_bad;
  admin::SourceFacts facts;
  std::string told;  // of facts.problem, in the log
};

/// The texts that the main file includes, and the settings for fetching them.
struct IncludedTexts::Named {
  std::vector<config::RemoteDef> remotes;
  std::string directory;  // state.dir
  config::Server server;
};

IncludedTexts::IncludedTexts(std::string path, config::Environment environment)
    : path_(std::move(path)), environment_(std::move(environment)) {}

IncludedTexts::~IncludedTexts() { stop(); }

IncludedTexts::Named IncludedTexts::named() const {
  Named out;
  const auto text = read_file(path_, kMainMax);
  if (!text) return out;
  out.remotes = config::file_patterns(*text).remotes;
  if (out.remotes.empty()) return out;
  config::Problems ignored;
  out.server = config::parse({{path_, *text, false}}, environment_, ignored).server;
  if (out.server.state.dir) out.directory = out.server.state.dir->value;
  const std::size_t slash = path_.rfind('/');
  for (config::RemoteDef& def : out.remotes) {
    for (auto* path : {&def.token_file, &def.ca_file}) {
      if (*path && !(*path)->value.starts_with('/') && slash != std::string::npos)
        (*path)->value.insert(0, path_.substr(0, slash + 1));
    }
  }
  return out;
}

std::shared_ptr<IncludedTexts::Item> IncludedTexts::item_of(const config::RemoteDef& def,
                                                            const Named& named) {
  const std::string identity = identity_of(def);
  const std::scoped_lock hold(mutex_);
  for (const std::shared_ptr<Item>& item : items_) {
    if (item->identity == identity) return item;
  }
  return items_.emplace_back(std::make_shared<Item>(def, named.directory, identity));
}

void IncludedTexts::ask(Item& item, const Named& named) {
  item.next_ask = clock_.now() + item.remote.def().every;
  const auto read_key = [&](const std::string& key) {
    return read_redis_key(named.server, key, kFetch);
  };
  const auto turn = item.remote.ask(kFetch, read_key, &stopping_);
  const std::scoped_lock hold(mutex_);
  if (turn == RemoteText::Turn::fresh) {
    item.fresh = item.remote.fresh();
    return;
  }
  if (turn == RemoteText::Turn::failed) ++item.facts.failures;
  item.facts.problem = item.remote.why().empty() ? unkept_problem(item.remote) : item.remote.why();
}

void IncludedTexts::prepare() {
  const Named named = this->named();
  std::set<std::string> wanted;
  for (const config::RemoteDef& def : named.remotes) {
    const std::shared_ptr<Item> item = item_of(def, named);
    wanted.insert(item->identity);
    if (item->next_ask != TimePoint{}) continue;
    if (item->remote.restore()) {
      const std::scoped_lock hold(mutex_);
      item->good = item->remote.text();
    }
    ask(*item, named);
  }
  const std::scoped_lock hold(mutex_);
  std::erase_if(items_, [&](const auto& item) { return !wanted.contains(item->identity); });
}

Configuration IncludedTexts::load_with(bool fresh, bool& took_fresh) {
  const config::RemoteReader read = [&](const config::RemoteDef& def) {
    config::RemoteRead out;
    const std::scoped_lock hold(mutex_);
    for (const std::shared_ptr<Item>& item : items_) {
      if (item->name != def.name()) continue;
      if (fresh && item->fresh) {
        took_fresh = true;
        out.text = *item->fresh;
      } else if (item->good) {
        out.text = *item->good;
      } else {
        out.problem =
            item->facts.problem.empty() ? "there is no text of it yet" : item->facts.problem;
      }
      return out;
    }
    out.problem = "it was not fetched";
    return out;
  };
  const auto limits = [](std::string_view text) {
    return import_what_compiles(text, config::import_limitador);
  };
  return compile(config::load_file(path_, environment_, read, limits));
}

Configuration IncludedTexts::load() {
  bool took_fresh = false;
  Configuration newest = load_with(true, took_fresh);
  if (!took_fresh) return newest;
  const auto decide = [&](Item::Said said, const std::string& why) {
    const std::scoped_lock hold(mutex_);
    for (const std::shared_ptr<Item>& item : items_) {
      if (!item->fresh) continue;
      item->said = said;
      item->why_bad = why;
      if (said == Item::Said::good) {
        item->good = *item->fresh;
        item->facts.problem.clear();
        item->facts.loaded = Clock::wall();
        item->facts.bytes = item->good->size();
        ++item->facts.loads;
      } else {
        item->facts.problem = why;
        ++item->facts.failures;
      }
    }
    wake_.notify_all();
  };
  if (newest.good()) {
    decide(Item::Said::good, {});
    return newest;
  }
  bool ignored = false;
  Configuration before = load_with(false, ignored);
  // Where the one before fails as well, the fault may lie in the files: the new text waits.
  if (!before.good()) return newest;
  decide(Item::Said::bad, "refused: " + first_error(newest));
  return before;
}

void IncludedTexts::start(std::function<void()> changed, Log& log) {
  const std::scoped_lock hold(mutex_);
  changed_ = std::move(changed);
  log_ = &log;
  if (!items_.empty()) thread_ = start_thread("weir/include", [this] { run(); });
}

void IncludedTexts::prepare(std::function<void()> done) {
  if (!thread_.joinable() && named().remotes.empty()) return done();
  const std::scoped_lock hold(mutex_);
  wanted_.push_back(std::move(done));
  if (!thread_.joinable()) thread_ = start_thread("weir/include", [this] { run(); });
  wake_.notify_all();
}

/// Carries out the verdicts of loads, and fetches what is due.
void IncludedTexts::look() {
  std::vector<std::shared_ptr<Item>> all;
  {
    const std::scoped_lock hold(mutex_);
    all = items_;
  }
  bool changed = false;
  std::optional<Named> named;
  for (const std::shared_ptr<Item>& item : all) {
    if (stopping_) return;
    Item::Said said = Item::Said::nothing;
    bool waits = false;
    std::string why;
    {
      const std::scoped_lock hold(mutex_);
      said = std::exchange(item->said, Item::Said::nothing);
      why = item->why_bad;
      if (said != Item::Said::nothing) item->fresh.reset();
      waits = item->fresh.has_value();
    }
    if (said == Item::Said::bad) item->remote.refuse(why);
    if (said == Item::Said::good) {
      item->remote.keep();
      const std::scoped_lock hold(mutex_);
      item->facts.problem = unkept_problem(item->remote);
    }
    if (waits || clock_.now() < item->next_ask) continue;
    if (!named) named = this->named();
    ask(*item, *named);
    const std::scoped_lock hold(mutex_);
    changed = changed || item->fresh.has_value();
  }
  if (changed && changed_) changed_();
}

/// A line for each problem that is new, and for one that is over.
void IncludedTexts::tell() {
  const std::scoped_lock hold(mutex_);
  if (log_ == nullptr) return;
  for (const std::shared_ptr<Item>& item : items_) {
    const std::string& problem = item->facts.problem;
    if (problem == item->told) continue;
    // A load has taken a newer text. The next look says whether that one is kept.
    if (problem.empty() && !item->remote.unkept().empty()) continue;
    const bool was_taken = std::exchange(item->told, problem).starts_with(kUnkept);
    const bool taken = problem.empty() || problem.starts_with(kUnkept);
    LogLine line(problem.empty() ? was_taken ? "an included text is kept on disk again"
                                             : "an included text is available again"
                 : taken         ? "an included text can't be kept on disk"
                 : item->good
                     ? "an included text could not be used; the previous text stays in force"
                     : "an included text could not be used; there is no previous text");
    line.add("from", item->facts.from);
    if (!problem.empty()) line.add("reason", problem);
    log_->write(problem.empty() ? Level::info : taken ? Level::warn : Level::error, line);
  }
}

void IncludedTexts::run() {
  while (!stopping_) {
    std::vector<std::function<void()>> wanted;
    {
      std::unique_lock hold(mutex_);
      wake_.wait_for(hold, kLookEvery, [this] { return stopping_.load() || !wanted_.empty(); });
      wanted.swap(wanted_);
    }
    if (stopping_) return;
    static_cast<void>(survives_no_memory([this] {
      look();
      tell();
    }));  // the next round asks again
    if (wanted.empty()) continue;
    static_cast<void>(survives_no_memory([this] { prepare(); }));  // a missing text is a problem
    for (const auto& done : wanted) static_cast<void>(survives_no_memory(done));
  }
}

void IncludedTexts::stop() {
  {
    const std::scoped_lock hold(mutex_);
    stopping_ = true;
    wake_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  // A text that was valid at the end is available at the next start.
  for (const std::shared_ptr<Item>& item : items_) {
    if (item->said != Item::Said::good) continue;
    item->remote.keep();
    if (item->remote.unkept().empty()) item->said = Item::Said::nothing;
  }
}

std::vector<admin::SourceFacts> IncludedTexts::facts() const {
  const std::scoped_lock hold(mutex_);
  std::vector<admin::SourceFacts> out;
  for (const std::shared_ptr<Item>& item : items_) {
    out.push_back(item->facts);
    out.back().newest = out.back().problem.starts_with(kUnkept);
  }
  return out;
}

Configuration load_configuration(const std::string& path, const config::Environment& environment) {
  IncludedTexts texts(path, environment);
  texts.prepare();
  return texts.load();
}

}  // namespace weir::app
