#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/parse.h"
#include "core/key.h"
#include "limiter/counters/bank.h"
#include "limiter/lists/lists.h"
#include "policies/explain/verdict_text.h"
#include "policies/judge/driver.h"
#include "policies/set/compile.h"

namespace weir::policies {

/// A request that owns its text, for tests.
class TestRequest {
 public:
  TestRequest(std::string line, std::string ip = "203.0.113.7") : line_(std::move(line)) {
    client_ = *Address::parse(ip);
  }
  TestRequest& header(std::string name, std::string value) {
    headers_.emplace_back(std::move(name), std::move(value));
    return *this;
  }
  TestRequest& json(std::string body) {
    body_ = std::move(body);
    return header("Content-Type", "application/json");
  }
  /// Of the type that a header says.
  TestRequest& body(std::string body) {
    body_ = std::move(body);
    return *this;
  }
  TestRequest& body_state(BodyState state) {
    state_ = state;
    return *this;
  }
  /// The views live as long as this object, until the next call.
  const Request& view(TimePoint now) {
    const auto space = line_.find(' ');
    const std::string_view target = std::string_view(line_).substr(space + 1);
    const auto question = target.find('?');
    fields_.clear();
    for (const auto& [name, value] : headers_) fields_.push_back({name, value});
    request_ = {};
    request_.time = now;
    request_.method = std::string_view(line_).substr(0, space);
    request_.target = target;
    request_.path = target.substr(0, question);
    request_.query =
        question == std::string_view::npos ? std::string_view{} : target.substr(question + 1);
    request_.host = "shop.example";
    request_.scheme = "http";
    request_.client = client_;
    request_.headers = fields_;
    request_.body_state = state_;
    request_.body = state_ == BodyState::complete ? std::string_view(body_) : std::string_view{};
    return request_;
  }

 private:
  std::string line_, body_;
  Address client_;
  std::vector<std::pair<std::string, std::string>> headers_;
  std::vector<HeaderField> fields_;
  BodyState state_ = BodyState::complete;
  Request request_;
};

/// Banks, a policy set from YAML text, a driver, and a time that the test moves.
class World {
 public:
  explicit World(const std::string& yaml) { use(yaml); }

  void use(const std::string& yaml) {
    config::Problems problems;
    const config::Model model = config::parse({{"test.yaml", "weir: 1\n" + yaml}}, {}, problems);
    use(model, std::move(problems));
  }
  void use(const config::Model& model, config::Problems problems = {}) {
    std::unique_ptr<PolicySet> set;
    if (!problems.has_errors()) set = compile(model, problems);
    for (const auto& problem : problems.all()) {
      if (problem.severity == config::Problem::Severity::error) {
        ADD_FAILURE() << problem.where.line << ":" << problem.where.column << ": "
                      << problem.message << " " << problem.hint;
      }
    }
    ASSERT_TRUE(set);
    ASSERT_TRUE(set->attach(bank, lists, secret, &patterns));
    set->attach_views(views);
    set_ = std::move(set);
    driver.use(load_on_worker(set_, stats, 0));
    driver.use_patterns(&patterns, pattern_sink);
  }

  /// Judges an event now: `last` is its judgement.
  const Verdict& start(const Occurrence& occurrence, const JudgeOptions& options = {}) {
    if (!last->is_closed()) last = std::make_shared<Judgement>();
    return *driver.start(*last, occurrence, instant(), options);
  }
  const Plan& plan() const { return last->plan; }

  struct Judged {
    Verdict::Kind kind;
    std::string effect;  // "pass", "flag", "gray", "deny", ...
    int status = 0;
    std::string upstream, response, body;
    milliseconds hold{0};
    std::shared_ptr<Judgement> judgement;  // null: nothing to observe
  };

  Judged judge(TestRequest& request, bool may_wait = true, Observer* = nullptr) {
    JudgeOptions options;
    options.may_wait = may_wait;
    const Verdict& verdict = start(request.view(now), options);
    const Effect effect = text.render(*set_, plan(), verdict, instant());
    Judged out{verdict.kind,
               {},
               effect.status,
               std::string(effect.upstream_headers),
               std::string(effect.response_headers),
               std::string(effect.body),
               effect.hold,
               nullptr};
    const ActionRow& row = row_of(verdict.effect);
    out.effect = verdict.kind == Verdict::Kind::wait ? "wait"
                 : verdict.exempt                    ? "exempt"
                 : !verdict.defect.empty()           ? "defect"
                 : verdict.effect == Action::none
                     ? "pass"
                     : std::string(row.verdict.empty() ? row.name : row.verdict);
    if (last->is_open()) out.judgement = last;
    return out;
  }
  Judged judge(TestRequest&& request, bool may_wait = true) { return judge(request, may_wait); }

  /// Judges, and if it passes the app answers with `status` at once. Returns the effect.
  std::string send(TestRequest request, int status = 200) {
    Judged judged = judge(request);
    if (judged.judgement) answer(*judged.judgement, status);
    return judged.effect;
  }
  void answer(Judgement& judgement, int status, std::string body = {}) {
    Answer answer;
    answer.status = status;
    answer.body_state = BodyState::complete;
    answer.body = body;
    const HeaderField json{"content-type", "application/json"};
    if (!body.empty()) answer.headers = {&json, 1};
    driver.answer(judgement, answer, instant());
    driver.end(judgement, instant());
  }
  Instant instant() const { return {now, now + wall_offset}; }

  limiter::Bank bank{limiter::BankLimits{std::uint64_t{16} << 20, 10'000}};
  limiter::ListBank lists;
  ViewBank views;
  limiter::PatternBank patterns{limiter::PatternLimits{}};
  PatternSink* pattern_sink = nullptr;
  HashSecret secret = HashSecret::from_bytes({7});
  StatsBank stats{1};
  Driver driver{bank, lists, secret};
  std::shared_ptr<Judgement> last = std::make_shared<Judgement>();
  VerdictText text;
  TimePoint now = from_ms(1'800'000'000'000);
  milliseconds wall_offset{0};
  std::shared_ptr<const PolicySet> set_;
};

}  // namespace weir::policies
