#include "policies/set/recorded.h"

#include <algorithm>
#include <array>
#include <map>

#include "policies/lang/expr/program.h"
#include "policies/lang/extractors.h"

namespace weir::policies {
namespace {

/// Fields that every row has, or that follow from those.
constexpr std::array<std::string_view, 6> kInEveryRow{"method", "path", "segment",
                                                      "ip",     "time", "status"};

bool in_every_row(const Slot& slot) {
  if (slot.kind != Slot::Kind::attribute) return false;
  return std::find(kInEveryRow.begin(), kInEveryRow.end(), slot.extractor->name) !=
         kInEveryRow.end();
}

/// How each slot is used.
class Uses {
 public:
  explicit Uses(const PolicySet& set) : set_(set), marks_(set.slots.size()) {
    for (std::size_t i = 0; i < marks_.size(); ++i) same_as_.push_back(static_cast<SlotId>(i));
  }

  void look() {
    for (const Event& event : set_.events) read(event.when);
    for (const Policy& policy : set_.policies) look(policy);
    for (const Pattern& pattern : set_.patterns) {
      for (const Pattern::Step& step : pattern.steps) read(step.when);
    }
    for (const View& view : set_.views) {
      const bool members = view.metric.starts_with("distinct");
      for (const View::Binding& binding : view.bindings) {
        read(binding.when);
        key(binding.key, &view);
        members_of(binding.arguments, members, &view.metric);
      }
    }
    for (const List& list : set_.lists) {
      // An entry in the file is a literal to compare with, and an expression may ask
      // for any value.
      const bool read_too =
          !list.entries.empty() || list.file || list.url || is_asked_for(list.name);
      for (const auto* bindings : {&list.bindings, &list.releases}) {
        for (const List::Binding& binding : *bindings) {
          key(binding.key, &list);
          for (const KeySlot& part : binding.key) {
            if (read_too) read(part.slot);
          }
        }
      }
    }
    for (const Reset& reset : set_.resets) key(reset.key, &set_.policies[reset.policy]);
    spread();
  }

  bool is_read(SlotId slot) const { return (marks_[slot] & kRead) != 0; }
  bool is_key(SlotId slot) const { return (marks_[slot] & kKey) != 0; }

 private:
  static constexpr std::uint8_t kRead = 1, kKey = 2;

  void look(const Policy& policy) {
    const bool members = takes_members(policy.metric);
    for (const Binding& binding : policy.bindings) {
      read(binding.when);
      key(binding.key, &policy);
      members_of(binding.arguments, members, &policy.metric);
      read(binding.reserve);
      for (const Binding::RungPart& rung : binding.rungs) {
        read(rung.condition);
        if (const auto* limit = std::get_if<Expression>(&rung.limit.source)) use(*limit, false);
        for (const SlotId slot : rung.limit.table_slots) read(slot);
      }
    }
    for (const auto& rungs : policy.list_keys) {
      for (std::size_t r = 0; r < rungs.size(); ++r) {
        if (policy.rungs[r].list) key(rungs[r], &set_.lists[*policy.rungs[r].list]);
      }
    }
  }

  /// `owner`: the holder of such keys. Values of one part of its keys are compared with each other,
  /// whichever event they come from.
  void key(const std::vector<KeySlot>& parts, const void* owner) {
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const KeySlot& part = parts[k];
      compare(part.slot, owner, k);
      if (part.is_place) {
        read(part.slot);
        continue;
      }
      marks_[part.slot] |= kKey;
    }
  }
  void members_of(const std::vector<Expression>& arguments, bool members, const void* owner) {
    for (std::size_t k = 0; k < arguments.size(); ++k) {
      use(arguments[k], members);
      const auto slot = arguments[k].slot();
      if (members && slot) compare(*slot, owner, k);
    }
  }
  void compare(SlotId slot, const void* owner, std::size_t place) {
    const auto [first, fresh] = first_.try_emplace({owner, place}, slot);
    if (!fresh) same_as_[root(slot)] = root(first->second);
  }
  SlotId root(SlotId slot) const {
    while (same_as_[slot] != slot) slot = same_as_[slot];
    return slot;
  }
  /// A value that is compared with a plain value is plain: hashed, it would never be equal.
  void spread() {
    for (bool changed = true; changed;) {
      changed = false;
      std::vector<bool> plain(marks_.size());
      for (std::size_t i = 0; i < marks_.size(); ++i) {
        const auto id = static_cast<SlotId>(i);
        if (is_read(id)) plain[root(id)] = true;
      }
      for (std::size_t i = 0; i < marks_.size(); ++i) {
        const auto id = static_cast<SlotId>(i);
        if (!is_key(id) || is_read(id) || !plain[root(id)]) continue;
        read(id);
        changed = true;
      }
    }
  }
  bool is_asked_for(const std::string& list) const {
    return asked_.find("inList(\"" + list + "\"") != std::string::npos;
  }

