#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/model.h"
#include "config/text/problem.h"
#include "policies/set/policy_set.h"

/// The inside of compile(): one object while a policy set is built, its steps in files of their
/// own. Only compile*.cc include this.
namespace weir::policies {

/// Where it matters how an app reads a path: fills strict_everywhere and strict_events.
void note_strict_paths(PolicySet& set);  // strict_paths.cc

class Compiler {
 public:
  Compiler(const config::Model& model, config::Problems& problems, PolicySet& set)
      : model_(model), problems_(problems), set_(set) {}

  void compile_tables();    // compile_policies.cc: before the expressions that look them up
  void compile_events();    // compile_events.cc
  void declare_lists();     // compile_lists.cc: their names, which expressions of events may use
  void compile_lists();     // where they act, once the events are known
  void compile_policies();  // compile_policies.cc
  void compile_views();     // compile_views.cc
  void check_amounts();     // compile_policies.cc: once all are there
  void index();             // compile.cc: what each event leads to
  void note_shortcuts();    // compile_shortcuts.cc: last

 private:
  /// The names that mean something for one event.
  class Scope final : public ExprScope {
   public:
    /// `rungs_of`: the expression stands in a rung of this policy.
    Scope(Compiler& compiler, const Event& event, const config::PolicyDef* rungs_of = nullptr)
        : ExprScope(compiler.set_.slots), compiler_(compiler), event_(event), policy_(rungs_of) {}
    std::optional<SlotId> field(std::string_view name) const override;
    std::vector<std::string_view> field_names() const override;
    std::optional<SlotId> column(std::string_view name) const override;
    std::optional<ListRef> list(std::string_view name) const override;
    std::vector<std::string_view> list_names() const override;
    std::shared_ptr<const ThresholdTable> table(std::string_view name) const override;
    std::vector<std::string_view> table_names() const override;
    std::string_view event_name() const override { return event_.name; }
    BodyKind body_kind() const override { return event_.body; }
    bool in_rung() const override { return policy_ != nullptr; }

   private:
    Compiler& compiler_;
    const Event& event_;
    const config::PolicyDef* policy_;
  };
  friend class Scope;

  // Events.
  void compile_fields(const std::vector<config::FieldDef>& fields, Event& event);
  void compile_event(const config::EventDef& def, std::set<std::string>& open);
  std::optional<EventIndex> find_event(const config::Text& name);
  /// The condition of a `when`; warns if it is known before any event comes.
  std::optional<Expression> compile_when(const config::Text& text, ExprScope& scope);

  // Keys: a field of the event, or an attribute that needs no argument.
  std::optional<KeySlot> key_slot(const config::Text& field, const Event& event, bool complain);
  /// The same with the mask that the configuration may have given it.
  std::optional<KeySlot> key_part_slot(const config::KeyPart& part, const Event& event,
                                       bool complain);
  /// Whether both are of one type as far as keys are concerned: an address and the text of one
  /// would never be the same key.
  void check_same_key(const config::Text& at, const std::vector<KeySlot>& a, const Event& of_a,
                      const std::vector<KeySlot>& b, const Event& of_b);
  std::optional<std::vector<KeySlot>> list_key(const List& list, const Event& event);

  // Lists.
  void check_entry(const List& list, std::size_t part, config::Text& text);
  ListIndex own_list(Policy& policy, const Rung& rung, const config::Rung& from);
  std::optional<ListIndex> named_list(const config::Text& name);

  // Policies.
  void compile_policy(const config::PolicyDef& def);
  bool meets_refusals(const config::PolicyDef& def) const;
  void compile_meters(const config::PolicyDef& def, Policy& policy);
  void check_table_keys(const config::TableNode& node, std::span<const KeySlot> by);
  void check_told_apart(const config::PolicyDef& def, const Policy& policy);
  bool bind_events(const config::PolicyDef& def, Policy& policy);
  enum class Role : std::uint8_t {
    counts,  ///< watched
    guards,  ///< judged without counting
    reads,   ///< where a metric is read that does not watch the event
  };
  std::optional<Binding> bind(const config::PolicyDef& def, EventIndex event, Role role);
  void bind_key(const config::PolicyDef& def, const Event& event, Binding& binding);
  void bind_place(const config::NearDef& near, const Event& event, Binding& binding);
  void bind_amount(const config::PolicyDef& def, const Event& event, Binding& binding);
  void bind_captures(Binding& binding) const;
  void bind_rungs(const config::PolicyDef& def, const Event& event, Binding& binding);
  std::optional<Limit> bind_limit(const config::Rung& rung, const Event& event);
  /// The status of a refusal without settings of its own.
  int status_of(Action action) const;
  void check_score(const config::PolicyDef& def, const Policy& policy);
  void check_remembered(const config::PolicyDef& def, const Policy& policy);
  void compile_rungs(const config::PolicyDef& def, Policy& policy);
  // compile_patterns.cc
  void compile_pattern(const config::PolicyDef& def);
  bool bind_pattern(const config::PolicyDef& def, Policy& policy, Pattern& pattern);
  std::optional<std::uint16_t> bind_part(const config::PolicyDef& def, const config::Text& event,
                                         bool step, bool fires, Policy& policy);
  std::string pattern_canonical(const Policy& policy, const Pattern& pattern);
  void compile_counters(const config::PolicyDef& def, Policy& policy);
  void compile_resets(const config::PolicyDef& def, Policy& policy);
  std::uint16_t intern_counter(Counter counter);
  std::string event_canonical(EventIndex event) const;
  std::string key_canonical(const std::vector<KeySlot>& key) const;
  void compile_view(const config::ViewDef& def);
  void bind_view(const config::ViewDef& def, const std::vector<config::KeyPart>& key,
                 EventIndex event, View& view);
  void warn_policy(const config::PolicyDef& def, const Policy& policy);
  void warn_of_unread_answers(const config::PolicyDef& def, const Policy& policy, bool acts);

  const config::Model& model_;
  config::Problems& problems_;
  PolicySet& set_;
  std::map<std::string, const config::EventDef*, std::less<>> event_defs_;
  std::map<std::string, EventIndex, std::less<>> event_index_;
  std::map<std::string, ListIndex, std::less<>> list_index_;
  std::map<std::string, std::uint16_t, std::less<>> table_index_;
  std::set<const config::TableChild*>
      told_table_keys_;  // one error each, however many rungs use the key
};

/// Adds the slots that are not there yet.
void add_captures(std::vector<SlotId>& into, std::span<const SlotId> slots);
/// Whether values of the type can be added up and compared.
bool is_amount(Type type);

/// The counter kind that a metric over a window asks for.
limiter::CounterSpec spec_of(Metric metric, bool real_amounts, bool outcome,
                             const config::WindowDef* window, std::size_t keep);
/// The same as text, for the identity: `count over ring of 600000 ms in 60`.
std::string describe(const limiter::CounterSpec& spec);
/// The parts of the counter other than the window: `sum of doubles within 1000 m`.
std::string describe_metric(const limiter::CounterSpec& spec);

/// BLAKE2b of the text, 128 bits: the same in every process and after every restart.
Hash128 identity_of(std::string_view canonical);

}  // namespace weir::policies
