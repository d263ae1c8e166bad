#include "policies/stats.h"

#include "policies/actions.h"
#include "telemetry/metrics.h"

namespace weir::policies {

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
  const auto read = [](const StatsCells::Cell& cell) { return cell.load(std::memory_order_relaxed); };
  for (const auto& cells : entry.cells) {
    for (std::size_t i = 0; i < totals.verdicts.size(); ++i) {
      totals.verdicts[i] += read(cells->verdicts[i]);
      totals.shadows[i] += read(cells->shadows[i]);
    }
    for (const auto& cell : cells->missing) totals.missing += read(cell);
    totals.amounts_refused += read(cells->amounts_refused);
    totals.listed += read(cells->listed);
  }
  return totals;
}

StatsBank::Totals StatsBank::totals(std::string_view kind, std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(std::pair{std::string(kind), std::string(name)});
  return found == entries_.end() ? Totals{} : sum(found->second);
}

void StatsBank::write(std::string& out) const {
  const std::lock_guard lock(mutex_);
  const auto head = [&](std::string_view name, std::string_view help) {
    out.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ");
    out.append(name).append(" counter\n");
  };
  const auto row = [&](std::string_view name, const std::string& labels, std::uint64_t value) {
    out.append(name).append("{").append(labels).append("} ").append(std::to_string(value)).append("\n");
  };
  const auto by_action = [&](std::string_view name, std::string_view help, auto member) {
    head(name, help);
    for (const auto& [key, entry] : entries_) {
      const Totals totals = sum(entry);
      for (const ActionRow& action : action_rows()) {
        const std::uint64_t value = (totals.*member)[static_cast<std::size_t>(action.action)];
        if (value == 0 && action.action == Action::none) continue;
        row(name, key.first + "=\"" + telemetry::escape_label(key.second) + "\",action=\"" +
                      std::string(action.name) + "\"", value);
      }
    }
  };
  by_action("weir_verdict_total", "Requests for which a policy or list held, by what it did.", &Totals::verdicts);
  by_action("weir_shadow_total", "Requests for which a rung in shadow mode held, by what it would have done.",
            &Totals::shadows);
  head("weir_missing_field_total", "Events of a policy whose key part or amount was missing, by field.");
  for (const auto& [key, entry] : entries_) {
    for (std::size_t i = 0; i < entry.fields.size() && i < StatsCells::kFields; ++i) {
      std::uint64_t total = 0;
      for (const auto& cells : entry.cells) total += cells->missing[i].load(std::memory_order_relaxed);
      row("weir_missing_field_total", key.first + "=\"" + telemetry::escape_label(key.second) + "\",field=\"" +
                                          telemetry::escape_label(entry.fields[i]) + "\"", total);
    }
  }
  head("weir_amount_refused_total", "Events whose amount was negative or not finite, and so not applied.");
  for (const auto& [key, entry] : entries_) {
    if (key.first != "policy") continue;
    row("weir_amount_refused_total", "policy=\"" + telemetry::escape_label(key.second) + "\"",
        sum(entry).amounts_refused);
  }
  head("weir_listed_total", "Entries that a policy made or extended.");
  for (const auto& [key, entry] : entries_) {
    if (key.first != "policy") continue;
    row("weir_listed_total", "policy=\"" + telemetry::escape_label(key.second) + "\"", sum(entry).listed);
  }
}

}  // namespace weir::policies
