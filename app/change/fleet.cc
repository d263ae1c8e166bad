#include "app/change/fleet.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "app/change/overrides.h"
#include "core/chars/hex.h"
#include "core/clock.h"
#include "core/text.h"

namespace weir::app {

namespace json = boost::json;

namespace {

// Names of what the board holds.
constexpr std::string_view kOverrides = "override:";
constexpr std::string_view kTables = "table:";
// Members of a replica's report about itself.
constexpr const char* kSaysTables = "tables";
constexpr const char* kSaysUnfit = "unfit_overrides";
constexpr std::size_t kUnfitSaidMax = 100;
constexpr milliseconds kFarewell{300};
// A Redis that restarts is not worth a line in the log; one that is away is.
constexpr milliseconds kAwayLong{3'000};
constexpr std::size_t kHostMax = 64;

std::string item_name(const config::Override& change) {
  return std::string(kOverrides) + change.policy + (change.mode ? ":mode" : ":limits");
}

std::string host_name() {
  std::array<char, 256> room{};
  if (::gethostname(room.data(), room.size() - 1) != 0 || room[0] == '\0') return "weir";
  std::string out(room.data());
  out.resize(std::min(out.size(), kHostMax));
  return out;
}

/// That an override has ended.
std::string end_words(const std::string& policy) {
  return json::serialize(json::object{{"end", true}, {"policy", policy}});
}

/// Unlike all others', also after a restart in the same place.
std::string replica_name() {
  const HashSecret random = HashSecret::random();
  std::string out = host_name() + "/";
  append_hex(out, std::span(random.bytes()).first(4));
  return out;
}

}  // namespace

Fleet::Fleet(boost::asio::io_context& control, const SharedStoreSettings& redis, const Clock& clock,
             Log& log)
    : clock_(clock),
      log_(log),
      board_(control, redis.store, redis.secret, replica_name(),
             [this](FleetBoard::Heard heard) { hear(std::move(heard)); }),
      tasks_(control.get_executor(), [&log](const std::exception_ptr&) {
        log.write(Level::error, LogLine("a task ended by an exception: a bug in weir"));
      }) {}

Fleet::~Fleet() = default;

std::vector<config::Override> Fleet::start(milliseconds limit, TableChanges& tables) {
  // Items wait in the board until they are asked for. Broadcasts from before the start do not
  // concern this replica.
  static_cast<void>(board_.start(limit, clock_));
  was_up_ = board_.sync().why().empty();
  for (const store::BoardItem& item : board_.items(kTables, clock_.now()))
    tables.take_at_start(item.name.substr(kTables.size()), item.value);
  return overrides();
}

std::vector<config::Override> Fleet::overrides() const {
  std::vector<config::Override> out;
  for (const store::BoardItem& item : board_.items(kOverrides, clock_.now())) {
    auto change = read_override_words(item.value);
    if (!change || item.until == TimePoint{}) continue;
    change->until = item.until;
    out.push_back(std::move(*change));
  }
  return out;
}

void Fleet::serve(OperatorChanges& changes, TableChanges& tables, Audit& audit,
                  std::function<Here()> here) {
  changes_ = &changes;
  changes.belong_to_fleet();
  tables_ = &tables;
  audit_ = &audit;
  const auto tell = [this](const std::string& table, std::string text) {
    const store::BoardItem item{std::string(kTables) + table, std::move(text), {}, 0};
    if (!board_.put(item, true, clock_.now()))
      log_.write(Level::error,
                 LogLine("a table can't be sent to other replicas").add("table", table));
  };
  const auto agreed = [this](const std::string& table, const std::string& said) {
    return all_say(board_.sync(), clock_.now(), kSaysTables, [&](const json::value* theirs) {
      if (theirs == nullptr || !theirs->is_object()) return false;  // another version
      const json::value* const one = theirs->get_object().if_contains(table);
      // An empty digest: the files of that replica do not have the table, so it agrees. A replica
      // without a digest does not know the edits yet, so it does not agree.
      return one != nullptr && one->is_string() &&
             (one->get_string().empty() || one->get_string() == said);
    });
  };
  const std::string name = board_.sync().name();
  tables.share(tell, agreed, name.substr(name.rfind('/') + 1, 4));
  here_ = std::move(here);
  for (const config::Override& each : changes.overrides()) {
    admin::AuditEntry entry;
    entry.action = "override.set";
    entry.who = each.by;
    entry.from = "the fleet, before this start";
    entry.target = each.policy;
    entry.after = config::override_text(each) + " until " + iso_time(each.until);
    entry.reason = each.reason;
    audit.tell(std::move(entry));
  }
  take_overrides();  // overrides that came since
}

void Fleet::stop() { board_.stop(kFarewell, clock_.now()); }

void Fleet::set_credentials(const SharedStoreSettings& redis) {
  board_.set_credentials(redis.store.credentials, redis.store.sentinel_credentials);
}

void Fleet::tick() {
  if (!here_) return;
  const Here here = here_();
  const milliseconds ahead = board_.sync().ahead();
  json::object says;
  says["admin"] = here.admin;
  says["version"] = here.version;
  says["config"] = here.hash;
  says["loaded"] = to_ms(here.loaded + ahead);
  says["started"] = to_ms(here.started + ahead);
  says["overrides"] = here.overrides;
  says["unfit"] = here.unfit;
  says["state"] = here.draining ? "draining" : "serving";
  json::object said;
  for (const auto& [table, digest] : tables_->ours()) said[table] = digest;
  says[kSaysTables] = std::move(said);
  json::array unfit;
  for (const config::Override& each : changes_->unfit_overrides()) {
    if (unfit.size() < kUnfitSaidMax) unfit.emplace_back(override_id(each));
  }
  says[kSaysUnfit] = std::move(unfit);
  const bool by_reload = !hash_.empty() && hash_ != here.hash;
  hash_ = here.hash;
  board_.say(json::serialize(says), here.hash, by_reload);
  const TimePoint now = clock_.now();
  board_.tick(now);
  if (tables_->may_let_go()) tasks_.spawn(tables_->let_go());
  end_what_fits_nowhere();
  const store::BoardSync& sync = board_.sync();
  const bool up = sync.why().empty();
  const bool long_away = !up && sync.last_answer() && now - *sync.last_answer() > kAwayLong;
  if (up && !was_up_) {
    log_.write(Level::info, LogLine("replicas exchange messages").add("replica", sync.name()));
    was_up_ = true;
  } else if (long_away && was_up_) {
    log_.write(Level::warn, LogLine("replicas do not exchange messages now")
                                .add("reason", sync.why())
                                .add("effect",
                                     "changes by operators hold on this replica; the others learn "
                                     "of them when Redis is back"));
    was_up_ = false;
  }
  if (board_.strangers() != strangers_told_) {
    strangers_told_ = board_.strangers();
    log_.write_seldom(Level::error,
                      LogLine("what is on the fleet's board was not sealed with the secret of "
                              "`redis:`; it is ignored")
                          .add("count", static_cast<std::int64_t>(strangers_told_)),
                      "fleet seals");
  }
}

void Fleet::tell_override(const config::Override& change) {
  store::BoardItem item{item_name(change), override_words(change), change.until, 0};
  if (!board_.put(item, false, clock_.now()))
    log_.write(Level::error, override_line("an override can't be sent to other replicas", change));
}

void Fleet::tell_end(const std::string& policy) {
  const TimePoint now = clock_.now();
  for (store::BoardItem& item : board_.items(std::string(kOverrides) + policy + ":", now)) {
    // The end stays on the board for as long as the override would have: a replica that comes
    // late cannot bring the override back.
    item.value = end_words(policy);
    board_.put(item, false, now);
  }
}

/// A rolling change takes a policy from one replica after the other: overrides on it
/// hold where it still is, and end when no replica has it.
void Fleet::end_what_fits_nowhere() {
  const TimePoint now = clock_.now();
  bool any = false;
  for (const config::Override& each : changes_->unfit_overrides()) {
    const std::string id = override_id(each);
    const bool nowhere = all_say(board_.sync(), now, kSaysUnfit, [&](const json::value* theirs) {
      if (theirs == nullptr || !theirs->is_array()) return false;  // another version
      const json::array& all = theirs->get_array();
      return std::find(all.begin(), all.end(), json::value(id)) != all.end();
    });
    if (!nowhere) continue;
    for (store::BoardItem& item : board_.items(item_name(each), now)) {
      const auto set = read_override_words(item.value);
      if (item.name != item_name(each) || !set || override_id(*set) != id) continue;
      item.value = end_words(each.policy);
      if (!board_.put(item, true, now)) continue;  // the next tick tries again
      any = true;
      log_.write(Level::warn, override_line("an override has ended: its policy or rung is in the "
                                            "configuration of no replica any more",
                                            each));
      audit_->tell_of_end(each, {}, "its policy or rung is in the configuration of no replica");
    }
  }
  if (any) take_overrides();
}

void Fleet::tell_audit(const admin::AuditEntry& entry) {
  const std::string words = audit_words(entry, board_.sync().name());
  if (!words.empty()) board_.tell(words, clock_.now());
}

std::function<bool(std::string)> Fleet::join_doors(
    std::function<void(std::string_view text)> door) {
  door_ = std::move(door);
  return [this](const std::string& text) {
    return board_.tell(door_words(text, board_.sync().name()), clock_.now());
  };
}

void Fleet::take_again() { take_overrides(); }

void Fleet::take_overrides() {
  if (changes_ == nullptr) return;
  OperatorChanges::FleetOverrides ask = [this] { return overrides(); };
  tasks_.spawn(changes_->take_overrides(std::move(ask)));
}

void Fleet::hear(FleetBoard::Heard heard) {
  if (heard.full) {
    log_.write_seldom(
        Level::error,
        LogLine("the fleet's board is full: what was set holds on this replica alone"),
        "fleet full");
  }
  if (heard.left_out) {
    log_.write_seldom(Level::error,
                      LogLine("more is on the fleet's board than a replica takes; the rest is "
                              "ignored"),
                      "fleet left out");
  }
  for (const std::string& text : heard.news) hear_news(text);
  for (store::BoardItem& item : heard.items) {
    if (tables_ != nullptr && item.name.starts_with(kTables))
      tasks_.spawn(tables_->take(item.name.substr(kTables.size()), std::move(item.value)));
  }
  for (const std::string& name : heard.told) {
    if (tables_ != nullptr && name.starts_with(kTables))
      tables_->mark_sent(name.substr(kTables.size()));
  }
  const bool overrides =
      std::any_of(heard.items.begin(), heard.items.end(),
                  [](const store::BoardItem& item) { return item.name.starts_with(kOverrides); });
  if (overrides) take_overrides();
}

void Fleet::hear_news(const std::string& text) {
  const std::string& here = board_.sync().name();
  if (const auto told = read_door_words(text, here)) {
    if (door_) door_(*told);
    return;
  }
  if (audit_ == nullptr) return;
  if (auto entry = read_audit_words(text, here)) audit_->tell(std::move(*entry));
}

admin::FleetFacts Fleet::facts() const {
  admin::FleetFacts out = fleet_facts(board_.sync(), clock_.now());
  out.strangers = board_.strangers();
  return out;
}

}  // namespace weir::app
