#pragma once

#include <memory>

#include "store/redis/connection.h"

namespace weir::store {

/// Asks Sentinels where the master is: at start, every second, and whenever the master seems lost.
/// It asks one Sentinel at a time, and the next one if that Sentinel does not know the master or
/// does not answer.
class Sentinels final : Connection::Owner, net::Timer {
 public:
  class Owner {
   public:
    virtual void on_master(const Endpoint& endpoint) = 0;

   protected:
    ~Owner() = default;
  };
  Sentinels(net::Worker& worker, const Settings& settings, Owner& owner, std::uint64_t seed);
  ~Sentinels() { net::Wheel::disarm(*this); }

  void start();
  void stop();
  void ask();               ///< at once, if a Sentinel is connected
  std::string why() const;  ///< no master is known, for people; empty: one is

 private:
  static constexpr milliseconds kEvery{1'000};

  void on_ready() override { ask(); }
  void on_reply(const Reply& reply) override;
  void on_down(limiter::SharedError why) override;
  void on_timer(TimePoint now) override;
  const Endpoint& next_sentinel();
  void move_on();

  net::Worker& worker_;
  const Settings& settings_;
  Owner& owner_;
  std::size_t at_ = 0;
  bool is_moving_ = false;    // on_down() is to come of a move, which has chosen the next one
  std::size_t ignorant_ = 0;  // that did not know the master, since the last tick
  std::string refusal_;       // the last reply instead; empty: it has answered
  Connection connection_;
};

}  // namespace weir::store
