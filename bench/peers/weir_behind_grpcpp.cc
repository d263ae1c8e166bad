// weir's own handlers behind grpc++: CheckService and RateLimitService, with the same policies,
// over one gate with its counters in memory. Only what carries the calls is another: grpc++ with
// one thread, one completion queue and messages as bytes, which is its way that costs least. So
// the difference to weir in `scripts/bench doors --peers` is weir's gRPC server.
//
//   weir_behind_grpcpp PORT WEIR.YAML
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "authz/check_service.h"
#include "authz/rate_limit_service.h"
#include "config/load.h"
#include "config/text/render.h"
#include "core/assert.h"
#include "core/clock.h"
#include "gate/gate.h"
#include "gate/unsettled.h"
#include "net/wheel.h"
#include "policies/set/compile.h"
#include "telemetry/metrics.h"

namespace weir::bench {
namespace {

std::shared_ptr<const policies::PolicySet> load(const std::string& path, limiter::Bank& bank,
                                                limiter::ListBank& lists,
                                                const HashSecret& secret) {
  config::Loaded loaded = config::load_file(path, {});
  std::shared_ptr<policies::PolicySet> set;
  if (loaded.model) set = policies::compile(*loaded.model, loaded.problems);
  if (set != nullptr && set->attach(bank, lists, secret)) return set;
  std::fputs(config::render_human(loaded.problems, loaded.views(), false).c_str(), stderr);
  std::exit(1);
}

/// The parts of weir on one worker that calls need.
struct Weir {
  explicit Weir(const std::string& path) { gate.use(load(path, bank, lists, secret)); }

  Clock clock;
  limiter::Bank bank{limiter::BankLimits{}};
  limiter::ListBank lists;
  HashSecret secret = HashSecret::from_bytes({7});
  policies::StatsBank stats{1};
  telemetry::Metrics metrics{1};
  gate::Shared shared{bank, lists, secret, stats};
  gate::Gate gate{shared, 0, gate::GateLimits{}, metrics.cells(0), nullptr};
  net::Wheel wheel{clock.now()};
  gate::Unsettled unsettled{gate, wheel, 0, std::chrono::seconds(60), metrics.cells(0)};
  authz::CheckService checks{authz::CheckRules{}, gate, unsettled, wheel, metrics.cells(0)};
  authz::RateLimitService rate_limits{gate, metrics.cells(0), metrics.rules()};
};

/// One call at a time, again and again. The policies of the measurement keep no call waiting.
class Slot final : public net::grpc::Call {
 public:
  Slot(grpc::AsyncGenericService& service, grpc::ServerCompletionQueue& queue, Weir& weir)
      : service_(service), queue_(queue), weir_(weir) {
    wait();
  }
  void go_on(bool ok) {
    if (!ok) {
      if (step_ != Step::accepting) wait();
      return;
    }
    switch (step_) {
      case Step::accepting:
        step_ = Step::reading;
        stream_->Read(&question_, this);
        return;
      case Step::reading:
        step_ = Step::answering;
        start();
        return;
      case Step::answering:
        wait();
    }
  }

  std::string_view message() const noexcept override {
    return {reinterpret_cast<const char*>(slice_.begin()), slice_.size()};
  }
  TimePoint deadline() const noexcept override {
    const auto at = context_->deadline();
    return at == std::chrono::system_clock::time_point::max()
               ? TimePoint::max()
               : std::chrono::time_point_cast<milliseconds>(at);
  }
  std::string_view metadata(std::string_view name) const noexcept override {
    const auto& all = context_->client_metadata();
    const auto found = all.find(grpc::string_ref(name.data(), name.size()));
    return found == all.end() ? std::string_view{}
                              : std::string_view(found->second.data(), found->second.size());
  }
  /// As behind a Unix socket: weir knows the address of a connection, grpc++ writes it for each
  /// call.
  const Address& peer() const noexcept override { return peer_; }
  bool is_memory_short() const noexcept override { return false; }
  void send(std::string_view) override {}  // no method here streams its answers
  void complete(std::string_view message) override {
    const grpc::Slice slice(message.data(), message.size());
    const grpc::ByteBuffer answer(&slice, 1);
    stream_->WriteAndFinish(answer, grpc::WriteOptions(), grpc::Status::OK, this);
  }
  void fail(net::grpc::Status status, std::string_view why) override {
    stream_->Finish(grpc::Status(static_cast<grpc::StatusCode>(status), std::string(why)), this);
  }
  void wait_with(net::grpc::Pending& /*pending*/) noexcept override {
    WEIR_ASSERT(false && "no policy of the measurement lets a call wait");
  }

 private:
  enum class Step { accepting, reading, answering };
  void wait() {
    step_ = Step::accepting;
    context_ = std::make_unique<grpc::GenericServerContext>();
    stream_ = std::make_unique<grpc::GenericServerAsyncReaderWriter>(context_.get());
    question_.Clear();
    service_.RequestCall(context_.get(), stream_.get(), &queue_, &queue_, this);
  }
  void start() {
    if (!question_.DumpToSingleSlice(&slice_).ok())
      return fail(net::grpc::Status::internal, "no message");
    const TimePoint now = weir_.clock.now();
    if (context_->method() == weir_.checks.path()) return weir_.checks.start(*this, now);
    weir_.rate_limits.start(*this, now);
  }

  grpc::AsyncGenericService& service_;
  grpc::ServerCompletionQueue& queue_;
  Weir& weir_;
  Address peer_;
  Step step_ = Step::accepting;
  std::unique_ptr<grpc::GenericServerContext> context_;
  std::unique_ptr<grpc::GenericServerAsyncReaderWriter> stream_;
  grpc::ByteBuffer question_;
  grpc::Slice slice_;
};

int serve(const std::string& port, const std::string& path) {
  Weir weir(path);
  grpc::AsyncGenericService service;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:" + port, grpc::InsecureServerCredentials());
  builder.RegisterAsyncGenericService(&service);
  const auto queue = builder.AddCompletionQueue();
  const auto server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  std::vector<std::unique_ptr<Slot>> slots;
  for (int i = 0; i < 200; ++i) slots.push_back(std::make_unique<Slot>(service, *queue, weir));
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) static_cast<Slot*>(tag)->go_on(ok);
  return 0;
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: weir_behind_grpcpp PORT WEIR.YAML\n", stderr);
    return 2;
  }
  return weir::bench::serve(argv[1], argv[2]);
}
