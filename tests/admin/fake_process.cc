#include "fake_process.h"

#include <gtest/gtest.h>

#include "config/load.h"
#include "config/override.h"
#include "config/text/render.h"
#include "policies/judge/driver.h"
#include "policies/set/compile.h"

namespace weir::test {

std::unique_ptr<policies::PolicySet> compile_text(std::string_view text,
                                                  const std::vector<config::Override>& with) {
  config::Loaded loaded = config::load_text("weir.yaml", text);
  for (const config::Override& change : with) {
    if (!loaded.model) break;
    EXPECT_EQ(config::apply(change, *loaded.model), "");
  }
  std::unique_ptr<policies::PolicySet> made;
  if (loaded.model) made = policies::compile(*loaded.model, loaded.problems);
  EXPECT_TRUE(made) << config::render_human(loaded.problems, loaded.views(), false);
  if (!made) std::abort();
  made->source_hash = loaded.hash;
  return made;
}

FakeProcess::FakeProcess(std::string_view config)
    : text(config),
      now(from_ms(1'795'219'200'123)),  // 2026-11-21T00:00:00.123Z
      bank(limiter::BankLimits{std::uint64_t{16} << 20, 10'000}),
      stats(1),
      metrics(2),
      secret(HashSecret::from_bytes({1, 2, 3})) {
  use_overrides();
  facts.version = "1.2.3-test";
  facts.started = now - milliseconds{90'500};
  facts.loaded = true;
  facts.config_hash = set->source_hash;
  facts.config_loaded = now - milliseconds{90'000};
  facts.last_load = {true, facts.config_loaded, facts.config_hash, {}};
  facts.workers = 2;
  next_reload = {true, now, facts.config_hash, {}};
}

void FakeProcess::use_overrides() {
  auto made = compile_text(text, overridden);
  EXPECT_TRUE(made->attach(bank, lists, secret, &patterns));
  made->attach_views(views);
  set = std::move(made);
}

boost::asio::awaitable<admin::LoadReport> FakeProcess::reload() { co_return next_reload; }

boost::asio::awaitable<admin::StoreAnswer> FakeProcess::ask_store(admin::StoreQuestion question) {
  asked_store.push_back(std::move(question));
  co_return store_answer;
}

Action FakeProcess::judge_at(TimePoint time, std::string_view method, std::string_view path,
                             std::string_view ip, std::vector<HeaderField> headers,
                             std::string_view body) {
  policies::Driver driver(bank, lists, secret);
  driver.use(policies::load_on_worker(set, stats, 0));
  Request request;
  request.time = time;
  request.method = method;
  request.target = request.path = path;
  request.host = "shop";
  request.scheme = "http";
  request.client = *Address::parse(ip);
  request.headers = headers;
  request.body_state = BodyState::complete;
  request.body = body;
  policies::Judgement judgement;
  return driver.start(judgement, request, {time, time}, {})->effect;
}

void FakeWorkerProbe::ask(std::size_t worker, std::function<void()> beat) {
  if (alive[worker]) {
    beat();
  } else {
    held.push_back(std::move(beat));
  }
}

}  // namespace weir::test
