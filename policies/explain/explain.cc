#include "policies/explain/explain.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "core/assert.h"
#include "core/json_numbers.h"
#include "policies/explain/pattern_text.h"
#include "policies/explain/verdict_text.h"
#include "policies/set/describe.h"

namespace weir::policies {
namespace {

std::string canonical(const Value& value) {
  std::string out;
  if (append_canonical(out, value)) return out;
  return "(" + std::string(type_name(value.type())) + ")";
}

/// The text of a counter's value: a text that `last` remembers is put in quotation marks.
std::string value_text(const Value& value) {
  if (value.is_null()) return "none";
  if (value.is_number()) return value.as_number().to_string();
  return value.is(Type::text) ? "\"" + std::string(value.as_text()) + "\"" : canonical(value);
}

std::vector<std::pair<std::string, std::string>> key_of(const Policy& policy,
                                                        const Binding& binding, Frame& frame) {
  std::vector<std::pair<std::string, std::string>> out;
  for (std::size_t i = 0; i < binding.key.size(); ++i) {
    Value value = frame.load(binding.key[i].slot);
    Address masked;
    if (value.is(Type::address)) {
      masked = value.as_address().masked(binding.key[i].v4_bits, binding.key[i].v6_bits);
      value = Value::address(&masked);
    }
    out.emplace_back(policy.key_names[i], value.is_null() ? "(missing)" : canonical(value));
  }
  return out;
}

/// Collects what the driver decides; the fields are read again in a frame of its own.
class Recorder final : public Trace {
 public:
  Recorder(Explanation& out, const PolicySet& set, Frame& frame)
      : out_(out), set_(set), frame_(frame) {
    for (const Policy& policy : set.policies) {
      Explanation::PolicyLine line;
      line.name = policy.name;
      line.shadow = policy.shadow;
      out_.policies.push_back(std::move(line));
    }
  }

  void event(const Event& event, Happened happened) override {
    Explanation::EventLine line;
    line.name = event.name;
    line.happened = happened == Happened::yes    ? "yes"
                    : happened == Happened::no   ? "no"
                    : happened == Happened::open ? "the answer tells"
                                                 : "nobody can tell";
    if (event.when && happened != Happened::yes) line.why = event.when->canonical();
    out_.events.push_back(std::move(line));
    if (happened == Happened::no) return;
    frame_.set_event(event.name);
    for (const auto& [name, slot] : event.fields) {
      // A field that the event has from its parent has been shown there.
      const Event& parent = set_.events[event.parent];
      const auto inherited = parent.fields.find(name);
      if (&parent != &event && inherited != parent.fields.end() && inherited->second == slot)
        continue;
      const bool file_wide = set_.events[kRequestEvent].fields.contains(name) &&
                             set_.events[kRequestEvent].fields.at(name) == slot;
      if (file_wide && &event != &set_.events[kRequestEvent]) continue;
      Explanation::FieldLine field;
      field.event = event.name;
      field.name = name;
      if (set_.slots[slot].side == Side::answer) {
        field.missing = "the answer tells";
      } else {
        const Value value = frame_.load(slot);
        if (value.is_null() || value.is_error()) {
          field.missing = miss_reason_text(frame_.why(slot));
        } else {
          field.value = canonical(value);
        }
      }
      out_.fields.push_back(std::move(field));
    }
  }

  void list(const List& list, std::optional<TimePoint> until, std::string_view why) override {
    out_.lists.push_back({list.name, std::string(name_of(list.kind)),
                          until ? time_text(*until) : std::string{}, std::string(why)});
  }

  void skipped(const Policy& policy, Skip skip, std::string_view field,
               MissReason reason) override {
    auto& line = out_.policies[policy.index];
    line.skipped = skip_text(skip);
    line.elsewhere = skip == Skip::not_watched;
    if (!field.empty()) line.skipped += ": " + std::string(field);
    if (reason != MissReason::none)
      line.skipped += " (" + std::string(miss_reason_text(reason)) + ")";
  }

