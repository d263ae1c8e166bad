#include "config/checks/references.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "config/sections/share.h"
#include "config/text/yaml_text.h"

namespace weir::config {
namespace {

std::string place(const Model& model, const Where& where) {
  const std::string file = where.file < model.files.size() ? model.files[where.file] : "";
  return file + ":" + std::to_string(where.line);
}

/// Reports a name that is defined twice. Definitions in two files are here only if they differ
/// (merge.h); policies and views are unique by name.
void tell_twice(const Model& model, std::string_view what, const Text& name, const Where& first,
                Problems& problems) {
  const bool mergeable = what != "policy" && what != "view";
  const bool differs = mergeable && first.file != name.where.file;
  problems.error(
      name.where,
      std::string(what) + " " + quoted(name.value) +
          (differs ? " is defined in two files, and the definitions differ" : " is defined twice"),
      (differs ? "the other one is at " : "the first one is at ") + place(model, first));
}

/// The hint for a route, or a word for everything, in place of an event's name.
std::string meant_event(std::string_view text) {
  constexpr std::string_view kAll[] = {"*", "all", "any", "every", "everything", "http", "/*", "/"};
  if (std::find(std::begin(kAll), std::end(kAll), text) != std::end(kAll))
    return "write request, which is every HTTP request";
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || text.size() > 80) return {};
  const bool method = slash > 1 && text[slash - 1] == ' ';
  return "an event has the route: events: {my_event: {match: " +
         (method ? std::string(text) : "\"* " + std::string(text.substr(slash)) + "\"") +
         "}}; then write my_event here";
}

/// The names of one section.
class Names {
 public:
  template <class Def>
  Names(const Model& model, const std::vector<Def>& defs, std::string_view what, Problems& problems)
      : what_(what) {
    for (const Def& def : defs) {
      const auto [first, fresh] = index_.emplace(def.name.value, words_.size());
      if (fresh) {
        words_.push_back(def.name.value);
        places_.push_back(def.name.where);
      } else {
        tell_twice(model, what, def.name, places_[first->second], problems);
      }
    }
  }
  void allow(std::string_view word) {
    index_.emplace(word, words_.size());
    words_.push_back(word);
    places_.push_back({});
  }
  bool has(std::string_view word) const { return index_.contains(word); }
  const Where* find(std::string_view word) const {
    const auto found = index_.find(word);
    return found == index_.end() ? nullptr : &places_[found->second];
  }
  void check(const Text& reference, Problems& problems) const {
    if (has(reference.value)) return;
    // A hint compares with every name: bounded, so that a file of nothing but mistakes stays
    // linear.
    constexpr std::size_t kHints = 100;
    std::string hint = hints_++ < kHints && words_.size() <= 10'000
                           ? suggest(reference.value, words_)
                           : std::string{};
    if (what_ == "event") {
      if (std::string meant = meant_event(reference.value); !meant.empty()) hint = std::move(meant);
    }
    if (hint.empty() && words_.empty())
      hint = "there is none; define it under \"" +
             std::string(what_ == "notification" ? "notify" : std::string(what_) + "s") + "\"";
    problems.error(reference.where,
                   "there is no " + std::string(what_) + " " + quoted(reference.value),
                   std::move(hint));
  }

