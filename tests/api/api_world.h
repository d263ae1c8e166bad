#pragma once

#include "api/batch.h"
#include "gate/gate.h"
#include "tests/policies/world.h"

namespace weir::api {

/// A gate over real stores, and events told to it as JSON.
class ApiWorld {
 public:
  explicit ApiWorld(const std::string& yaml) : world(yaml) { gate.use(world.set_); }

  /// The answer to one event, or `COLUMN what is wrong`.
  std::string ask(std::string_view object, Ask ask = Ask::events) {
    std::string out;
    const auto wrong = lines.judge(object, ask, world.now, out, nobody);
    if (!wrong) return out;
    EXPECT_EQ(out, "");
    return std::to_string(wrong->at + 1) + " " + wrong->what;
  }
  std::string query(std::string_view object) { return ask(object, Ask::query); }
  /// `pass`, `deny`...
  std::string verdict(std::string_view object) {
    const std::string answer = ask(object);
    const std::string_view open = "{\"verdict\":\"";
    if (!answer.starts_with(open)) return answer;
    return answer.substr(open.size(), answer.find('"', open.size()) - open.size());
  }

  struct Nobody final : Asker {
    void resume(TimePoint) override {}
  };
  Nobody nobody;  // nothing is shared: nothing waits
  policies::World world;
  telemetry::Metrics metrics{1};
  gate::Shared shared{world.bank, world.lists, world.secret, world.stats};
  gate::Gate gate{shared, 0, gate::GateLimits{}, metrics.cells(0), nullptr};
  LineJudge lines{gate, metrics.cells(0)};
};

}  // namespace weir::api
