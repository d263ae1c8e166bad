#include "app/remote/redis_key.h"

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "app/remote/left_alone.h"
#include "app/support/shared_store.h"
#include "app/support/thread.h"
#include "net/worker_pool.h"
#include "store/redis/redis_store.h"
#include "store/resp/resp_writer.h"

namespace weir::app {
namespace {

/// The call, and the coroutine that waits for it.
class KeyRead final : public store::ScriptCall {
 public:
  explicit KeyRead(const std::string& key) {
    script = &store::get_script();
    slot = store::slot_of(key);
    keys = count = 1;
    store::append_bulk(words, key);
  }
  void on_answer(const store::Reply& reply) override {
    RemoteText::KeyValue out;
    out.found = reply.root().type == store::Reply::Type::string;
    if (out.found) out.value = std::string(reply.text());
    if (reply.is_error()) out.error = std::string(reply.text());
    tell(std::move(out));
  }
  void on_failure(limiter::SharedError error, std::string_view text) override {
    tell({{}, std::string(limiter::row_of(error).name) + ": " + std::string(text), false});
  }
  void tell(RemoteText::KeyValue value) {
    const std::scoped_lock hold(mutex_);
    if (told_) return;
    told_ = std::move(value);
    wake_.notify_all();
  }
  /// None: there was no answer in time.
  std::optional<RemoteText::KeyValue> wait(milliseconds deadline) {
    std::unique_lock hold(mutex_);
    wake_.wait_for(hold, deadline, [this] { return told_.has_value(); });
    return told_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  std::optional<RemoteText::KeyValue> told_;
};

/// A loop and a store for one call.
struct Visit {
  Visit(const store::Settings& settings, const std::string& key)
      : redis(worker, settings, random_origin()), read(key) {}

  net::Worker worker{0};
  store::RedisStore redis;
  KeyRead read;
  std::string why;  ///< written by the loop at its end: why Redis was away, empty if it was not
};

}  // namespace

RemoteText::KeyValue read_redis_key(const config::Server& server, const std::string& key,
                                    milliseconds deadline) {
  SharedStoreSettings settings;
  std::string message;
  if (!server.redis) return {{}, "there is no `redis:` in this configuration", false};
  if (!read_shared_store(server, settings, message)) return {{}, message, false};
  settings.store.timeout = std::max(settings.store.timeout, milliseconds{1'000});
  settings.store.budget = settings.store.timeout;
  const bool names = may_ask_names(settings.store);
  if (names && too_many_are_left()) return {{}, "the name server is silent", false};
  auto visit = std::make_unique<Visit>(settings.store, key);
  std::thread thread;
  try {
    thread = start_thread("weir/key", [&worker = visit->worker] { worker.run(); });
  } catch (const std::system_error& error) {  // no thread can be had now
    return {{}, error.what(), false};
  }
  visit->worker.post([visit = visit.get()] {
    visit->redis.start();
    visit->redis.when_up([visit] {
      const std::string& why = visit->redis.why();
      if (!visit->redis.call(visit->read))
        visit->read.tell({{}, why.empty() ? "Redis is away" : why, false});
    });
  });
  const std::optional<RemoteText::KeyValue> told = visit->read.wait(deadline);
  visit->worker.post([visit = visit.get()] {
    visit->why = visit->redis.why();  // a store that was stopped no longer knows
    visit->redis.stop();
  });
  visit->worker.stop();
  thread.join();
  RemoteText::KeyValue out =
      told.value_or(RemoteText::KeyValue{{}, "Redis gives no answer in time", false});
  if (!out.error.empty() && !visit->why.empty()) out.error += " (" + visit->why + ")";
  if (names) leave_alone(std::move(visit));  // a name may have no answer yet
  return out;
}

}  // namespace weir::app
