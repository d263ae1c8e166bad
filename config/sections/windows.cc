#include <numeric>
#include <utility>

#include "config/sections/sections.h"
#include "config/text/shapes.h"
#include "config/text/yaml_text.h"
#include "config/text/zone_hint.h"

namespace weir::config {
namespace {

struct WindowDraft {
  WindowDef window;
  const Node* last = nullptr;
  const Node* every = nullptr;
  const Node* buckets = nullptr;
  const Node* from = nullptr;
  const Node* exact = nullptr;
  const Node* events = nullptr;
  const Node* calendar = nullptr;
  const Node* zone = nullptr;
  const Node* leaky = nullptr;
  const Node* drain = nullptr;
  const Node* rate = nullptr;
  const Node* burst = nullptr;
  const Node* hop = nullptr;
};

using EverySpan = TimeSpan<1, 366 * kDay>;
using BucketCount = WholeNumber<1, 3600>;
using LastEvents = WholeNumber<1, 50'000>;

/// `10/s`, `100/15m`: how many in which time, in lowest terms.
void read_rate(Reader& r, const Member& m, WindowDraft& d) {
  constexpr std::string_view kHint = "write 10/s, 600/m, 5/h or 100/15m";
  d.rate = m.key;
  const auto word = r.scalar(m);
  if (!word) return;
  const std::size_t slash = word->find('/');
  const auto many = parse_integer(word->substr(0, slash));
  std::string time(slash == std::string::npos ? std::string() : word->substr(slash + 1));
  if (!time.empty() && (time.front() < '0' || time.front() > '9')) time.insert(0, 1, '1');
  const auto per = parse_duration(time);
  if (!many || !per) {
    const auto meant = meant_rate(*word);
    return r.error(*m.value, quoted(*word) + " is not a rate",
                   meant ? "did you mean \"" + meant->text() + "\"?" : std::string(kHint));
  }
  constexpr std::int64_t kMost = 1'000'000;  // limiter::kDrainsMax
  if (*many.value < 1 || *many.value > kMost || *per.value < kWindowShortest ||
      *per.value > kWindowMax) {
    return r.error(*m.value, "a rate is 1 to 1000000 in 1ms to 31d", std::string(kHint));
  }
  const std::int64_t common = std::gcd(*many.value, per.value->count());
  d.window.drains = static_cast<std::uint32_t>(*many.value / common);
  d.window.drain = *per.value / common;
}

void read_capacity(Reader& r, const Member& m, std::string_view what, Number& out) {
  const auto word = r.scalar(m);
  const auto number = word ? r.take(*m.value, parse_number(*word)) : std::nullopt;
  if (!number) return;
  constexpr double kMost = 2'147'483'647;
  if (number->is_negative() || number->is_zero() || !(number->as_real() <= kMost)) {
    return r.error(*m.value, std::string(what) + " more than 0 and at most 2147483647");
  }
  out = *number;
}

constexpr Row<WindowDraft> kWindow[] = {
    {WindowSpan::doc("last", "", "A window that slides."),
     [](Reader& r, const Member& m, WindowDraft& d) {
       d.last = m.key;
       set(WindowSpan::read(r, m), d.window.length);
     }},
    {BucketCount::doc(
         "buckets", "60",
         "Parts of a sliding window: it never undercounts, and overcounts by at most one part."),
     [](Reader& r, const Member& m, WindowDraft& d) {
       d.buckets = m.key;
       if (const auto n = BucketCount::read(r, m)) d.window.buckets = static_cast<unsigned>(*n);
     }},
    {{"exact", shape::kBoolean, "`true` or `false`", "`false`",
      "Keep each event, and read the true value."},
     [](Reader& r, const Member& m, WindowDraft& d) {
       d.exact = m.key;
       set(r.boolean(m), d.window.exact);
     }},
    {EverySpan::doc(
         "every", "",
         "Fixed windows, one after the other; over 31d only for counts and sums, without "
         "`from: first`."),
     [](Reader& r, const Member& m, WindowDraft& d) {
       d.every = m.key;
       set(EverySpan::read(r, m), d.window.length);
     }},
    {{"from", R"({"enum":["epoch","first"]})", "`epoch` or `first`", "`epoch`",
      "Whether fixed windows begin at multiples of their length or at the key's first event."},
     [](Reader& r, const Member& m, WindowDraft& d) {
       d.from = m.key;
       set(r.choice<bool>(m, {{"epoch", false}, {"first", true}}), d.window.from_first);
     }},
    {{"calendar", R"({"enum":["hour","day","week","month"]})",
      "`hour`, `day`, `week` (from Monday) or `month`", "", "Natural hours, days, weeks, months."},
     [](Reader& r, const Member& m, WindowDraft& d) {
       d.calendar = m.key;
       set(r.choice<CalendarUnit>(m, {{"hour", CalendarUnit::hour},
                                      {"day", CalendarUnit::day},
                                      {"week", CalendarUnit::week},
                                      {"month", CalendarUnit::month}}),
           d.window.unit);
     }},
    {{"tz", shape::kText, "name of a time zone", "`UTC`", "The zone of calendar windows."},
     [](Reader& r, const Member& m, WindowDraft& d) {
       d.zone = m.key;
       const auto name = r.text(m);
       if (!name) return;
       if (TimeZone::find(name->value) == nullptr) {
         return r.error(*m.value, quoted(name->value) + " is not a time zone",
                        zone_hint(name->value));
       }
       d.window.zone = *name;
     }},
    {LastEvents::doc("events", "",
                     "This number of newest events; with `last`, none older than that time."),
     [](Reader& r, const Member& m, WindowDraft& d) {
       d.events = m.key;
       set(LastEvents::read(r, m), d.window.events);
     }},
    {{"leaky", R"({"type":"number","exclusiveMinimum":0})", "number above 0", "",
      "A leaky bucket of this capacity; a rung without threshold holds above the capacity, and "
      "empties the bucket."},
     [](Reader& r, const Member& m, WindowDraft& d) {
       d.leaky = m.key;
       read_capacity(r, m, "a bucket holds", d.window.capacity);
     }},
    {WindowSpan::doc("drain", "required with `leaky`",
                     "The time in which the bucket drains by one."),
     [](Reader& r, const Member& m, WindowDraft& d) {
       d.drain = m.key;
       set(WindowSpan::read(r, m), d.window.drain);
     }},
    {{"rate", shape::kText, "`10/s`, `600/m`, `100/15m`", "",
      "A steady rate, with a `burst` on top: a bucket that drains at this rate. A rung without "
      "threshold holds above the burst; refused events are not counted, and the bucket is not "
      "emptied."},
     read_rate},
    {{"burst", R"({"type":"number","exclusiveMinimum":0})", "number above 0",
      "required with `rate`", "Events that may arrive at once."},
     [](Reader& r, const Member& m, WindowDraft& d) {
       d.burst = m.key;
       read_capacity(r, m, "a burst is", d.window.capacity);
     }},
    {{"hop", shape::kDuration, "duration, 1ms to `last`", "required with `last` in a view",
      "Only in views: the time between two results."},
     [](Reader& r, const Member& m, WindowDraft& d) {
       d.hop = m.key;
       set(WindowSpan::read(r, m), d.window.hop);
     }},
};

/// A key that needs another key beside it.
struct Companion {
  const Node* key;
  const Node* of;
  std::string_view name, owner;
};

/// Which form it is, and whether its keys go together.
void settle_kind(Reader& reader, const Node& map, WindowDraft& d, std::size_t errors) {
  struct Form {
    const Node* key;
    std::string_view name;
    WindowDef::Kind kind;
  };
  const Form forms[] = {{d.events, "events", WindowDef::Kind::events},
                        {d.last, "last", WindowDef::Kind::last},
                        {d.every, "every", WindowDef::Kind::every},
                        {d.calendar, "calendar", WindowDef::Kind::calendar},
                        {d.leaky, "leaky", WindowDef::Kind::leaky},
                        {d.rate, "rate", WindowDef::Kind::leaky}};
  const Form* chosen = nullptr;
  for (const Form& form : forms) {
    if (form.key == nullptr) continue;
    if (chosen == nullptr) {
      chosen = &form;
    } else if (!(chosen->key == d.events && form.key == d.last)) {
      return reader.error(*form.key, "a window has " + quoted(chosen->name) + " or " +
                                         quoted(form.name) + ", not both");
    }
  }
  if (chosen == nullptr) {
    if (reader.problems().errors() == errors) {
      reader.error(map,
                   R"(a window needs "last", "every", "calendar", "events", "leaky" or "rate")");
    }
    return;
  }
  d.window.kind = chosen->kind;
  d.window.is_rate = d.rate != nullptr;
  const Node* sliding = d.events == nullptr ? d.last : nullptr;
  const Companion companions[] = {
      {d.buckets, sliding, "buckets", "last"}, {d.exact, sliding, "exact", "last"},
      {d.from, d.every, "from", "every"},      {d.zone, d.calendar, "tz", "calendar"},
      {d.drain, d.leaky, "drain", "leaky"},    {d.burst, d.rate, "burst", "rate"}};
  for (const Companion& c : companions) {
    if (c.key != nullptr && c.of == nullptr) {
      return reader.error(*c.key, quoted(c.name) + " is allowed only with " + quoted(c.owner));
    }
  }
  if (d.leaky != nullptr && d.drain == nullptr) {
    reader.error(*d.leaky, "\"leaky\" needs \"drain\", the time in which one drains, such as 10s");
  } else if (d.rate != nullptr && d.burst == nullptr) {
    reader.error(*d.rate, "\"rate\" needs \"burst\", how much may come at once, such as burst: 20");
  } else if (d.buckets != nullptr && d.window.exact) {
    reader.error(*d.buckets, "an exact window has no buckets");
  } else if (d.buckets != nullptr && d.window.length.count() > 0 &&
             d.window.length.count() < d.window.buckets) {
    reader.error(*d.buckets, "a bucket would be shorter than 1ms");
  }
}

constexpr std::string_view kViewWindows =
    "write {last: 10m, hop: 1m} (sliding), {every: 10m}, {calendar: day} or all (without an end)";

/// A view's results come at the ends of its windows: nothing per key, and nothing approximate.
void settle_view(Reader& reader, WindowDraft& d) {
  const std::pair<const Node*, std::string_view> foreign[] = {
      {d.events, "events"},   {d.leaky, "leaky"}, {d.rate, "rate"},
      {d.buckets, "buckets"}, {d.exact, "exact"}, {d.from, "from"}};
  for (const auto& [key, name] : foreign) {
    if (key != nullptr) {
      return reader.error(*key, quoted(name) + " is not allowed in the window of a view",
                          std::string(kViewWindows));
    }
  }
  if (d.last == nullptr) {
    if (d.every != nullptr && d.window.length > kWindowMax)
      reader.error(*d.every, "a window of a view is 31d at most");
    if (d.hop != nullptr) reader.error(*d.hop, "\"hop\" is allowed only with \"last\"");
    return;
  }
  if (d.hop == nullptr) {
    return reader.error(*d.last, "a view needs \"hop\", the time between two results",
                        std::string(kViewWindows));
  }
  if (d.window.hop > d.window.length) {
    return reader.error(*d.hop,
                        "\"hop\" is longer than \"last\": events between would be in no window",
                        "write {every: ...} for windows one after the other");
  }
  constexpr std::int64_t kPanesMax = 100'000;
  const std::int64_t step = std::gcd(d.window.length.count(), d.window.hop.count());
  if (step > 0 && d.window.length.count() / step > kPanesMax) {
    reader.error(*d.hop, "the window would be made of more than 100000 parts",
                 "choose a hop that \"last\" is a multiple of");
  }
}

std::optional<WindowDef> read(Reader& reader, const Member& m, bool view) {
  WindowDraft draft;
  draft.window.where = m.value->where;
  if (m.value->is_scalar() && m.value->text == "all") {
    if (!view) {
      reader.error(*m.value, "\"all\" is allowed only in a view: a policy's window has an end",
                   "write a duration such as 10m, or {every: 366d}");
      return std::nullopt;
    }
    draft.window.kind = WindowDef::Kind::all;
    return draft.window;
  }
  if (const auto meant = m.value->is_scalar() ? meant_rate(m.value->text) : std::nullopt) {
    std::string hint = "write window: " + meant->window + ", then: [{over: " + meant->many +
                       ", do: deny}]; or, for a steady pace, window: {rate: " + meant->text() +
                       ", burst: " + meant->many + "}";
    reader.error(*m.value, quoted(m.value->text) + " is a rate, and a window is a time",
                 std::move(hint));
    return std::nullopt;
  }
  if (m.value->is_scalar()) {
    const auto length = WindowSpan::read(reader, m);
    if (!length) return std::nullopt;
    if (view) {
      reader.error(*m.value, "a view needs \"hop\", the time between two results",
                   std::string(kViewWindows));
      return std::nullopt;
    }
    draft.window.length = *length;
    return draft.window;
  }
  if (!m.value->is_map()) {
    reader.error(*m.value,
                 "a window is a duration such as 10m, or a map such as {last: 10m, exact: true}");
    return std::nullopt;
  }
  const std::size_t errors = reader.problems().errors();
  reader.walk(*m.value, "a window", kWindow, draft);
  settle_kind(reader, *m.value, draft, errors);
  if (reader.problems().errors() != errors) return std::nullopt;
  if (view) {
    settle_view(reader, draft);
  } else if (draft.hop != nullptr) {
    reader.error(*draft.hop, "\"hop\" is allowed only in the window of a view",
                 "a policy reads its window at every event: leave it out");
  }
  if (reader.problems().errors() != errors) return std::nullopt;
  return draft.window;
}

}  // namespace

std::optional<WindowDef> read_window(Reader& reader, const Member& m) {
  return read(reader, m, false);
}

std::optional<WindowDef> read_view_window(Reader& reader, const Member& m) {
  return read(reader, m, true);
}

void add_window_tables(std::vector<TableDoc>& out) {
  out.push_back(doc_of<kWindow>(
      "window", "a window", "Windows",
      "`window: 10m` is `{last: 10m, buckets: 60}`. One of `last`, `every`, `calendar`, `events`, "
      "`leaky` and `rate` sets the form. A rung can have its own window under `in`."));
}

}  // namespace weir::config
