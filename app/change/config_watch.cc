#include "app/change/config_watch.h"

#include <utility>

namespace weir::app {

namespace asio = boost::asio;

ConfigWatch::ConfigWatch(asio::io_context& control, Waits waits)
    : changes_(control), settle_(control), patience_(control), poll_(control), waits_(waits) {}

ConfigWatch::~ConfigWatch() {
  if (changes_.is_open()) changes_.release();  // the descriptor is the watch's
}

void ConfigWatch::start(const std::vector<std::string>& directories,
                        std::function<void()> changed) {
  changed_ = std::move(changed);
  watching_ = true;
  if (watch_.watch(directories)) something_changed();  // since they were read, perhaps
  if (watch_.fd() >= 0) {
    changes_.assign(watch_.fd());
    wait_for_change();
  }
  poll_if_need_be();
}

void ConfigWatch::follow(const std::vector<std::string>& directories) {
  if (!watching_) return;
  if (watch_.watch(directories)) something_changed();  // in there, perhaps, since it was read
  poll_if_need_be();
}

void ConfigWatch::stop() {
  watching_ = polling_ = unsettled_ = false;
  settle_.cancel();
  patience_.cancel();
  poll_.cancel();
  if (changes_.is_open()) changes_.release();
}

void ConfigWatch::wait_for_change() {
  changes_.async_wait(asio::posix::stream_descriptor::wait_read,
                      [this](const boost::system::error_code& error) {
                        if (error || !watching_) return;
                        // Read first, or the wait ends at once; then wait, for what follows may
                        // find no memory.
                        const bool changed = watch_.drain();
                        wait_for_change();
                        if (changed) something_changed();
                        poll_if_need_be();
                      });
}

void ConfigWatch::something_changed() {
  if (!std::exchange(unsettled_, true)) look_when_over(patience_, waits_.patience);
  look_when_over(settle_, waits_.settle);  // a wait that is under way ends as cancelled
}

void ConfigWatch::look_when_over(asio::steady_timer& wait, std::chrono::milliseconds length) {
  wait.expires_after(length);
  wait.async_wait([this](const boost::system::error_code& error) {
    if (error || !watching_ || !std::exchange(unsettled_, false)) return;
    settle_.cancel();
    patience_.cancel();
    changed_();
  });
}

// Called if a directory may be unwatched; the watch also finds that out by itself.
void ConfigWatch::poll_if_need_be() {
  if (polling_ || !watch_.must_poll()) return;
  polling_ = true;
  poll_.expires_after(waits_.poll);
  poll_.async_wait([this](const boost::system::error_code& error) {
    if (error || !watching_) return;
    polling_ = false;
    poll_if_need_be();
    changed_();
  });
}

}  // namespace weir::app
