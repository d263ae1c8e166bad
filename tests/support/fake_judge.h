#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <vector>

#include "gate/judge.h"

namespace weir::gate {
/// A ticket of the fake: the request of which it is.
class Ticket {
 public:
  std::string path;
  bool finished = false;
};
}  // namespace weir::gate

namespace weir::test {

/// A Judge that does what a test says and records its calls. Runs on its worker's thread;
/// log() and the waits may be called from the test's. Every ticket must be finished exactly once.
class FakeJudge final : public gate::Judge {
 public:
  /// Makes the effect of a request; its views must outlive the next call. Default: pass.
  std::function<Effect(const Request&, bool may_wait)> decide;
  std::function<bool(const Request&)> reads_body;  ///< default: no
  bool strict_paths = true;                        ///< an ambiguous path is refused
  bool reads_answers = false;
  bool asks_for_whole_answers = false;  ///< Decision::reads_answer
  bool gives_tickets = true;
  std::size_t park_room = 8;
  milliseconds wait_time{60'000};

  /// Lines such as "judge /a", "answered /a 200", "body /a complete 5", "finish /a complete".
  std::vector<std::string> log() const;
  /// Waits until the log has that line so many times; false after 20 s.
  bool wait_for(const std::string& line, int times = 1) const;
  void release_waiters();  ///< on the worker's thread
  std::size_t parked() const;
  std::size_t open_tickets() const;

  bool wants_body(const Request& request) override;
  gate::Decision judge(const Request& request, TimePoint now, bool may_wait,
                       gate::Waiter& waiter) override;
  gate::Decision resume(const Request& request, TimePoint now, bool may_wait,
                        gate::Waiter& waiter) override;
  bool park(gate::Waiter& waiter, const gate::Decision& decision, TimePoint now) override;
  TimePoint waiting_until(const gate::Waiter& waiter) const override;
  void unpark(gate::Waiter& waiter) override;
  void end_hold() override;
  bool answered(gate::Ticket& ticket, const Answer& answer, TimePoint now) override;
  void answered_body(gate::Ticket& ticket, const Answer& answer, TimePoint now) override;
  void finish(gate::Ticket& ticket, gate::End end, TimePoint now) override;
  bool has_waiters() const override;
  void tick(TimePoint now) override;

 private:
  struct Parked {
    gate::Waiter* waiter;
    TimePoint until;
  };
  void note(std::string line);

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<std::string> log_;
  std::list<gate::Ticket> tickets_;
  std::list<Parked> parked_;
  std::list<Parked> resumed_;  // still known to waiting_until()
};

}  // namespace weir::test
