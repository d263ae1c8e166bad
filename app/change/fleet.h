#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/json/value.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admin/operations.h"
#include "app/change/fleet_board.h"
#include "app/change/operator_changes.h"
#include "app/change/table_changes.h"
#include "app/observe/audit.h"
#include "app/support/log.h"
#include "app/support/shared_store.h"
#include "net/task_group.h"

namespace weir::app {

/// The replicas that share one Redis: their configurations, their common overrides and the common
/// audit log. On the control thread.
class Fleet {
 public:
  /// The facts that this replica reports about itself.
  struct Here {
    std::string admin, version, hash;
    TimePoint loaded{}, started{};
    std::size_t overrides = 0, unfit = 0;
    bool draining = false;
  };

  Fleet(boost::asio::io_context& control, const SharedStoreSettings& redis, const Clock& clock,
        Log& log);
  ~Fleet();

  /// Waits for the board, `limit` at most. Gives the tables their items of the board; the result is
  /// overrides().
  std::vector<config::Override> start(milliseconds limit, TableChanges& tables);
  /// The overrides of the fleet, in force here or not.
  std::vector<config::Override> overrides() const;
  /// From now on, overrides of other replicas are put in force here. Other replicas receive the
  /// limits that are set in tables here, and the values of `here`.
  void serve(OperatorChanges& changes, TableChanges& tables, Audit& audit,
             std::function<Here()> here);
  /// Announces that this replica leaves.
  void stop();
  void set_credentials(const SharedStoreSettings& redis);

  void tick();  ///< every second

  /// Sends what was done on this replica to all others.
  void tell_override(const config::Override& change);
  void tell_end(const std::string& policy);
  void tell_audit(const admin::AuditEntry& entry);
  /// Connects the admin door of this replica with those of the others: `door` receives their
  /// messages. The result sends a message to their doors; false: the text is too long.
  std::function<bool(std::string)> join_doors(std::function<void(std::string_view text)> door);
  /// The configuration has changed: retries overrides that did not fit before.
  void take_again();

  admin::FleetFacts facts() const;

 private:
  void hear(FleetBoard::Heard heard);
  void hear_news(const std::string& text);
  void take_overrides();
  void end_what_fits_nowhere();

  const Clock& clock_;
  Log& log_;
  FleetBoard board_;
  OperatorChanges* changes_ = nullptr;
  TableChanges* tables_ = nullptr;
  Audit* audit_ = nullptr;
  std::function<void(std::string_view)> door_;
  std::function<Here()> here_;
  std::string hash_;  // that was reported last
  bool was_up_ = false;
  std::uint64_t strangers_told_ = 0;
  net::TaskGroup tasks_;
};

/// An override as the board holds it, and back. `nullopt`: the text is not an override, or an
/// override has ended.
std::string override_words(const config::Override& change);
std::optional<config::Override> read_override_words(std::string_view text);
/// Encodes an entry of the audit log as a broadcast, and decodes one of another replica than
/// `here`.
std::string audit_words(const admin::AuditEntry& entry, const std::string& replica);
std::optional<admin::AuditEntry> read_audit_words(std::string_view text, std::string_view here);
/// A text of an admin door, and back: as those of the audit log. nullopt: it is none.
std::string door_words(std::string_view text, const std::string& replica);
std::optional<std::string> read_door_words(std::string_view text, std::string_view here);
/// A name that is unique among all overrides that were ever set.
std::string override_id(const config::Override& change);
/// Whether all other replicas that are up have a value in `member` of their report that `agrees`
/// accepts. `agrees` gets null if a report lacks the member.
bool all_say(const store::BoardSync& sync, TimePoint now, const char* member,
             const std::function<bool(const boost::json::value* said)>& agrees);
/// The rows of the replicas, from their reports. `ahead`: of the store's clock to ours.
admin::FleetFacts fleet_facts(const store::BoardSync& sync, TimePoint now);

}  // namespace weir::app
