#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/model.h"
#include "core/address.h"
#include "core/key.h"
#include "core/path_readings.h"
#include "core/words.h"
#include "limiter/counters/bank.h"
#include "limiter/exchange/synced_counter.h"
#include "limiter/lists/bulk_list.h"
#include "limiter/lists/lists.h"
#include "limiter/lists/static_list.h"
#include "limiter/patterns/pattern_bank.h"
#include "policies/lang/expr/expression.h"
#include "policies/lang/key_slot.h"
#include "policies/lang/slots.h"
#include "policies/lang/threshold_table.h"
#include "policies/set/descriptors.h"
#include "policies/set/routes.h"
#include "policies/set/views.h"

/// The compiled policies of a configuration: immutable, indexed, shared by all workers. driver.h
/// judges requests by them.
namespace weir::policies {

using weir::Action;

using EventIndex = std::uint16_t;
using PolicyIndex = std::uint16_t;
using ListIndex = std::uint16_t;

inline constexpr EventIndex kRequestEvent = 0;  ///< `request`: every HTTP request

/// An event of the configuration, or the built-in `request`.
struct Event {
  std::string name;
  EventIndex base = 0;             ///< the event with the route; itself unless it has `is`
  EventIndex parent = 0;           ///< the event that it `is`; itself for a base event
  std::optional<Expression> when;  ///< its own condition; its parents' conditions hold too
  bool outcome = false;            ///< only the answer decides it (or a parent)
  std::string route;               ///< canonical; empty for `request` and for records
  BodyKind body = BodyKind::none;  ///< the only kind of body that its fields read; none: any
  /// While a file with errors is compiled: part of it could not be read, and any name may be a
  /// field of it.
  bool unread = false;
  std::string calls;        ///< canonical; which calls of the rate limit service it is
  std::string source;       ///< the base event, if records describe it; empty: requests do
  std::string time_column;  ///< of records: the column of their time; empty: none
  std::optional<EpochUnit> time_unit;  ///< of records, of that time; nothing: it is a pattern's
  std::map<std::string, SlotId, std::less<>> fields;  ///< its own, its parents' and the file's
};

/// Equal keys of one request: all keys with this index share one hash. A key with kNoKey has a hash
/// of its own: a place is read in addition to the parts, and `event` differs in each binding.
using KeyId = std::uint16_t;
inline constexpr KeyId kNoKey = 0xffff;

/// The threshold of a rung as one event provides it.
struct Limit {
  std::variant<std::monostate, Number, Expression, std::uint16_t /* table */> source;
  std::vector<SlotId> table_slots;  ///< the table's dimensions
};

/// A policy seen from one event: where the key, the amount and the thresholds come from.
struct Binding {
  EventIndex event = 0;
  bool counts = true;    ///< watched; false: only guarded, reads without counting
  bool outcome = false;  ///< reserved at the request, settled by the answer
  bool fires = true;     ///< false, in patterns: no rung is judged with this event
  std::optional<Expression> when;
  std::vector<KeySlot> key;
  std::vector<Expression> arguments;  ///< the amount of sum, the members of distinct, ...
  bool late_amount = false;           ///< the amount is known by the answer only
  std::optional<Expression> reserve;  ///< the estimate of a late amount; none: 0
  struct RungPart {
    Limit limit;
    std::optional<Expression> condition;
  };
  std::vector<RungPart> rungs;
  std::vector<SlotId> captures;  ///< fields that settlement reads of the request
  // Known at load (compile_shortcuts.cc).
  KeyId key_id = kNoKey;
  std::vector<KeySlot> member;  ///< the arguments of distinct and exists, if all are slots
  KeyId member_id = kNoKey;
  std::vector<std::optional<Number>> limits;  ///< of all rungs, if they are numbers; else empty
  bool by_key = false;  ///< needs nothing of an event but fields for its key, and perhaps a member
  bool plain = false;   ///< the same, and its policy has no lists (Planning::plan_plain)
  std::optional<std::int64_t> calm;  ///< no rung holds while all readings are integers up to it
};

/// A counter as a policy uses it; equal identities are one counter, whichever policy uses it.
struct Counter {
  Hash128 identity;
  Hash128 what;  ///< the identity without the window: whose counters of one key have the same hash
  limiter::CounterSpec spec;
  std::size_t keys = 0;     ///< 0: the common table
  milliseconds window{0};   ///< 0: none (in_flight)
  bool wall_clock = false;  ///< `every`: follows the current wall clock
  bool is_rate = false;     ///< a bucket that the configuration calls a rate
  bool always = false;      ///< charge: always
  bool shadow = false;      ///< of shadow policies only; enforced ones never read it
  bool common = false;      ///< several policies ask for it (compile_shortcuts.cc)
  bool near() const noexcept { return spec.radius != 0; }  ///< its keys also have a place
  std::string canonical;                                   ///< the text that the identity hashes
  limiter::CounterId id{};  ///< after attach(); of an average that is exchanged: its amounts'
  /// The counter that all replicas share; null: none. `id` then counts this replica's part.
  std::shared_ptr<const limiter::SharedCounter> shared;
  limiter::SyncedCounter synced;  ///< as replicas exchange it
  /// Whether replicas exchange its counts; a shared counter else asks the store each time.
  bool is_synced() const noexcept { return synced.interval.count() != 0; }
};

/// A compiled rung.
struct Rung {
  Compare compare = Compare::none;
  std::uint16_t counter = 0;  ///< index into Policy::counters
  Action action = Action::none;
  Action effect = Action::none;  ///< on this request: the action, or for graylist its list's effect
  milliseconds hold{0};
  std::vector<milliseconds> durations;
  milliseconds forget{0};
  std::optional<ListIndex> list;  ///< where the key is remembered
  std::optional<std::int64_t> score;
  bool disabled = false;
  bool overflows = false;   ///< holds when a leaky bucket is over its capacity
  bool for_window = false;  ///< remembered until the counter's window ends
  bool clear = false;
  std::optional<std::uint16_t> notify;
  int status = 0;
  Tell tell = Tell::nothing;
  std::string body, content_type;  ///< of its refusals; empty: weir's own
  bool shadow = false;
  milliseconds window{0};  ///< of its counter
  /// The rate decides the delay: this many ms for each unit of the reading over the limit.
  double pace = 0;
  bool caps = false;  ///< its threshold can be the counter's ceiling (compile_shortcuts.cc)
};

/// A compiled policy.
struct Policy {
  std::string name;
  PolicyIndex index = 0;
  config::Where where;
  bool shadow = false;
  bool enforced_rungs = false;  ///< has a rung that is enforced
  bool shadow_rungs = false;    ///< has one in shadow mode
  bool can_refuse = false;      ///< an enforced rung refuses, or lists where requests are refused
  /// The policy refuses unreadable requests, because it, or the policy whose meter it is, can
  /// refuse; and the same for rungs in shadow mode.
  bool strict = false, strict_in_shadow = false;
  /// An event by its answer counts where it hangs on a part of the request that cannot be read: the
  /// policy refuses, or a policy does that shares its counters (compile_shortcuts.cc).
  bool counts_unclear = false;
  Tell refusal_tell = Tell::retry;  ///< of such refusals: that of the first rung
  bool amounts_checked = false;     ///< sum under an enforced refusing or listing rung
  bool announce = false;
  bool guarded_only = false;  ///< `guard` is given: the verdict applies to those requests only
  std::vector<EventIndex> guards;
  Missing missing = Missing::skip;
  Metric metric = Metric::count;
  bool has_metric = true;    ///< false: a plain rule, `if` without counter; or it reads the score
  bool reads_score = false;  ///< its value is the request's score: judged after all others
  bool shared = false;       ///< its counters and its own lists are all replicas'
  bool remembers = false;    ///< an enforced rung lists, notifies or clears
  /// Other policies may refuse what it counts in the shared store: the count is reserved there
  /// until the verdict.
  bool provisional = false;
  config::OnErrorDef on_error;              ///< while the shared store is away
  std::optional<config::PeerKey> peer_key;  ///< names its counts there
  /// A policy with `metrics` has a meter for each: a policy without rungs, whose readings its own
  /// rungs know by name.
  bool is_meter = false;
  std::optional<std::uint16_t>
      pattern;  ///< index into PolicySet::patterns: its rungs have no threshold
  std::vector<PolicyIndex> meters;
  std::vector<std::uint16_t>
      counters;  ///< indices into PolicySet::counters; the first is the policy's own
  std::vector<Rung> rungs;
  std::vector<Binding> bindings;  ///< watched events in their order, then guarded ones
  std::vector<std::string> key_names;
  bool key_is_address = false;       ///< the only part is an address
  std::vector<ListIndex> own_lists;  ///< one for each action that remembers here
  /// The lists of rungs that an override has put in shadow: they have no effect until the override
  /// ends. Operators can see and remove their entries in the meantime.
  std::vector<ListIndex> lists_asleep;
  /// The named lists that the same rungs write without the override. Their entries stay active,
  /// because others may have listed them, too.
  std::vector<ListIndex> named_asleep;
  /// For each binding and rung that writes a named list: the list's fields as the event provides
  /// them.
  std::vector<std::vector<std::vector<KeySlot>>> list_keys;  ///< [binding][rung]
  // Known at load (compile_shortcuts.cc).
  bool caps = false;          ///< some rung does
  bool own_time = false;      ///< its counter counts by the times of events
  bool reads_amount = false;  ///< events count by more than that they are there
};

/// The definition of a pattern policy. Its policy has a binding for each event that plays a part,
/// steps first: of a sequence the last step, whose fields the rungs see, comes before the others.
struct Pattern {
  struct Step {
    std::uint16_t binding = 0;
    std::optional<Expression> when;  ///< beside the policy's own
  };
  PolicyIndex policy = 0;
  Hash128 identity;       ///< of its events and of the name of its policy
  std::string canonical;  ///< the text that it hashes
  limiter::PatternSpec spec;
  std::vector<Step> steps;
  std::vector<std::uint16_t> among;                      ///< bindings
  bool always = false;                                   ///< charge: always
  limiter::PatternId id{};                               ///< after attach()
  std::shared_ptr<const limiter::SharedPattern> shared;  ///< with all replicas; null: our own
};

/// A compiled list.
struct List {
  std::string name;
  std::string kept_as;  ///< the name of its dynamic entries in a ListBank
  Hash128 identity;
  ListKind kind = ListKind::gray;
  Action effect = Action::flag;
  milliseconds hold{0};
  int status = 0;
  Tell tell = Tell::nothing;
  std::string body, content_type;  ///< of its refusals; empty: weir's own
  std::size_t max = 100'000;
  milliseconds forget{0};  ///< how long an ended entry is remembered, by default
  std::vector<std::string> of;
  std::vector<config::KeyPart> parts;  ///< the same with masks; empty for a policy's own list
  bool of_address = false;             ///< its only field is an address
  std::optional<PolicyIndex>
      owner;  ///< a policy's own list; in force where the policy's bindings are
  Action remembered = Action::none;  ///< own list: the action whose keys it holds
  bool shadow = false;               ///< own list: written and read by shadow rungs only
  bool asleep = false;               ///< own list: one of Policy::lists_asleep
  struct Binding {
    EventIndex event = 0;  ///< acts on requests that are this event; kRequestEvent: on all
    std::vector<KeySlot> key;
    KeyId key_id = kNoKey;  ///< of `bindings` (compile_shortcuts.cc)
  };
  std::vector<Binding> bindings;  ///< empty for a policy's own list
  std::vector<Binding> releases;  ///< events that lift the entry of their key
  limiter::StaticList fixed;      ///< entries of the configuration, after attach()
  std::vector<config::ListEntryDef> entries;
  /// Where more entries come from, by the million: a file or a URL. The owner of the set adds a
  /// slot and fills it, before the set is shared; null: there are none.
  std::optional<std::string> file;
  std::optional<config::RemoteDef> url;
  std::shared_ptr<limiter::BulkSlot> bulk;
  /// Whether it has entries that it did not get from requests or operators.
  bool has_fixed() const noexcept {
    return !fixed.empty() || (bulk != nullptr && bulk->get() != nullptr);
  }
  bool shared = false;   ///< dynamic entries are all replicas'
  limiter::ListId id{};  ///< after attach()
};

/// A policy that resets its counters when an event happens.
struct Reset {
  PolicyIndex policy = 0;
  EventIndex event = 0;
  std::vector<KeySlot> key;
};

/// Routes on which something can refuse: there it matters how an app reads a path.
struct StrictRoutes {
  bool everywhere = false;   ///< it watches or guards `request`
  std::vector<bool> events;  ///< [base event] it counts or guards that
  /// [base event] which policies and lists do: indices of policies, then of lists.
  std::vector<std::vector<std::size_t>> readers;
  bool has_reader(EventIndex event, std::size_t reader) const noexcept;
};

struct PolicySet {
  SlotTable slots;
  std::vector<Event> events;
  Routes routes;                                   ///< ids are indices of base events
  DescriptorRoutes descriptors;                    ///< as well
  std::vector<DescriptorEvent> descriptor_events;  ///< by event, ascending
  const DescriptorEvent* find_descriptor(EventIndex event) const noexcept;
  /// Built in: the event of every descriptor of a known domain, so that lists act on it.
  std::optional<EventIndex> call_event;
  /// By unit: the built-in event of a descriptor that brings its own limit along.
  std::map<RateUnit, EventIndex> override_events;
  /// For each base event: the events that it can turn out to be and that a policy, list or view
  /// uses, parents first.
  std::vector<std::vector<EventIndex>> family;
  struct Watcher {
    PolicyIndex policy;
    std::uint16_t binding;
  };
  std::vector<std::vector<Watcher>> watchers;         ///< [event]
  std::vector<std::vector<std::uint16_t>> resets_of;  ///< [event] indices into resets
  struct ListUse {
    ListIndex list;
    std::uint16_t binding;
  };
  std::vector<std::vector<ListUse>> list_uses;    ///< [event]
  std::vector<std::vector<ListUse>> releases_of;  ///< [event] indices into List::releases
  std::vector<bool> needs_body;  ///< [event] something that is judged at the request reads its body
  std::vector<bool> needs_answer_body;
  /// [event] an enforced policy reads the answer's body, so that the app is asked for one that can
  /// be read. Shadow policies and views change no byte, and read what they get.
  std::vector<bool> wants_readable_answer;
  std::vector<Policy> policies;
  std::vector<std::string> disabled;  ///< names of policies with mode: disabled
  /// For each disabled policy, the names of the lists that it writes while it is enabled: (policy,
  /// list).
  std::vector<std::pair<std::string, std::string>> disabled_lists;
  std::vector<Counter> counters;
  std::vector<Pattern> patterns;
  std::vector<List> lists;
  std::vector<std::shared_ptr<const ThresholdTable>> tables;
  std::vector<Reset> resets;
  std::vector<config::NotifyDef> notify;
  config::Server::Challenge challenge;
  PathRules path_rules;  ///< by which the paths of requests are read
  config::Server::RateLimit ratelimit;
  std::vector<View> views;
  std::vector<std::vector<Watcher>> view_watchers;  ///< [event] `policy` is an index into views
  std::uint64_t view_memory = 0;                    ///< bytes of all views together
  std::string source_hash;                          ///< of the texts it was compiled from
  // Known at load (compile_shortcuts.cc): features that most sets lack need not be looked for.
  std::size_t keys = 0;              ///< KeyIds in use
  bool any_shadow = false;           ///< counters of shadow policies
  bool any_in_flight = false;        ///< counters of requests in flight
  bool any_readable_answer = false;  ///< of wants_readable_answer
  bool any_announced = false;        ///< policies that announce their quota
  bool any_answer_work = false;      ///< resets, or releases of list entries
  bool any_lists = false;            ///< that act on events
  bool any_scores = false;           ///< policies that read the request's score
  StrictRoutes strict;               ///< of enforced policies
  StrictRoutes strict_in_shadow;     ///< of policies with rungs in shadow mode
  std::vector<SlotId> of_answers;    ///< slots that only an answer fills
  std::vector<SlotId> not_kept;  ///< slots of requests whose lists or JSON no answer finds again

