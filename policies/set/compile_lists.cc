#include <algorithm>

#include "core/chars/network_text.h"
#include "policies/lang/extractors.h"
#include "policies/set/compiler.h"
#include "policies/set/text_keys.h"

namespace weir::policies {

std::optional<std::vector<KeySlot>> ListCompiler::list_key(const List& list, const Event& event) {
  std::vector<KeySlot> key;
  for (const config::KeyPart& part : list.parts) {
    // IPv6 by /64 unless a mask says otherwise, as in keys: a caller with one address of a /64 has
    // all of them, and could fill the list.
    const auto slot = names_.key_part_slot(part, event, false);
    if (!slot) return std::nullopt;
    key.push_back(*slot);
  }
  return key;
}

namespace {

/// Entries belong to the fields and the kind of their list: if a reload changes the fields, or
/// makes the list an allow list, earlier entries are not on it.
std::string kept_as(const List& list) {
  std::string out = list.kind == ListKind::allow ? "allow " + list.name : list.name;
  for (const std::string& name : list.of) out += (&name == list.of.data() ? " of " : ",") + name;
  return out;
}

/// If addresses mean other networks than usual, entries are of other callers.
std::string masks_of(const std::vector<KeySlot>& key) {
  const KeySlot usual;
  std::string out;
  for (const KeySlot& part : key) {
    if (!part.is_address || (part.v4_bits == usual.v4_bits && part.v6_bits == usual.v6_bits))
      continue;
    out += " /" + std::to_string(part.v4_bits) + "," + std::to_string(part.v6_bits);
  }
  return out;
}

}  // namespace

void ListCompiler::declare_lists() {
  for (const config::ListDef& def : model_.lists) {
    List list;
    list.name = def.name.value;
    list.kind = def.kind.value;
    std::vector<KeySlot> masks;
    for (const config::KeyPart& part : def.of) {
      list.of.push_back(part.field.value);
      KeySlot& mask = masks.emplace_back();
      mask.is_address = part.v4_bits || part.v6_bits;
      mask.v4_bits = static_cast<std::uint8_t>(part.v4_bits.value_or(mask.v4_bits));
      mask.v6_bits = static_cast<std::uint8_t>(part.v6_bits.value_or(mask.v6_bits));
    }
    list.parts = def.of;
    list.kept_as = kept_as(list) + masks_of(masks);
    list.identity = identity_of("list " + list.kept_as);
    list.of_address = list.of.size() == 1 && list.of.front() == "ip";
    names_.list_index.emplace(list.name, static_cast<ListIndex>(set_.lists.size()));
    set_.lists.push_back(std::move(list));
  }
}

void ListCompiler::compile_lists() {
  for (std::size_t at = 0; at < model_.lists.size(); ++at) {
    const config::ListDef& def = model_.lists[at];
    List& list = set_.lists[at];
    list.effect = def.effect.value;
    list.hold = def.hold;
    list.max = def.max;
    list.status = def.status.value_or(list.effect == Action::deny ? 403 : status_of(list.effect));
    list.tell = def.tell.value_or(Tell::nothing);
    list.body = def.body;
    list.content_type = def.content_type;
    list.entries = def.entries;
    if (def.file) list.file = def.file->value;
    list.url = def.url;
    list.shared = def.share.has_value();
    if (!def.sound) continue;
    bind_events(list);
    if (list.bindings.empty()) {
      const bool may_be = std::any_of(set_.events.begin(), set_.events.end(),
                                      [](const Event& event) { return event.unread; });
      if (may_be) continue;
      problems_.error(def.of.empty() ? def.name.where : def.of.front().field.where,
                      "no event provides " + (list.of.size() == 1
                                                  ? "the field \"" + list.of.front() + "\""
                                                  : "all fields of the list \"" + list.name + "\""),
                      "name it under `fields:` for every request, or in an event's `fields:`");
      continue;
    }
    if (def.forget) list.forget = def.forget->value;
    if (def.release) bind_release(*def.release, list);
    const List::Binding& first = list.bindings.front();
    const auto check_same = [&](const List::Binding& other) {
      names_.check_same_key(def.name, first.key, set_.events[first.event], other.key,
                            set_.events[other.event]);
    };
    for (const List::Binding& other : list.bindings) check_same(other);
    for (const List::Binding& other : list.releases) check_same(other);
    list.of_address = list.of.size() == 1 && first.key.front().is_address;
    check_entries(list);
  }
}

/// Where the list acts: on every request that has its fields, and also on events that define the
/// same names differently.
void ListCompiler::bind_events(List& list) {
  const auto everywhere = list_key(list, set_.events[kRequestEvent]);
  if (everywhere) list.bindings.push_back({kRequestEvent, *everywhere});
  if (everywhere && set_.call_event) list.bindings.push_back({*set_.call_event, *everywhere});
  const auto same_key = [](const std::vector<KeySlot>& a, const std::vector<KeySlot>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const KeySlot& x, const KeySlot& y) { return x.slot == y.slot; });
  };
  for (std::size_t i = 1; i < set_.events.size(); ++i) {
    const Event& event = set_.events[i];
    const auto key = list_key(list, event);
    if (!key || (everywhere && same_key(*key, *everywhere))) continue;
    const bool late = std::any_of(key->begin(), key->end(), [&](const KeySlot& part) {
      return set_.slots[part.slot].side == Side::answer;
    });
    if (late) continue;  // not known when the request is judged
    if (event.parent != i) {
      const auto parent = list_key(list, set_.events[event.parent]);
      if (parent && same_key(*parent, *key)) continue;  // the parent's binding covers it
    }
    list.bindings.push_back({static_cast<EventIndex>(i), *key});
  }
}