  void counted(const Policy& policy, const Binding& binding, const Counter& counter,
               const PlannedCounter& planned) override {
    const limiter::Reading& reading = planned.reading;
    auto& line = out_.policies[policy.index];
    Explanation::PolicyLine::CounterLine row;
    row.what = counter_text(counter);
    row.value = value_text(planned.value(false));
    row.settled = value_text(planned.value(true));
    row.in_flight = reading.in_flight;
    row.shared = counter.shared != nullptr;
    row.possible = planned.is_possible();
    line.counters.push_back(std::move(row));
    (void)binding;
  }

  void pattern(const Policy& policy, const PlannedPattern& planned,
               const limiter::PatternView& view) override {
    auto& line = out_.policies[policy.index];
    const Binding& binding = policy.bindings[planned.binding];
    line.event = set_.events[binding.event].name;
    line.key = key_of(policy, binding, frame_);
    line.pattern = pattern_part_text(set_.patterns[*policy.pattern], planned, view);
  }

  void rung(const Policy& policy, std::size_t rung, const Value& value, std::optional<Number> limit,
            bool holds) override {
    Explanation::RungLine row;
    row.text = rung_text(set_, policy, rung);
    row.holds = holds;
    row.shadow = policy.rungs[rung].shadow;
    if (policy.has_metric || policy.reads_score)
      row.value = value.is_null() ? "none" : canonical(value);
    if (limit) row.limit = limit->to_string();
    out_.policies[policy.index].rungs.push_back(std::move(row));
  }

