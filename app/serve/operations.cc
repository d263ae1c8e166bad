#include "app/serve/operations.h"

#include "app/serve/serving_worker.h"
#include "app/support/command.h"
#include "app/support/version.h"

namespace weir::app {

namespace asio = boost::asio;

namespace {

constexpr const char* kNoRedis = "there is no `redis:` in this configuration";

}  // namespace

admin::StatusFacts ProcessOperations::status() const {
  admin::StatusFacts out;
  out.version = kVersion;
  if (process_.names != nullptr) out.upstream = process_.names->why_not();
  out.commit = commit();
  out.started = process_.started;
  out.loaded = process_.reload != nullptr;
  out.config_hash = process_.set != nullptr ? process_.set->source_hash : std::string();
  out.config_loaded = process_.loaded;
  if (process_.reload != nullptr) out.last_load = process_.reload->last();
  out.workers = process_.workers.size();
  out.draining = process_.drain.is_on();
  if (process_.redis_watch != nullptr) out.redis = process_.redis_watch->facts();
  if (process_.state != nullptr) out.state = process_.state->why_not();
  if (process_.sharing != nullptr) out.shared_lists = process_.sharing->facts(process_.clock.now());
  if (process_.feeds != nullptr) out.sources = process_.feeds->facts();
  if (process_.options.included != nullptr) {
    for (admin::SourceFacts& facts : process_.options.included->facts())
      out.sources.push_back(std::move(facts));
  }
  return out;
}

policies::Instant ProcessOperations::instant() const {
  const TimePoint now = process_.clock.now();
  return {now, now + milliseconds{process_.shared->wall_offset_ms.load(std::memory_order_relaxed)}};
}

asio::awaitable<admin::LoadReport> ProcessOperations::reload() {
  return process_.reload->run(kByApi, false);
}

std::vector<config::Override> ProcessOperations::overrides() const {
  return process_.changes != nullptr ? process_.changes->overrides()
                                     : std::vector<config::Override>{};
}

asio::awaitable<admin::LoadReport> ProcessOperations::override_policy(config::Override change) {
  config::note_rungs(change, process_.changes->files());
  const config::Override told = change;
  admin::LoadReport report = co_await process_.changes->override_policy(std::move(change));
  if (report.ok && process_.fleet != nullptr && !told.here) process_.fleet->tell_override(told);
  co_return report;
}

asio::awaitable<admin::LoadReport> ProcessOperations::end_overrides(std::string policy, bool here) {
  admin::LoadReport report = co_await process_.changes->end_overrides(policy, here);
  if (process_.fleet != nullptr && report.ok) {
    if (here)
      process_.fleet->take_again();
    else
      process_.fleet->tell_end(policy);
  }
  co_return report;
}

std::optional<admin::FleetFacts> ProcessOperations::fleet() const {
  if (process_.fleet == nullptr) return std::nullopt;
  return process_.fleet->facts();
}

std::vector<admin::TableFacts> ProcessOperations::tables() const {
  return process_.tables->tables();
}

asio::awaitable<admin::TableAnswer> ProcessOperations::change_table(admin::TableRequest asked) {
  return process_.tables->change_table(std::move(asked));
}

std::vector<admin::ConfigText> ProcessOperations::configuration() const {
  return process_.reload != nullptr ? process_.reload->texts() : std::vector<admin::ConfigText>{};
}

std::vector<admin::LoadRecord> ProcessOperations::loads() const {
  return process_.reload != nullptr ? process_.reload->history() : std::vector<admin::LoadRecord>{};
}

admin::VerdictPage ProcessOperations::verdicts(std::optional<std::uint64_t> after,
                                               std::size_t most) {
  process_.report->drain();  // the workers' verdicts until now
  return process_.report->verdicts(after, most, Clock::wall());
}

asio::awaitable<admin::StoreAnswer> ProcessOperations::ask_store(admin::StoreQuestion question) {
  if (process_.redis_watch == nullptr) co_return admin::StoreAnswer{kNoRedis, {}};
  co_return co_await process_.redis_watch->ask(std::move(question));
}

asio::awaitable<std::string> ProcessOperations::run_store_request(
    std::shared_ptr<admin::StoreRequest> request) {
  if (process_.redis_watch == nullptr) co_return kNoRedis;
  co_return co_await process_.redis_watch->run(std::move(request));
}

bool ProcessOperations::drain(bool begin) {
  if (process_.drain.by_signal || process_.drain.by_api == begin) return process_.drain.is_on();
  process_.drain.by_api = begin;
  process_.drain.since = process_.clock.now();
  process_.log.write(Level::info, LogLine(begin ? "draining, still accepting" : "draining no more")
                                      .add("cause", "the admin API"));
  process_.manager.status(begin ? "draining, still accepting" : "serving");
  process_.workers.post_to_all([begin](ServingWorker& worker) { worker.begin_drain(begin); });
  return process_.drain.by_api;
}

void ProcessOperations::audit(admin::AuditEntry entry) {
  if (process_.fleet != nullptr && entry.shared && entry.done) process_.fleet->tell_audit(entry);
  process_.audit->tell(std::move(entry));
}

}  // namespace weir::app
