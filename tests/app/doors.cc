#include "tests/app/doors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "api/line_judge.h"
#include "config/load.h"
#include "core/text.h"
#include "gate/gate.h"
#include "gate/judging.h"
#include "policies/set/compile.h"
#include "policies/set/sharing.h"
#include "replay/rows.h"
#include "store/memory_store.h"
#include "tests/policies/world.h"
#include "tests/replay/world.h"

namespace weir::app {
namespace {

constexpr std::string_view kLog = "%h %t %m %U %s %{X-User}i %{X-Device}i %{X-Amount}i";

/// Rows of a gate, in the words of replay. Matches have no line number: only files have lines.
class Rows final : public policies::RowSink, public policies::PatternSink {
 public:
  explicit Rows(std::string& out, std::size_t policies)
      : writer_([&out](std::string_view text) { out += text; }, std::vector<bool>(policies, true)) {
  }
  void reading(const Row& row) override { writer_.reading(row); }
  void verdict(const Row& row, const policies::Rung& rung, std::size_t index,
               std::optional<Number> limit) override {
    writer_.verdict(row, rung, index, limit);
  }
  void remembered(const Row& row, const policies::Rung& rung, std::size_t index,
                  std::optional<Number> limit) override {
    writer_.remembered(row, rung, index, limit);
  }
  void pattern(const policies::MatchedPattern& match) override {
    // Timers fire before the event is judged, whole matches are of its making.
    if (match.kind == limiter::MatchKind::matched) return writer_.pattern(match, false);
    std::string row;
    replay::append_pattern(row, match);
    writer_.line(row);
  }
  void begin(std::int64_t ms, std::uint64_t line) { writer_.begin(from_ms(ms), line); }
  void end() {
    writer_.end();
    writer_.flush();
  }

