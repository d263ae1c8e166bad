#include "app/tools/dev_watch.h"

#include <algorithm>
#include <utility>

namespace weir::app {
namespace {

// So many requests, in so many seconds, are no accident.
constexpr std::uint64_t kRequestsEnough = 10;
constexpr unsigned kSecondsEnough = 10;

const config::EventDef* find(const config::Model& model, const std::string& name) {
  const auto found =
      std::find_if(model.events.begin(), model.events.end(),
                   [&](const config::EventDef& event) { return event.name.value == name; });
  return found == model.events.end() ? nullptr : &*found;
}

/// An event with its route and its conditions; empty: it has no route of its own.
std::string described(const config::Model& model, const std::string& name) {
  std::string route, conditions;
  const config::EventDef* event = find(model, name);
  // A chain of events is as long as there are events at most.
  for (std::size_t i = 0; event != nullptr && i < model.events.size(); ++i) {
    if (event->when) conditions += ", when " + event->when->value;
    if (event->match) route = event->match->value;
    event = event->is ? find(model, event->is->value) : nullptr;
  }
  return route.empty() ? std::string() : name + " (" + route + conditions + ")";
}

}  // namespace

DevWatch::DevWatch(const config::Model& model, std::string app) : app_(std::move(app)) {
  for (const config::PolicyDef& policy : model.policies) {
    std::string what;
    bool all_have_routes = !policy.watch.empty();
    for (const config::Text& event : policy.watch) {
      const std::string one = described(model, event.value);
      all_have_routes = all_have_routes && !one.empty();
      what += (what.empty() ? "" : ", or ") + one;
    }
    if (all_have_routes) watched_.push_back({policy.name.value, std::move(what)});
  }
}

std::string DevWatch::look(const Sample& sample) {
  if (sample.answers != 0) ++seconds_;
  std::string out = say_of_app(sample) + say_of_events(sample);
  last_ = sample;
  return out;
}

std::string DevWatch::say_of_app(const Sample& sample) {
  const bool failed = sample.failures != last_.failures;
  const bool answered = sample.answers - last_.answers > sample.failures - last_.failures;
  if (failed && !is_away_) {
    is_away_ = true;
    return "  Nobody answers at " + app_ + ": requests get 503.\n";
  }
  if (!failed && answered && is_away_) {
    is_away_ = false;
    return "  The app at " + app_ + " answers again.\n";
  }
  return {};
}

std::string DevWatch::say_of_events(const Sample& sample) {
  if (has_told_ || seconds_ < kSecondsEnough || sample.answers < kRequestsEnough) return {};
  has_told_ = true;
  std::string out;
  for (const Watched& watched : watched_) {
    const auto seen = sample.events.find(watched.policy);
    if (seen != sample.events.end() && seen->second != 0) continue;
    out += "  Of " + std::to_string(sample.answers) + " requests none was what " + watched.policy +
           " watches: " + watched.what + ".\n";
  }
  if (!out.empty()) {
    out +=
        "  If the app has other routes or fields, \"weir init RECIPE\" writes a recipe to "
        "change.\n";
  }
  return out;
}

}  // namespace weir::app
