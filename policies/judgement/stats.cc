#include "policies/judgement/stats.h"

#include "core/words.h"
#include "telemetry/metrics.h"
#include "telemetry/prometheus_text.h"

namespace weir::policies {
namespace {

constexpr std::size_t kZerosUpTo = 40;  // policies and lists
constexpr std::size_t kSeriesMax =
    1'150;  // of the 2,000 that SECURITY.md promises for the whole page
constexpr std::string_view kPolicy = "policy";

}  // namespace

StatsCells* StatsBank::open(std::string_view kind, std::string_view name, std::size_t worker,
                            const std::vector<std::string>& fields) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[{std::string(kind), std::string(name)}];
  while (entry.cells.size() < workers_) entry.cells.push_back(std::make_unique<StatsCells>());
  if (!fields.empty()) entry.fields = fields;
  return entry.cells[worker].get();
}

StatsBank::Totals StatsBank::sum(const Entry& entry) {
  Totals totals;
  const auto read = [](const StatsCells::Cell& cell) {
    return cell.load(std::memory_order_relaxed);
  };
  for (const auto& cells : entry.cells) {
    for (std::size_t i = 0; i < totals.verdicts.size(); ++i) {
      totals.verdicts[i] += read(cells->verdicts[i]);
      totals.shadows[i] += read(cells->shadows[i]);
    }
    for (const auto& cell : cells->missing) totals.missing += read(cell);
    totals.events += read(cells->events);
    totals.amounts_refused += read(cells->amounts_refused);
    totals.late += read(cells->late);
    totals.listed += read(cells->listed);
  }
  return totals;
}

void StatsBank::each(std::string_view kind,
                     const std::function<void(const std::string&, const Totals&)>& told) const {
  const std::scoped_lock hold(mutex_);
  for (const auto& [key, entry] : entries_) {
    if (key.first == kind) told(key.second, sum(entry));
  }
}

StatsBank::Totals StatsBank::totals(std::string_view kind, std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(std::pair{std::string(kind), std::string(name)});
  return found == entries_.end() ? Totals{} : sum(found->second);
}

void StatsBank::write(std::string& out, std::size_t dropped) const {
  const std::lock_guard lock(mutex_);
  // A counter that begins at 0 is easier to alert on; but with many policies the zeros are the most
  // of the page, and its size must stay bounded for any configuration.
  const bool zeros = entries_.size() <= kZerosUpTo;
  std::size_t rows = 0;
  const auto head = [&](std::string_view name, std::string_view help) {
    telemetry::append_family(out, name, "counter", help);
  };
  const auto row = [&](std::string_view name, const Name& key, std::string_view label,
                       std::string_view label_value, std::uint64_t value) {
    if (value == 0 && !zeros) return;
    if (rows >= kSeriesMax) {
      ++dropped;
      return;
    }
    ++rows;
    std::string labels = telemetry::label(key.first, key.second);
    if (!label.empty()) labels += "," + telemetry::label(label, label_value);
    telemetry::append_sample(out, name, labels, value);
  };
  const auto by_action = [&](std::string_view name, std::string_view help, auto member) {
    head(name, help);
    for (const auto& [key, entry] : entries_) {
      const Totals totals = sum(entry);
      for (const ActionRow& action : kActions) {
        const std::uint64_t value = (totals.*member)[static_cast<std::size_t>(action.action)];
        if (value == 0 && action.action == Action::none) continue;
        row(name, key, "action", action.name, value);
      }
    }
  };
  const auto by_policy = [&](std::string_view name, std::string_view help, auto member) {
    head(name, help);
    for (const auto& [key, entry] : entries_) {
      if (key.first == kPolicy) row(name, key, {}, {}, sum(entry).*member);
    }
  };
  by_action("weir_verdict_total", "Requests for which a policy or list held, by what it did.",
            &Totals::verdicts);
  by_action("weir_shadow_total",
            "Requests for which a rung in shadow mode held, by what it would have done.",
            &Totals::shadows);
  by_policy("weir_policy_events_total",
            "Events that a policy has judged: watched events that have its key.", &Totals::events);
  head("weir_missing_field_total",
       "Events of a policy whose key part or amount was missing, by field.");
  for (const auto& [key, entry] : entries_) {
    for (std::size_t i = 0; i < entry.fields.size() && i < StatsCells::kFields; ++i) {
      std::uint64_t total = 0;
      for (const auto& cells : entry.cells) {
        total += cells->missing[i].load(std::memory_order_relaxed);
      }
      row("weir_missing_field_total", key, "field", entry.fields[i], total);
    }
  }
  by_policy("weir_amount_refused_total",
            "Events whose amount was negative or not finite, and so not applied.",
            &Totals::amounts_refused);
  by_policy("weir_late_total",
            "Events that came later than the policy's `late` allows, and did not count.",
            &Totals::late);
  by_policy("weir_listed_total", "Entries that a policy made or extended.", &Totals::listed);
  telemetry::append_family(out, "weir_series_dropped", "gauge",
                           "Series of policies, lists and views left out, to bound this page.");
  telemetry::append_sample(out, "weir_series_dropped", {}, dropped);
}

}  // namespace weir::policies
