#include "store/redis/sentinels.h"

#include <utility>

#include "core/chars/parse.h"
#include "store/resp/resp_writer.h"

namespace weir::store {

Sentinels::Sentinels(net::Worker& worker, const Settings& settings, Owner& owner,
                     std::uint64_t seed)
    : worker_(worker),
      settings_(settings),
      owner_(owner),
      connection_(worker, settings, settings.sentinel_credentials, Connection::Greeting::ping,
                  *this, seed) {
  connection_.set_endpoint(settings.endpoints[at_]);
}

void Sentinels::start() {
  connection_.start();
  worker_.wheel().arm(*this, worker_.now() + kEvery);
}

void Sentinels::stop() {
  connection_.stop();
  net::Wheel::disarm(*this);
}

void Sentinels::ask() {
  if (!connection_.ready() || connection_.pending() != 0) return;
  append_command(connection_.out(), {"SENTINEL", "get-master-addr-by-name", settings_.master});
  connection_.sent(1);
  connection_.flush();
}

void Sentinels::on_reply(const Reply& reply) {
  Endpoint master;
  if (reply.size() == 3 && reply.root().type == Reply::Type::array) {
    master.host = reply.text(reply[1]);
    master.port = parse_whole<std::uint16_t>(reply.text(reply[2])).value_or(0);
    if (master.port != 0 && !master.host.empty()) {
      connection_.worked();
      refusal_.clear();
      owner_.on_master(master);
      return;
    }
  }
  refusal_.clear();
  if (reply.is_error()) {
    constexpr std::size_t kShown = 200;
    refusal_ =
        connection_.endpoint().to_string() + ": " + std::string(reply.text().substr(0, kShown));
  }
  // This Sentinel does not know the master. If none of them does, they are asked once a second.
  if (++ignorant_ < settings_.endpoints.size()) move_on();
}

/// Asks the next one now.
void Sentinels::move_on() {
  is_moving_ = connection_.ready();
  connection_.set_endpoint(next_sentinel());
  is_moving_ = false;  // a single one is never left
}

/// Never at once: where all of them refuse, that would be a loop without an end.
void Sentinels::on_down(limiter::SharedError) {
  if (!std::exchange(is_moving_, false)) connection_.try_next(next_sentinel());
}

const Endpoint& Sentinels::next_sentinel() {
  at_ = (at_ + 1) % settings_.endpoints.size();
  return settings_.endpoints[at_];
}

std::string Sentinels::why() const {
  if (!refusal_.empty()) return refusal_;
  if (ignorant_ != 0) return "no master is known as \"" + settings_.master + "\"";
  if (connection_.why().empty()) return {};
  return connection_.endpoint().to_string() + ": " + connection_.why();
}

void Sentinels::on_timer(TimePoint now) {
  if (ignorant_ >= settings_.endpoints.size()) move_on();
  ignorant_ = 0;
  ask();
  worker_.wheel().arm(*this, now + kEvery);
}

}  // namespace weir::store
