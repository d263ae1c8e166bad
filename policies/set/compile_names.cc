#include <algorithm>

#include "policies/lang/extractors.h"
#include "policies/set/compiler.h"
#include "policies/set/text_keys.h"

/// The meaning of the names of a file, and how an identity spells counters and keys.
namespace weir::policies {

std::optional<SlotId> Scope::field(std::string_view name) const {
  if (policy_ != nullptr) {
    for (std::uint32_t k = 0; k < policy_->metrics.size(); ++k) {
      if (policy_->metrics[k].name.value == name) return slots().metric(k);
    }
  }
  const auto found = event_.fields.find(name);
  if (found == event_.fields.end()) return std::nullopt;
  return found->second;
}

std::vector<std::string_view> Scope::field_names() const {
  std::vector<std::string_view> out;
  for (const auto& [name, slot] : event_.fields) out.push_back(name);
  if (policy_ != nullptr) {
    for (const auto& metric : policy_->metrics) out.push_back(metric.name.value);
  }
  if (!event_.source.empty()) {
    for (const config::Text& column :
         names_.event_defs.find(event_.source)->second->source->columns) {
      out.push_back(column.value);
    }
  }
  return out;
}

std::optional<SlotId> Scope::column(std::string_view name) const {
  if (event_.source.empty()) return std::nullopt;
  // In a rung `value`, `limit` and the names of metrics hide the columns of a record.
  if (policy_ != nullptr && (name == "value" || name == "limit" || field(name)))
    return std::nullopt;
  if (event_.fields.contains(name)) return std::nullopt;  // converted by `fields`
  const config::SourceDef& source = *names_.event_defs.at(event_.source)->source;
  // JSON brings its own names and types; those of the other formats are in the file.
  const bool any = source.format == config::SourceDef::Format::json;
  const auto named = [&](const config::Text& column) { return column.value == name; };
  if (!any && std::none_of(source.columns.begin(), source.columns.end(), named))
    return std::nullopt;
  // The sender is an address in a record as in a request, so that one key can count both.
  const Type type = name == "ip" ? Type::address : any ? Type::dyn : Type::text;
  return slots().column(event_.source, name, type);
}

std::optional<ExprScope::ListRef> Scope::list(std::string_view name) const {
  const auto found = names_.list_index.find(name);
  if (found == names_.list_index.end()) {
    return names_.model_.complete ? std::nullopt : std::optional(ListRef{0, 0, false, true});
  }
  const List& list = names_.set_.lists[found->second];
  const bool sound = names_.model_.lists[found->second].sound;
  return ListRef{found->second, list.of.size(), list.of_address && sound, !sound};
}

std::shared_ptr<const ThresholdTable> Scope::table(std::string_view name) const {
  const auto found = names_.table_index.find(name);
  if (found != names_.table_index.end()) return names_.set_.tables[found->second];
  if (names_.model_.complete) return nullptr;
  return std::make_shared<ThresholdTable>(std::string(name), std::vector<std::string>{},
                                          config::TableNode{});
}

std::vector<std::string_view> Scope::table_names() const {
  std::vector<std::string_view> out;
  for (const auto& [name, index] : names_.table_index) out.push_back(name);
  return out;
}

std::vector<std::string_view> Scope::list_names() const {
  std::vector<std::string_view> out;
  for (const auto& [name, index] : names_.list_index) out.push_back(name);
  return out;
}

void Names::declare_tables() {
  for (const config::TableDef& def : model_.tables) {
    std::vector<std::string> by;  // of a table that could not be read: none
    for (const config::Text& name : def.by) {
      if (def.sound) by.push_back(name.value);
    }
    table_index.emplace(def.name.value, static_cast<std::uint16_t>(set_.tables.size()));
    set_.tables.push_back(
        std::make_shared<ThresholdTable>(def.name.value, std::move(by), def.values));
  }
}

std::optional<Expression> Names::compile_when(const config::Text& text, ExprScope& scope) {
  auto when = compile_condition(text, scope, problems_);
  const auto constant = when ? when->constant() : std::nullopt;
  if (!constant) return when;
  constant->is_true()
      ? problems_.warning(text.where, "this condition holds for every event", "leave it out")
      : problems_.warning(text.where, "this condition never holds", "");
  return when;
}

bool Names::warn_of_never(const config::Text& text, SlotId part) {
  auto never = never_part(set_, part, text.value);
  if (!never) return false;
  problems_.warning(text.where, std::move(never->message), std::move(never->hint));
  return true;
}

std::optional<EventIndex> Names::find_event(const config::Text& name) {
  const auto found = event_index.find(name.value);
  if (found != event_index.end()) return found->second;
  // A name that the file defines but that did not compile has been reported already.
  if (!event_defs.contains(name.value) && model_.complete) {
    std::vector<std::string_view> known;
    for (const auto& [event, index] : event_index) known.push_back(event);
    problems_.error(name.where, "there is no event \"" + name.value + "\"",
                    config::suggest(name.value, known));
  }
  return std::nullopt;
}

std::string Names::event_canonical(EventIndex index) const {
  const Event& event = set_.events[index];
  std::string out;
  if (event.parent != index) out = event_canonical(event.parent);
  out += event.route + event.calls;
  if (event.source == event.name) out += "records of " + event.name;
  if (event.when) out += " when " + event.when->canonical();
  return out;
}

std::optional<KeySlot> Names::key_slot(const config::Text& field, const Event& event,
                                       bool complain) {
  if (!complain && !event.fields.contains(field.value) && event.source.empty()) {
    // Asked on trial: the name may be an attribute such as `ip`, else this event does not provide
    // it.
    const ExtractorRow* row =
        find_extractor(field.value.substr(0, field.value.find_first_of(".[")));
    if (row == nullptr && field.value.find('.') == std::string::npos) return std::nullopt;
  }
  Scope scope(*this, event);
  config::Problems quiet;
  const auto expression = compile_expression(field, scope, complain ? problems_ : quiet);
  if (!expression) return std::nullopt;
  const auto slot = expression->slot();
  if (!slot) {
    if (complain) {
      problems_.error(field.where, "a key part is a field or an attribute; compute \"" +
                                       field.value + "\" as a field of the event");
    }
    return std::nullopt;
  }
  KeySlot out;
  out.slot = *slot;
  if (is_unread(*slot)) return out;
  const Slot& what = set_.slots[*slot];
  out.type = what.type;
  out.is_address = what.type == Type::address;
  out.reads_header = what.reads_header;
  if (what.type == Type::list) {
    if (complain) problems_.error(field.where, "a key part is a single value, not a list");
    return std::nullopt;
  }
  return out;
}

std::optional<KeySlot> Names::key_part_slot(const config::KeyPart& part, const Event& event,
                                            bool complain) {
  if (part.entry) {
    KeySlot entry;
    entry.slot = set_.slots.entry(*part.entry);
    entry.type = Type::text;
    return entry;
  }
  auto out = key_slot(part.field, event, complain);
  if (!out || !(part.v4_bits || part.v6_bits) || is_unread(out->slot)) return out;
  if (!out->is_address && set_.slots[out->slot].kind == Slot::Kind::column) {
    // A column of a record is text or a JSON value; the mask shows that it is an address.
    const std::string text = "address(" + part.field.value + ")";
    Scope scope(*this, event);
    const auto address = compile_expression({text, part.field.where}, scope, problems_);
    if (!address) return std::nullopt;
    out->slot = set_.slots.computed(*address);
    out->type = Type::address;
    out->is_address = true;
  }
  if (!out->is_address) {
    if (complain) {
      problems_.error(part.field.where,
                      "only an address can be masked; \"" + part.field.value + "\" is " +
                          std::string(type_name(set_.slots[out->slot].type)),
                      "convert it in the event's fields: address(...)");
    }
    return std::nullopt;
  }
  out->v4_bits = static_cast<std::uint8_t>(part.v4_bits.value_or(out->v4_bits));
  out->v6_bits = static_cast<std::uint8_t>(part.v6_bits.value_or(out->v6_bits));
  return out;
}

void Names::check_same_key(const config::Text& at, const std::vector<KeySlot>& a, const Event& of_a,
                           const std::vector<KeySlot>& b, const Event& of_b) {
  if (of_a.unread || of_b.unread) return;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i].is_address == b[i].is_address || is_unread(a[i].slot) || is_unread(b[i].slot))
      continue;
    const Event& address = a[i].is_address ? of_a : of_b;
    const Event& other = a[i].is_address ? of_b : of_a;
    problems_.error(at.where,
                    "part " + std::to_string(i + 1) + " of the key is an ip address in event \"" +
                        address.name + "\" and " +
                        std::string(type_name(a[i].is_address ? b[i].type : a[i].type)) +
                        " in event \"" + other.name + "\": they are never the same key",
                    "convert it in the fields of \"" + other.name + "\": address(...)");
    return;
  }
}

std::optional<ListIndex> Names::named_list(const config::Text& name) {
  const auto found = list_index.find(name.value);
  if (found != list_index.end()) return found->second;
  for (const config::ListDef& def : model_.lists) {
    if (def.name.value == name.value) return std::nullopt;  // its own problem has been reported
  }
  if (!model_.complete) return std::nullopt;
  std::vector<std::string_view> known;
  for (const auto& [list, index] : list_index) known.push_back(list);
  problems_.error(name.where, "there is no list \"" + name.value + "\"",
                  config::suggest(name.value, known));
  return std::nullopt;
}

bool Names::reads_unread(const Expression& expression) const {
  const auto slots = expression.slots();
  return std::any_of(slots.begin(), slots.end(), [&](SlotId slot) { return is_unread(slot); });
}

std::string Names::key_canonical(const std::vector<KeySlot>& key) const {
  std::string out = "(";
  for (const KeySlot& part : key) {
    if (out.size() > 1) out += ", ";
    out += set_.slots[part.slot].text;
    if (part.is_address)
      out += "/" + std::to_string(part.v4_bits) + "," + std::to_string(part.v6_bits);
  }
  return out + ")";
}

}  // namespace weir::policies
