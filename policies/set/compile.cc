#include "policies/set/compile.h"

#include <sodium.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "policies/set/checks/door_checks.h"
#include "policies/set/checks/refuses_all.h"
#include "policies/set/compiler.h"
#include "policies/set/describe.h"

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
  RungCompiler rungs(names, lists);
  PolicyCompiler policies(names, binder, counters, rungs);
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
  if (problems.errors() != errors || model.draft) return nullptr;
  warn_of_doors(model.server, *set, problems);
  warn_of_bodies(*set, problems);
  warn_of_refusing_all(*set, problems);
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

Result<void> PolicySet::attach(limiter::Bank& bank, limiter::ListBank& list_bank,
                               const HashSecret& secret, limiter::PatternBank* pattern_bank,
                               Attached* attached) {
  Attached ignored;
  Attached& step = attached != nullptr ? *attached : ignored;
  step = Attached::counters;
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
  step = Attached::patterns;
  for (Pattern& pattern : patterns) {
    if (pattern_bank == nullptr) break;
    auto id = pattern_bank->open(pattern.identity, pattern.spec);
    if (!id) return id.error();
    pattern.id = *id;
  }
  step = Attached::lists;
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
