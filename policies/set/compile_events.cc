#include <algorithm>

#include "config/sections/descriptors.h"
#include "policies/set/checks/call_checks.h"
#include "policies/set/compiler.h"

namespace weir::policies {
namespace {

constexpr std::size_t kEventsMax = 60'000;  // an EventIndex has 16 bits

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

void EventCompiler::compile_events() {
  Event request;
  request.name = "request";
  request.unread = !model_.complete;
  set_.events.push_back(std::move(request));
  names_.event_index.emplace("request", kRequestEvent);
  compile_fields(model_.fields, set_.events.front());
  const auto is_call = [](const config::EventDef& def) { return def.descriptor.has_value(); };
  if (std::any_of(model_.events.begin(), model_.events.end(), is_call)) {
    Event call = set_.events.front();
    call.name = "rate limit call";  // no name that a file can give
    call.base = call.parent = 1;
    set_.events.push_back(std::move(call));
    set_.call_event = EventIndex{1};
  }

  for (const config::EventDef& def : model_.events) names_.event_defs.emplace(def.name.value, &def);
  std::set<std::string> open;
  for (const config::EventDef& def : model_.events) {
    if (set_.events.size() >= kEventsMax) {
      problems_.error(def.name.where, "more than 60,000 events");
      break;
    }
    compile_event(def, open);
  }
  for (DescriptorEvent& event : set_.descriptor_events) {  // once all have their indices
    const config::EventDef& def = *names_.event_defs.find(set_.events[event.event].name)->second;
    for (const config::Text& name : def.descriptor->replaces) {
      if (const auto replaced = names_.find_event(name)) event.replaces.push_back(*replaced);
    }
  }
}

void EventCompiler::compile_fields(const std::vector<config::FieldDef>& fields, Event& event) {
  for (const config::FieldDef& field : fields) {
    if (!field.sound) {
      event.fields[field.name.value] = set_.slots.unread();
      continue;
    }
    Scope scope(names_, event);
    if (auto expression = compile_expression(field.expression, scope, problems_)) {
      if (expression->type() == Type::list) {
        problems_.error(field.expression.where, "a field is a single value, not a list");
        event.fields[field.name.value] = set_.slots.unread();
        continue;
      }
      event.fields[field.name.value] = set_.slots.computed(*expression);
    } else {
      // Known by name all the same, so that one mistake is not reported at every use.
      event.fields[field.name.value] = set_.slots.unread();
    }
  }
}

void EventCompiler::add_route(Route route, Event& event) {
  if (set_.path_rules.fold_case) route.fold_case();
  event.route = route.canonical();
  for (std::uint32_t k = 0; k < route.segments.size(); ++k) {
    const auto& segment = route.segments[k];
    if (segment.kind == Route::Segment::Kind::parameter) {
      event.fields[segment.text] = set_.slots.segment(k);
    }
  }
  set_.routes.add(route, static_cast<std::uint16_t>(set_.events.size()));
}

void EventCompiler::compile_event(const config::EventDef& def, std::set<std::string>& open) {
  if (names_.event_index.contains(def.name.value)) return;
  if (!open.insert(def.name.value).second) return;  // a cycle of `is`: the loader has reported it

  Event event;
  event.name = def.name.value;
  event.unread = !def.sound || !model_.complete;
  EventIndex parent = kRequestEvent;
  if (def.is) {
    const auto parent_def = names_.event_defs.find(def.is->value);
    if (parent_def != names_.event_defs.end()) compile_event(*parent_def->second, open);
    const auto found = names_.event_index.find(def.is->value);
    // Unknown, or a kind of itself, which has been reported.
    const bool known = found != names_.event_index.end();
    if (known) parent = found->second;
    event.unread = event.unread || !known || set_.events[parent].unread;
  }
  const Event& base = set_.events[parent];
  if (def.source) {
    event.source = event.name;
    event.time_column = def.source->time_field.value;
    event.time_unit = def.source->time.unit;
  } else {
    event.fields = base.fields;
    event.body = base.body;
    event.source = base.source;
    event.time_column = base.time_column;
    event.time_unit = base.time_unit;
  }
  event.outcome = base.outcome;

  if (def.body.value != BodyKind::none) {
    // Fields that every request has are this event's too, and of its body.
    event.body = def.body.value;
    compile_fields(model_.fields, event);
  }
  if (def.match && def.sound) {  // else it may be the error
    auto parsed = Route::parse(def.match->value);
    if (!parsed.route) {
      config::Where where = def.match->where;
      where.column += static_cast<std::uint32_t>(parsed.offset);
      where.length = 1;
      problems_.error(where, std::move(parsed.problem));
      event.unread = true;
    } else {
      add_route(std::move(*parsed.route), event);
    }
  }
  if (def.descriptor && def.sound && !describe_call(def, event, set_, problems_))
    event.unread = true;
  compile_fields(def.fields, event);
  if (def.when) {
    Scope scope(names_, event);
    event.when = names_.compile_when(*def.when, scope);
    if (event.when && event.when->side() == Side::answer) event.outcome = true;
  }
  const auto index = static_cast<EventIndex>(set_.events.size());
  event.parent = def.is ? parent : index;
  event.base = def.is && parent != kRequestEvent ? set_.events[parent].base : index;
  if (def.is && parent == kRequestEvent) event.base = kRequestEvent;
  set_.events.push_back(std::move(event));
  names_.event_index.emplace(def.name.value, index);
  check_event_of_calls(def, set_, index, problems_);
}

}  // namespace weir::policies
