#include "tests/config/golden_problems.h"

namespace weir::config::view_problems_test {
namespace {

using namespace golden_problems;

std::string view(std::string_view lines) {
  return "views:\n  - {name: v, watch: request, " + std::string(lines) + "}\n";
}

TEST(Problems, of_views) {
  const std::vector<std::pair<std::string_view, std::string_view>> cases = {
      {"all is well", "by: [path, ip/24], metric: sum(n), window: {last: 10m, hop: 5s}, top: 5"},
      {"and so is this",
       "by: item, metric: 'distinct(user, ip)', window: {calendar: day, tz: Asia/Shanghai}, top: "
       "{n: 5, per: category}, method: bloom, expect: 1000, error: 0.001"},
      {"a bare duration", "window: 10m"},
      {"no hop", "window: {last: 10m}"},
      {"a hop without last", "window: {every: 10m, hop: 1m}"},
      {"a hop longer than the window", "window: {last: 10m, hop: 11m}"},
      {"too many parts", "window: {last: 1h, hop: 7ms}"},
      {"the last events", "window: {events: 20}"},
      {"a leaky bucket", "window: {leaky: 5, drain: 1s}"},
      {"buckets", "window: {last: 10m, hop: 1m, buckets: 10}"},
      {"exact", "window: {last: 10m, hop: 1m, exact: true}"},
      {"from the first", "window: {every: 10m, from: first}"},
      {"no window", "by: path"},
      {"a metric of policies", "metric: in_flight, window: {every: 1h}"},
      {"a metric of the previous event", "metric: last(path), window: {every: 1h}"},
      {"a method without distinct", "method: hll, window: {every: 1h}"},
      {"an unknown method", "metric: distinct(ip), method: loglog, window: {every: 1h}"},
      {"expect without bloom", "metric: distinct(ip), expect: 5, window: {every: 1h}"},
      {"an error without a sketch", "metric: distinct(ip), error: 0.1, window: {every: 1h}"},
      {"an error too great", "metric: distinct(ip), method: hll, error: 0.6, window: {every: 1h}"},
      {"an error too small for hll",
       "metric: distinct(ip), method: hll, error: 0.001, window: {every: 1h}"},
      {"too many sketches at once",
       "metric: distinct(ip), method: hll, window: {last: 1h, hop: 5s}"},
      {"top of nothing", "top: 0, window: {every: 1h}"},
      {"top without n", "by: path, top: {per: path}, window: {every: 1h}"},
      {"top per without by", "top: {n: 5, per: path}, window: {every: 1h}"},
      {"a radius", "by: {near: {lon, lat, radius: 1km}}, window: {every: 1h}"},
      {"a rung", "window: {every: 1h}, then: []"},
      {"without an end", "by: path, window: all, top: 10"},
      {"without an end, misspelt", "by: path, window: al"},
      {"a shared one where there is no Redis", "by: path, window: all, top: 10, share: redis"},
      {"a shared filter", "metric: distinct(ip), method: bloom, window: {every: 1h}, share: redis"},
      {"a shared one with a short hop", "window: {last: 10s, hop: 500ms}, share: redis"},
      {"a shared one with odd parts", "window: {last: 10s, hop: 1500ms}, share: redis"},
      {"a shared one of many parts", "window: {last: 1d, hop: 5s}, share: redis"},
      {"shared with whom", "window: {every: 1h}, share: {redis: {sync: 1s}}"},
      {"watch twice", "window: {every: 1h}, watch: x"},
  };
  std::vector<std::string> texts;
  for (const auto& [name, lines] : cases) texts.push_back(view(lines));
  texts.push_back(view("window: {every: 1h}") +
                  "  - {name: v, watch: request, window: {every: 1h}}\n");
  texts.push_back(
      "views:\n  - {name: v, watch: nothing, window: {every: 1h}}\nlimits: {views: 1KiB}\n");
  texts.emplace_back("views: {v: {watch: request}}\n");
  std::vector<Mistake> all;
  for (std::size_t i = 0; i < cases.size(); ++i) all.push_back({cases[i].first, texts[i]});
  all.push_back({"twice the same name", texts[cases.size()]});
  all.push_back({"no such event, and no memory", texts[cases.size() + 1]});
  all.push_back({"a map of views", texts[cases.size() + 2]});
  expect_golden("views.txt", all);
}

TEST(Problems, of_windows_of_policies_with_a_hop) {
  expect_golden_policies(
      "hop.txt",
      {{"a hop", "    window: {last: 10m, hop: 5s}\n    then: [{over: 5, do: flag}]\n"}});
}

}  // namespace
}  // namespace weir::config::view_problems_test
