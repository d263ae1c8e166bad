#include <algorithm>

#include "policies/set/compiler.h"

namespace weir::policies {
namespace {

/// Finds the policies, views, lists and resets of each event, and the events whose body is read.
class EventIndexing {
 public:
  explicit EventIndexing(PolicySet& set);

  void add_policies();
  void add_patterns();
  void add_views();
  void add_resets();
  void add_lists();
  void mark_limited_descriptors();  ///< after the policies
  void add_families();              ///< after everything that uses events

 private:
  using Uses = std::vector<std::vector<PolicySet::ListUse>>;
  /// A policy or view that reads an event. Shadow policies and views do not act: an answer that
  /// only they read need not be made readable.
  struct Reader {
    EventIndex event;
    bool acts;
  };

  void mark_used(Reader reader);
  void read(Reader reader, SlotId slot);
  void read(Reader reader, const Expression& expression);
  void read(Reader reader, const std::optional<Expression>& expression);
  void read(Reader reader, const std::vector<Expression>& expressions);
  void read(Reader reader, const std::vector<KeySlot>& key);
  void read(Reader reader, const Binding::RungPart& rung);
  void read_answer_body(Reader reader);
  void add_list_uses(std::size_t list, const std::vector<List::Binding>& bindings, Uses& uses);

