#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policies/explain/rate_limit.h"
#include "policies/judge/immediate_outbox.h"
#include "policies/set/sharing.h"
#include "tests/policies/world.h"

/// Calls of the rate limit service as events, without any door.
namespace weir::policies::rate_limit_service {

using Entries = std::vector<std::pair<std::string, std::string>>;

struct Asked {
  Entries entries;
  std::int64_t hits = 1;
  std::optional<Descriptor::Limit> limit{};
};

struct Answered {
  bool over = false;
  std::vector<DescriptorStatus> statuses;
};

/// weir.yaml, and a file of envoyproxy/ratelimit beside it.
class Service {
 public:
  explicit Service(std::string yaml, std::vector<std::string> files = {}) : world_("policies: []") {
    std::vector<config::SourceText> texts{{"weir.yaml", "weir: 1\n" + std::move(yaml)}};
    for (std::string& file : files) {
      texts.push_back({"limits" + std::to_string(texts.size()) + ".yaml", std::move(file), true});
    }
    config::Problems problems;
    const config::Model model = config::parse(texts, {}, problems);
    all_quota_ = model.server.ratelimit.quota;
    world_.use(model, std::move(problems));
    world_.now = from_ms(1'700'000'000'000);
  }

  Answered call(std::string domain, std::vector<Asked> asked, bool insists = false) {
    std::vector<std::vector<DescriptorEntry>> entries(asked.size());
    std::vector<Descriptor> descriptors(asked.size());
    for (std::size_t i = 0; i < asked.size(); ++i) {
      for (const auto& [key, value] : asked[i].entries) entries[i].push_back({key, value});
      descriptors[i] = {domain, entries[i], asked[i].hits, asked[i].limit};
    }
    std::vector<FoundDescriptor> found;
    const PolicySet& set = world_.driver.set();
    find_events(set, descriptors, found);
    Answered out;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (!found[i].event) {
        out.statuses.push_back(status_of(found[i]));
        continue;
      }
      const Record record = record_of(found[i], descriptors[i], world_.now);
      JudgeOptions options;
      options.insists = insists;
      const Verdict& verdict = world_.start(record, options);
      out.statuses.push_back(status_of(set, world_.plan(), verdict, found[i], world_.instant()));
    }
    out.over = is_over(out.statuses, all_quota_);
    return out;
  }
  /// Whether a call with this one descriptor is over.
  bool over(std::string domain, Entries entries, std::int64_t hits = 1) {
    return call(std::move(domain), {{std::move(entries), hits, {}}}).over;
  }
  void pass(milliseconds time) { world_.now += time; }
  void use_store(const Sharing& sharing, Outbox& outbox) {
    world_.driver.use_store(sharing, outbox);
  }

 private:
  World world_;
  bool all_quota_ = false;
};

/// The errors in a file of envoyproxy/ratelimit beside that weir.yaml: `LINE: MESSAGE`.
inline std::vector<std::string> problems_of(std::string file, std::string yaml = "policies: []\n") {
  config::Problems problems;
  config::parse({{"weir.yaml", "weir: 1\n" + yaml}, {"limits.yaml", std::move(file), true}}, {},
                problems);
  std::vector<std::string> out;
  for (const auto& problem : problems.all()) {
    out.push_back(std::to_string(problem.where.line) + ": " + problem.message);
  }
  return out;
}

}  // namespace weir::policies::rate_limit_service
