#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "admin/operations.h"
#include "app/support/configuration.h"
#include "app/support/log.h"
#include "core/clock.h"

namespace weir::app {

/// Loads a configuration with its remote includes: URLs, keys of Redis. Texts are
/// fetched on a thread of its own; a load takes the last ones. If the configuration loads with the
/// previous text and not with the new one, the new text is refused and reported. The previous text
/// stays in use.
///
/// load() from one thread; prepare() from its own or, before start(), from that of load().
class IncludedTexts {
 public:
  static constexpr std::size_t kTextMax = std::size_t{8} << 20;
  static constexpr milliseconds kFetch{10'000};

  IncludedTexts(std::string path, config::Environment environment);
  ~IncludedTexts();  ///< stop()

  /// Fetches the texts that the main file names and that were not fetched yet. If a server does not
  /// answer, uses the last good text from disk. Blocks.
  void prepare();
  Configuration load();

  /// From now on fetched texts are asked for at their intervals, if there are any; `changed` is
  /// called from that thread when a text has changed. The log names each problem.
  void start(std::function<void()> changed, Log& log);
  void stop();
  /// prepare() on the thread; `done` is called from there. At once if nothing is fetched.
  void prepare(std::function<void()> done);
  /// Any thread.
  std::vector<admin::SourceFacts> facts() const;

 private:
  struct Item;
  struct Named;
  Named named() const;
  void run();
  void look();
  void tell();
  std::shared_ptr<Item> item_of(const config::RemoteDef& def, const Named& named);
  void ask(Item& item, const Named& named);
  Configuration load_with(bool fresh, bool& took_fresh);

  const std::string path_;
  const config::Environment environment_;
  Clock clock_;
  mutable std::mutex mutex_;  // guards what follows, and the texts of items
  std::vector<std::shared_ptr<Item>> items_;
  std::vector<std::function<void()>> wanted_;
  std::function<void()> changed_;
  Log* log_ = nullptr;  // from start() on
  std::condition_variable wake_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

/// Loads a configuration for a command. Each remote text is fetched once.
Configuration load_configuration(const std::string& path, const config::Environment& environment);

}  // namespace weir::app
