#include <algorithm>

#include "app/change/overrides.h"
#include "app/change/reload.h"
#include "config/table_check.h"

/// What people have set in tables, over what the files say.
namespace weir::app {

namespace asio = boost::asio;

/// The edits that fit the files, and the edits of `table` whether they fit or not.
std::vector<config::TableEdit> Reload::fitting(const std::vector<config::TableEdit>& edits,
                                               std::string_view table,
                                               const std::vector<config::TableDef>& tables) {
  std::vector<config::TableEdit> out;
  for (const config::TableEdit& edit : edits) {
    config::Model one;
    one.tables = tables;
    if (edit.table == table || config::apply(edit, one).empty()) out.push_back(edit);
  }
  return out;
}

admin::LoadReport Reload::try_tables(const std::vector<config::TableEdit>& edits,
                                     std::string_view table) const {
  const Configuration over =
      with_overrides(files_, files_hash_, overrides_, fitting(edits, table, files_.tables));
  admin::LoadReport report = report_of(over, Clock::wall());
  std::erase_if(report.problems, [](const admin::ProblemLine& line) { return !line.is_error; });
  report.problem_count = report.problems.size();
  return report;
}

asio::awaitable<admin::LoadReport> Reload::edit_tables(std::vector<config::TableEdit> next,
                                                       std::string table) {
  const TurnQueue::Turn turn = co_await turns_.take();
  const std::vector<config::TableEdit> fit = fitting(next, table, files_.tables);
  const admin::LoadReport report =
      co_await use_change(with_overrides(files_, files_hash_, overrides_, fit));
  if (report.ok) {
    edits_ = std::move(next);
    edits_in_force_ = fit;
  }
  co_return report;
}

void Reload::hold_edits(std::vector<config::TableEdit> same) {
  edits_in_force_ = fitting(same, {}, files_.tables);
  edits_ = std::move(same);
}

std::vector<config::TableDef> Reload::tables() const {
  config::Model model;
  model.tables = files_.tables;
  for (const config::TableEdit& edit : edits_in_force_)
    static_cast<void>(config::apply(edit, model));
  return std::move(model.tables);
}

bool Reload::may_be_negative(std::string_view table) const {
  return config::may_be_negative(files_, table);
}

std::string Reload::beyond_reading(std::string_view table, const Number& limit) const {
  return config::beyond_reading(files_, table, limit);
}

std::vector<std::string> Reload::policies_with(std::string_view table) const {
  std::vector<std::string> out;
  for (const config::PolicyDef& policy : files_.policies) {
    const bool asks = std::any_of(policy.then.begin(), policy.then.end(), [&](const auto& rung) {
      const auto* const text = std::get_if<config::Text>(&rung.limit);
      return text != nullptr && text->value == table;
    });
    if (asks) out.push_back(policy.name.value);
  }
  return out;
}

}  // namespace weir::app
