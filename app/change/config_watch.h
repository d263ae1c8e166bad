#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "config/text/watch.h"

namespace weir::app {

/// Reports that the files of the configuration may have changed: when inotify reports a change and
/// the files have settled, and regularly while a directory cannot be watched. Owns its timers and
/// the watch. On the control thread.
class ConfigWatch {
 public:
  struct Waits {
    /// Editors and the kubelet write several files: the check runs when no file has changed for
    /// this long.
    std::chrono::milliseconds settle{150};
    /// The wait is bounded, because other programs may write there all the time, as in /tmp.
    std::chrono::milliseconds patience{2000};
    std::chrono::milliseconds poll{5000};
  };
  ConfigWatch(boost::asio::io_context& control, Waits waits);
  ~ConfigWatch();
  ConfigWatch(const ConfigWatch&) = delete;
  ConfigWatch& operator=(const ConfigWatch&) = delete;

  /// Watches these directories, and calls `changed` until stop().
  void start(const std::vector<std::string>& directories, std::function<void()> changed);
  /// Watches these directories from now on: after each load, good or not. Nothing unless started.
  void follow(const std::vector<std::string>& directories);
  void stop();

 private:
  void wait_for_change();
  void something_changed();
  void look_when_over(boost::asio::steady_timer& wait, std::chrono::milliseconds length);
  void poll_if_need_be();

  std::function<void()> changed_;
  config::Watch watch_;
  boost::asio::posix::stream_descriptor changes_;
  boost::asio::steady_timer settle_;
  boost::asio::steady_timer patience_;
  boost::asio::steady_timer poll_;
  const Waits waits_;
  bool watching_ = false;
  bool unsettled_ = false;  // settle_ and patience_ are under way
  bool polling_ = false;    // poll_ is under way
};

}  // namespace weir::app
