#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <string_view>

#include "net/bytes.h"
#include "net/grpc/service.h"
#include "net/grpc/wire.h"
#include "net/wheel.h"

namespace weir::net::grpc {

class Connection;
struct Context;

/// One HTTP/2 stream, which is one call:
///
///     reading -> [waiting] -> answering -> gone
///
/// Metadata and message lie in one block, the answer in another; both are of the worker's pool.
/// Lives in the server's store of streams, used by its connection.
class Stream final : public Call, Timer {
 public:
  explicit Stream(Context& context) noexcept : ctx_(context) {}

  void open(Connection& connection, std::int32_t id);
  /// The peer has reset the stream, the connection ends, or everything is sent. Notifies the
  /// service if it has not answered yet, and returns all memory.
  void close();

  // Input of the connection. Each of these functions may answer the call.
  void on_field(std::string_view name, std::string_view value);
  void on_fields_end();
  void on_data(std::string_view bytes);
  void on_end();  ///< the peer will send no more

  /// The next bytes of the answer, for nghttp2.
  ssize_t read_answer(std::uint8_t* into, std::size_t room, std::uint32_t* flags);
  /// The frame that ends the answer has been handed to the connection.
  void on_answered();

  /// The connection drains: a call that could stay open forever ends.
  void end_streaming(TimePoint now);
  bool is_reading() const noexcept { return state_ == State::reading; }
  bool is_answered() const noexcept { return state_ == State::answered; }
  /// Whether the service lets the call wait since an earlier turn of the loop.
  bool has_waited(TimePoint now) const noexcept {
    return state_ == State::waiting && waits_since_ < now;
  }
  bool peer_may_send() const noexcept { return !peer_ended_; }
  std::int32_t id() const noexcept { return id_; }

  // Call
  std::string_view message() const noexcept override;
  TimePoint deadline() const noexcept override { return deadline_; }
  std::string_view metadata(std::string_view name) const noexcept override;
  const Address& peer() const noexcept override;
  bool is_memory_short() const noexcept override;
  void send(std::string_view message) override;
  void complete(std::string_view message) override;
  void fail(Status status, std::string_view why) override;
  void wait_with(Pending& pending) noexcept override { pending_ = &pending; }

 private:
  friend class Connection;
  friend class Server;
  enum class State : std::uint8_t { closed, reading, waiting, answering, answered };
  enum class Coding : std::uint8_t { identity, gzip, deflate, unknown };
  enum class Path : std::uint8_t { none, known, unknown };

  void on_timer(TimePoint now) override;
  void take_timer(TimePoint now);
  void answer(std::string_view message);
  void keep_field(std::string_view name, std::string_view value);
  bool decompress();
  void start();
  void answer_http(std::string_view status);
  void begin_answer() noexcept;
  void put_message(Prefix prefix, std::string_view message);
  void submit_head(bool compressed);
  void recount() noexcept;

  Context& ctx_;
  Connection* connection_ = nullptr;
  Method* method_ = nullptr;
  Pending* pending_ = nullptr;
  std::int32_t id_ = 0;
  State state_ = State::closed;
  Coding coding_ = Coding::identity;
  Path path_ = Path::none;
  bool is_post_ : 1 = false;
  bool is_grpc_ : 1 = false;
  bool bad_timeout_ : 1 = false;
  bool accepts_gzip_ : 1 = false;
  bool names_codings_ : 1 = false;  // the peer has named the codings that it accepts
  bool compressed_ : 1 = false;     // the message came so
  bool too_many_fields_ : 1 = false;
  bool fields_ended_ : 1 = false;
  bool peer_ended_ : 1 = false;
  bool streaming_ : 1 = false;  // the head of the answer is submitted, and messages follow
  Status status_ = Status::ok;
  std::uint32_t fields_bytes_ = 0;  // of in_, before the message
  std::uint32_t fields_counted_ = 0;
  std::size_t noted_ = 0;  // of ctx_.stream_bytes
  TimePoint deadline_ = TimePoint::max();
  TimePoint waits_since_{};  // for the service
  Bytes in_;                 // metadata, then the prefix and the message
  Bytes out_;  // the prefix and the message of the answer, as far as they are not sent
  Stream* previous_ = nullptr;  // of its connection
  Stream* next_ = nullptr;      // or of the free ones
};

}  // namespace weir::net::grpc