  /// The last step that attach() began.
  enum class Attached : std::uint8_t { counters, patterns, lists };
  /// Finds or makes the counters and lists in the banks, which outlive policy sets. Called once,
  /// before the set is shared. Fails if a bank is full; `attached` then says which one, unless it
  /// is null. Patterns without a bank never match.
  Result<void> attach(limiter::Bank& counters_bank, limiter::ListBank& list_bank,
                      const HashSecret& secret, limiter::PatternBank* pattern_bank = nullptr,
                      Attached* attached = nullptr);
  /// Finds or makes the views in their bank, and gives each its share of memory. Called once,
  /// before the set is shared; a set without it judges all the same, and its views count nothing.
  void attach_views(ViewBank& bank);

  /// Whether such a request must be refused (400) because the app may read its path as one on which
  /// a policy can refuse, and policies would not. Where no policy can refuse, every path passes.
  bool refuses_path(std::string_view method, const PathReadings& readings) const {
    return doubtful_route(strict, method, readings).has_value();
  }
  /// The first of these routes that the app may run, and that policies would not see:
  /// kRequestEvent for any.
  std::optional<EventIndex> doubtful_route(const StrictRoutes& of, std::string_view method,
                                           const PathReadings& readings) const;

  /// As the file has them: the meters of `metrics:` are not counted.
  std::size_t policy_count() const noexcept;
  const Policy* find_policy(std::string_view name) const noexcept;
  const List* find_list(std::string_view name) const noexcept;
  const View* find_view(std::string_view name) const noexcept;
};

}  // namespace weir::policies
