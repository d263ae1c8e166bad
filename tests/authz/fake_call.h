#pragma once

#include <map>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/assert.h"
#include "net/grpc/service.h"

namespace weir::authz {

/// A call without a server: it keeps the answer of its service.
class FakeCall final : public net::grpc::Call {
 public:
  explicit FakeCall(std::string message) : message_(std::move(message)) {}

  std::map<std::string, std::string, std::less<>> fields;
  TimePoint until = TimePoint::max();
  Address from;

  std::optional<std::string> answer;  ///< complete()
  std::vector<std::string> sent;      ///< send()
  std::optional<net::grpc::Status> failed;
  std::string why;
  net::grpc::Pending* pending = nullptr;
  bool has_no_memory = false;  ///< fail() throws
  bool is_short = false;       ///< is_memory_short()
  bool done() const { return answer || failed; }

  std::string_view message() const noexcept override { return message_; }
  TimePoint deadline() const noexcept override { return until; }
  std::string_view metadata(std::string_view name) const noexcept override {
    const auto found = fields.find(name);
    return found == fields.end() ? std::string_view{} : std::string_view(found->second);
  }
  const Address& peer() const noexcept override { return from; }
  bool is_memory_short() const noexcept override { return is_short; }
  void send(std::string_view message) override {
    WEIR_ASSERT(!done() && pending != nullptr);
    sent.emplace_back(message);
  }
  void complete(std::string_view message) override {
    WEIR_ASSERT(!done());
    answer = std::string(message);
  }
  void fail(net::grpc::Status status, std::string_view text) override {
    WEIR_ASSERT(!done());
    if (has_no_memory) throw std::bad_alloc();
    failed = status;
    why = text;
  }
  void wait_with(net::grpc::Pending& whom) noexcept override { pending = &whom; }

 private:
  std::string message_;
};

}  // namespace weir::authz
