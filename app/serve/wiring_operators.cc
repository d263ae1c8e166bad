#include "app/serve/wiring.h"

/// What operators ask of the process beyond its counters and lists.
namespace weir::app {

namespace asio = boost::asio;

std::vector<config::Override> Wiring::overrides() const {
  return reload_ != nullptr ? reload_->overrides() : std::vector<config::Override>{};
}

asio::awaitable<admin::LoadReport> Wiring::override_policy(config::Override change) {
  return reload_->override_policy(std::move(change));
}

asio::awaitable<admin::LoadReport> Wiring::end_overrides(std::string policy) {
  return reload_->end_overrides(std::move(policy));
}

std::vector<admin::ConfigText> Wiring::configuration() const {
  return reload_ != nullptr ? reload_->texts() : std::vector<admin::ConfigText>{};
}

std::vector<admin::LoadRecord> Wiring::loads() const {
  return reload_ != nullptr ? reload_->history() : std::vector<admin::LoadRecord>{};
}

void Wiring::note_change(const admin::ChangeNote& note) {
  LogLine line("changed by an operator");
  line.add("method", note.method).add("path", note.path);
  std::string key;
  for (const std::string& part : note.keys) key += (key.empty() ? "" : ", ") + part;
  if (!key.empty()) line.add("key", report_->shown_key(key));
  if (!note.reason.empty()) line.add("reason", note.reason);
  line.add("by", note.by).add("status", std::int64_t{note.status});
  log_.write(Level::info, line);
}

}  // namespace weir::app
