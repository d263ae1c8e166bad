#include <algorithm>

#include "config/sections/sections.h"
#include "config/text/merge.h"
#include "config/text/shapes.h"
#include "config/text/yaml_text.h"
#include "core/chars/ascii.h"
#include "core/chars/network_text.h"

namespace weir::config {

std::optional<Action> read_effect(Reader& reader, const Member& m) {
  return reader.word(m, kActions, ListEffects{});
}

std::optional<Tell> read_tell(Reader& reader, const Member& m) { return reader.word(m, kTells); }

std::optional<int> read_status(Reader& reader, const Member& m) {
  const auto value = reader.integer(m, 400, 599);
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

void read_refusal_body(Reader& reader, const Member& m, std::string& out) {
  constexpr std::size_t kMost = std::size_t{64} << 10;
  const auto word = reader.scalar(m);
  if (word && word->size() > kMost) return reader.error(*m.value, "the body has at most 64KiB");
  if (word) out = *word;
}

std::optional<std::string> read_header_text(Reader& reader, const Member& m) {
  auto text = reader.text(m);
  if (!text) return std::nullopt;
  if (ascii::has_control(text->value)) {
    reader.error(*m.value, "a header value has no control characters");
    return std::nullopt;
  }
  return std::move(text->value);
}

std::optional<std::string> read_media_type(Reader& reader, const Member& m) {
  auto text = read_header_text(reader, m);
  if (!text) return std::nullopt;
  const std::string_view type = std::string_view(*text).substr(0, text->find(';'));
  const std::string_view name = type.substr(0, type.find_last_not_of(' ') + 1);
  const std::size_t slash = name.find('/');
  const bool is_one = slash != std::string_view::npos && slash != 0 && slash + 1 < name.size() &&
                      name.find('/', slash + 1) == std::string_view::npos &&
                      name.find_first_of(" ,\"()<>@:\\[]?={}") == std::string_view::npos;
  if (is_one) return text;
  reader.error(*m.value, "this is not a media type", "write text/html or application/json");
  return std::nullopt;
}

namespace {

/// The list as it is read: its entries wait until `of` is known, which may follow in the map.
struct ListDraft {
  ListDef list;
  const Member* entries = nullptr;
  const Node* hold = nullptr;
  const Node* effect = nullptr;
  const Node* tell = nullptr;
  const Node* status = nullptr;
  const Node* body = nullptr;
  const Node* content_type = nullptr;
};

using ListSize = WholeNumber<1, 10'000'000>;
constexpr Row<ListDraft> kList[] = {
    {{"of", shape::kTexts, "a field, or a list of fields; `ip/24,56` masks IPv4,IPv6 as in keys",
      "required",
      "The fields whose values are the entries. With a mask, a policy's entry covers the whole "
      "network; an entry "
      "in the file covers the address or network that it names."},
     [](Reader& r, const Member& m, ListDraft& d) { d.list.of = read_list_fields(r, m); }},
    {{"kind", shape::kListKind, kValuesOf<kListKinds>, "required",
      "An allow entry ends judging, a deny entry refuses, a gray entry has the list's effect."},
     [](Reader& r, const Member& m, ListDraft& d) { set(m, r.word(m, kListKinds), d.list.kind); }},
    {{"effect", shape::kEffect, kValuesOf<kActions, ListEffects>, "`flag`",
      "What becomes of requests whose key is on a gray list."},
     [](Reader& r, const Member& m, ListDraft& d) {
       d.effect = m.value;
       set(m, read_effect(r, m), d.list.effect);
     }},
    {HoldSpan::doc("hold", "", "How long `effect: delay` holds a request."),
     [](Reader& r, const Member& m, ListDraft& d) {
       d.hold = m.key;
       set(HoldSpan::read(r, m), d.list.hold);
     }},
    {{"trusted", shape::kBoolean, "`true` or `false`", "`false`",
      "Accept an allow list of a field that the client itself asserts."},
     [](Reader& r, const Member& m, ListDraft& d) { set(r.boolean(m), d.list.trusted); }},
    {ListSize::doc("max", "100000", "Entries at most."),
     [](Reader& r, const Member& m, ListDraft& d) { set(ListSize::read(r, m), d.list.max); }},
    {{"tell", shape::kTell, kValuesOf<kTells>, "`nothing`", "How much a refused caller learns."},
     [](Reader& r, const Member& m, ListDraft& d) {
       d.tell = m.key;
       d.list.tell = read_tell(r, m);
     }},
    {{"status", shape::kStatus, "400 to 599", "403", "Status of refusals."},
     [](Reader& r, const Member& m, ListDraft& d) {
       d.status = m.key;
       d.list.status = read_status(r, m);
     }},
    {{"body", R"({"type":"string"})", kBodyRange, "weir's own, as `tell` says",
      "Body of refusals."},
     [](Reader& r, const Member& m, ListDraft& d) {
       d.body = m.key;
       read_refusal_body(r, m, d.list.body);
     }},
    {{"content_type", shape::kText, "media type", "`text/plain; charset=utf-8`", "Of the body."},
     [](Reader& r, const Member& m, ListDraft& d) {
       d.content_type = m.key;
       set(read_media_type(r, m), d.list.content_type);
     }},
    {{"entries",
      R"({"type":"array","items":{"anyOf":[{"type":["string","number"]},{"type":"array"},{"$ref":"#/$defs/entry"}]}})",
      "list of keys, of lists of keys (several fields), or of maps `{key, until, why}`", "",
      "Entries in the file itself; addresses and CIDR blocks for `ip`."},
     [](Reader&, const Member& m, ListDraft& d) { d.entries = &m; }},
    {{"file", shape::kText, "path of a text file, beside the main file unless it begins with `/`",
      "",
      "More entries, also millions: one key a line (an address or network; the values of several "
      "fields with commas), then optionally its end and the reason. weir reads the file again when "
      "it "
      "changes."},
     [](Reader& r, const Member& m, ListDraft& d) { d.list.file = r.text(m); }},
    {{"url", R"({"anyOf":[{"type":"string"},{"$ref":"#/$defs/remote"}]})",
      "`https://` URL, or a map (below)", "",
      "A text with more entries, as in `file`, from a URL."},
     [](Reader& r, const Member& m, ListDraft& d) { d.list.url = read_remote(r, m, false); }},
    {{"share", R"({"enum":["local","redis"]})", "`local` or `redis`", "`local`",
      "Which processes have the entries: this one, or all replicas, shared "
      "through Redis (entries of the file stay local)."},
     [](Reader& r, const Member& m, ListDraft& d) {
       const auto redis = r.choice<bool>(m, {{"local", false}, {"redis", true}});
       if (redis && *redis) d.list.share = m.value->where;
     }},
    {{"release", shape::kName, "an event", "",
      "An event with the list's fields that ends the entry, such as a solved captcha; a list "
      "that "
      "challenges or denies lets requests with this event pass. Not for an allow list."},
     [](Reader& r, const Member& m, ListDraft& d) { d.list.release = r.text(m); }},
    {ForgetSpan::doc("forget", "",
                     "The time after the end of an entry after which an escalation starts with its "
                     "first duration "
                     "again, unless its rung has a `forget`."),
     [](Reader& r, const Member& m, ListDraft& d) {
       if (const auto v = ForgetSpan::read(r, m)) d.list.forget = located(m, *v);
     }},
};

void read_key(Reader& reader, const Member& m, const std::vector<KeyPart>& of, ListEntryDef& out) {
  out.key = reader.texts(m);
  if (out.key.empty() || of.empty()) return;
  if (out.key.size() != of.size()) {
    reader.error(*m.value,
                 "this entry has " + std::to_string(out.key.size()) +
                     (out.key.size() == 1 ? " part" : " parts") + ", the list has " +
                     std::to_string(of.size()) + (of.size() == 1 ? " field" : " fields"),
                 of.size() == 1 ? "write one value per entry"
                                : "write an entry as a list, such as [alice, 10.0.0.1]");
    return;
  }
  for (std::size_t i = 0; i < of.size(); ++i) {
    const std::string& text = out.key[i].value;
    if (of[i].field.value != "ip" || Cidr::parse(text)) continue;
    std::string hint = network_fault(text);
    if (hint.empty()) hint = "write 10.0.0.1, 10.0.0.0/8 or 2001:db8::/32";
    reader.problems().error(out.key[i].where, quoted(text) + " is not an address or CIDR block",
                            hint);
  }
}

struct EntryDraft {
  ListEntryDef entry;
  const std::vector<KeyPart>* of = nullptr;
};
constexpr Row<EntryDraft> kEntry[] = {
    {{"key", shape::kTexts, "a value, or a list of one per field", "required",
      "The key of the entry."},
     [](Reader& r, const Member& m, EntryDraft& d) { read_key(r, m, *d.of, d.entry); }},
    {{"until", shape::kText, "`2027-01-01` or RFC 3339", "forever", "When the entry ends."},
     [](Reader& r, const Member& m, EntryDraft& d) {
       const auto word = r.scalar(m);
       if (!word) return;
       if (const auto at = r.take(*m.value, parse_date(*word))) d.entry.until = located(m, *at);
     }},
    {{"why", shape::kText, "text", "", "The reason, for people."},
     [](Reader& r, const Member& m, EntryDraft& d) {
       if (const auto word = r.scalar(m)) d.entry.why = *word;
     }},
};

void read_entries(Reader& reader, const Member& entries, ListDef& list) {
  if (!entries.value->is_list()) {
    reader.error(*entries.value, "\"entries\" must be a list", "write entries: [10.0.0.0/8]");
    return;
  }
  for (const Member& item : entries.value->items) {
    EntryDraft draft{{}, &list.of};
    if (item.value->is_map()) {
      reader.walk(*item.value, "an entry", kEntry, draft);
    } else {
      read_key(reader, item, list.of, draft.entry);
    }
    if (!draft.entry.key.empty()) list.entries.push_back(std::move(draft.entry));
  }
  if (list.entries.size() > list.max) {
    reader.error(*entries.key,
                 "more entries than \"max\" allows: " + std::to_string(list.entries.size()),
                 "max is " + std::to_string(list.max));
  }
}

void check_list(Reader& reader, const Node& name, const ListDraft& draft) {
  const ListDef& list = draft.list;
  const ListKind kind = list.kind.value;
  if (draft.effect != nullptr && kind != ListKind::gray &&
      !(kind == ListKind::deny && list.effect.value == Action::deny)) {
    reader.error(*draft.effect, kind == ListKind::allow
                                    ? "an allow list has no effect: its entries end judging"
                                    : "a deny list has no other effect than deny");
  }
  const bool delays = list.effect.value == Action::delay;
  if (delays && draft.hold == nullptr) {
    reader.error(*draft.effect, "\"delay\" needs \"hold\", a duration such as 2s");
  } else if (!delays && draft.hold != nullptr) {
    reader.error(*draft.hold, "\"hold\" is allowed only with effect: delay");
  }
  const Action effect = list.effect.value;
  for (const Node* const key : {draft.tell, draft.status}) {
    if (key == nullptr || refuses(effect)) continue;
    reader.error(*key, quoted(key->text) +
                           " is allowed only with kind: deny, or with effect: deny or challenge");
  }
  if (draft.body != nullptr && effect != Action::deny) {
    reader.error(*draft.body, "\"body\" is allowed only with kind: deny or effect: deny");
  }
  if (draft.content_type != nullptr && draft.body == nullptr)
    reader.error(*draft.content_type, "\"content_type\" is allowed only beside \"body\"");
  if (list.file && list.url)
    reader.problems().error(list.url->where, "a list has \"file\" or \"url\", not both");
  bool of_ip = false;
  for (const KeyPart& part : list.of) of_ip = of_ip || part.field.value == "ip";
  if (kind == ListKind::allow && !of_ip && !list.trusted && !list.of.empty()) {
    reader.error(name,
                 "an allow list of " + quoted(list.of.front().field.value) +
                     ", which the client asserts itself",
                 "add trusted: true if something before weir vouches for it");
  }
}

}  // namespace

void read_lists(Reader& reader, const Member& section, std::vector<ListDef>& out) {
  if (section.value->is_null()) return;  // all of it commented out
  if (!reader.is_map(*section.value, "\"lists\"")) return;
  for (const Member& m : section.value->items) {
    ListDraft draft;
    const std::size_t before = reader.problems().errors();
    set(reader.name(Member{m.key, m.key}, "a list", true), draft.list.name);
    if (draft.list.name.value.empty()) draft.list.name = {std::string(m.key->text), m.key->where};
    const std::size_t errors = reader.problems().errors();
    const Seen seen = reader.walk(*m.value, "a list", kList, draft);
    if (draft.effect == nullptr) {
      const ListKind kind = draft.list.kind.value;
      draft.list.effect.value = kind == ListKind::deny   ? Action::deny
                                : kind == ListKind::gray ? Action::flag
                                                         : Action::none;
    }
    if (!draft.list.body.empty() && draft.list.content_type.empty())
      draft.list.content_type = kBodyType;
    if (draft.entries != nullptr) read_entries(reader, *draft.entries, draft.list);
    if (reader.problems().errors() == errors || Reader::has(seen, kList, "kind"))
      check_list(reader, *m.key, draft);
    draft.list.sound = reader.problems().errors() == before;
    draft.list.spelling = spelling(*m.value);
    if (!draft.list.name.value.empty()) out.push_back(std::move(draft.list));
  }
}

void add_list_tables(std::vector<TableDoc>& out) {
  out.push_back(doc_of<kList>("list", "a list", "Lists", "`lists:` maps names to these keys."));
  out.push_back(
      doc_of<kEntry>("entry", "an entry", "Entries of a list", "The long form of an entry."));
}

}  // namespace weir::config
