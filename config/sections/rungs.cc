#include "config/sections/sections.h"
#include "config/text/shapes.h"
#include "config/text/yaml_text.h"

namespace weir::config {
namespace {

struct RungDraft {
  Rung rung;
  const Node* threshold = nullptr;  // the nodes of the keys, if given
  const Node* score_over = nullptr;
  const Node* action = nullptr;
  const Node* durations = nullptr;
  const Node* forget = nullptr;
  const Node* hold = nullptr;
  const Node* list = nullptr;
  const Node* status = nullptr;
  const Node* tell = nullptr;
  const Node* body = nullptr;
  const Node* content_type = nullptr;
};

/// `>20`, `1_000`, `1k`: the number that was meant. Empty: it may be an expression.
std::string hint_of_threshold(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::size_t sign = text.find_first_not_of("<>= ");
  if (sign != 0 && sign != std::string_view::npos) {
    const std::string_view rest = text.substr(sign);
    const char first = text.front();
    const bool equals = text.substr(0, sign).find('=') != std::string_view::npos;
    const std::string meant = first == '>'              ? (equals ? "at" : "over")
                              : first == '<' && !equals ? "under"
                                                        : "at";
    return "the key says how it is compared: write " + meant + ": " + std::string(rest);
  }
  const Parsed<Number> number = parse_number(text);
  return number ? std::string() : number.hint.starts_with("write ") ? number.hint : std::string();
}

template <Compare Compare>
void read_threshold(Reader& reader, const Member& m, RungDraft& draft) {
  if (draft.threshold != nullptr) {
    return reader.error(*m.key,
                        draft.score_over == nullptr && m.key->text != "score_over"
                            ? "a rung has one of \"over\", \"at\" and \"under\""
                            : "a rung compares one thing: \"score_over\" has a rung of its own");
  }
  draft.threshold = m.key;
  draft.rung.compare = Compare;
  const auto text = reader.expression(m);
  if (!text) return;
  const auto meant = meant_rate(text->value);
  const bool divides = meant && text->value == meant->text();  // by a field `m`: it may be there
  if (meant && !divides) {
    return reader.error(
        *m.value, quoted(text->value) + " is a rate, and a threshold is a number",
        "write " + std::string(m.key->text) + ": " + meant->many + ", in: " + meant->window);
  }
  if (const std::string hint = hint_of_threshold(text->value); !hint.empty())
    return reader.error(*m.value, quoted(text->value) + " is not a threshold", hint);
  const auto number = parse_number(text->value);
  if (number) {
    draft.rung.limit = Located<Number>{*number.value, m.value->where};
  } else if (parse_data_number(text->value)) {
    reader.error(*m.value, number.message, number.hint);
  } else {
    draft.rung.limit = *text;
  }
}

void read_durations(Reader& reader, const Member& m, RungDraft& draft) {
  constexpr milliseconds kShortest{1'000};
  constexpr milliseconds kLongest = std::chrono::hours{24 * 366};
  draft.durations = m.key;
  const auto one = [&](const Member& item) {
    if (const auto d = reader.duration(item, kShortest, kLongest))
      draft.rung.durations.push_back(located(item, *d));
  };
  if (m.value->is_scalar() && m.value->text == "window") {
    draft.rung.for_window = true;
    return;
  }
  if (!m.value->is_list()) return one(m);
  if (m.value->items.empty()) reader.error(*m.value, "\"for\" is an empty list");
  if (m.value->items.size() > 16)
    return reader.error(*m.value, "an escalation has at most 16 steps");
  for (const Member& item : m.value->items) one(item);
  const auto& steps = draft.rung.durations;
  for (std::size_t i = 1; i < steps.size(); ++i) {
    if (steps[i].value < steps[i - 1].value) {
      reader.problems().error(steps[i].where, "an escalation never gets shorter");
    }
  }
}

using RungScore = WholeNumber<1, 1'000'000>;
constexpr Row<RungDraft> kRung[] = {
    {{"over", shape::kLimit, "number, table or expression", "", "Holds when the value is greater."},
     read_threshold<Compare::over>},
    {{"at", shape::kLimit, "number, table or expression", "",
      "Holds when the value is greater or equal."},
     read_threshold<Compare::at>},
    {{"under", shape::kLimit, "number, table or expression", "",
      "Holds when the value is less; the window is then exact."},
     read_threshold<Compare::under>},
    {{"score_over", shape::kLimit, "number, table or expression", "",
      "Holds when the request's total score is greater: what the rungs of all policies give it. "
      "Beside rungs that compare something else, the rung becomes a policy of its own: "
      "`NAME-score`."},
     [](Reader& r, const Member& m, RungDraft& d) {
       read_threshold<Compare::over>(r, m, d);
       d.score_over = m.key;
     }},
    {{"if", shape::kExpression, "expression", "",
      "The rung holds only if the expression is true too; it can read `value` and `limit`."},
     [](Reader& r, const Member& m, RungDraft& d) { d.rung.condition = r.expression(m); }},
    {{"in", shape::kWindow, "duration, or a window", "the policy's window",
      "A window of its own, on the same key and metric."},
     [](Reader& r, const Member& m, RungDraft& d) {
       if (const auto window = read_window(r, m)) d.rung.in = located(m, *window);
     }},
    {{"do", shape::kAction, kValuesOf<kActions, RungActions>, "", "The action."},
     [](Reader& r, const Member& m, RungDraft& d) {
       d.action = m.key;
       if (m.value->is_list())
         return r.error(*m.value, "a rung does one thing",
                        "write a rung for each, with a threshold of its own");
       set(m, r.word(m, kActions, RungActions{}), d.rung.action);
     }},
    {{"for",
      R"({"anyOf":[{"$ref":"#/$defs/duration"},{"type":"array","minItems":1,"items":{"$ref":"#/$defs/duration"}}]})",
      "duration, 1s to 366d; a list = escalation; `window` = until the fixed or calendar window "
      "ends",
      "",
      "How long the key is remembered: for what the policy judges, or with a named `list` for all "
      "requests."},
     read_durations},
    {ForgetSpan::doc("forget", "that of the list, else the longest `for`",
                     "Time after an entry ends until an escalation starts over."),
     [](Reader& r, const Member& m, RungDraft& d) {
       d.forget = m.key;
       if (const auto v = ForgetSpan::read(r, m)) d.rung.forget = located(m, *v);
     }},
    {HoldSpan::doc("hold", "with a `rate`: until its turn comes",
                   "How long `do: delay` holds a request."),
     [](Reader& r, const Member& m, RungDraft& d) {
       d.hold = m.key;
       if (const auto v = HoldSpan::read(r, m)) d.rung.hold = located(m, *v);
     }},
    {{"list", shape::kName, "a list", "a list of the policy's own",
      "The list that the key goes on."},
     [](Reader& r, const Member& m, RungDraft& d) {
       d.list = m.key;
       d.rung.list = r.text(m);
     }},
    {RungScore::doc("score", "", "Added to the request's score, which goes upstream."),
     [](Reader& r, const Member& m, RungDraft& d) {
       if (const auto n = RungScore::read(r, m)) d.rung.score = located(m, *n);
     }},
    {{"clear", shape::kBoolean, "`true` or `false`", "`false`",
      "Empties the window that the rung reads, for all rungs of the policy that read it; only a "
      "policy "
      "with the same `clear` shares the window. Not for `metrics`."},
     [](Reader& r, const Member& m, RungDraft& d) { set(r.boolean(m), d.rung.clear); }},
    {{"notify", shape::kName, "a notification", "", "Who gets a notification."},
     [](Reader& r, const Member& m, RungDraft& d) { d.rung.notify = r.text(m); }},
    {{"status", shape::kStatus, "400 to 599", "429", "Status of the refusal."},
     [](Reader& r, const Member& m, RungDraft& d) {
       d.status = m.key;
       if (const auto n = read_status(r, m)) d.rung.status = located(m, *n);
     }},
    {{"tell", shape::kTell, kValuesOf<kTells>, "`retry`; for a caller on the list: `nothing`",
      "How much a refused caller learns."},
     [](Reader& r, const Member& m, RungDraft& d) {
       d.tell = m.key;
       if (const auto t = read_tell(r, m)) d.rung.tell = located(m, *t);
     }},
    {{"body", R"({"type":"string"})", kBodyRange, "weir's own, as `tell` says",
      "Body of a refusal by `do: deny`, and of the ban that follows."},
     [](Reader& r, const Member& m, RungDraft& d) {
       d.body = m.key;
       read_refusal_body(r, m, d.rung.body);
     }},
    {{"content_type", shape::kText, "media type", "`text/plain; charset=utf-8`", "Of the body."},
     [](Reader& r, const Member& m, RungDraft& d) {
       d.content_type = m.key;
       set(read_media_type(r, m), d.rung.content_type);
     }},
    {{"mode", shape::kMode, kValuesOf<kModes>, "the policy's",
      "This rung's own mode; in `shadow` its `clear` empties nothing. In a policy with `mode: "
      "shadow` no rung can be enforced."},
     [](Reader& r, const Member& m, RungDraft& d) {
       if (const auto v = read_mode(r, m)) d.rung.mode = located(m, *v);
     }},
};

void check_rung(Reader& reader, const Node& map, const RungDraft& d) {
  const Rung& rung = d.rung;
  const Action action = rung.action.value;
  if (d.action == nullptr) {
    if (!rung.score && !rung.clear && !rung.notify) {
      reader.error(map, "a rung needs \"do\"",
                   "allowed are " + sentence_of<kActions, RungActions>(" and "));
    }
  }
  if (action == Action::graylist && d.durations == nullptr) {
    reader.error(*d.action, "\"graylist\" needs \"for\", a duration such as 15m");
  }
  if (d.hold != nullptr && action != Action::delay) {
    reader.error(*d.hold, "\"hold\" is allowed only with do: delay");
  }
  if (d.durations != nullptr && !row_of(action).remembers) {
    reader.error(*d.durations, "\"for\" needs an action that remembers the key",
                 "do: graylist passes requests on and remembers the key");
  }
  if (d.list != nullptr && d.durations == nullptr && action != Action::graylist) {
    reader.error(*d.list, "\"list\" needs \"for\", a duration such as 15m");
  }
  if (d.forget != nullptr && (d.durations == nullptr || rung.durations.size() < 2)) {
    reader.error(*d.forget,
                 "\"forget\" is allowed only with an escalation, such as for: [15m, 4h, 24h]");
  }
  if (d.status != nullptr && !refuses(action))
    reader.error(*d.status, "\"status\" is allowed only with do: deny or do: challenge");
  if (d.tell != nullptr && !refuses(action) && action != Action::graylist) {
    reader.error(*d.tell, "\"tell\" is allowed only with do: deny, challenge or graylist");
  }
  if (d.body != nullptr && action != Action::deny) {
    reader.error(*d.body, "\"body\" is allowed only with do: deny",
                 action == Action::challenge
                     ? "a challenge has the body of the section \"challenge\""
                 : action == Action::graylist ? "give the body to a named list with effect: deny"
                                              : "");
  }
  if (d.content_type != nullptr && d.body == nullptr)
    reader.error(*d.content_type, "\"content_type\" is allowed only beside \"body\"");
}

}  // namespace

namespace {

/// `then: [{over: 5, do: deny}]`, with the words given there instead of a list.
std::string form_of_rungs(const Node& value) {
  std::string over = "100", action = "deny";
  const auto plain = [](const Node& node) { return node.is_scalar() && node.text.size() < 20; };
  const auto is_action = [](std::string_view word) {
    return word == "flag" || word == "deny" || word == "challenge";
  };
  if (plain(value) && is_action(value.text)) action = value.text;
  std::string out;
  for (const Member& m : value.items) {
    if (!value.is_map() || !plain(*m.value)) break;
    if (m.key->text == "over") over = m.value->text;
    if (m.key->text == "do") action = m.value->text;
    // `{5: flag, 10: deny}`
    if (is_digits(m.key->text) && is_action(m.value->text)) {
      out += (out.empty() ? "" : ", ") + ("{over: " + std::string(m.key->text)) +
             ", do: " + std::string(m.value->text) + "}";
    }
  }
  if (out.empty()) out = "{over: " + over + ", do: " + action + "}";
  return "then: [" + out + "]";
}

}  // namespace

void read_rungs(Reader& reader, const Member& then, std::vector<Rung>& out,
                std::vector<std::size_t>& on_score) {
  constexpr std::size_t kMost = 64;
  if (!then.value->is_list()) {
    return reader.error(*then.value, "\"then\" must be a list of rungs",
                        "write " + form_of_rungs(*then.value) + ", also of one rung");
  }
  if (then.value->items.empty()) return reader.error(*then.value, "\"then\" is an empty list");
  if (then.value->items.size() > kMost)
    return reader.error(*then.value, "a policy has at most 64 rungs");
  for (const Member& item : then.value->items) {
    RungDraft draft;
    draft.rung.where = item.value->where;
    const std::size_t errors = reader.problems().errors();
    reader.walk(*item.value, "a rung", kRung, draft);
    const bool sound = reader.problems().errors() == errors;
    // Under an unknown key or a broken value the rung's own rules would only repeat it.
    if (item.value->is_map() && sound) check_rung(reader, *item.value, draft);
    const bool delays = draft.rung.action.value == Action::delay;
    if (delays && draft.hold == nullptr) draft.rung.paces = draft.action->where;
    if (!draft.rung.body.empty() && draft.rung.content_type.empty())
      draft.rung.content_type = kBodyType;
    if (draft.score_over != nullptr) on_score.push_back(out.size());
    out.push_back(std::move(draft.rung));
  }
}

void add_rung_tables(std::vector<TableDoc>& out) {
  out.push_back(
      doc_of<kRung>("rung", "a rung", "Rungs",
                    "`then:` is a list of maps with these keys: one threshold with its "
                    "action each. Of the rungs that "
                    "hold, only the severest acts: flag < graylist (its list's effect) "
                    "< delay < challenge < deny; "
                    "of equally severe rungs, the later one. A rung without `do` (`score`, "
                    "`clear`, `notify`) is the least "
                    "severe: if another rung can hold at the same time, give both the same `do`. "
                    "Each policy decides "
                    "for itself."));
}

}  // namespace weir::config
