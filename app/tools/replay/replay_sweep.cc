#include "app/tools/replay/replay_sweep.h"

#include "app/support/columns.h"
#include "app/support/exit_code.h"
#include "config/override.h"
#include "config/text/units.h"
#include "core/text.h"
#include "core/words.h"
#include "policies/set/compile.h"
#include "replay/report.h"
#include "replay/team.h"

namespace weir::app {
namespace {

std::optional<Number> number_of(std::string_view text) {
  const auto parsed = config::parse_number(text);
  return parsed ? std::optional(*parsed.value) : std::nullopt;
}

/// `5..50:5`, or with steps of 1 `5..10`.
bool add_range(std::string_view text, std::vector<Number>& out) {
  const std::size_t dots = text.find("..");
  const std::size_t colon = std::min(text.find(':', dots), text.size());
  const auto first = number_of(text.substr(0, dots));
  const auto last = number_of(text.substr(dots + 2, colon - dots - 2));
  const auto step =
      colon == text.size() ? std::optional(Number{1}) : number_of(text.substr(colon + 1));
  if (!first || !last || !step || step->as_real() <= 0 || *last < *first) return false;
  for (std::size_t i = 0; i <= Sweep::kMost; ++i) {
    const double at = first->as_real() + static_cast<double>(i) * step->as_real();
    if (at > last->as_real()) return true;
    const bool whole = !first->is_real() && !step->is_real();
    out.push_back(whole ? Number{static_cast<std::int64_t>(at)} : Number::real(at));
  }
  return true;
}

struct SweepRow {
  Number limit;
  std::uint64_t events = 0, verdicts = 0, keys_hit = 0, refused = 0;
  std::optional<replay::LabelReport> labels;
};

config::Rung* first_with_number(config::PolicyDef& policy) {
  for (config::Rung& rung : policy.then) {
    if (std::holds_alternative<config::Located<Number>>(rung.limit)) return &rung;
  }
  return nullptr;
}

/// The rung of this policy whose threshold is swept.
config::Rung* find_rung(const Sweep& sweep, config::PolicyDef& policy, std::string& problem) {
  const std::string title = "policy \"" + sweep.policy + "\"";
  config::Rung* found = nullptr;
  if (policy.mode.value == Mode::disabled) {
    problem = title + " is disabled: it judges nothing";
  } else if (!sweep.threshold.empty()) {
    problem = config::find_threshold(sweep.threshold, policy, found);
    if (!problem.empty()) problem = title + ": " + problem;
  } else if (sweep.rung) {
    if (*sweep.rung < policy.then.size() && policy.then[*sweep.rung].compare != Compare::none)
      return &policy.then[*sweep.rung];
    problem = title + " has no rung " + std::to_string(*sweep.rung) +
              " with a threshold (the first one is 0 here)";
  } else if (found = first_with_number(policy); found == nullptr) {
    problem = title + " has no rung with a number: name one, as in " + sweep.policy + ":over=5,10";
  }
  const std::string names = config::thresholds_text(policy);
  if (found == nullptr && sweep.threshold.empty() && !names.empty() &&
      policy.mode.value != Mode::disabled)
    problem += "; by name there are " + names;
  return found;
}

config::Rung* find_rung(const Sweep& sweep, config::Model& model, std::string& problem) {
  std::vector<std::string_view> names;
  for (config::PolicyDef& policy : model.policies) {
    const std::string& name = policy.name.value;
    if (name == sweep.policy) return find_rung(sweep, policy, problem);
    if (sweep.policy.starts_with(name + ".")) {
      problem = "write a colon before the name of a threshold: " + name + ":" +
                sweep.policy.substr(name.size() + 1) + "=5,10";
      return nullptr;
    }
    names.push_back(name);
  }
  const std::string hint = config::suggest(sweep.policy, names);
  problem = "there is no policy \"" + sweep.policy + "\"" + (hint.empty() ? "" : "; " + hint);
  return nullptr;
}

bool run_one(const Sweep& sweep, const replay::Plan& plan, const config::Model& model,
             const replay::Labels* labels, unsigned threads, SweepRow& row, std::string& problem) {
  config::Problems problems;
  std::shared_ptr<policies::PolicySet> set = policies::compile(model, problems);
  if (set == nullptr) {
    problem = problems.all().front().message;
    return false;
  }
  const std::size_t index = set->find_policy(sweep.policy)->index;
  replay::Task task;
  task.plan = plan;
  task.side = {&model, std::move(set)};
  task.labels = labels;
  task.threads = threads;
  replay::Team::Failure failure = replay::Team::Failure::none;
  const auto team = replay::Team::make(std::move(task), failure, problem);
  if (team == nullptr) return false;
  while (team->run(20'000)) {
  }
  problem = team->failed();
  if (!problem.empty()) return false;
  const replay::Replay& replay = team->replay();
  problem = replay.read_error();
  if (problem.empty() && replay.rows() == 0) problem = "no row could be read";
  const replay::Tally& tally = replay.tally();
  const replay::PolicyTally& policy = tally.policies()[index];
  row.events = tally.events();
  row.verdicts = policy.verdicts();
  row.keys_hit = policy.hits.size() + policy.hits_dropped;
  for (const ActionRow& action : kActions) {
    if (action.refuses) row.refused += tally.effect(action.action);
  }
  if (labels != nullptr) {
    row.labels = {sweep.policy, row.keys_hit, policy.confirmed.size(), labels->size()};
  }
  return problem.empty();
}

std::vector<std::string> heading(bool labels) {
  std::vector<std::string> out{"limit", "verdicts", "keys_hit", "events", "refused"};
  if (labels) out.insert(out.end(), {"confirmed", "precision", "recall"});
  return out;
}

std::vector<std::string> cells_of(const SweepRow& row) {
  std::vector<std::string> out{row.limit.to_string(), std::to_string(row.verdicts),
                               std::to_string(row.keys_hit), std::to_string(row.events),
                               std::to_string(row.refused)};
  if (!row.labels) return out;
  const auto share = [](const std::optional<double>& value) {
    if (!value) return std::string();
    return Number::real(static_cast<double>(static_cast<std::int64_t>(*value * 10'000 + 0.5)) /
                        10'000)
        .to_string();
  };
  out.insert(out.end(), {std::to_string(row.labels->confirmed), share(row.labels->precision()),
                         share(row.labels->recall())});
  return out;
}

std::string as_json(const Rows& rows) {
  std::string out = "[";
  for (std::size_t r = 1; r < rows.size(); ++r) {
    out += r == 1 ? "{" : ",\n{";
    for (std::size_t c = 0; c < rows[r].size(); ++c) {
      out += (c == 0 ? "\"" : ",\"") + rows.front()[c] +
             "\":" + (rows[r][c].empty() ? "null" : rows[r][c]);
    }
    out += "}";
  }
  return out + "]\n";
}

std::string as_csv(const Rows& rows) {
  std::string out;
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) out += (c == 0 ? "" : ",") + row[c];
    out += "\n";
  }
  return out;
}

}  // namespace

std::optional<Sweep> Sweep::parse(std::string_view text, std::string& problem) {
  const std::size_t equals = text.find('=');
  problem = "write POLICY=5,10,20 or POLICY=5..50:5, not \"" + std::string(text) + "\"";
  if (equals == std::string_view::npos || equals == 0) return std::nullopt;
  Sweep out;
  std::string_view name = text.substr(0, equals);
  if (const std::size_t colon = name.find(':'); colon != std::string_view::npos) {
    const std::string_view which = name.substr(colon + 1);
    const auto rung = config::parse_integer(which);
    if (which.empty() || (rung && *rung.value < 0)) return std::nullopt;
    if (rung)
      out.rung = static_cast<std::size_t>(*rung.value);
    else
      out.threshold = which;
    name = name.substr(0, colon);
  }
  out.policy = name;
  for (std::size_t from = equals + 1; from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    const std::string_view part = text.substr(from, comma - from);
    if (part.find("..") != std::string_view::npos) {
      if (!add_range(part, out.limits)) return std::nullopt;
    } else if (const auto number = number_of(part)) {
      out.limits.push_back(*number);
    } else {
      return std::nullopt;
    }
    from = comma + 1;
  }
  if (out.limits.size() > kMost) {
    problem = "a sweep has at most " + std::to_string(kMost) + " values";
    return std::nullopt;
  }
  problem.clear();
  return out;
}

int run_sweep(const Sweep& sweep, const replay::Plan& plan, const config::Loaded& loaded,
              const replay::Labels* labels, unsigned threads, const Globals& globals) {
  config::Model model = *loaded.model;
  std::string problem;
  config::Rung* const rung = find_rung(sweep, model, problem);
  if (rung == nullptr) {
    complain("--sweep: " + problem);
    return kUsage;
  }
  Rows rows{heading(labels != nullptr)};
  for (const Number limit : sweep.limits) {
    rung->limit = config::Located<Number>{limit, rung->where};
    SweepRow row;
    row.limit = limit;
    if (!run_one(sweep, plan, model, labels, threads, row, problem)) {
      complain("--sweep at " + limit.to_string() + ": " + problem);
      return kNo;
    }
    rows.push_back(cells_of(row));
  }
  print(globals.output == Output::json  ? as_json(rows)
        : globals.output == Output::csv ? as_csv(rows)
                                        : columns(rows));
  return kOk;
}

}  // namespace weir::app
