#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/array.hpp>
#include <memory>

#include "admin/operator/counts.h"
#include "admin/operator/readings.h"
#include "admin/operator/threshold.h"
#include "admin/routes.h"
#include "admin/views.h"
#include "config/table_edit.h"
#include "config/text/units.h"
#include "core/chars/parse.h"
#include "core/text.h"
#include "policies/set/describe.h"

/// GET /v1/policies/{policy}/readings: of all keys of a policy now, as a histogram with the
/// policy's rungs, to see how many keys another threshold would hit.
namespace weir::admin {
namespace {

namespace json = boost::json;

constexpr std::size_t kBinsDefault = 400;
constexpr std::size_t kBinsMax = 4000;
constexpr std::size_t kThresholdsMax = 16;

/// A threshold that was asked for.
struct Tried {
  double value = 0;
  std::int64_t at = 0, over = 0;  // keys that read as much, or more than that
};

struct Wish {
  std::size_t bins = kBinsDefault;
  std::vector<Tried> tried;
};

std::string read_wish(const Call& call, Wish& asked) {
  if (!call.read_count("bins", 1, kBinsMax, asked.bins))
    return "`bins` is a number from 1 to " + std::to_string(kBinsMax);
  const auto thresholds = call.query.all("at");
  if (thresholds.size() > kThresholdsMax)
    return "`at` is given " + std::to_string(kThresholdsMax) + " times at most";
  for (const std::string_view text : thresholds) {
    const auto value = parse_whole<double>(text);
    if (!value || !(std::abs(*value) < 1e15)) return "`at` is a threshold, a number below 1e15";
    Tried tried;
    tried.value = *value;
    asked.tried.push_back(tried);
  }
  return {};
}

json::value duration_value(const policies::Rung& rung) {
  if (rung.for_window) return "window";
  if (rung.durations.empty()) return nullptr;
  return json::value(human_duration(rung.durations.front()));
}

/// How many keys the limits of a table would hit.
class TableHits {
 public:
  TableHits(const policies::ThresholdTable& table, Compare compare)
      : table_(table), compare_(compare), keys_(table.summary().limits.size() + 1) {}

  void add(const Number& reading) {
    const auto& limits = table_.summary().limits;
    const auto is_below = [&](const Limit& limit) {
      return compare_ == Compare::over ? limit.limit < reading : limit.limit <= reading;
    };
    const auto first = std::partition_point(limits.begin(), limits.end(), is_below);
    ++keys_[static_cast<std::size_t>(first - limits.begin())];
  }

  json::value view() const {
    const policies::ThresholdTable::Summary& summary = table_.summary();
    json::array limits;
    std::int64_t all = 0, below = 0;
    for (const std::int64_t keys : keys_) all += keys;
    for (std::size_t i = 0; i < summary.limits.size(); ++i) {
      const Limit& limit = summary.limits[i];
      below += keys_[i];
      json::array of;
      for (const auto& path : limit.of) of.emplace_back(utf8_text(config::path_text(path)));
      json::object row;
      row["limit"] = number_value(limit.limit);
      row["of"] = std::move(of);
      row["cells"] = limit.cells;
      row["keys"] = compare_ == Compare::under ? below : all - below;
      limits.push_back(std::move(row));
    }
    return json::object{{"name", table_.name()},
                        {"by", texts(table_.by())},
                        {"limits", std::move(limits)},
                        {"left_out", summary.left_out},
                        {"unlimited", summary.unlimited}};
  }

 private:
  using Limit = policies::ThresholdTable::Summary::Limit;
  const policies::ThresholdTable& table_;
  Compare compare_;
  std::vector<std::int64_t> keys_;  // by how many of the limits lie below (`over`), or not above
};

/// The keys for which the rungs of one counter hold.
class RungHits {
 public:
  RungHits(const policies::PolicySet& set, const policies::Policy& policy, std::size_t counter) {
    for (std::size_t i = 0; i < policy.rungs.size(); ++i) {
      const policies::Rung& rung = policy.rungs[i];
      if (rung.counter != counter || rung.compare == Compare::none) continue;
      Hits hits{i, rung.compare, limit_of(policy, i), 0, nullptr};
      if (const auto* const table = table_of(set, policy, i); table != nullptr)
        hits.table = std::make_unique<TableHits>(*table, rung.compare);
      rungs_.push_back(std::move(hits));
    }
  }