  void use(const Expression& expression, bool member) {
    asked_ += expression.canonical();
    if (const auto slot = expression.slot(); slot && member) {
      marks_[*slot] |= kKey;
    } else {
      for (const SlotId each : expression.slots()) read(each);
    }
  }
  void read(const std::optional<Expression>& expression) {
    if (expression) use(*expression, false);
  }
  void read(SlotId slot) {
    if (is_read(slot)) return;
    marks_[slot] |= kRead;
    asked_ += set_.slots[slot].text;
    if (const auto& program = set_.slots[slot].program) {
      for (const SlotId each : program->slots) read(each);
    }
  }

  const PolicySet& set_;
  std::vector<std::uint8_t> marks_;
  std::vector<SlotId> same_as_;  // towards the first of those that are compared with each other
  std::map<std::pair<const void*, std::size_t>, SlotId> first_;
  std::string asked_;  // all that is read
};

std::optional<SlotId> subject_of(const PolicySet& set, const Event& event, std::string_view name) {
  if (const auto field = event.fields.find(name); field != event.fields.end()) return field->second;
  const std::string& source = set.events[event.base].source;
  for (std::size_t i = 0; i < set.slots.size() && !source.empty(); ++i) {
    const Slot& slot = set.slots[static_cast<SlotId>(i)];
    if (slot.kind == Slot::Kind::column && slot.source == source && slot.argument.name == name) {
      return static_cast<SlotId>(i);
    }
  }
  return std::nullopt;
}

}  // namespace

const RecordedField* RecordedFields::find(SlotId slot) const noexcept {
  for (const auto* fields : {&request, &answer}) {
    const auto found =
        std::lower_bound(fields->begin(), fields->end(), slot,
                         [](const auto& field, SlotId id) { return field.slot < id; });
    if (found != fields->end() && found->slot == slot) return &*found;
  }
  return nullptr;
}

std::vector<std::string> RecordedFields::names(const PolicySet& set, bool hashed) const {
  std::vector<std::string> out;
  if (plain_ip != hashed) out.emplace_back("ip");
  for (const auto* fields : {&request, &answer}) {
    for (const RecordedField& field : *fields) {
      if (field.hashed != hashed) continue;
      const Slot& slot = set.slots[field.slot];
      const bool column = slot.kind == Slot::Kind::column;
      out.push_back(column ? slot.source + "." + slot.argument.name : slot.text);
    }
  }
  return out;
}

std::string RecordedFields::text(const PolicySet& set, bool hashed) const {
  std::string out = hashed ? "" : "method, path, time, status";
  for (const std::string& name : names(set, hashed)) out += (out.empty() ? "" : ", ") + name;
  return out;
}

RecordedFields recorded_fields(const PolicySet& set, std::string_view subject) {
  Uses uses(set);
  uses.look();
  RecordedFields out;
  for (std::size_t i = 0; i < set.slots.size(); ++i) {
    const auto id = static_cast<SlotId>(i);
    const Slot& slot = set.slots[id];
    if (slot.kind == Slot::Kind::attribute && slot.extractor->name == "ip") {
      out.plain_ip = uses.is_read(id);
    }
    const bool leaf = slot.kind == Slot::Kind::attribute || slot.kind == Slot::Kind::column;
    if (in_every_row(slot) || slot.varies || (!leaf && slot.kind != Slot::Kind::computed)) continue;
    // A value that is computed from recorded fields is computed again.
    const bool hashed = uses.is_key(id) && !uses.is_read(id);
    if (!leaf && uses.is_read(id)) out.told.push_back(id);
    if (!hashed && !(leaf && uses.is_read(id))) continue;
    auto& side = slot.side == Side::answer ? out.answer : out.request;
    side.push_back({id, hashed, slot.type == Type::address});
  }
  out.subject.resize(set.events.size());
  if (subject == "ip") return out;
  out.subject_known = false;
  for (std::size_t i = 0; i < set.events.size(); ++i) {
    out.subject[i] = subject_of(set, set.events[i], subject);
    out.subject_known = out.subject_known || out.subject[i].has_value();
  }
  return out;
}

bool fits_recorded(const Slot& slot, const RecordedField* field, const Value& value) noexcept {
  if (value.is_null() || slot.type == Type::dyn || value.is(slot.type)) return true;
  if (slot.type == Type::address) return value.is(Type::text);  // as it is written
  return field != nullptr && field->hashed && value.is(Type::text);
}

}  // namespace weir::policies
