#include "replay/report.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "core/text.h"
#include "core/words.h"
#include "policies/lang/threshold_table.h"
#include "policies/set/describe.h"

namespace weir::replay {
namespace {

constexpr std::size_t kHardest = 10;
constexpr std::size_t kKeysShown = 10;

std::string shown(double value) { return Number::real(value).to_string(); }

/// Bars by powers of two: 1, 2, 3-4, 5-8, ...; values of at most 0 are one bar.
void fill_bars(const PolicyTally& tally, PolicyReport& out) {
  std::map<int, std::uint64_t> counts;  // exponent of the upper bound; -1000: 0 or less
  bool whole = true;
  tally.maxima.each([&](double value) {
    if (std::isinf(value) && value < 0) return;  // never had a value
    if (tally.under) value = -value;
    whole = whole && value == std::floor(value);
    const int exponent =
        value <= 0 ? -1000 : static_cast<int>(std::clamp(std::ceil(std::log2(value)), -20.0, 62.0));
    ++counts[exponent];
    ++out.bar_keys;
  });
  for (const auto& [exponent, keys] : counts) {
    Bar bar;
    bar.keys = keys;
    if (exponent == -1000) {
      bar.above = -std::numeric_limits<double>::infinity();
      bar.label = "0 or less";
    } else {
      bar.upto = std::ldexp(1, exponent);
      bar.above = exponent == 0 && whole ? 0 : std::ldexp(1, exponent - 1);
      const double least = bar.above + 1;
      bar.label = whole && least >= bar.upto ? shown(bar.upto)
                  : whole                    ? shown(least) + "-" + shown(bar.upto)
                                             : "to " + shown(bar.upto);
    }
    out.bars.push_back(std::move(bar));
  }
}

std::optional<double> constant_limit(const policies::Policy& policy, std::size_t rung) {
  std::optional<double> out;
  for (const policies::Binding& binding : policy.bindings) {
    const auto* number = std::get_if<Number>(&binding.rungs[rung].limit.source);
    if (number == nullptr || (out && *out != number->as_real())) return std::nullopt;
    out = number->as_real();
  }
  return out;
}

RungReport rung_report(const policies::PolicySet& set, const policies::Policy& policy,
                       std::size_t r, const PolicyTally& tally) {
  const policies::Rung& rung = policy.rungs[r];
  RungReport out;
  out.text = policies::rung_text(set, policy, r);
  out.action = row_of(rung.action).name;
  out.shadow = rung.shadow;
  out.verdicts = tally.rungs[r];
  const bool drawn = tally.under ? rung.compare == Compare::under
                                 : rung.compare == Compare::over || rung.compare == Compare::at;
  const bool plain = policy.bindings.empty() || !policy.bindings.front().rungs[r].condition;
  if (rung.counter != 0 || !drawn || !plain) return out;  // not of the reading that is drawn
  out.limit = constant_limit(policy, r);
  if (!out.limit || tally.maxima.held() == 0) return out;
  std::uint64_t held = 0;
  const double limit = tally.under ? -*out.limit : *out.limit;
  tally.maxima.each(
      [&](double value) { held += rung.compare == Compare::at ? value >= limit : value > limit; });
  out.keys_share = static_cast<double>(held) / static_cast<double>(tally.maxima.held());
  return out;
}

/// The cells of a table that hold this limit: `baidu, android; toutiao, *`.
void append_cells(std::string& out, const config::TableNode& node, double limit,
                  const std::string& path) {
  if (node.limit && node.limit->as_real() == limit && !path.empty())
    out += (out.empty() ? "" : "; ") + path;
  for (const config::TableChild& child : node.children) {
    append_cells(out, child.node, limit, path + (path.empty() ? "" : ", ") + child.value.value);
  }
}

std::vector<CellReport> cell_reports(const config::Model& model, const policies::PolicySet& set,
                                     const policies::Policy& policy, const PolicyTally& tally) {
  std::vector<CellReport> out;
  for (const auto& [place, verdicts] : tally.cells) {
    const auto& [rung, limit] = place;
    CellReport cell{{}, shown(limit), verdicts};
    for (const policies::Binding& binding : policy.bindings) {
      const auto* table = std::get_if<std::uint16_t>(&binding.rungs[rung].limit.source);
      if (table == nullptr || !cell.cell.empty()) continue;
      for (const config::TableDef& def : model.tables) {
        if (def.name.value == set.tables[*table]->name())
          append_cells(cell.cell, def.values, limit, "");
      }
    }
    out.push_back(std::move(cell));
  }
  return out;
}

PolicyReport policy_report(const Replay& replay, const policies::Policy& policy) {
  const policies::PolicySet& set = replay.engine().set();
  const PolicyTally& tally = replay.tally().policies()[policy.index];
  PolicyReport out;
  out.name = policy.name;
  if (policy.has_metric)
    out.counter = policies::counter_text(set.counters[policy.counters.front()]);
  for (const std::string& part : policy.key_names) out.key += (out.key.empty() ? "" : ", ") + part;
  if (policy.pattern) {
    out.pattern = true;
    out.matches = tally.matches;
    out.counter = policies::pattern_text(set, policy);
  }
  out.shadow = policy.shadow;
  out.events = tally.events;
  out.keys = tally.maxima.keys();
  out.keys_estimated = tally.maxima.sampled();
  out.keys_hit = tally.hits.size() + tally.hits_dropped;
  out.verdicts = tally.verdicts();
  const Replay::Misses misses = replay.misses(policy);
  out.missing = misses.missing;
  out.amounts_refused = misses.amounts_refused;
  out.late = misses.late;
  out.listed = tally.listed;
  out.remembered = tally.remembered;
  out.unread = tally.unread;
  out.cells = cell_reports(replay.engine().model(), set, policy, tally);
  for (std::size_t r = 0; r < policy.rungs.size(); ++r)
    out.rungs.push_back(rung_report(set, policy, r, tally));
  for (const HitKey* hit : replay.tally().hardest(policy.index, kHardest)) {
    const std::string_view why = policy.pattern
                                     ? match_word(static_cast<limiter::MatchKind>(hit->rung))
                                     : std::string_view(out.rungs[hit->rung].action);
    out.hardest.push_back({hit->text, hit->first,
                           policy.has_metric && hit->hardest ? hit->hardest->to_string() : "",
                           std::string(why), hit->verdicts});
  }
  out.lowest = tally.under;
  if (tally.has_values) fill_bars(tally, out);
  return out;
}

std::vector<Report::Effect> effects_of(const Tally& tally) {
  std::vector<Report::Effect> out;
  for (const ActionRow& row : kActions) {
    const std::string name(row.action == Action::none ? "pass" : row.name);
    out.push_back({name, tally.effect(row.action), static_cast<std::size_t>(row.action)});
  }
  return out;
}

ViewReport view_report(const Replay& replay, std::size_t index) {
  const policies::View& view = replay.engine().set().views[index];
  const Replay::ViewTally& tally = replay.views()[index];
  ViewReport out;
  out.name = view.name;
  out.what = view.metric;
  out.columns = view.key_names;
  out.columns.push_back(view.metric);
  out.windows = tally.windows;
  out.missing = replay.view_misses(index).missing;
  out.late = replay.view_misses(index).late;
  out.start = tally.start;
  out.end = tally.end;
  out.complete = tally.complete;
  out.total = tally.total.to_string();
  out.rows = tally.rows;
  for (const auto& [key, value] : tally.shown) {
    out.shown.push_back(key);
    out.shown.back().push_back(value.to_string());
  }
  return out;
}

std::set<std::string> hit_keys(const Tally& tally, const policies::Policy* policy) {
  std::set<std::string> out;
  if (policy == nullptr) return out;
  for (const auto& [hash, hit] : tally.policies()[policy->index].hits) out.insert(hit.text);
  return out;
}

Difference difference(const Replay& replay, const std::string& name) {
  const policies::Policy* here = replay.engine().set().find_policy(name);
  const policies::Policy* there = replay.other()->set().find_policy(name);
  Difference out;
  out.policy = name;
  out.here = here != nullptr;
  out.there = there != nullptr;
  if (here != nullptr) out.verdicts_here = replay.tally().policies()[here->index].verdicts();
  if (there != nullptr)
    out.verdicts_there = replay.other_tally()->policies()[there->index].verdicts();
  const auto ours = hit_keys(replay.tally(), here);
  const auto theirs = hit_keys(*replay.other_tally(), there);
  for (const std::string& key : ours) {
    if (theirs.contains(key)) {
      ++out.both;
    } else if (++out.only_here <= kKeysShown) {
      out.keys_only_here.push_back(key);
    }
  }
  for (const std::string& key : theirs) {
    if (!ours.contains(key) && ++out.only_there <= kKeysShown) out.keys_only_there.push_back(key);
  }
  return out;
}

void tell_unknown(const Replay& replay, Report& out) {
  std::uint64_t refused = 0;
  for (const ActionRow& row : kActions) {
    if (row.refuses) refused += replay.tally().effect(row.action);
  }
  if (refused > 0) {
    out.unknown.push_back(
        "What the callers of the " + human_count(refused) +
        " refused events would have done next: in the file weir had not refused them.");
  }
  out.unknown.push_back(
      "What the file does not contain: traffic that never reached the log, and fields that the log "
      "does not have.");
  for (const PolicyReport& policy : out.policies) {
    if (policy.missing > 0) {
      out.unknown.push_back("Policy " + policy.name + ": in " + human_count(policy.missing) +
                            " events a key part or amount was missing; live traffic may have it.");
    }
    if (policy.amounts_refused > 0) {
      out.unknown.push_back("Policy " + policy.name + ": in " +
                            human_count(policy.amounts_refused) +
                            " events the amount was negative or not finite; they did not count.");
    }
    if (policy.late > 0) {
      out.unknown.push_back("Policy " + policy.name + ": " + human_count(policy.late) +
                            " events came later than its \"late\" allows and did not count.");
    }
  }
  for (const ViewReport& view : out.views) {
    if (view.late == 0) continue;
    out.unknown.push_back("View " + view.name + ": " + human_count(view.late) +
                          " events came after the windows of their time were complete, and did not "
                          "count; --lateness sorts them in.");
  }
  if (out.late > 0) {
    out.unknown.push_back(human_count(out.late) +
                          " events came later than --lateness allows and were left out.");
  }
  if (out.dropped > 0) {
    out.unknown.push_back(human_count(out.dropped) +
                          " keys lost their count because memory was full (limits.memory).");
  }
}

}  // namespace

std::string PolicyReport::summary() const {
  const std::string of_keys =
      std::string(" of ") + (keys_estimated ? "about " : "") + counted(keys, "key", "keys");
  if (!pattern) {
    return counted(events, "event", "events") + of_keys + "; " +
           counted(verdicts, "verdict", "verdicts") + " on " + counted(keys_hit, "key", "keys") +
           (remembered == 0 ? ""
                            : "; " + counted(remembered, "event", "events") +
                                  " listed or notified without a verdict") +
           (listed == 0 ? "" : "; " + counted(listed, "event", "events") + " met its list");
  }
  std::string out;
  for (std::size_t k = 0; k < matches.size(); ++k) {
    if (matches[k] == 0) continue;
    const auto kind = static_cast<limiter::MatchKind>(k);
    if (!out.empty()) out += ", ";
    out += kind == limiter::MatchKind::timeout
               ? counted(matches[k], "timeout", "timeouts")
               : human_count(matches[k]) + " " + std::string(match_word(kind));
  }
  return out.empty() ? "nothing matched" : out + of_keys;
}

namespace {

/// Ten lines: of the first bad rows, or of more where a longer run of them has the same fault.
void fill_faults(const Stream& stream, FileReport& out) {
  for (const BadRows::Fault& fault : stream.bad().first) {
    const bool is_long = fault.rows > BadRows::kShown;
    for (std::uint64_t row = 0; row < (is_long ? 1 : fault.rows); ++row) {
      if (out.faults.size() == BadRows::kShown) return;
      out.faults.push_back(stream.path() + ":" + std::to_string(fault.line + row) + ":" +
                           std::to_string(fault.column) + ": " + fault.why);
      if (is_long)
        out.faults.back() += " (and the " + counted(fault.rows - 1, "row", "rows") + " after it)";
      out.shown += is_long ? fault.rows : 1;
    }
  }
}

}  // namespace

Report make_report(const Replay& replay, const std::vector<Plan::Source>& sources,
                   std::string other) {
  Report out;
  for (std::size_t i = 0; i < replay.streams().size(); ++i) {
    const Stream& stream = *replay.streams()[i];
    FileReport file{sources[i].event, stream.path(), stream.rows(), stream.bad().count, {}, 0};
    fill_faults(stream, file);
    out.files.push_back(std::move(file));
  }
  out.rows = replay.rows();
  out.bad = replay.bad();
  out.refused_paths = replay.tally().refused_paths();
  out.late = replay.late();
  out.dropped = replay.dropped();
  out.events = replay.tally().events();
  out.first = replay.first();
  out.last = replay.last();
  out.effects = effects_of(replay.tally());
  for (const policies::Policy& policy : replay.engine().set().policies) {
    out.policies.push_back(policy_report(replay, policy));
  }
  const auto& lists = replay.engine().set().lists;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const std::uint64_t events = replay.tally().of_lists()[i];
    if (events != 0 && !lists[i].owner) out.listed.push_back({lists[i].name, events});
  }
  out.timeline = replay.tally().timeline();
  if (replay.tally().labels() != nullptr) {
    for (const PolicyReport& policy : out.policies) {
      const std::size_t index = replay.engine().set().find_policy(policy.name)->index;
      out.labels.push_back({policy.name, policy.keys_hit,
                            replay.tally().policies()[index].confirmed.size(),
                            replay.tally().labels()->size()});
    }
  }
  for (std::size_t i = 0; i < replay.views().size(); ++i)
    out.views.push_back(view_report(replay, i));
  out.other = std::move(other);
  if (replay.other() != nullptr) {
    out.other_effects = effects_of(*replay.other_tally());
    std::vector<std::string> names;
    for (const policies::Policy& policy : replay.engine().set().policies)
      names.push_back(policy.name);
    for (const policies::Policy& policy : replay.other()->set().policies) {
      if (replay.engine().set().find_policy(policy.name) == nullptr) names.push_back(policy.name);
    }
    for (const std::string& name : names) out.differences.push_back(difference(replay, name));
  }
  tell_unknown(replay, out);
  return out;
}

}  // namespace weir::replay
