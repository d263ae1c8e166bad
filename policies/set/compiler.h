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

/// The inside of compile(): its steps, each with a file of its own. They build one policy set, and
/// share the meaning of the file's names. Only compile*.cc include this.
namespace weir::policies {

/// Where it matters how an app reads a path: fills strict and strict_in_shadow.
void note_strict_paths(PolicySet& set);  // strict_paths.cc

class Scope;

/// The names of a file and their meaning. All steps use it.
class Names {
 public:
  Names(const config::Model& model, config::Problems& problems, PolicySet& set)
      : model_(model), problems_(problems), set_(set) {}

  void declare_tables();  ///< before the expressions that look them up

  /// Reports a name that no event has.
  std::optional<EventIndex> find_event(const config::Text& name);
  std::optional<ListIndex> named_list(const config::Text& name);
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
  /// Whether the slot could not be read: it may be of any type.
  bool is_unread(SlotId slot) const { return set_.slots[slot].kind == Slot::Kind::unread; }
  bool reads_unread(const Expression& expression) const;

  /// Whether an entry of a list or a key of a table equals no possible value of `part`.
  bool warn_of_never(const config::Text& text, SlotId part);

  // For the identities of counters.
  std::string event_canonical(EventIndex event) const;
  std::string key_canonical(const std::vector<KeySlot>& key) const;

  std::map<std::string, const config::EventDef*, std::less<>> event_defs;
  std::map<std::string, EventIndex, std::less<>> event_index;
  std::map<std::string, ListIndex, std::less<>> list_index;
  std::map<std::string, std::uint16_t, std::less<>> table_index;

 private:
  friend class Scope;
  friend class CompileStep;
  const config::Model& model_;
  config::Problems& problems_;
  PolicySet& set_;
};

/// The names that mean something for one event.
class Scope final : public ExprScope {
 public:
  /// `rungs_of`: the expression is in a rung of this policy.
  Scope(Names& names, const Event& event, const config::PolicyDef* rungs_of = nullptr)
      : ExprScope(names.set_.slots), names_(names), event_(event), policy_(rungs_of) {}
  bool knows_all() const override {
    return !event_.unread && (policy_ == nullptr || policy_->sound);
  }
  std::optional<SlotId> field(std::string_view name) const override;
  std::vector<std::string_view> field_names() const override;
  std::optional<SlotId> column(std::string_view name) const override;
  std::optional<ListRef> list(std::string_view name) const override;
  std::vector<std::string_view> list_names() const override;
  std::shared_ptr<const ThresholdTable> table(std::string_view name) const override;
  std::vector<std::string_view> table_names() const override;
  std::string_view event_name() const override { return event_.name; }
  BodyKind body_kind() const override { return event_.body; }
  bool folds_paths() const override { return names_.set_.path_rules.fold_case; }
  bool in_rung() const override { return policy_ != nullptr; }

 private:
  Names& names_;
  const Event& event_;
  const config::PolicyDef* policy_;
};

/// A part of compile(): its input and its output.
class CompileStep {
 protected:
  explicit CompileStep(Names& names)
      : names_(names), model_(names.model_), problems_(names.problems_), set_(names.set_) {}
  /// The status of a refusal without settings of its own.
  int status_of(Action action) const {
    return action == Action::challenge ? set_.challenge.status : row_of(action).status;
  }

  Names& names_;
  const config::Model& model_;
  config::Problems& problems_;
  PolicySet& set_;
};

/// Compiles events and their conditions.
class EventCompiler : CompileStep {
 public:
  explicit EventCompiler(Names& names) : CompileStep(names) {}
  void compile_events();

 private:
  void compile_fields(const std::vector<config::FieldDef>& fields, Event& event);
  void compile_event(const config::EventDef& def, std::set<std::string>& open);
  void add_route(Route route, Event& event);
};

/// Compiles lists, those that policies make included.
class ListCompiler : CompileStep {
 public:
  explicit ListCompiler(Names& names) : CompileStep(names) {}
  void declare_lists();  ///< their names, which expressions of events may use
  void compile_lists();  ///< where they act, once the events are known
  /// The list in which a rung remembers keys when it names none.
  ListIndex own_list(Policy& policy, const Rung& rung, const config::Rung& from);
  std::optional<std::vector<KeySlot>> list_key(const List& list, const Event& event);

 private:
  void bind_events(List& list);
  void bind_release(const config::Text& release, List& list);
  void check_entries(List& list);
  void check_entry(const List& list, std::size_t part, config::Text& text);
};

/// A policy seen from one event: where the key, the amount and the thresholds come from.
class Binder : CompileStep {
 public:
  explicit Binder(Names& names) : CompileStep(names) {}
  enum class Role : std::uint8_t {
    counts,  ///< watched
    guards,  ///< judged without counting
    reads,   ///< where a metric is read that does not watch the event
  };
  std::optional<Binding> bind(const config::PolicyDef& def, EventIndex event, Role role);
  /// All that the policy watches and guards. False: there was an error, which has been reported.
  bool bind_events(const config::PolicyDef& def, Policy& policy);
  void bind_place(const config::NearDef& near, const Event& event, Binding& binding);
  void bind_captures(Binding& binding) const;

