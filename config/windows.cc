#include "config/sections.h"
#include "config/shapes.h"

namespace weir::config {
namespace {

constexpr milliseconds kShortest{1};
constexpr milliseconds kLongest = std::chrono::hours{24 * 31};

struct WindowDraft {
  WindowDef window;
  const Node* last = nullptr;
  const Node* every = nullptr;
  const Node* buckets = nullptr;
  const Node* from = nullptr;
  const Node* exact = nullptr;
};

constexpr Row<WindowDraft> kWindow[] = {
    {{"last", shape::kDuration, "duration, 1ms to 31d", "", "A window that slides."},
     [](Reader& r, const Member& m, WindowDraft& d) {
       d.last = m.key;
       set(r.duration(m, kShortest, kLongest), d.window.length);
     }},
    {{"buckets", R"({"type":"integer","minimum":1,"maximum":3600})", "1 to 3600", "60",
      "Parts of a sliding window: it never undercounts, and overcounts by at most one part."},
     [](Reader& r, const Member& m, WindowDraft& d) {
       d.buckets = m.key;
       if (const auto n = r.integer(m, 1, 3600)) d.window.buckets = static_cast<unsigned>(*n);
     }},
    {{"exact", shape::kBoolean, "`true` or `false`", "`false`",
      "Keep each event, and read the true value."},
     [](Reader& r, const Member& m, WindowDraft& d) {
       d.exact = m.key;
       set(r.boolean(m), d.window.exact);
     }},
    {{"every", shape::kDuration, "duration, 1ms to 31d", "", "Fixed windows, one after the other."},
     [](Reader& r, const Member& m, WindowDraft& d) {
       d.every = m.key;
       d.window.kind = WindowDef::Kind::every;
       set(r.duration(m, kShortest, kLongest), d.window.length);
     }},
    {{"from", R"({"enum":["epoch","first"]})", "`epoch` or `first`", "`epoch`",
      "Whether fixed windows begin at multiples of their length or at the key's first event."},
     [](Reader& r, const Member& m, WindowDraft& d) {
       d.from = m.key;
       set(r.choice<bool>(m, {{"epoch", false}, {"first", true}}), d.window.from_first);
     }},
    {{"calendar", "", "", "", "Natural hours, days."}, nullptr},
    {{"tz", "", "", "", "The zone of calendar windows."}, nullptr},
    {{"events", "", "", "", "The last N events."}, nullptr},
    {{"leaky", "", "", "", "Leaky bucket."}, nullptr},
    {{"drain", "", "", "", "Leaky bucket."}, nullptr},
    {{"hop", "", "", "", "Windows of views."}, nullptr},
};

}  // namespace

std::optional<WindowDef> read_window(Reader& reader, const Member& m) {
  WindowDraft draft;
  draft.window.where = m.value->where;
  if (m.value->is_scalar()) {
    const auto length = reader.duration(m, kShortest, kLongest);
    if (!length) return std::nullopt;
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
  if (draft.last != nullptr && draft.every != nullptr) {
    reader.error(*draft.every, "a window has \"last\" or \"every\", not both");
  } else if (draft.last == nullptr && draft.every == nullptr) {
    if (reader.problems().errors() == errors)
      reader.error(*m.value, "a window needs \"last\" or \"every\"");
  } else if (draft.every != nullptr && (draft.buckets != nullptr || draft.exact != nullptr)) {
    reader.error(draft.buckets != nullptr ? *draft.buckets : *draft.exact,
                 "\"buckets\" and \"exact\" stand only with \"last\"");
  } else if (draft.last != nullptr && draft.from != nullptr) {
    reader.error(*draft.from, "\"from\" stands only with \"every\"");
  } else if (draft.buckets != nullptr && draft.window.exact) {
    reader.error(*draft.buckets, "an exact window has no buckets");
  } else if (draft.last != nullptr && !draft.window.exact && draft.window.length.count() > 0 &&
             draft.buckets != nullptr && draft.window.length.count() < draft.window.buckets) {
    reader.error(*draft.buckets, "a bucket would be shorter than 1ms");
  }
  if (reader.problems().errors() != errors) return std::nullopt;
  return draft.window;
}

void add_window_tables(std::vector<TableDoc>& out) {
  out.push_back(doc_of<kWindow>(
      "window", "a window", "Windows",
      "`window: 10m` is `{last: 10m, buckets: 60}`. A rung may have one of its own under `in`."));
}

}  // namespace weir::config
