#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "config/load.h"
#include "config/text/render.h"
#include "policies/set/compile.h"
#include "replay/replay.h"
#include "replay/report.h"
#include "tests/replay/scratch_file.h"

namespace weir::replay {

/// A configuration from text, with an engine of its own.
class TestEngine {
 public:
  explicit TestEngine(const std::string& yaml, bool sorted = false)
      : loaded_(config::load_text("test.yaml", "weir: 1\n" + yaml)) {
    std::shared_ptr<policies::PolicySet> set;
    if (loaded_.model) set = policies::compile(*loaded_.model, loaded_.problems);
    EXPECT_NE(set, nullptr) << config::render_human(loaded_.problems, loaded_.views(), false);
    std::string problem;
    if (set != nullptr)
      engine_ = Engine::make(*loaded_.model, set,
                             sorted ? Engine::Order::time : Engine::Order::arrival, problem);
    EXPECT_EQ(problem, "");
  }
  Engine& operator*() const { return *engine_; }
  Engine* operator->() const { return engine_.get(); }

 private:
  config::Loaded loaded_;
  std::unique_ptr<Engine> engine_;
};

/// Replays files through a configuration: the NDJSON, with every policy's readings, and the report.
struct Replayed {
  std::string ndjson;
  Report report;
};
inline Replayed replay_files(const std::string& yaml, Plan plan, const std::string& against = {}) {
  Replayed out;
  const TestEngine engine(yaml, plan.lateness.has_value());
  std::unique_ptr<TestEngine> other;
  if (!against.empty()) other = std::make_unique<TestEngine>(against, plan.lateness.has_value());
  RowWriter rows([&](std::string_view text) { out.ndjson += text; },
                 std::vector<bool>(engine->set().policies.size(), true));
  std::string problem;
  const std::vector<Plan::Source> sources = plan.sources;
  const auto replay =
      Replay::make(std::move(plan), *engine, other ? &**other : nullptr, &rows, problem);
  EXPECT_NE(replay, nullptr) << problem;
  if (replay == nullptr) return out;
  while (replay->run(7)) {
  }
  rows.line(replay->summary_json());
  rows.flush();
  out.report = make_report(*replay, sources, against.empty() ? "" : "other.yaml");
  return out;
}

}  // namespace weir::replay
