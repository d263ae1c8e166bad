#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>

#include "app/tools/cases/case_flight.h"
#include "app/tools/cases/case_run.h"
#include "config/text/units.h"
#include "core/assert.h"
#include "core/json_numbers.h"
#include "limiter/views/view_row.h"
#include "policies/set/describe.h"

/// The expectations of a step of a case about views.
namespace weir::app {
namespace {

namespace json = boost::json;

std::string text_of(const json::value& value) {
  return value.is_string() ? std::string(value.as_string()) : json::serialize(value);
}

}  // namespace

bool same_value(std::string_view wanted, std::string_view came) {
  if (wanted == came) return true;
  if ((wanted == "none" || wanted == "null") && came == "none") return true;
  const auto a = config::parse_data_number(wanted);
  const auto b = config::parse_data_number(came);
  if (!a || !b) return false;
  const double x = a.value->as_real();
  const double y = b.value->as_real();
  return std::abs(x - y) <= 1e-9 * std::max({1.0, std::abs(x), std::abs(y)});
}

void CaseRun::check_view(const Flight& flight, const config::CaseView& wanted) {
  const policies::View* view = set_->find_view(wanted.view.value);
  WEIR_ASSERT(view != nullptr);  // check_names() has seen it
  // Answers count at the time of their requests: windows stay open for them as in the proxy.
  std::vector<std::string>& complete = windows_[view->name];
  const milliseconds grace = view->outcome ? policies::LiveView::kAnswerGrace : milliseconds{0};
  view->live->advance(now_ - grace, [&](const limiter::ViewWindow& window) {
    limiter::append_view_row(complete.emplace_back(), view->name, window);
  });
  std::optional<TimePoint> end;
  if (wanted.end) {
    const auto offset = config::parse_duration(wanted.end->value);
    end = offset ? start_ + *offset.value : *config::parse_date(wanted.end->value).value;
  }
  json::value shown;
  if (wanted.running) {
    const std::string running = view->live->results(0).running;
    if (!running.empty()) shown = json::parse(running);
  } else {
    for (const std::string& text : complete) {
      json::value one = json::parse(text);
      if (!end || one.at("end").to_number<std::int64_t>() == to_ms(*end)) shown = std::move(one);
    }
  }
  if (shown.is_null()) {
    return fail(flight, wanted.where,
                "the view " + view->name + " has no " +
                    (wanted.running ? "running window" : "complete window") +
                    (end ? " that ends at " + policies::time_text(*end) : std::string{}));
  }
  const std::string total = text_of(shown.at("total"));
  if (wanted.total && !same_value(flight.fill(wanted.total->value), total)) {
    fail(flight, wanted.total->where,
         "expected the view " + view->name + " to count " + wanted.total->value + " in all, came " +
             total);
  }
  if (!wanted.rows) return;
  const json::array& rows = shown.at("rows").as_array();
  const std::string came = ", came " + plain_numbers(json::serialize(rows));
  if (rows.size() != wanted.rows->size()) {
    return fail(flight, wanted.where,
                "expected " + std::to_string(wanted.rows->size()) + " rows of the view " +
                    view->name + came);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const json::array& row = rows[i].as_array();
    const auto& parts = (*wanted.rows)[i].parts;
    bool same = row.size() == parts.size();
    for (std::size_t k = 0; same && k < row.size(); ++k) {
      same = same_value(flight.fill(parts[k].value), text_of(row[k]));
    }
    if (!same) {
      return fail(
          flight, (*wanted.rows)[i].where,
          "expected another row " + std::to_string(i + 1) + " of the view " + view->name + came);
    }
  }
}

}  // namespace weir::app
