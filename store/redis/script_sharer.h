#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/wheel.h"
#include "store/redis/redis_store.h"
#include "store/redis/script_call.h"

namespace weir::store {

/// The settings for calls that no request waits for: a slow server is not given up because of them.
Settings without_hurry(Settings settings);

/// Shares things of one kind with other replicas through Redis, each by calls of one script: one
/// per process, on a loop of its own or of whatever is not hot. All calls on that loop's thread.
class ScriptSharer : net::Timer {
 public:
  ScriptSharer(const ScriptSharer&) = delete;
  ScriptSharer& operator=(const ScriptSharer&) = delete;

  void start();
  void stop();
  /// Sends the changes that Redis does not have yet. `then` is called when Redis has them, or when
  /// Redis is away. One at a time.
  void flush(std::function<void()> then);
  /// With the next connection.
  void set_credentials(const Credentials& credentials, const Credentials& sentinels) {
    store_.set_credentials(credentials, sentinels);
  }

 protected:
  /// This replica's side of one shared thing, and its call: one at a time.
  class Side : public ScriptCall {
   public:
    explicit Side(ScriptSharer& sharer) : sharer_(sharer) {}
    Side(const Side&) = delete;
    Side& operator=(const Side&) = delete;
    virtual ~Side() = default;

    /// Takes new local changes.
    virtual void gather(TimePoint) {}
    /// When to call.
    virtual TimePoint due() const noexcept = 0;
    /// Begins a call: its words and their numbers.
    virtual void ask(TimePoint now) = 0;
    virtual void answered(const Reply& reply, TimePoint now) = 0;
    virtual void failed(TimePoint now, std::string why, bool may_have_happened) = 0;
    /// Local changes are due now: the process ends soon.
    virtual void hurry(TimePoint now) = 0;
    /// Redis has all of that, or takes it no more.
    virtual bool is_sent() const noexcept = 0;

   private:
    friend class ScriptSharer;
    void on_answer(const Reply& reply) final;
    void on_failure(limiter::SharedError error, std::string_view text) final;

    ScriptSharer& sharer_;
    bool is_retired_ = false;  // its answers are ignored from now on
  };
  using Sides = std::vector<std::unique_ptr<Side>>;

  /// `origin`: random, of this process.
  ScriptSharer(net::Worker& worker, Settings settings, std::uint64_t origin);
  ~ScriptSharer();

  /// At the end of each turn. `next`: when the next one is; may be made sooner.
  virtual void turned(TimePoint now, TimePoint& next);

  const Sides& sides() const noexcept { return sides_; }
  /// Shares these from now on: new ones, and those that leave() has given.
  void share(Sides sides);
  /// Takes out the first side for which `is` holds, to pass it to share(). Null: none.
  std::unique_ptr<Side> leave(const std::function<bool(const Side&)>& is);
  void turn(TimePoint now);
  bool is_running() const noexcept { return is_running_; }
  TimePoint now() const noexcept { return worker_.now(); }
  /// How many connections were made.
  std::uint64_t connects() const { return store_.connects(); }

 private:
  void on_timer(TimePoint now) override { turn(now); }
  void send(Side& side, TimePoint now);

  net::Worker& worker_;
  RedisStore store_;
  bool is_running_ = false;
  TimePoint since_{};
  Sides sides_;
  Sides retired_;                  // whose call is still on its way
  std::function<void()> flushed_;  // null: no caller waits
};

}  // namespace weir::store
