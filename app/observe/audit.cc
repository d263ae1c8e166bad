#include "app/observe/audit.h"

#include <boost/json/serialize.hpp>

#include "core/clock.h"
#include "core/json_numbers.h"
#include "core/key.h"
#include "core/visible.h"
#include "telemetry/logged_key.h"

namespace weir::app {
namespace {

using telemetry::Metric;

constexpr const char* kItself = "weir itself";

std::string compact(const boost::json::value& value) {
  return escape_hidden(plain_numbers(boost::json::serialize(value)));
}

std::string lost_line(std::uint64_t lost) {
  return R"({"action":"lost","problem":"so many lines of the audit could not be written here","count":)" +
         std::to_string(lost) + "}\n";
}

}  // namespace

Audit::Audit(const HashSecret& secret, Log& log, telemetry::MetricCells& cells)
    : secret_(secret), log_(log), cells_(cells) {}

Audit::~Audit() = default;

Result<void> Audit::open(const std::string& path, std::size_t keep) {
  keep_ = keep;
  if (path.empty()) return {};
  file_ = std::make_unique<ReopenedFile>(path);
  const auto opened = file_->open();
  writer_ = std::make_unique<LineWriter>(file_->fd(), lost_line);
  return opened;
}

void Audit::tell_of_own(std::string action, std::string who, boost::json::value after) {
  admin::AuditEntry entry;
  entry.action = std::move(action);
  entry.who = std::move(who);
  entry.from = kItself;
  entry.after = std::move(after);
  tell(std::move(entry));
}

void Audit::tell_of_reload(const std::string& cause, const std::string& before,
                           const admin::LoadReport& report) {
  admin::AuditEntry entry;
  entry.action = "reload";
  entry.who = cause == "SIGHUP" ? "signal SIGHUP" : "files";
  entry.from = kItself;
  entry.reason = cause;
  entry.before = {{"config", before}};
  entry.after = {{"config", report.ok ? report.hash : before}};
  entry.done = report.ok;
  if (!report.ok && !report.problems.empty()) entry.problem = report.problems.front().message;
  tell(std::move(entry));
}

void Audit::tell_of_end(const config::Override& ended, const std::string& problem,
                        const char* reason) {
  admin::AuditEntry entry;
  entry.action = "override.end";
  entry.who = "weir";
  entry.from = kItself;
  entry.target = ended.policy;
  entry.before = config::override_text(ended);
  entry.reason = reason;
  entry.done = problem.empty();
  entry.problem = problem;
  tell(std::move(entry));
}

void Audit::tell_of_table(const std::string& table, const std::string& limits) {
  admin::AuditEntry entry;
  entry.action = "table.file";
  entry.who = "weir";
  entry.from = kItself;
  entry.target = table;
  entry.before = limits;
  entry.reason = "the file says the same: the file counts from now on";
  tell(std::move(entry));
}

admin::AuditEntry Audit::overtaken(const admin::TableRecord& record) {
  admin::AuditEntry entry;
  entry.action = "table.overtaken";
  entry.who = "weir";
  entry.from = kItself;
  entry.target = record.table;
  entry.before = {{"change", record.id}, {"decision", record.overtaken}};
  // If a change was taken back since, its record no longer names the approver.
  const char* const decision = record.state == admin::TableRecord::kRejected ? "rejected by "
                               : record.state == admin::TableRecord::kUndone
                                   ? "approved, and taken back by "
                                   : "approved by ";
  entry.after = {{"change", record.id}, {"decision", decision + record.decided_by}};
  entry.reason = "another replica decided first";
  entry.shared = true;
  return entry;
}

void Audit::tell(admin::AuditEntry entry) {
  entry.number = ++number_;
  entry.time = Clock::wall();
  cells_.add(Metric::audit_entries);
  if (writer_ != nullptr && file_->is_open()) {
    writer_->push(compact(admin::audit_view(entry)) + "\n", true);
  } else if (into_log_ && !log_.write_always(line_of(entry))) {
    ++lost_in_log_;
  }
  kept_.push_back(std::move(entry));
  if (kept_.size() > keep_) kept_.pop_front();
}

admin::AuditPage Audit::last(std::size_t most) const {
  admin::AuditPage page;
  const std::size_t count = std::min(most, kept_.size());
  page.entries.assign(kept_.end() - static_cast<std::ptrdiff_t>(count), kept_.end());
  page.lost = lost_in_log_ + (writer_ != nullptr ? writer_->lost() : 0);
  return page;
}

void Audit::look_again(bool anyway) {
  if (file_ == nullptr) return;
  if (const auto opened = file_->look_again(anyway); !opened) {
    log_.write_seldom(
        Level::error,
        LogLine(file_->is_open() ? "can't open the audit log again; lines go on into the file "
                                   "before"
                                 : "can't open the audit log; its lines go into this log")
            .add("file", file_->path())
            .add("error", opened.error().message()),
        "audit");
  }
}

void Audit::tick() {
  look_again(false);
  const std::uint64_t lost = lost_in_log_ + (writer_ != nullptr ? writer_->lost() : 0);
  cells_.set(Metric::audit_lost, static_cast<std::int64_t>(lost));
  if (lost == lost_told_) return;
  log_.write(Level::error, LogLine("entries of the audit could not be written")
                               .add("count", static_cast<std::int64_t>(lost - lost_told_)));
  lost_told_ = lost;
}

LogLine Audit::line_of(const admin::AuditEntry& entry) const {
  LogLine line("audit");
  line.add("number", static_cast<std::int64_t>(entry.number)).add("action", entry.action);
  line.add("done", entry.done ? "yes" : "no").add("who", entry.who).add("from", entry.from);
  if (!entry.target.empty()) line.add("target", entry.target);
  if (!entry.key.empty()) {
    telemetry::LoggedKey key;
    const std::vector<std::string_view> parts(entry.key.begin(), entry.key.end());
    key.set(parts);
    line.add("key", readable_keys_ ? std::string(key.view()) : key_mark(secret_, key.view()));
  }
  if (entry.key.empty() || readable_keys_) {
    if (!entry.before.is_null()) line.add("before", compact(entry.before));
    if (!entry.after.is_null()) line.add("after", compact(entry.after));
  }
  if (!entry.reason.empty()) line.add("reason", entry.reason);
  if (!entry.problem.empty()) line.add("problem", entry.problem);
  return line;
}

}  // namespace weir::app