 private:
  std::string_view what_;
  std::unordered_map<std::string_view, std::size_t> index_;
  std::vector<std::string_view> words_;
  std::vector<Where> places_;
  mutable std::size_t hints_ = 0;
};

/// Each event has at most one parent, so a walk up from every event, with the walks marked, finds
/// each cycle once and visits each event once.
void check_cycles(const Model& model, Problems& problems) {
  std::unordered_map<std::string_view, const EventDef*> by_name;
  for (const EventDef& event : model.events) by_name.emplace(event.name.value, &event);
  std::unordered_map<const EventDef*, std::size_t> walk_of;
  std::size_t walk = 0;
  for (const EventDef& start : model.events) {
    ++walk;
    const EventDef* event = &start;
    while (event != nullptr && event->is && walk_of.emplace(event, walk).second) {
      const auto next = by_name.find(event->is->value);
      event = next == by_name.end() ? nullptr : next->second;
    }
    if (event != nullptr && event->is && walk_of[event] == walk) {
      problems.error(event->is->where,
                     "event " + quoted(event->name.value) + " is a kind of itself");
      walk_of[event] = 0;
    }
  }
}

void check_fields(const Model& model, std::vector<FieldDef>& fields, Problems& problems) {
  std::unordered_map<std::string_view, FieldDef*> seen;
  for (FieldDef& field : fields) {
    const auto [first, fresh] = seen.emplace(field.name.value, &field);
    if (!fresh) {
      tell_twice(model, "field", field.name, first->second->name.where, problems);
      first->second->sound = false;
    }
  }
}

/// It is undefined which of two definitions applies. The first one is marked unsound for both.
template <class Def>
void doubt_twice(std::vector<Def>& defs) {
  std::unordered_map<std::string_view, Def*> seen;
  for (Def& def : defs) {
    const auto [first, fresh] = seen.emplace(def.name.value, &def);
    if (!fresh) first->second->sound = false;
  }
}

/// A rung that names no list remembers keys on one that is named after its policy.
bool has_own_list(const PolicyDef& policy) {
  for (const Rung& rung : policy.then) {
    if (!rung.durations.empty() && !rung.list) return true;
  }
  return false;
}

}  // namespace

void check_references(Model& model, bool complete, Problems& problems) {
  Names events(model, model.events, "event", problems);
  events.allow("request");
  const Names lists(model, model.lists, "list", problems);
  const Names tables(model, model.tables, "table", problems);
  const Names notify(model, model.notify, "notification", problems);
  check_fields(model, model.fields, problems);
  check_cycles(model, problems);
  if (complete) {
    for (const EventDef& event : model.events) {
      if (event.is) events.check(*event.is, problems);
      if (!event.descriptor) continue;
      for (const Text& replaced : event.descriptor->replaces) events.check(replaced, problems);
    }
  }

  doubt_twice(model.events);
  doubt_twice(model.lists);
  doubt_twice(model.tables);
  const Names policies(model, model.policies, "policy", problems);
  const Names views(model, model.views, "view", problems);
  if (complete) check_shared_store(model, problems);
  std::unordered_map<std::string_view, ListKind> kinds;
  for (const ListDef& list : model.lists) {
    // A list whose kind is missing has been reported: it fits no kind.
    if (list.kind.where.line != 0) kinds.emplace(list.name.value, list.kind.value);
  }
  for (PolicyDef& policy : model.policies) {
    const std::size_t errors = problems.errors();
    const Where* list = lists.find(policy.name.value);
    if (list != nullptr && has_own_list(policy)) {
      problems.error(
          policy.name.where,
          "policy " + quoted(policy.name.value) +
              " has a list of its own with this name, and another list has the same name",
          "name the list in the rung, or rename one; the list is at " + place(model, *list));
    }
    for (const Rung& rung : policy.then) {
      if (!rung.list) continue;
      const auto kind = kinds.find(rung.list->value);
      if (kind != kinds.end() && kind->second == ListKind::allow) {
        problems.error(rung.list->where,
                       quoted(rung.list->value) + " is an allow list: no rung adds to it");
      }
    }
    if (complete) {
      for (const Text& watched : policy.watch) events.check(watched, problems);
      for (const Text& guarded : policy.guard) events.check(guarded, problems);
      if (policy.reset) events.check(*policy.reset, problems);
      if (policy.pattern) {
        for (const PatternDef::Step& step : policy.pattern->steps)
          events.check(step.event, problems);
        for (const Text& event : policy.pattern->among) events.check(event, problems);
      }
      for (const Rung& rung : policy.then) {
        if (rung.list) lists.check(*rung.list, problems);
        if (rung.notify) notify.check(*rung.notify, problems);
      }
    }
    policy.sound = policy.sound && problems.errors() == errors;
  }
  for (ViewDef& view : model.views) {
    const std::size_t errors = problems.errors();
    if (complete) {
      for (const Text& watched : view.watch) events.check(watched, problems);
    }
    view.sound = view.sound && problems.errors() == errors;
  }
}

}  // namespace weir::config