 private:
  replay::RowWriter writer_;
};

/// A shared store that replies when deliver() is called, at once, or not at all.
class TestStore final : public store::SharedStore {
 public:
  TestStore(Store how, const TimePoint& now)
      : how_(how), memory_({std::uint64_t{64} << 20, 100'000}, [&now] { return now; }) {}

  bool submit(store::Batch& batch, TimePoint deadline) override {
    if (how_ == Store::away) {
      for (limiter::SharedReply& reply : batch.replies) {
        reply = {};
        reply.error = limiter::SharedError::unavailable;
      }
      return true;
    }
    if (how_ == Store::at_once) return memory_.submit(batch, deadline);
    late_.push_back(&batch);
    return false;
  }
  void cancel(store::Batch&) noexcept override {}

  void deliver() {
    for (std::size_t i = 0; i < late_.size(); ++i) {
      memory_.submit(*late_[i], {});
      late_[i]->on_replies();
    }
    late_.clear();
  }
  bool is_asked() const { return !late_.empty(); }

 private:
  Store how_;
  store::MemoryStore memory_;
  std::vector<store::Batch*> late_;
};

void add_verdicts(WhatCame& to, const policies::Policy& policy, Action action, bool shadow,
                  std::size_t many) {
  if (many == 0) return;
  const std::string name = policy.name + " " + std::string(row_of(action).name);
  to.by_policy[name + (shadow ? " shadow" : "")] += many;
}

/// A gate over stores of its own.
struct Door {
  explicit Door(const std::string& yaml, Store how = Store::none)
      : world(yaml), store(how, world.now) {
    if (how != Store::none) {
      policies::Sharing sharing{7, "", how == Store::readable, milliseconds{60'000},
                                milliseconds{60'000}};
      gate.use_store(store, sharing, milliseconds{5});
    }
    shared.patterns = &world.patterns;
    gate.record_to(&recorder);
    gate.use(world.set_);
    gate.report_to(&rows, &rows);
  }
  void begin(const RandomEvent& event, std::uint64_t line) {
    world.now = std::max(world.now, from_ms(event.ms));  // a late event happens now
    rows.begin(event.ms, line);
  }
  /// Reads the metrics of the process.
  void note_verdicts() {
    for (const policies::Policy& policy : world.set_->policies) {
      const auto totals = world.stats.totals("policy", policy.name);
      for (const ActionRow& row : kActions) {
        const auto action = static_cast<std::size_t>(row.action);
        add_verdicts(outcome, policy, row.action, false, totals.verdicts[action]);
        add_verdicts(outcome, policy, row.action, true, totals.shadows[action]);
      }
    }
  }
  /// Until nothing waits for the store.
  void deliver() {
    while (store.is_asked()) {
      store.deliver();
      gate.tick(world.now);
    }
  }

  WhatCame outcome;
  policies::World world;
  TestStore store;
  telemetry::Metrics metrics{1};
  gate::Shared shared{world.bank, world.lists, world.secret, world.stats};
  gate::Gate gate{shared, 0, gate::GateLimits{}, metrics.cells(0), nullptr};
  gate::Recorder recorder{gate::Recorder::Settings{HashSecret::from_bytes({9})}, metrics.cells(0)};
  Rows rows{outcome.rows, world.set_->policies.size()};
};

std::string after(std::string_view text, std::string_view begin, std::string_view end) {
  const std::size_t at = text.find(begin);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + begin.size());
  return std::string(text.substr(0, text.find_first_of(end)));
}

std::string seen_by_caller_and_app(const Effect& effect) {
  if (effect.kind == Effect::Kind::answer) return std::to_string(effect.status);
  if (effect.kind == Effect::Kind::delay) return "held";
  const std::string word = after(effect.upstream_headers, "X-Weir-Verdict: ", "\r");
  return word.empty() ? "pass" : word;
}

}  // namespace

WhatCame through_the_proxy(const std::string& yaml, const std::vector<RandomEvent>& events,
                           Store store) {
  struct Session final : gate::Waiter {
    void resume(TimePoint) override { go_on(); }
    std::function<void()> go_on;
  };
  Door door(yaml, store);
  Session session;
  std::uint64_t line = 0;
  for (const RandomEvent& event : events) {
    door.begin(event, ++line);
    policies::TestRequest request(event.method + " " + event.url, event.ip);
    for (const auto& [name, value] : event.headers) request.header(name, value);
    if (!event.user.empty()) request.header("X-User", event.user);
    if (!event.device.empty()) request.header("X-Device", event.device);
    if (!event.amount.empty()) request.header("X-Amount", event.amount);
    if (!event.body.empty()) request.json(event.body);
    const TimePoint now = door.world.now;
    gate::Decision judged;
    session.go_on = [&] {
      judged = gate::judge_or_park(door.gate, request.view(now), now, false, session);
    };
    session.go_on();
    door.deliver();
    door.outcome.verdicts.push_back(seen_by_caller_and_app(judged.effect));
    if (judged.effect.kind == Effect::Kind::delay) door.gate.end_hold();
    if (judged.ticket != nullptr) {
      Answer answer;
      answer.status = event.status;
      std::vector<HeaderField> fields{{"content-type", "application/json"}};
      for (const auto& [name, value] : event.answer_headers) fields.push_back({name, value});
      answer.headers = fields;
      if (door.gate.answered(*judged.ticket, answer, now)) {
        answer.body_state = BodyState::complete;
        answer.body = event.answer_body;
        door.gate.answered_body(*judged.ticket, answer, now);
      }
      door.gate.finish(*judged.ticket, gate::End::complete, now);
      door.deliver();
    }
    door.rows.end();
  }
  door.note_verdicts();
  door.recorder.take(door.outcome.recording);
  return std::move(door.outcome);
}

namespace {

std::string json_of(const RandomEvent& event, Traffic traffic) {
  const auto text = [](std::string_view value) {
    std::string out;
    append_json(out, value);
    return value.empty() ? std::string("null") : out;
  };
  if (traffic == Traffic::records) {
    return "{\"event\":\"act\",\"at\":" + std::to_string(event.ms) + ",\"ip\":" + text(event.ip) +
           ",\"path\":" + text(event.url) + ",\"user\":" + text(event.user) +
           ",\"device\":" + text(event.device) + ",\"sum\":" + text(event.amount) +
           ",\"state\":" + std::to_string(event.status) + "}";
  }
  if (!event.told.empty()) return event.told;
  std::string headers;
  const auto header = [&](std::string_view name, std::string_view value) {
    if (value.empty()) return;
    headers += (headers.empty() ? "\"" : ",\"") + std::string(name) + "\":" + text(value);
  };
  header("X-User", event.user);
  header("x-device", event.device);
  header("X-Amount", event.amount);
  for (const auto& [name, value] : event.headers) header(name, value);
  std::string answer;
  if (!event.answer_headers.empty() || !event.answer_body.empty()) {
    answer = ",\"response\":{\"header\":{";
    for (const auto& [name, value] : event.answer_headers) {
      answer += (answer.back() == '{' ? "" : ",") + text(name) + ":" + text(value);
    }
    answer += "}" + (event.answer_body.empty() ? "" : ",\"body\":" + event.answer_body) + "}";
  }
  return "{\"method\":" + text(event.method) + ",\"url\":" + text(event.url) +
         ",\"ip\":" + text(event.ip) + ",\"header\":{" + headers + "}" +
         (event.body.empty() ? "" : ",\"body\":" + event.body) +
         ",\"status\":" + std::to_string(event.status) + answer +
         ",\"time\":" + std::to_string(event.ms) + "}";
}

}  // namespace

WhatCame through_the_api(const std::string& yaml, const std::vector<RandomEvent>& events,
                         Traffic traffic, Store store) {
  struct Teller final : api::Asker {
    void resume(TimePoint) override { go_on(); }
    std::function<void()> go_on;
  };
  Door door(yaml, store);
  api::LineJudge judge(door.gate, door.metrics.cells(0));
  Teller teller;
  std::uint64_t line = 0;
  for (const RandomEvent& event : events) {
    door.begin(event, ++line);
    std::string answer;
    teller.go_on = [&] {
      const auto wrong =
          judge.judge(json_of(event, traffic), api::Ask::events, door.world.now, answer, teller);
      if (wrong) ADD_FAILURE() << wrong->what << " in " << json_of(event, traffic);
    };
    teller.go_on();
    door.deliver();
    const std::string word = after(answer, "\"verdict\":\"", "\"");
    const std::string status = after(answer, "\"status\":", ",}");
    ++door.outcome.words[word];
    door.outcome.verdicts.push_back(!status.empty()                                   ? status
                                    : answer.find("\"hold_ms\"") != std::string::npos ? "held"
                                                                                      : word);
    door.rows.end();
  }
  for (const policies::Policy& policy : door.world.set_->policies)
    door.outcome.late += door.world.stats.totals("policy", policy.name).late;
  door.note_verdicts();
  door.recorder.take(door.outcome.recording);
  return std::move(door.outcome);
}

/// Only replay gives rows to what a policy's own list refuses; the doors compared with it give
/// none.
static std::string without_listed_rows(const std::string& rows) {
  std::string out;
  for (std::size_t at = 0; at < rows.size();) {
    const std::size_t end = rows.find('\n', at) + 1;
    if (rows.compare(at, 16, "{\"type\":\"listed\"") != 0) out.append(rows, at, end - at);
    at = end;
  }
  return out;
}

WhatCame replayed(const std::string& yaml, const std::string& event, const std::string& text,
                  std::string_view log_format, std::size_t events) {
  const replay::ScratchFiles files;
  replay::Plan plan;
  plan.sources = {{event, files.write("events", text)}};
  plan.log_format = log_format;
  WhatCame out;
  const replay::TestEngine engine(yaml);
  replay::RowWriter rows([&](std::string_view piece) { out.rows += piece; },
                         std::vector<bool>(engine->set().policies.size(), true));
  std::string problem;
  const auto replay = replay::Replay::make(std::move(plan), *engine, nullptr, &rows, problem);
  EXPECT_NE(replay, nullptr) << problem;
  while (replay != nullptr && replay->run(1'000)) {
  }
  rows.flush();
  out.rows = without_listed_rows(out.rows);
  EXPECT_EQ(replay->rows(), events);
  for (const policies::Policy& policy : engine->set().policies)
    out.late += engine->late(policy.name);
  for (const policies::Policy& policy : engine->set().policies) {
    const replay::PolicyTally& tally = replay->tally().policies()[policy.index];
    for (std::size_t r = 0; r < policy.rungs.size(); ++r) {
      const policies::Rung& rung = policy.rungs[r];
      add_verdicts(out, policy, rung.effect, rung.shadow, tally.rungs[r]);
    }
  }
  for (const ActionRow& row : kActions) {
    const std::size_t many = replay->tally().effect(row.action);
    if (many != 0) out.words[row.verdict.empty() ? "pass" : std::string(row.verdict)] = many;
  }
  return out;
}

WhatCame through_replay(const std::string& yaml, const std::vector<RandomEvent>& events,
                        Traffic traffic) {
  std::string text;
  for (const RandomEvent& event : events) {
    if (traffic == Traffic::records) {
      text += json_of(event, traffic) + "\n";
      continue;
    }
    const std::time_t seconds = event.ms / 1000;
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    char time[40], line[200];
    std::strftime(time, sizeof time, "%d/%b/%Y:%H:%M:%S", &parts);
    const auto or_dash = [](const std::string& s) { return s.empty() ? "-" : s.c_str(); };
    std::snprintf(line, sizeof line, "%s [%s.%03d +0000] %s %s %d %s %s %s\n", event.ip.c_str(),
                  time, static_cast<int>(event.ms % 1000), event.method.c_str(), event.url.c_str(),
                  event.status, or_dash(event.user), or_dash(event.device), or_dash(event.amount));
    text += line;
  }
  return traffic == Traffic::records ? replayed(yaml, "act", text, {}, events.size())
                                     : replayed(yaml, "request", text, kLog, events.size());
}

std::string without_match_lines(const std::string& rows) {
  std::string out;
  for (std::size_t at = 0; at < rows.size();) {
    const std::size_t end = rows.find('\n', at) + 1;
    std::string row = rows.substr(at, end - at);
    at = end;
    if (row.starts_with("{\"type\":\"view\"")) continue;  // live they are asked for
    for (std::size_t line = 0; row.starts_with("{\"type\":\"pattern\"") &&
                               (line = row.find("\"line\":", line)) != std::string::npos;) {
      row.erase(line, row.find(',', line) + 1 - line);
    }
    out += row;
  }
  return out;
}

namespace {

/// Keys as the number of their first appearance: in a recording they are others.
std::string with_numbered_keys(const std::string& rows) {
  static constexpr std::string_view kKey = "\"key\":[";
  std::map<std::string, std::size_t> numbers;
  std::string out;
  std::size_t at = 0;
  for (std::size_t key = 0; (key = rows.find(kKey, at)) != std::string::npos;) {
    key += kKey.size();
    const std::size_t end = rows.find(']', key);
    out.append(rows, at, key - at);
    const auto text = rows.substr(key, end - key);
    out += std::to_string(numbers.try_emplace(text, numbers.size()).first->second);
    at = end;
  }
  return out + rows.substr(at);
}

}  // namespace

std::string difference(const std::string& a, const std::string& b) {
  std::size_t at = 0;
  while (at < a.size() && at < b.size() && a[at] == b[at]) ++at;
  const std::size_t from = at == 0 ? 0 : a.rfind('\n', at - 1) + 1;
  return "  " + a.substr(from, a.find('\n', at) - from) + "\n  " +
         b.substr(from, b.find('\n', at) - from);
}

WhatCame expect_recorded(const std::string& yaml, const WhatCame& live, std::size_t events) {
  const WhatCame again = replayed(yaml, "request", live.recording, {}, events);
  const std::string rows = with_numbered_keys(without_match_lines(live.rows));
  const std::string after = with_numbered_keys(without_match_lines(again.rows));
  EXPECT_TRUE(rows == after) << "live and its recording\n" << difference(rows, after);
  return again;
}

bool loads(const std::string& yaml) {
  config::Loaded loaded = config::load_text("random.yaml", "weir: 1\n" + yaml);
  const bool good = loaded.model && policies::compile(*loaded.model, loaded.problems) != nullptr;
  if (!good && std::getenv("WEIR_TEST_SHOW") != nullptr) {
    std::cerr << config::render_human(loaded.problems, loaded.views(), false);
  }
  return good;
}

}  // namespace weir::app