 private:
  Explanation& out_;
  const PolicySet& set_;
  Frame& frame_;
};

}  // namespace

std::string verdict_word(const Verdict& verdict) {
  if (verdict.exempt) return "exempt";
  if (!verdict.defect.empty()) return "refused";
  if (verdict.crowded) return "wait";
  if (verdict.effect == Action::none) return "pass";
  const ActionRow& row = row_of(verdict.effect);
  return std::string(row.verdict.empty() ? row.name : row.verdict);
}

std::string decided_by(const PolicySet& set, const Plan& plan, const Verdict& verdict) {
  if (verdict.decider >= 0) {
    const Standing& standing = verdict.standings[static_cast<std::size_t>(verdict.decider)];
    return standing.list ? set.lists[*standing.list].name : set.policies[*standing.policy].name;
  }
  if (plan.allowed) return set.lists[plan.allowed->list].name;
  return {};
}

Explaining::Explaining(Driver& driver, const Occurrence& occurrence, Instant at)
    : driver_(driver), occurrence_(occurrence), at_(at) {
  const PolicySet& set = driver.set();
  if (const Request* const request = occurrence.request(); request != nullptr) {
    out_.method = request->method;
    out_.url = request->target;
    out_.ip = request->client.to_string();
  }
  occurrence.visit([&](const auto& event) { frame_.begin(set.slots, event, &driver.lists()); });
  recorder_ = std::make_unique<Recorder>(out_, set, frame_);
  options_.may_wait = false;
  options_.dry = true;
  options_.trace = recorder_.get();
  go_on(driver_.start(judgement_, occurrence_, at_, options_));
}

Explaining::~Explaining() = default;

void Explaining::resume() { go_on(driver_.resume(judgement_, occurrence_, at_, options_)); }

void Explaining::go_on(const Verdict* verdict) {
  waiting_ = verdict == nullptr;
  if (!waiting_) conclude(*verdict);
}

void Explaining::conclude(const Verdict& verdict) {
  const PolicySet& set = driver_.set();
  for (const PlannedPolicy& planned : judgement_.plan.policies) {
    const Policy& policy = set.policies[planned.policy];
    auto& line = out_.policies[planned.policy];
    const Binding& binding = policy.bindings[planned.binding];
    line.event = set.events[binding.event].name;
    line.key = key_of(policy, binding, frame_);
  }
  // A defect ends the judgement: policies after it are marked as not evaluated.
  for (auto& line : out_.policies) {
    if (line.event.empty() && line.skipped.empty()) {
      const auto& defect = judgement_.plan.defect;
      const bool own = defect && defect->policy && set.policies[*defect->policy].name == line.name;
      line.skipped = own ? "it refuses the request: " + std::string(defect->field) + " (" +
                               std::string(miss_reason_text(defect->why)) + ")"
                         : "the request was refused before";
    }
  }
  for (const std::string& name : set.disabled) {
    Explanation::PolicyLine line;
    line.name = name;
    line.skipped = skip_text(Skip::disabled);
    out_.policies.push_back(std::move(line));
  }
  out_.verdict = verdict_word(verdict);
  out_.decided_by = decided_by(set, judgement_.plan, verdict);
  VerdictText text;
  const Effect effect = text.render(set, judgement_.plan, verdict, at_);
  if (effect.kind == Effect::Kind::answer) out_.status = effect.status;
  out_.upstream_headers = effect.upstream_headers;
  out_.response_headers = effect.response_headers;
}

Explanation explain(Driver& driver, const Occurrence& occurrence, Instant at) {
  Explaining explaining(driver, occurrence, at);
  WEIR_ASSERT(!explaining.is_waiting());
  return explaining.take();
}

std::string Explanation::to_json() const {
  return plain_numbers(boost::json::serialize(to_object())) + "\n";
}

boost::json::object Explanation::to_object() const {
  namespace json = boost::json;
  json::object root;
  if (!method.empty()) root["request"] = {{"method", method}, {"url", url}, {"ip", ip}};
  json::array event_rows, field_rows, list_rows, policy_rows;
  for (const EventLine& line : events) {
    json::object row{{"name", line.name}, {"happened", line.happened}};
    if (!line.why.empty()) row["when"] = line.why;
    event_rows.push_back(std::move(row));
  }
  for (const FieldLine& line : fields) {
    json::object row{{"event", line.event}, {"name", line.name}};
    if (line.missing.empty()) {
      row["value"] = line.value;
    } else {
      row["missing"] = line.missing;
    }
    field_rows.push_back(std::move(row));
  }
  for (const ListLine& line : lists) {
    list_rows.push_back(
        {{"name", line.name}, {"kind", line.kind}, {"until", line.until}, {"why", line.why}});
  }
  for (const PolicyLine& line : policies) {
    json::object row{{"name", line.name}, {"shadow", line.shadow}};
    if (!line.skipped.empty()) {
      row["skipped"] = line.skipped;
    } else {
      row["event"] = line.event;
      json::object key;
      for (const auto& [name, value] : line.key) key[name] = value;
      row["key"] = std::move(key);
      if (!line.pattern.empty()) row["pattern"] = line.pattern;
      json::array counters, rungs;
      for (const auto& counter : line.counters) {
        counters.push_back({{"what", counter.what},
                            {"value", counter.value},
                            {"settled", counter.settled},
                            {"in_flight", counter.in_flight},
                            {"shared", counter.shared},
                            {"possible", counter.possible}});
      }
      for (const RungLine& rung : line.rungs) {
        rungs.push_back({{"rung", rung.text},
                         {"value", rung.value},
                         {"limit", rung.limit},
                         {"holds", rung.holds},
                         {"shadow", rung.shadow}});
      }
      row["counters"] = std::move(counters);
      row["rungs"] = std::move(rungs);
    }
    policy_rows.push_back(std::move(row));
  }
  root["events"] = std::move(event_rows);
  root["fields"] = std::move(field_rows);
  root["lists"] = std::move(list_rows);
  root["policies"] = std::move(policy_rows);
  json::object verdict_row{{"effect", verdict}};
  if (!decided_by.empty()) verdict_row["decided_by"] = decided_by;
  if (status != 0) verdict_row["status"] = status;
  verdict_row["upstream_headers"] = upstream_headers;
  verdict_row["response_headers"] = response_headers;
  root["verdict"] = std::move(verdict_row);
  if (!here_only.empty()) root["counted_here_only"] = here_only;
  return root;
}

}  // namespace weir::policies
