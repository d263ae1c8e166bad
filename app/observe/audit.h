#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "admin/audit.h"
#include "admin/operations.h"
#include "app/observe/reopened_file.h"
#include "app/support/line_writer.h"
#include "app/support/log.h"
#include "config/override.h"
#include "core/key.h"
#include "telemetry/metrics.h"

namespace weir::app {

/// The audit log: a line of JSON for each change, into a file of its own or into the log; the last
/// ones are kept for `GET /v1/audit`. A thread of its own writes the file. Lines that cannot be
/// written are counted, and the log reports them: nothing is lost silently.
///
/// Keys are readable in the file. In the log they follow `log.keys`, and the members `before` and
/// `after` about a key are left out. On the control thread.
class Audit {
 public:
  Audit(const HashSecret& secret, Log& log, telemetry::MetricCells& cells);
  ~Audit();

  /// `path`: empty: into the log. After an error the lines go into the log, and tick() tries again.
  [[nodiscard]] Result<void> open(const std::string& path, std::size_t keep);
  /// Without a file the lines go nowhere: `weir dev` shows no log.
  void keep_out_of_log() noexcept { into_log_ = false; }
  void use(bool readable_keys) noexcept { readable_keys_ = readable_keys; }
  /// Numbers it, gives it the time, keeps it, writes it.
  void tell(admin::AuditEntry entry);
  /// Logs an action that weir takes by itself or because of a signal.
  void tell_of_own(std::string action, std::string who, boost::json::value after = nullptr);
  /// A reload that no door asked for. `cause`: "SIGHUP", or which file changed; `before`: the hash
  /// of the configuration until then.
  void tell_of_reload(const std::string& cause, const std::string& before,
                      const admin::LoadReport& report);
  /// The time of an override is over, or else why it ends. `problem`: why it could not be ended;
  /// empty: it has.
  void tell_of_end(const config::Override& ended, const std::string& problem,
                   const char* reason = "its time is over");
  /// The files have the limits that were set in a table: from now on the files count.
  void tell_of_table(const std::string& table, const std::string& limits);
  /// A decision that was reported as applied, and lost to another replica's.
  static admin::AuditEntry overtaken(const admin::TableRecord& record);
  admin::AuditPage last(std::size_t most) const;
  /// The file's name is another file now, perhaps; `anyway`: open it again in any case.
  void look_again(bool anyway);
  void tick();  ///< every second

 private:
  LogLine line_of(const admin::AuditEntry& entry) const;

  const HashSecret& secret_;
  Log& log_;
  telemetry::MetricCells& cells_;
  std::size_t keep_ = 1'000;
  bool readable_keys_ = false, into_log_ = true;
  std::uint64_t number_ = 0, lost_in_log_ = 0, lost_told_ = 0;
  std::deque<admin::AuditEntry> kept_;
  std::unique_ptr<ReopenedFile> file_;  // null: the log
  std::unique_ptr<LineWriter> writer_;  // of the file; ends before it
};

}  // namespace weir::app