  void add(const Number& reading) {
    for (Hits& rung : rungs_) {
      if (rung.limit != nullptr) rung.keys += passes(rung.compare, reading, *rung.limit) ? 1 : 0;
      if (rung.table != nullptr) rung.table->add(reading);
    }
  }

  struct Hits {
    std::size_t rung;
    Compare compare;
    const Number* limit;  // null: no number
    std::int64_t keys;
    std::unique_ptr<TableHits> table;  // null: of no table
  };
  const std::vector<Hits>& rungs() const noexcept { return rungs_; }

 private:
  std::vector<Hits> rungs_;
};

/// The rungs of one counter, with the name of each for an override and its keys.
json::array rungs_with_keys(const Call& call, const policies::Policy& policy,
                            const RungHits& hits) {
  json::array out;
  for (const RungHits::Hits& each : hits.rungs()) {
    const std::size_t i = each.rung;
    const policies::Rung& rung = policy.rungs[i];
    const Number* const limit = each.limit;
    json::object row;
    row["rung"] = policies::rung_text(*call.set, policy, i);
    // As an override names it: the number is never ambiguous.
    row["set"] = std::to_string(i + 1) + "." + std::string(name_of(rung.compare));
    row["compare"] = name_of(rung.compare);
    row["limit"] = limit != nullptr ? number_value(*limit) : json::value();
    row["effect"] = row_of(rung.action).name;
    row["for"] = duration_value(rung);
    row["shadow"] = rung.shadow || policy.shadow;
    row["keys"] = limit != nullptr ? json::value(each.keys) : json::value();
    row["table"] = each.table != nullptr ? each.table->view() : json::value();
    out.push_back(std::move(row));
  }
  return out;
}

/// Reads one counter in pieces: other requests run between two of them.
boost::asio::awaitable<json::object> counter_readings(const Call& call,
                                                      const policies::Policy& policy,
                                                      std::size_t index, Wish asked) {
  const policies::Counter& counter = call.set->counters[policy.counters[index]];
  const auto executor = co_await boost::asio::this_coro::executor;
  RungHits hits(*call.set, policy, index);
  Histogram histogram;
  std::vector<Number> piece;
  limiter::Bank::Readings readings(call.stores.counters, counter.id, call.at.moment(counter));
  for (bool more = true; more;) {
    more = readings.next(piece);
    for (const Number& value : piece) {
      histogram.add(value);
      hits.add(value);
      const double real = asked.tried.empty() ? 0 : value.finite().as_real();
      for (Tried& tried : asked.tried) {
        tried.at += real >= tried.value ? 1 : 0;
        tried.over += real > tried.value ? 1 : 0;
      }
    }
    piece.clear();
    if (more) co_await boost::asio::post(executor, boost::asio::use_awaitable);
  }
  json::array bins, tried;
  for (const Histogram::Bar& bar : histogram.bars(asked.bins))
    bins.push_back(json::array{bar.from, bar.to, bar.keys});
  for (const Tried& each : asked.tried)
    tried.push_back(json::object{{"threshold", each.value}, {"at", each.at}, {"over", each.over}});
  json::object row;
  row["what"] = policies::counter_text(counter);
  row["window"] = window_value(counter);
  row["keys"] = histogram.keys();
  row["bins"] = std::move(bins);
  row["rungs"] = rungs_with_keys(call, policy, hits);
  row["tried"] = std::move(tried);
  row["around"] = counter.near();
  co_return row;
}

}  // namespace

boost::asio::awaitable<net::HttpReply> get_readings(Call& call) {
  if (auto refused = call.refuse_unknown({"bins", "at"})) co_return std::move(*refused);
  Wish asked;
  if (const std::string wrong = read_wish(call, asked); !wrong.empty())
    co_return problem(400, wrong);
  const policies::Policy* const policy = call.set->find_policy(call.name());
  if (policy == nullptr) co_return problem(404, why_no_policy(*call.set, call.name()));
  if (policy->counters.empty()) co_return problem(404, why_no_counters(*call.set, *policy));
  json::array counters;
  for (std::size_t i = 0; i < policy->counters.size(); ++i)
    counters.push_back(co_await counter_readings(call, *policy, i, asked));
  co_return json_reply({{"policy", policy->name},
                        {"mode", mode_text(call, *policy)},
                        {"shared", is_shared(*call.set, *policy)},
                        {"from", "here"},
                        {"counters", std::move(counters)}});
}

}  // namespace weir::admin
