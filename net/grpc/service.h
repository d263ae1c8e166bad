#pragma once

#include <string_view>

#include "core/address.h"
#include "core/clock.h"
#include "net/grpc/status.h"

/// The interface between the gRPC server and its services. All calls are on one worker's thread and
/// must not block.
///
///   a message is complete ──▶ Method::start(call)
///                               ├─▶ call.complete() or call.fail(), at once
///                               └─▶ call.wait_with(pending), and later, in any turn of the loop:
///                                     ├─▶ call.send(), by the service, as often as it likes
///                                     ├─▶ call.complete() or call.fail(), by the service
///                                     └─▶ pending.cancelled(), by the server: the client left
///
/// At the end of the turn, the server sends the completed answers of all calls together.
namespace weir::net::grpc {

/// A call that is not completed yet and continues later, as its service sees it.
class Pending {
 public:
  /// The answer is no longer needed: the peer has reset the call or left, the deadline has passed,
  /// or the server ends. The call is gone when this function returns; do not complete it.
  virtual void cancelled(TimePoint now) = 0;

 protected:
  ~Pending() = default;
};

/// One call whose message is complete: unary, or with a stream of answers. Owned by the server;
/// lives until it is completed or cancelled, whichever comes first.
class Call {
 public:
  /// The message, decompressed; lives as long as the call.
  virtual std::string_view message() const noexcept = 0;
  /// When the peer stops waiting; TimePoint::max() if it sent no time-out.
  virtual TimePoint deadline() const noexcept = 0;
  /// The first value of this field of the call's metadata, by its lower-case name, as it came. Its
  /// data() is null if there is none. Lives as long as the call.
  virtual std::string_view metadata(std::string_view name) const noexcept = 0;
  /// The address of the connection; unspecified (::) behind a Unix socket.
  virtual const Address& peer() const noexcept = 0;

  /// Whether messages, and answers that their peers have not read, keep more than a quarter of the
  /// worker's memory for calls, or less than an eighth of it is left. A service then leaves out
  /// optional parts of an answer, such as a long body.
  virtual bool is_memory_short() const noexcept = 0;

  /// One message of a stream of answers, which is copied; the call stays open. A service that has
  /// sent a message ends the call with fail(), or waits until it is cancelled. The server ends such
  /// a call with UNAVAILABLE when its connection drains. Say wait_with() first.
  virtual void send(std::string_view message) = 0;

  // Call exactly one of the next two functions, once. The call is gone afterwards.
  /// Status 0 with this message, which is copied.
  virtual void complete(std::string_view message) = 0;
  /// Another status than ok; `why` is for people, any bytes: it is escaped, and cut at 1 KiB.
  virtual void fail(Status status, std::string_view why) = 0;

  /// Method::start() is about to return without having completed the call. The server calls
  /// `pending` if the answer is no longer needed. `pending` must live until the call is completed
  /// or cancelled.
  virtual void wait_with(Pending& pending) noexcept = 0;

 protected:
  ~Call() = default;
};

/// A method of a service that takes one message; one object for each worker.
class Method {
 public:
  /// `/package.Service/Method`, as in `:path`. A constant.
  virtual std::string_view path() const noexcept = 0;
  /// A call with its message. Completes it, or calls wait_with() and completes it later.
  virtual void start(Call& call, TimePoint now) = 0;

 protected:
  ~Method() = default;
};

}  // namespace weir::net::grpc