 private:
  void check_told_apart(const config::PolicyDef& def, const Policy& policy);
  void bind_key(const config::PolicyDef& def, const Event& event, Binding& binding);
  void bind_amount(const config::PolicyDef& def, const Event& event, Binding& binding);
  void bind_rungs(const config::PolicyDef& def, const Event& event, Binding& binding);
  std::optional<Limit> bind_limit(const config::Rung& rung, const Event& event);
  void check_table_keys(const config::TableNode& node, std::span<const KeySlot> by);

  std::set<const config::TableChild*>
      told_table_keys_;  // one problem each, however many rungs use the key
};

/// Compiles the counters of policies, and decides which policies share counters.
class CounterCompiler : CompileStep {
 public:
  CounterCompiler(Names& names, Binder& binder) : CompileStep(names), binder_(binder) {}
  void compile_counters(const config::PolicyDef& def, Policy& policy);
  void compile_resets(const config::PolicyDef& def, Policy& policy);

 private:
  struct Counted;
  Counted counted_by(const config::PolicyDef& def, const Policy& policy) const;
  limiter::CounterSpec spec_for(const config::PolicyDef& def, const Counted& counted,
                                const config::WindowDef* window) const;
  std::string canonical_of(const config::PolicyDef& def, const Counted& counted,
                           const config::WindowDef* window, const Counter& counter) const;
  Counter counter_of(const config::PolicyDef& def, const Counted& counted,
                     const config::WindowDef* window, bool shadow) const;
  static void share(const config::PolicyDef& def, Counter& counter);
  std::uint16_t intern_counter(Counter counter);

  Binder& binder_;
};

/// Compiles the rungs of policies.
class RungCompiler : CompileStep {
 public:
  RungCompiler(Names& names, ListCompiler& lists) : CompileStep(names), lists_(lists) {}
  void compile_rungs(const config::PolicyDef& def, Policy& policy);  ///< after its counters

 private:
  void check_remembered(const config::PolicyDef& def, const Policy& policy);
  Rung read(const config::Rung& from) const;
  static void take_window(const config::Rung& from, const Counter& counter, Rung& rung);
  void choose_list(const config::Rung& from, Policy& policy, Rung& rung);
  void check_named_list(const config::Text& at, const List& list, const Rung& rung);
  std::vector<KeySlot> bind_list(const config::Text& at, const List& list, Binding& binding);
  static void note_rung(const config::PolicyDef& def, const Rung& rung, Policy& policy);

  ListCompiler& lists_;
};

/// Compiles policies.
class PolicyCompiler : CompileStep {
 public:
  PolicyCompiler(Names& names, Binder& binder, CounterCompiler& counters, RungCompiler& rungs)
      : CompileStep(names), binder_(binder), counters_(counters), rungs_(rungs) {}
  void compile_policies();
  void check_amounts();  ///< once all policies are there

 private:
  void compile_policy(const config::PolicyDef& def);
  void look_into(const config::PolicyDef& def);
  bool meets_refusals(const config::PolicyDef& def) const;
  void compile_meters(const config::PolicyDef& def, Policy& policy);
  void check_score(const config::PolicyDef& def, const Policy& policy);
  void warn_policy(const config::PolicyDef& def, const Policy& policy);
  void warn_of_places(const config::PolicyDef& def, const Policy& policy, bool acts);
  void warn_of_unread_answers(const config::PolicyDef& def, const Policy& policy, bool acts);
  // compile_patterns.cc
  void compile_pattern(const config::PolicyDef& def);
  bool bind_pattern(const config::PolicyDef& def, Policy& policy, Pattern& pattern);
  std::optional<std::uint16_t> bind_part(const config::PolicyDef& def, const config::Text& event,
                                         bool step, bool fires, Policy& policy);
  std::string pattern_canonical(const Policy& policy, const Pattern& pattern);

  Binder& binder_;
  CounterCompiler& counters_;
  RungCompiler& rungs_;
};

/// Compiles views.
class ViewCompiler : CompileStep {
 public:
  ViewCompiler(Names& names, Binder& binder) : CompileStep(names), binder_(binder) {}
  void compile_views();

 private:
  void compile_view(const config::ViewDef& def);
  void bind_view(const config::ViewDef& def, const std::vector<config::KeyPart>& key,
                 EventIndex event, View& view);

  Binder& binder_;
};

// Once the set is whole.
void index_events(PolicySet& set);    ///< the policies and lists of each event (compile_index.cc)
void note_shortcuts(PolicySet& set);  ///< facts that hold for every event; call it last

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
