#include "config/sections/patterns.h"

#include <algorithm>

#include "config/sections/sections.h"
#include "config/text/shapes.h"
#include "config/text/yaml_text.h"

namespace weir::config {
namespace {

constexpr std::size_t kStepsMax = 8;

struct StepDraft {
  PatternDef::Step step;
  const Node* no = nullptr;  ///< the event that must not happen
};

/// `login_failed`, or `no pay`.
void read_step_event(Reader& reader, const Member& m, StepDraft& draft) {
  const auto text = reader.text(m);
  if (!text) return;
  constexpr std::string_view kNo = "no ";
  draft.step.event = *text;
  if (!text->value.starts_with(kNo)) return;
  draft.no = m.value;
  const std::size_t begin =
      std::min(text->value.find_first_not_of(' ', kNo.size()), text->value.size());
  draft.step.event = {text->value.substr(begin), within(*text, begin, text->value.size() - begin)};
}

constexpr Row<StepDraft> kStep[] = {
    {{"event", shape::kName, "an event, or `no` and an event", "required", "What happens."},
     read_step_event},
    {{"when", shape::kExpression, "expression", "`true`",
      "Only events for which the expression is true."},
     [](Reader& r, const Member& m, StepDraft& d) { d.step.when = r.expression(m); }},
};

using PairSide = TimeSpan<0, kWindowMax.count()>;
constexpr Row<PatternDraft> kWithin[] = {
    {PairSide::doc("before", "`0s`",
                   "How much earlier the second may be than the first, inclusive."),
     [](Reader& r, const Member& m, PatternDraft& d) {
       if (const auto t = PairSide::read(r, m)) d.def.before = located(m, *t);
     }},
    {PairSide::doc("after", "`0s`", "How much later, inclusive."),
     [](Reader& r, const Member& m, PatternDraft& d) {
       if (const auto t = PairSide::read(r, m)) d.def.after = located(m, *t);
     }},
};

void read_steps(Reader& reader, const Member& m, PatternDraft& draft, bool pair) {
  PatternDef& def = draft.def;
  const std::string word(m.key->text);
  if (draft.key != nullptr) {
    return reader.error(*m.key, "a policy has one of \"sequence\" and \"pair\"");
  }
  draft.key = m.key;
  def.where = m.value->where;
  if (pair) def.kind = PatternDef::Kind::pair;
  if (!m.value->is_list()) {
    return reader.error(
        *m.value, quoted(word) + " is a list of events",
        pair ? "write pair: [pay, receipt]" : "write sequence: [login_failed, login_ok]");
  }
  const std::size_t count = m.value->items.size();
  if (count < 2 || count > (pair ? 2 : kStepsMax)) {
    return reader.error(*m.value, pair ? "a pair has two events" : "a sequence has 2 to 8 steps");
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Member& item = m.value->items[i];
    StepDraft step;
    if (item.value->is_map()) {
      reader.walk(*item.value, "a step", kStep, step);
    } else {
      read_step_event(reader, item, step);
    }
    if (step.no != nullptr) {
      if (pair || i + 1 != count) {
        reader.error(*step.no, "only the last step of a sequence can be one that does not happen");
      } else if (count > 2) {
        reader.error(*step.no, "a sequence of more than two steps cannot end with \"no\"",
                     "write sequence: [a, no b]: an a, and no b within the time");
      }
      def.kind = pair ? def.kind : PatternDef::Kind::absence;
    }
    if (!step.step.event.value.empty()) def.steps.push_back(std::move(step.step));
  }
  if (pair && def.steps.size() == 2 && def.steps[0].event.value == def.steps[1].event.value &&
      !def.steps[0].when && !def.steps[1].when) {
    reader.problems().error(def.steps[1].event.where, "both sides of this pair are the same",
                            "tell them apart: {event: NAME, when: ...}");
  }
}

/// A rung whose key waits for a deadline has no request to act on.
void check_timed_rung(Reader& reader, const Rung& rung) {
  constexpr std::string_view kHint =
      "list the key (graylist, challenge or deny, with for), or notify";
  if (rung.action.value == Action::flag ||
      (rung.action.value != Action::none && rung.durations.empty())) {
    reader.problems().error(
        rung.action.where,
        "this fires when something did not happen: there is no request to act on",
        std::string(kHint));
  }
  if (rung.score) {
    reader.problems().error(
        rung.score->where, "this fires when something did not happen: there is no request to score",
        std::string(kHint));
  }
  if (rung.condition) {
    reader.problems().error(
        rung.condition->where,
        "this fires when something did not happen: there are no fields to look at",
        "narrow the step instead: {event: NAME, when: ...}");
  }
}

void check_pattern_rungs(Reader& reader, const PolicyDef& policy) {
  for (const Rung& rung : policy.then) {
    const auto* number = std::get_if<Located<Number>>(&rung.limit);
    const auto* text = std::get_if<Text>(&rung.limit);
    if (number != nullptr || text != nullptr) {
      reader.problems().error(number != nullptr ? number->where : text->where,
                              "a threshold compares a metric, and a pattern has none",
                              "the rung holds whenever the pattern matches; narrow it with \"if\"");
    }
    if (rung.in) reader.problems().error(rung.in->where, "a pattern has no window of its own");
    if (rung.for_window) {
      reader.problems().error(rung.where, "\"for: window\" needs a window, and a pattern has none",
                              "write a duration, such as for: 15m");
    }
    if (rung.clear) {
      reader.problems().error(rung.where, "\"clear\" empties a counter, and a pattern has none");
    }
    if (policy.pattern->kind == PatternDef::Kind::absence) check_timed_rung(reader, rung);
  }
}

}  // namespace

void read_sequence(Reader& reader, const Member& m, PatternDraft& draft) {
  read_steps(reader, m, draft, false);
}
void read_pair(Reader& reader, const Member& m, PatternDraft& draft) {
  read_steps(reader, m, draft, true);
}

void read_within(Reader& reader, const Member& m, PatternDraft& draft) {
  draft.within = m.key;
  if (m.value->is_map()) {
    draft.sides = m.value;
    reader.walk(*m.value, "\"within\"", kWithin, draft);
    if (m.value->items.empty()) reader.error(*m.value, "\"within\" is an empty map");
  } else if (const auto t = WindowSpan::read(reader, m)) {
    draft.def.within = located(m, *t);
  }
}

void check_pattern(Reader& reader, const PolicyDraft& policy_draft) {
  const PatternDraft& draft = policy_draft.pattern;
  const PolicyDef& policy = policy_draft.policy;
  if (draft.key == nullptr) {
    for (const Node* word : {draft.within, draft.strict, draft.among, draft.overlap}) {
      if (word != nullptr) {
        reader.error(*word, quoted(word->text) + " is allowed only with \"sequence\" or \"pair\"");
      }
    }
    return;
  }
  const PatternDef& def = draft.def;
  const bool pair = def.kind == PatternDef::Kind::pair;
  const std::string pattern = quoted(draft.key->text);
  const auto clash = [&](const Where& where, std::string_view word, std::string hint = {}) {
    reader.problems().error(where, quoted(word) + " does not go with " + pattern, std::move(hint));
  };
  if (!policy.watch.empty()) {
    clash(policy.watch.front().where, "watch", pattern + " says what is watched");
  }
  if (policy_draft.metric != nullptr) clash(policy_draft.metric->where, "metric");
  if (policy_draft.window != nullptr) {
    clash(policy_draft.window->where, "window", "\"within\" says how long a match may take");
  }
  if (!policy.metrics.empty()) clash(policy.metrics.front().name.where, "metrics");
  if (policy.reset)
    clash(policy.reset->where, "reset", "\"strict\" and \"among\" say what ends a match");
  if (policy.reserve) clash(policy.reserve->where, "reserve");
  if (policy.keys) clash(policy.keys->where, "keys", "\"keep\" bounds the open matches of a key");
  if (!policy.guard.empty()) {
    clash(policy.guard.front().where, "guard",
          "name a list in the rung: it acts on every request that has its fields");
  }
  for (const Node* word : {draft.strict, draft.among, draft.overlap}) {
    if (word == nullptr || def.kind == PatternDef::Kind::sequence) continue;
    reader.error(*word,
                 quoted(word->text) +
                     " is allowed only with a sequence of events that happen, one after the other");
  }
  if (draft.among != nullptr && draft.strict == nullptr && def.kind == PatternDef::Kind::sequence) {
    reader.problems().warning(
        draft.among->where,
        "\"among\" says what must not come between the steps: without strict: true "
        "it has no effect");
  }
  if (!policy_draft.sound) return;
  if (draft.sides != nullptr && !pair) {
    reader.error(*draft.sides, "only a pair takes before and after",
                 "write within: 15m, from the first step to the last");
  } else if (draft.within == nullptr && !pair) {
    reader.error(*draft.key, "a sequence needs \"within\", such as within: 15m");
  }
  check_pattern_rungs(reader, policy);
}

void add_pattern_tables(std::vector<TableDoc>& out) {
  out.push_back(doc_of<kStep>(
      "step", "a step", "Steps of patterns",
      "`sequence: [a, b]` and `pair: [a, b]` name events, or maps with these keys. The last step "
      "of a "
      "sequence of two may be `no b`: it fires when no b follows the a within the time."));
  out.push_back(doc_of<kWithin>("within", "\"within\"", "Within",
                                "`within: 5s` of a pair is `{before: 5s, after: 5s}`; without it a "
                                "pair waits for the end of input."));
}

}  // namespace weir::config
