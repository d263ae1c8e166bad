#include "policies/set/compile.h"

#include <sodium.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "policies/set/compiler.h"
#include "policies/set/describe.h"
#include "policies/set/door_checks.h"

namespace weir::policies {

namespace {

milliseconds length_at_most(CalendarUnit unit) {
  constexpr milliseconds kHour{3'600'000};
  switch (unit) {
    case CalendarUnit::hour:
      return kHour;
    case CalendarUnit::day:
      return 25 * kHour;  // when summer time ends
    case CalendarUnit::week:
      return (7 * 24 + 1) * kHour;
    case CalendarUnit::month:
      return (31 * 24 + 1) * kHour;
  }
  return kHour;
}

}  // namespace

std::unique_ptr<PolicySet> compile(const config::Model& model, config::Problems& problems) {
  const std::size_t errors = problems.errors();
  auto set = std::make_unique<PolicySet>();
  set->challenge = model.server.challenge;
  set->path_rules = model.server.proxy.path;
  set->ratelimit = model.server.ratelimit;
  Names names(model, problems, *set);
  ListCompiler lists(names);
  Binder binder(names);
  CounterCompiler counters(names, binder);
  PolicyCompiler policies(names, lists, binder, counters);
  lists.declare_lists();
  names.declare_tables();
  EventCompiler(names).compile_events();
  lists.compile_lists();
  policies.compile_policies();
  policies.check_amounts();
  ViewCompiler(names, binder).compile_views();
  if (set->slots.full()) {
    problems.error({}, "the configuration reads more than 65,000 different fields");
  }
  if (problems.errors() != errors) return nullptr;
  warn_of_doors(model.server, *set, problems);
  warn_of_bodies(*set, problems);
  index_events(*set);
  note_shortcuts(*set);
  return set;
}

Hash128 identity_of(std::string_view canonical) {
  unsigned char out[16];
  crypto_generichash(out, sizeof out, reinterpret_cast<const unsigned char*>(canonical.data()),
                     canonical.size(), nullptr, 0);
  Hash128 hash;
  std::memcpy(&hash.lo, out, 8);
  std::memcpy(&hash.hi, out + 8, 8);
  return hash;
}

limiter::CounterSpec spec_of(Metric metric, bool real_amounts, bool outcome,
                             const config::WindowDef* window, std::size_t keep) {
  limiter::CounterSpec spec;
  spec.real = real_amounts;
  spec.outcome = outcome;
  spec.keep = keep;
  if (metric != Metric::score) spec.metric = metric;  // a score has no counter
  if (metric == Metric::in_flight || window == nullptr) {
    spec.window = limiter::Window::none;
    return spec;
  }
  spec.length = window->length;
  spec.buckets = window->buckets;
  switch (window->kind) {
    case config::WindowDef::Kind::last: {
      const bool ring = !window->exact && (metric == Metric::count || metric == Metric::sum);
      spec.window = ring ? limiter::Window::ring : limiter::Window::log;
      break;
    }
    case config::WindowDef::Kind::every:
      spec.window = window->from_first ? limiter::Window::every_first : limiter::Window::every;
      break;
    case config::WindowDef::Kind::events:
      spec.window = limiter::Window::events;
      spec.events = static_cast<std::uint32_t>(window->events);
      break;
    case config::WindowDef::Kind::calendar:
      spec.window = limiter::Window::calendar;
      spec.unit = window->unit;
      spec.zone = TimeZone::find(window->zone.value);
      spec.length = length_at_most(window->unit);
      break;
    case config::WindowDef::Kind::leaky:
      spec.window = limiter::Window::leaky;
      spec.capacity = window->capacity;
      spec.drain = window->drain;
      spec.drains = window->drains;
      // After this time a full bucket is empty.
      spec.length = milliseconds{
          static_cast<std::int64_t>(std::ceil(window->capacity.as_real() * spec.ms_of_one()))};
      break;
    case config::WindowDef::Kind::all:  // of views alone
      break;
  }
  return spec;
}

std::string describe_metric(const limiter::CounterSpec& spec) {
  std::string out(row_of(spec.metric).identity);
  if (spec.metric == Metric::sum && spec.real) out += " of doubles";
  if (spec.radius != 0) out += " within " + Number::real(spec.radius).to_string() + " m";
  return out;
}

std::string describe(const limiter::CounterSpec& spec) {
  const std::string out = describe_metric(spec);
  const std::string kept = spec.retain > spec.length
                               ? ", retained for " + std::to_string(spec.retain.count()) + " ms"
                               : "";
  const std::string length = std::to_string(spec.length.count()) + " ms";
  switch (spec.window) {
    case limiter::Window::ring:
      return out + " over the last " + length + " in " + std::to_string(spec.buckets) + " buckets";
    case limiter::Window::log:
      return out + " over exactly the last " + length + ", keep " + std::to_string(spec.keep) +
             kept;
    case limiter::Window::every:
      return out + " in every " + length;
    case limiter::Window::every_first:
      return out + " in " + length + " from the first";
    case limiter::Window::events:
      return out + " over the last " + std::to_string(spec.events) + " events of " + length;
    case limiter::Window::calendar:
      return out + " in each " + std::string(unit_name(spec.unit)) + " of " + spec.zone->name() +
             ", keep " + std::to_string(spec.keep);
    case limiter::Window::leaky:
      return out + " in a bucket of " + spec.capacity.to_string() + " draining " +
             (spec.drains == 1 ? "one" : std::to_string(spec.drains)) + " per " +
             std::to_string(spec.drain.count()) + " ms";
    case limiter::Window::none:
      break;
  }
  return out;
}

void index_events(PolicySet& set) {
  const std::size_t events = set.events.size();
  set.watchers.resize(events);
  set.resets_of.resize(events);
  set.list_uses.resize(events);
  set.releases_of.resize(events);
  set.needs_body.assign(events, false);
  set.needs_answer_body.assign(events, false);
  set.wants_readable_answer.assign(events, false);
  set.family.resize(events);
  std::vector<bool> used(events, false), enforced(events, false);
  bool acts = true;  // a reader is enforced

  const auto reads = [&](EventIndex event, SlotId slot) {
    if (set.slots[slot].needs_body) set.needs_body[event] = true;
    if (set.slots[slot].needs_answer_body) {
      set.needs_answer_body[event] = true;
      if (acts) set.wants_readable_answer[event] = true;
    }
  };
  const auto reads_expression = [&](EventIndex event, const Expression& expression) {
    if (expression.needs_body()) set.needs_body[event] = true;
    if (expression.needs_answer_body()) {
      set.needs_answer_body[event] = true;
      if (acts) set.wants_readable_answer[event] = true;
    }
  };
  const auto is_used = [&](EventIndex event) {
    used[event] = true;
    if (acts) enforced[event] = true;
  };
  for (const Policy& policy : set.policies) {
    acts = !policy.shadow;
    for (std::size_t b = 0; b < policy.bindings.size(); ++b) {
      const Binding& binding = policy.bindings[b];
      set.watchers[binding.event].push_back({policy.index, static_cast<std::uint16_t>(b)});
      is_used(binding.event);
      for (const KeySlot& part : binding.key) reads(binding.event, part.slot);
      for (const Expression& argument : binding.arguments)
        reads_expression(binding.event, argument);
      if (binding.reserve) reads_expression(binding.event, *binding.reserve);
      if (binding.when) reads_expression(binding.event, *binding.when);
      for (const Binding::RungPart& rung : binding.rungs) {
        for (const SlotId slot : rung.limit.table_slots) reads(binding.event, slot);
        if (const auto* limit = std::get_if<Expression>(&rung.limit.source)) {
          reads_expression(binding.event, *limit);
        }
        if (rung.condition) reads_expression(binding.event, *rung.condition);
      }
      for (const auto& key : policy.list_keys[b]) {
        for (const KeySlot& part : key) reads(binding.event, part.slot);
      }
    }
  }
  acts = false;
  set.view_watchers.resize(events);
  for (std::size_t v = 0; v < set.views.size(); ++v) {
    const View& view = set.views[v];
    for (std::size_t b = 0; b < view.bindings.size(); ++b) {
      const View::Binding& binding = view.bindings[b];
      set.view_watchers[binding.event].push_back(
          {static_cast<PolicyIndex>(v), static_cast<std::uint16_t>(b)});
      is_used(binding.event);
      for (const KeySlot& part : binding.key) reads(binding.event, part.slot);
      for (const Expression& argument : binding.arguments)
        reads_expression(binding.event, argument);
      if (binding.when) reads_expression(binding.event, *binding.when);
    }
  }
  for (const Pattern& pattern : set.patterns) {
    acts = !set.policies[pattern.policy].shadow;
    for (const Pattern::Step& step : pattern.steps) {
      if (step.when)
        reads_expression(set.policies[pattern.policy].bindings[step.binding].event, *step.when);
    }
  }
  for (std::size_t i = 0; i < set.resets.size(); ++i) {
    const Reset& reset = set.resets[i];
    acts = !set.policies[reset.policy].shadow;
    set.resets_of[reset.event].push_back(static_cast<std::uint16_t>(i));
    is_used(reset.event);
    for (const KeySlot& part : reset.key) reads(reset.event, part.slot);
  }
  for (std::size_t l = 0; l < set.lists.size(); ++l) {
    acts = !set.lists[l].shadow;
    for (std::size_t b = 0; b < set.lists[l].bindings.size(); ++b) {
      const List::Binding& binding = set.lists[l].bindings[b];
      set.list_uses[binding.event].push_back(
          {static_cast<ListIndex>(l), static_cast<std::uint16_t>(b)});
      is_used(binding.event);
      for (const KeySlot& part : binding.key) reads(binding.event, part.slot);
    }
    for (std::size_t b = 0; b < set.lists[l].releases.size(); ++b) {
      const List::Binding& release = set.lists[l].releases[b];
      set.releases_of[release.event].push_back(
          {static_cast<ListIndex>(l), static_cast<std::uint16_t>(b)});
      is_used(release.event);
      for (const KeySlot& part : release.key) reads(release.event, part.slot);
    }
  }
  for (DescriptorEvent& event : set.descriptor_events) {
    for (const PolicySet::Watcher& watcher : set.watchers[event.event]) {
      const auto& rungs = set.policies[watcher.policy].rungs;
      event.limited = event.limited || std::any_of(rungs.begin(), rungs.end(), [](const Rung& r) {
                        return r.compare != Compare::none || r.overflows;
                      });
    }
  }
  // An event is looked at if it is used or somebody's parent is; parents stand before their
  // children.
  std::vector<bool> wanted = used;
  for (std::size_t i = events; i-- > 1;) {
    if (wanted[i]) wanted[set.events[i].parent] = true;
    if (enforced[i]) enforced[set.events[i].parent] = true;
  }
  for (std::size_t i = 0; i < events; ++i) {
    if (!wanted[i]) continue;
    const Event& event = set.events[i];
    set.family[event.base].push_back(static_cast<EventIndex>(i));
    acts = enforced[i];
    if (event.when) reads_expression(static_cast<EventIndex>(i), *event.when);
  }
  // A request needs its body read if any event that it may be does.
  for (std::size_t base = 0; base < events; ++base) {
    for (const EventIndex member : set.family[base]) {
      if (set.needs_body[member]) set.needs_body[base] = true;
      if (set.needs_answer_body[member]) set.needs_answer_body[base] = true;
      if (set.wants_readable_answer[member]) set.wants_readable_answer[base] = true;
    }
  }
}

Result<void> PolicySet::attach(limiter::Bank& bank, limiter::ListBank& list_bank,
                               const HashSecret& secret, limiter::PatternBank* pattern_bank) {
  const limiter::Bank::Opening together(bank);
  for (Counter& counter : counters) {
    if (counter.synced.shared != nullptr) {
      if (const auto opened = counter.synced.open(bank, counter.keys); !opened) return opened;
      counter.id = counter.synced.id;
      continue;
    }
    auto id = bank.open(counter.identity, counter.spec, counter.keys);
    if (!id) return id.error();
    counter.id = *id;
  }
  for (Pattern& pattern : patterns) {
    if (pattern_bank == nullptr) break;
    auto id = pattern_bank->open(pattern.identity, pattern.spec);
    if (!id) return id.error();
    pattern.id = *id;
  }
  KeyBuilder builder;
  for (List& list : lists) {
    auto id = list_bank.open(list.kept_as, list.max);
    if (!id) return id.error();
    list.id = *id;
    for (const config::ListEntryDef& def : list.entries) {
      limiter::StaticList::Entry entry;
      entry.why = def.why;
      entry.until = def.until ? def.until->value : limiter::kForever;
      for (const config::Text& part : def.key) {
        if (!entry.text.empty()) entry.text += ", ";
        entry.text += part.value;
      }
      if (list.of_address) {
        if (const auto block = Cidr::parse(def.key.front().value)) list.fixed.add(*block, entry);
        continue;
      }
      builder.start();
      for (std::size_t i = 0; i < def.key.size(); ++i) {
        const auto& parts = list.bindings.front().key;
        const auto address =
            i < parts.size() ? address_part(parts[i], def.key[i].value) : std::nullopt;
        address ? builder.add_address(*address) : builder.add_text(def.key[i].value);
      }
      list.fixed.add(builder.hash(secret).owned_by(list.identity), entry);
    }
    list.fixed.build();
  }
  return boost::system::in_place_value;
}

void add_captures(std::vector<SlotId>& into, std::span<const SlotId> slots) {
  for (const SlotId slot : slots) {
    if (std::find(into.begin(), into.end(), slot) == into.end()) into.push_back(slot);
  }
}

bool is_amount(Type type) {
  return type == Type::integer || type == Type::real || type == Type::dyn;
}

std::size_t PolicySet::policy_count() const noexcept {
  return static_cast<std::size_t>(
      std::count_if(policies.begin(), policies.end(), [](const Policy& p) { return !p.is_meter; }));
}

const Policy* PolicySet::find_policy(std::string_view name) const noexcept {
  const auto found = std::find_if(policies.begin(), policies.end(),
                                  [&](const Policy& policy) { return policy.name == name; });
  return found == policies.end() ? nullptr : &*found;
}

const DescriptorEvent* PolicySet::find_descriptor(EventIndex event) const noexcept {
  const auto found = std::lower_bound(
      descriptor_events.begin(), descriptor_events.end(), event,
      [](const DescriptorEvent& one, EventIndex wanted) { return one.event < wanted; });
  return found != descriptor_events.end() && found->event == event ? &*found : nullptr;
}

const List* PolicySet::find_list(std::string_view name) const noexcept {
  const auto found =
      std::find_if(lists.begin(), lists.end(), [&](const List& list) { return list.name == name; });
  return found == lists.end() ? nullptr : &*found;
}

const View* PolicySet::find_view(std::string_view name) const noexcept {
  const auto found =
      std::find_if(views.begin(), views.end(), [&](const View& view) { return view.name == name; });
  return found == views.end() ? nullptr : &*found;
}

}  // namespace weir::policies