  PolicySet& set_;
  std::vector<bool> used_, enforced_;  // [event]
};

EventIndexing::EventIndexing(PolicySet& set)
    : set_(set), used_(set.events.size()), enforced_(set.events.size()) {
  const std::size_t events = set.events.size();
  set.watchers.resize(events);
  set.view_watchers.resize(events);
  set.resets_of.resize(events);
  set.list_uses.resize(events);
  set.releases_of.resize(events);
  set.needs_body.assign(events, false);
  set.needs_answer_body.assign(events, false);
  set.wants_readable_answer.assign(events, false);
  set.family.resize(events);
}

void EventIndexing::mark_used(Reader reader) {
  used_[reader.event] = true;
  if (reader.acts) enforced_[reader.event] = true;
}

void EventIndexing::read_answer_body(Reader reader) {
  set_.needs_answer_body[reader.event] = true;
  if (reader.acts) set_.wants_readable_answer[reader.event] = true;
}

void EventIndexing::read(Reader reader, SlotId slot) {
  if (set_.slots[slot].needs_body) set_.needs_body[reader.event] = true;
  if (set_.slots[slot].needs_answer_body) read_answer_body(reader);
}

void EventIndexing::read(Reader reader, const Expression& expression) {
  if (expression.needs_body()) set_.needs_body[reader.event] = true;
  if (expression.needs_answer_body()) read_answer_body(reader);
}

void EventIndexing::read(Reader reader, const std::optional<Expression>& expression) {
  if (expression) read(reader, *expression);
}

void EventIndexing::read(Reader reader, const std::vector<Expression>& expressions) {
  for (const Expression& expression : expressions) read(reader, expression);
}

void EventIndexing::read(Reader reader, const std::vector<KeySlot>& key) {
  for (const KeySlot& part : key) read(reader, part.slot);
}

void EventIndexing::read(Reader reader, const Binding::RungPart& rung) {
  for (const SlotId slot : rung.limit.table_slots) read(reader, slot);
  if (const auto* limit = std::get_if<Expression>(&rung.limit.source)) read(reader, *limit);
  read(reader, rung.condition);
}

void EventIndexing::add_policies() {
  for (const Policy& policy : set_.policies) {
    for (std::size_t b = 0; b < policy.bindings.size(); ++b) {
      const Binding& binding = policy.bindings[b];
      const Reader reader{binding.event, !policy.shadow};
      set_.watchers[binding.event].push_back({policy.index, static_cast<std::uint16_t>(b)});
      mark_used(reader);
      read(reader, binding.key);
      read(reader, binding.arguments);
      read(reader, binding.reserve);
      read(reader, binding.when);
      for (const Binding::RungPart& rung : binding.rungs) read(reader, rung);
      for (const std::vector<KeySlot>& key : policy.list_keys[b]) read(reader, key);
    }
  }
}

void EventIndexing::add_patterns() {
  for (const Pattern& pattern : set_.patterns) {
    const Policy& policy = set_.policies[pattern.policy];
    for (const Pattern::Step& step : pattern.steps)
      read({policy.bindings[step.binding].event, !policy.shadow}, step.when);
  }
}

void EventIndexing::add_views() {
  for (std::size_t v = 0; v < set_.views.size(); ++v) {
    const View& view = set_.views[v];
    for (std::size_t b = 0; b < view.bindings.size(); ++b) {
      const View::Binding& binding = view.bindings[b];
      const Reader reader{binding.event, false};
      set_.view_watchers[binding.event].push_back(
          {static_cast<PolicyIndex>(v), static_cast<std::uint16_t>(b)});
      mark_used(reader);
      read(reader, binding.key);
      read(reader, binding.arguments);
      read(reader, binding.when);
    }
  }
}

void EventIndexing::add_resets() {
  for (std::size_t i = 0; i < set_.resets.size(); ++i) {
    const Reset& reset = set_.resets[i];
    const Reader reader{reset.event, !set_.policies[reset.policy].shadow};
    set_.resets_of[reset.event].push_back(static_cast<std::uint16_t>(i));
    mark_used(reader);
    read(reader, reset.key);
  }
}

void EventIndexing::add_lists() {
  for (std::size_t l = 0; l < set_.lists.size(); ++l) {
    add_list_uses(l, set_.lists[l].bindings, set_.list_uses);
    add_list_uses(l, set_.lists[l].releases, set_.releases_of);
  }
}

void EventIndexing::add_list_uses(std::size_t list, const std::vector<List::Binding>& bindings,
                                  Uses& uses) {
  for (std::size_t b = 0; b < bindings.size(); ++b) {
    const Reader reader{bindings[b].event, !set_.lists[list].shadow};
    uses[reader.event].push_back({static_cast<ListIndex>(list), static_cast<std::uint16_t>(b)});
    mark_used(reader);
    read(reader, bindings[b].key);
  }
}

void EventIndexing::mark_limited_descriptors() {
  const auto limits = [](const Rung& rung) {
    return rung.compare != Compare::none || rung.overflows;
  };
  for (DescriptorEvent& event : set_.descriptor_events) {
    for (const PolicySet::Watcher& watcher : set_.watchers[event.event]) {
      const auto& rungs = set_.policies[watcher.policy].rungs;
      event.limited = event.limited || std::any_of(rungs.begin(), rungs.end(), limits);
    }
  }
}

void EventIndexing::add_families() {
  const std::size_t events = set_.events.size();
  // The parents of a used event are looked at, too. Parents precede their children.
  for (std::size_t i = events; i-- > 1;) {
    if (used_[i]) used_[set_.events[i].parent] = true;
    if (enforced_[i]) enforced_[set_.events[i].parent] = true;
  }
  for (std::size_t i = 0; i < events; ++i) {
    if (!used_[i]) continue;
    const Event& event = set_.events[i];
    set_.family[event.base].push_back(static_cast<EventIndex>(i));
    read({static_cast<EventIndex>(i), enforced_[i]}, event.when);
  }
  // A request needs its body read if any event that it may be does.
  for (std::size_t base = 0; base < events; ++base) {
    for (const EventIndex member : set_.family[base]) {
      if (set_.needs_body[member]) set_.needs_body[base] = true;
      if (set_.needs_answer_body[member]) set_.needs_answer_body[base] = true;
      if (set_.wants_readable_answer[member]) set_.wants_readable_answer[base] = true;
    }
  }
}

}  // namespace

void index_events(PolicySet& set) {
  EventIndexing indexing(set);
  indexing.add_policies();
  indexing.add_patterns();
  indexing.add_views();
  indexing.add_resets();
  indexing.add_lists();
  indexing.mark_limited_descriptors();
  indexing.add_families();
}

}  // namespace weir::policies
