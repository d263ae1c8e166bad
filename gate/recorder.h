#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "core/address.h"
#include "core/key.h"
#include "policies/judge/driver.h"
#include "policies/set/recorded.h"
#include "telemetry/metrics.h"

/// The format of `weir serve --record` (docs/replay.md): a line of JSON for each event, which
/// `weir replay` judges again.
///
///   {"ts":1795219200000,"method":"POST","path":"/login","ip":"36.9.115.200",
///    "fields":{"header.x_user":"#kXh3Jm9aQ0sT41bd"},"status":401}
///
/// `ts` is when it was judged; an event with another time of its own has `"time"`. An event that
/// was reported by its name has `"event"`, a record has no ip; `"ip":""` is not known. Answers add
/// `"answer"`, and a client that hung up `"aborted":true`. Without status there was no answer.
namespace weir::gate {

/// Another address for this one: two that have their first n bits in common do so afterwards as
/// well, for every n of IPv4 and up to 64 of IPv6 (as in Crypto-PAn of Xu, Fan, Ammar and Moon,
/// 2002, with SipHash as the random function); the lower half of IPv6 keeps equality only.
Address pseudonym(const Address& address, const HashSecret& secret) noexcept;

/// `#` and 16 characters for a value: 96 bits of a keyed hash of its canonical text.
void append_hashed(std::string& out, std::string_view canonical, const HashSecret& secret);

/// The recorder of one worker. Everything but take() is for the worker's thread; no allocation
/// after warm-up. It never delays a request: if its queue is full, rows are dropped and counted.
class Recorder {
 public:
  struct Settings {
    HashSecret secret;           ///< keys the hashes and draws the sample
    double sample = 1;           ///< above 0, up to 1: which part of the subjects
    std::string subject = "ip";  ///< whose events are taken all or not at all: `ip` or a field
    std::size_t queue = std::size_t{4} << 20;  ///< bytes until take()
  };
  Recorder(Settings settings, telemetry::MetricCells& metrics);

  void use(const policies::PolicySet& set);
  const policies::RecordedFields& fields() const noexcept { return *fields_; }

  /// A row as it grows; reused.
  struct Row {
    std::string text;
    std::shared_ptr<const policies::RecordedFields> fields;
    bool open() const noexcept { return !text.empty(); }
  };
  /// Begins the row of the event that was judged last. False: its subject is not in the sample.
  /// `record` or `request` may be null, not both.
  bool begin(policies::Driver& driver, const policies::Judgement& judgement, const Request* request,
             const policies::Record* record, TimePoint now, Row& row);
  /// The answer is looked at (Driver::answer()). `judgement`: of the row's event.
  void answered(policies::Driver& driver, const policies::Judgement& judgement,
                const Answer& answer, Row& row);
  static void aborted(Row& row) { row.text += ",\"aborted\":true"; }
  /// Ends the row and queues it.
  void write(Row& row);

  /// Appends the text that was written since the last call. Any thread.
  void take(std::string& into);

 private:
  bool sampled(policies::Driver& driver, const policies::Judgement& judgement,
               const Request* request);
  bool append_field(const policies::Slot& slot, bool hashed, bool address, const Value& value,
                    bool first, std::string& out);
  void append_value(std::string& out, const Value& value);

  Settings settings_;
  telemetry::MetricCells& metrics_;
  std::shared_ptr<const policies::RecordedFields> fields_;
  std::string canonical_;
  std::mutex mutex_;  // held for an append or a swap
  std::string queue_;
};

}  // namespace weir::gate
