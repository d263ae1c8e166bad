#include "app/remote/redis_key.h"

#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "app/support/shared_store.h"
#include "app/support/thread.h"
#include "net/worker_pool.h"
#include "store/redis/redis_store.h"
#include "store/resp/resp_writer.h"

namespace weir::app {
namespace {

/// The call, and who waits for it.
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
  RemoteText::KeyValue wait(milliseconds deadline) {
    std::unique_lock hold(mutex_);
    wake_.wait_for(hold, deadline, [this] { return told_.has_value(); });
    return told_ ? *told_ : RemoteText::KeyValue{{}, "Redis gives no answer in time", false};
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  std::optional<RemoteText::KeyValue> told_;
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
  net::Worker worker{0};
  store::RedisStore redis(worker, settings.store, random_origin());
  KeyRead read(key);
  std::thread thread;
  try {
    thread = start_thread("weir/key", [&worker] { worker.run(); });
  } catch (const std::system_error& error) {  // no thread can be had now
    return {{}, error.what(), false};
  }
  worker.post([&] {
    redis.start();
    redis.when_up([&] {
      if (!redis.call(read))
        read.tell({{}, redis.why().empty() ? "Redis is away" : redis.why(), false});
    });
  });
  RemoteText::KeyValue out = read.wait(deadline);
  worker.post([&redis] { redis.stop(); });
  worker.stop();
  thread.join();  // until then the thread writes what why() says
  if (!out.error.empty() && !redis.why().empty()) out.error += " (" + redis.why() + ")";
  return out;
}

}  // namespace weir::app