void ListCompiler::bind_release(const config::Text& release, List& list) {
  if (list.kind == ListKind::allow) {
    problems_.error(release.where,
                    "requests on an allow list are not judged, so they cannot release an entry");
    return;
  }
  const auto event = names_.find_event(release);
  if (!event) return;
  if (set_.events[*event].unread) return;
  if (auto key = list_key(list, set_.events[*event])) {
    list.releases.push_back({*event, std::move(*key)});
  } else {
    problems_.error(release.where,
                    "event \"" + release.value + "\" does not provide the fields of the list");
  }
}

void ListCompiler::check_entries(List& list) {
  for (config::ListEntryDef& entry : list.entries) {
    if (!list.of_address) {
      for (std::size_t i = 0; i < entry.key.size(); ++i) check_entry(list, i, entry.key[i]);
    } else if (!Cidr::parse(entry.key.front().value)) {
      const std::string& text = entry.key.front().value;
      problems_.error(entry.key.front().where,
                      "\"" + text + "\" is neither an address nor a network such as 10.0.0.0/8",
                      network_fault(text));
    }
  }
}

/// A part of an entry is brought into the text that keys have of it.
void ListCompiler::check_entry(const List& list, std::size_t part, config::Text& text) {
  const auto& key = list.bindings.front().key;
  if (part >= key.size()) return;
  if (key[part].is_address) {
    if (Address::parse(text.value)) return;
    problems_.error(text.where,
                    Cidr::parse(text.value)
                        ? "networks are allowed only in lists of an address alone"
                        : "\"" + text.value + "\" is not an address",
                    "write the list of " + list.of[part] + ", or single addresses");
    return;
  }
  if (auto canonical = canonical_part(key[part].type, text.value)) {
    text.value = std::move(*canonical);
    if (auto never = never_part(set_, list, part, text.value))
      problems_.warning(text.where, std::move(never->message), std::move(never->hint));
  } else {
    problems_.error(text.where, "invalid value \"" + text.value + "\" for \"" + list.of[part] +
                                    "\", which is " + std::string(type_name(key[part].type)));
  }
}

ListIndex ListCompiler::own_list(Policy& policy, const Rung& rung, const config::Rung& from) {
  const Action action = rung.action;
  const bool shadow = rung.shadow;
  const ActionRow& row = row_of(action);
  List list;
  list.effect = rung.effect == Action::graylist ? Action::flag : rung.effect;
  // A rung with `tell` sets it for the ban too; otherwise a ban gives no hint.
  list.tell = from.tell ? rung.tell : Tell::nothing;
  list.status = from.status || from.tell || action == Action::graylist ? rung.status
                : action == Action::deny                               ? 403
                                                                       : status_of(action);
  list.body = rung.body;
  list.content_type = rung.content_type;
  if (list.effect == Action::delay) list.hold = rung.hold;
  // The list decides what happens to the key of an entry, so rungs with the same action and the
  // same settings share a list.
  std::size_t others = 0;
  for (std::size_t i = 0; i < set_.lists.size(); ++i) {
    const List& known = set_.lists[i];
    if (known.owner != policy.index || known.remembered != action || known.shadow != shadow)
      continue;
    if (known.effect == list.effect && known.tell == list.tell && known.status == list.status &&
        known.hold == list.hold && known.body == list.body &&
        known.content_type == list.content_type)
      return static_cast<ListIndex>(i);
    ++others;
  }
  list.name = policy.name + ":" + std::string(row.name) + (shadow ? ":shadow" : "");
  if (others > 0) list.name += ":" + std::to_string(others + 1);
  list.kind = row.memory;
  list.remembered = action;
  list.shadow = shadow;
  list.asleep = from.silenced && !shadow;
  list.owner = policy.index;
  list.shared = policy.shared;
  list.of = policy.key_names;
  list.of_address = policy.key_is_address;
  list.kept_as = kept_as(list) + masks_of(policy.bindings.front().key);
  list.identity = identity_of("list " + list.kept_as);
  const auto index = static_cast<ListIndex>(set_.lists.size());
  (list.asleep ? policy.lists_asleep : policy.own_lists).push_back(index);
  set_.lists.push_back(std::move(list));
  return index;
}

}  // namespace weir::policies
