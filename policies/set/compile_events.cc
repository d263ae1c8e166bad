#include <algorithm>

#include "config/sections/descriptors.h"
#include "policies/set/compiler.h"

namespace weir::policies {
namespace {

constexpr std::size_t kEventsMost = 60'000;  // an EventIndex has 16 bits

/// False: another event has the same description, which has been reported.
bool describe_call(const config::EventDef& def, Event& event, PolicySet& set,
                   config::Problems& problems) {
  const auto index = static_cast<EventIndex>(set.events.size());
  event.calls = config::described_name(*def.descriptor);
  if (def.descriptor->brings) {
    event.calls = def.name.value;
    set.override_events.emplace(*def.descriptor->brings, index);
  } else if (!set.descriptors.add(*def.descriptor, index)) {
    problems.error(def.name.where, "another event has the same domain and descriptors",
                   "watch that one, or write `is` with its name and a `when`");
    return false;
  }
  DescriptorEvent& known = set.descriptor_events.emplace_back();
  known.event = index;
  known.quota = def.descriptor->quota;
  known.rule = def.descriptor->rule;
  return true;
}

}  // namespace

std::optional<SlotId> Compiler::Scope::field(std::string_view name) const {
  if (policy_ != nullptr) {
    for (std::uint32_t k = 0; k < policy_->metrics.size(); ++k) {
      if (policy_->metrics[k].name.value == name) return slots().metric(k);
    }
  }
  const auto found = event_.fields.find(name);
  if (found == event_.fields.end()) return std::nullopt;
  return found->second;
}

std::vector<std::string_view> Compiler::Scope::field_names() const {
  std::vector<std::string_view> out;
  for (const auto& [name, slot] : event_.fields) out.push_back(name);
  if (policy_ != nullptr) {
    for (const auto& metric : policy_->metrics) out.push_back(metric.name.value);
  }
  if (!event_.source.empty()) {
    for (const config::Text& column :
         compiler_.event_defs_.find(event_.source)->second->source->columns) {
      out.push_back(column.value);
    }
  }
  return out;
}

std::optional<SlotId> Compiler::Scope::column(std::string_view name) const {
  if (event_.source.empty()) return std::nullopt;
  // In a rung `value`, `limit` and the names of metrics are what they are, whatever the record has.
  if (policy_ != nullptr && (name == "value" || name == "limit" || field(name)))
    return std::nullopt;
  if (event_.fields.contains(name)) return std::nullopt;  // converted by `fields`
  const config::SourceDef& source = *compiler_.event_defs_.at(event_.source)->source;
  // JSON brings its own names and types; those of the other formats stand in the file.
  const bool any = source.format == config::SourceDef::Format::json;
  const auto named = [&](const config::Text& column) { return column.value == name; };
  if (!any && std::none_of(source.columns.begin(), source.columns.end(), named))
    return std::nullopt;
  // The sender is an address in a record as in a request, so that one key can count both.
  const Type type = name == "ip" ? Type::address : any ? Type::dyn : Type::text;
  return slots().column(event_.source, name, type);
}

std::optional<ExprScope::ListRef> Compiler::Scope::list(std::string_view name) const {
  const auto found = compiler_.list_index_.find(name);
  if (found == compiler_.list_index_.end()) return std::nullopt;
  const List& list = compiler_.set_.lists[found->second];
  return ListRef{found->second, list.of.size(), list.of_address};
}

std::shared_ptr<const ThresholdTable> Compiler::Scope::table(std::string_view name) const {
  const auto found = compiler_.table_index_.find(name);
  return found == compiler_.table_index_.end() ? nullptr : compiler_.set_.tables[found->second];
}

std::vector<std::string_view> Compiler::Scope::table_names() const {
  std::vector<std::string_view> out;
  for (const auto& [name, index] : compiler_.table_index_) out.push_back(name);
  return out;
}

std::vector<std::string_view> Compiler::Scope::list_names() const {
  std::vector<std::string_view> out;
  for (const auto& [name, index] : compiler_.list_index_) out.push_back(name);
  return out;
}

void Compiler::compile_events() {
  Event request;
  request.name = "request";
  set_.events.push_back(std::move(request));
  event_index_.emplace("request", kRequestEvent);
  compile_fields(model_.fields, set_.events.front());
  const auto is_call = [](const config::EventDef& def) { return def.descriptor.has_value(); };
  if (std::any_of(model_.events.begin(), model_.events.end(), is_call)) {
    Event call = set_.events.front();
    call.name = "rate limit call";  // no name that a file can give
    call.base = call.parent = 1;
    set_.events.push_back(std::move(call));
    set_.call_event = EventIndex{1};
  }

  for (const config::EventDef& def : model_.events) event_defs_.emplace(def.name.value, &def);
  std::set<std::string> open;
  for (const config::EventDef& def : model_.events) {
    if (set_.events.size() >= kEventsMost) {
      problems_.error(def.name.where, "more than 60,000 events");
      break;
    }
    compile_event(def, open);
  }
  for (DescriptorEvent& event : set_.descriptor_events) {  // once all have their indices
    const config::EventDef& def = *event_defs_.find(set_.events[event.event].name)->second;
    for (const config::Text& name : def.descriptor->replaces) {
      if (const auto replaced = find_event(name)) event.replaces.push_back(*replaced);
    }
  }
}

void Compiler::compile_fields(const std::vector<config::FieldDef>& fields, Event& event) {
  for (const config::FieldDef& field : fields) {
    Scope scope(*this, event);
    if (auto expression = compile_expression(field.expression, scope, problems_)) {
      if (expression->type() == Type::list) {
        problems_.error(field.expression.where, "a field is a single value, not a list");
        continue;
      }
      event.fields[field.name.value] = set_.slots.computed(*expression);
    } else {
      // Known by name all the same, so that one mistake is not reported at every use.
      event.fields.try_emplace(field.name.value, SlotTable::event());
    }
  }
}

void Compiler::compile_event(const config::EventDef& def, std::set<std::string>& open) {
  if (event_index_.contains(def.name.value)) return;
  if (!open.insert(def.name.value).second) return;  // a cycle of `is`: the loader has reported it

  Event event;
  event.name = def.name.value;
  EventIndex parent = kRequestEvent;
  if (def.is) {
    const auto parent_def = event_defs_.find(def.is->value);
    if (parent_def != event_defs_.end()) compile_event(*parent_def->second, open);
    const auto found = event_index_.find(def.is->value);
    if (found == event_index_.end()) return;  // unknown or broken: reported
    parent = found->second;
  }
  const Event& base = set_.events[parent];
  if (def.source) {
    event.source = event.name;
    event.time_column = def.source->time_field.value;
    event.time_as = def.source->time;
  } else {
    event.fields = base.fields;
    event.body = base.body;
    event.source = base.source;
    event.time_column = base.time_column;
    event.time_as = base.time_as;
  }
  event.outcome = base.outcome;

  if (def.body.value != BodyKind::none) {
    // Fields that every request has are this event's too, and of its body.
    event.body = def.body.value;
    compile_fields(model_.fields, event);
  }
  if (def.match) {
    auto parsed = Route::parse(def.match->value);
    if (!parsed.route) {
      config::Where where = def.match->where;
      where.column += static_cast<std::uint32_t>(parsed.offset);
      where.length = 1;
      problems_.error(where, std::move(parsed.problem));
      return;
    }
    if (set_.path_rules.fold_case) parsed.route->fold_case();
    event.route = parsed.route->canonical();
    for (std::uint32_t k = 0; k < parsed.route->segments.size(); ++k) {
      const auto& segment = parsed.route->segments[k];
      if (segment.kind == Route::Segment::Kind::parameter) {
        event.fields[segment.text] = set_.slots.segment(k);
      }
    }
    set_.routes.add(*parsed.route, static_cast<std::uint16_t>(set_.events.size()));
  }
  if (def.descriptor && !describe_call(def, event, set_, problems_)) return;
  compile_fields(def.fields, event);
  if (def.when) {
    Scope scope(*this, event);
    event.when = compile_when(*def.when, scope);
    if (event.when && event.when->side() == Side::answer) event.outcome = true;
  }
  const auto index = static_cast<EventIndex>(set_.events.size());
  event.parent = def.is ? parent : index;
  event.base = def.is && parent != kRequestEvent ? set_.events[parent].base : index;
  if (def.is && parent == kRequestEvent) event.base = kRequestEvent;
  set_.events.push_back(std::move(event));
  event_index_.emplace(def.name.value, index);
}

std::optional<Expression> Compiler::compile_when(const config::Text& text, ExprScope& scope) {
  auto when = compile_condition(text, scope, problems_);
  const auto constant = when ? when->constant() : std::nullopt;
  if (!constant) return when;
  constant->is_true()
      ? problems_.warning(text.where, "this condition holds for every event", "leave it out")
      : problems_.warning(text.where, "this condition never holds", "");
  return when;
}

std::optional<EventIndex> Compiler::find_event(const config::Text& name) {
  const auto found = event_index_.find(name.value);
  if (found != event_index_.end()) return found->second;
  // A name that the file defines but that did not compile has been reported already.
  if (!event_defs_.contains(name.value)) {
    std::vector<std::string_view> known;
    for (const auto& [event, index] : event_index_) known.push_back(event);
    problems_.error(name.where, "there is no event \"" + name.value + "\"",
                    config::suggest(name.value, known));
  }
  return std::nullopt;
}

std::string Compiler::event_canonical(EventIndex index) const {
  const Event& event = set_.events[index];
  std::string out;
  if (event.parent != index) out = event_canonical(event.parent);
  out += event.route + event.calls;
  if (event.source == event.name) out += "records of " + event.name;
  if (event.when) out += " when " + event.when->canonical();
  return out;
}

}  // namespace weir::policies
