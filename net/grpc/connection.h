#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "core/address.h"
#include "net/bytes.h"
#include "net/connection_list.h"
#include "net/fd.h"
#include "net/grpc/frame_meter.h"
#include "net/grpc/memory.h"
#include "net/grpc/skipped_streams.h"
#include "net/reactor.h"
#include "net/socket.h"
#include "net/tls.h"
#include "net/wheel.h"

namespace weir::net::grpc {

struct Context;
class Stream;

/// Why a peer is shut out.
enum class Abuse : std::uint8_t {
  none,
  flood,     ///< frames that ask for nothing, without end
  resets,    ///< calls that are reset before they are answered, without end
  fields,    ///< a list of fields many times larger than is taken
  buffers,   ///< the worker is short of buffers, and the connection makes the least use of its part
  protocol,  ///< a frame that breaks a rule of connections which libnghttp2 does not check
};

/// One HTTP/2 connection: the socket, libnghttp2's session and the streams on it.
///
///    [shaking hands] -> open -> closing (sends its queue) -> lingering (our side is closed)
///    -> closed
///
/// Received bytes go to nghttp2 at once, whose callbacks lead to the streams. Output is taken from
/// nghttp2 at the end of the turn, for all answers together. While the peer does not take its
/// output, nothing is read from it: so it cannot ask for more answers than it takes. Lives on one
/// worker, in its server's store; not thread-safe.
class Connection final : EventHandler, Timer {
 public:
  explicit Connection(Context& context) noexcept : ctx_(context) {}

  void open(Fd fd, const Address& peer);
  /// Announces the end of the connection (the first GOAWAY). After Settings::goaway, sends the
  /// second GOAWAY, which names the last call that is served. The connection ends with that call.
  void begin_drain();
  void flush();  ///< at the end of the turn
  void abort();  ///< at once
  /// The peer has used up a budget, or breaks the protocol: sends ENHANCE_YOUR_CALM or
  /// PROTOCOL_ERROR if the peer reads, and closes the connection.
  void shut_out(Abuse abuse);
  void evict();  ///< for the memory that it keeps

  const Address& peer() const noexcept { return peer_; }
  bool is_idle() const noexcept { return streams_ == nullptr; }
  bool is_shaking_hands() const noexcept { return state_ == State::shaking_hands; }
  TimePoint last_read() const noexcept { return last_read_; }
  std::size_t kept() const noexcept { return account_.held + stream_bytes_ + tls_noted_; }
  /// The time of the last call that was answered here, or of the beginning.
  TimePoint last_use() const noexcept { return used_; }

  // For streams.
  void submit(Stream& stream, std::span<const nghttp2_nv> fields,
              const nghttp2_data_provider* answer) noexcept;
  /// The stream has more of its answer to send.
  void resume(Stream& stream) noexcept;
  bool submit_trailer(Stream& stream, const nghttp2_nv& field) noexcept;
  void reset(Stream& stream, std::uint32_t code) noexcept;
  /// No memory for an answer: the connection ends with this turn.
  void give_up() noexcept;
  /// Every way into a connection leads through here: without memory the connection ends, and
  /// nothing else.
  template <class Step>
  void guarded(Step step) noexcept {
    try {
      step();
    } catch (const std::exception&) {
      fail();
    }
  }

 private:
  friend class Server;
  friend ConnectionList<Connection>;
  friend class Stream;
  friend struct Callbacks;
  enum class State : std::uint8_t { closed, shaking_hands, open, closing, lingering };
  enum class Drain : std::uint8_t { no, announced, final };
  struct DeleteSession {
    void operator()(nghttp2_session* session) const noexcept { nghttp2_session_del(session); }
  };

  void on_events(std::uint32_t events) override;
  void on_timer(TimePoint now) override;
  void begin_tls();
  bool note_tls() noexcept;
  void shake_hands();
  void end_handshake() noexcept;
  void serve();
  bool begin_session();
  IoResult receive(std::span<char> into) noexcept;
  IoResult transmit(std::string_view bytes) noexcept;
  void read();
  void feed(std::span<char> bytes);
  void feed_session(std::string_view bytes);
  bool send_queued();
  bool write(std::string_view bytes);
  void peer_ended();
  void begin_close();
  void linger();
  void discard_input();
  void close();
  void fail();
  void touch() noexcept;
  void arm() noexcept;
  bool is_half() const noexcept { return meter_.inside() || meter_.frames() == 0; }
  void read_later() noexcept;
  void watch_writable(bool yes) noexcept;
  Stream* stream_of(std::int32_t id) const noexcept;

  // nghttp2's callbacks.
  int on_begin_frame(const nghttp2_frame_hd& head);
  int on_begin_fields(const nghttp2_frame& frame);
  int on_frame(const nghttp2_frame& frame);
  int on_frame_sent(const nghttp2_frame& frame);
  int on_stream_closed(std::int32_t id);

  Context& ctx_;
  Fd fd_;
  std::optional<TlsSession> tls_;
  State state_ = State::closed;
  Drain drain_ = Drain::no;
  Abuse abuse_ = Abuse::none;
  bool readable_ : 1 = false;
  bool peer_ended_ : 1 = false;
  bool watching_writable_ : 1 = false;
  bool is_dirty_ : 1 = false;     // in the list of those that have something to send
  bool asked_ : 1 = false;        // by a PING whether the peer is there
  bool in_session_ : 1 = false;   // nghttp2 is at work: its session stays
  bool broken_ : 1 = false;       // it ends as soon as nghttp2 returns
  bool more_ : 1 = false;         // the last read left something behind
  std::uint64_t half_frame_ = 0;  // the number of the frame that is half here
  TimePoint opened_{}, half_since_{}, last_read_{}, last_written_{}, used_{}, drained_at_{},
      ends_at_{};
  Address peer_;
  Memory::Account account_;
  std::unique_ptr<nghttp2_session, DeleteSession> session_;
  FrameMeter meter_;
  Credit resets_{0, 0};
  SkippedStreams skipped_;
  Bytes out_;  // not yet taken by the peer
  Stream* streams_ = nullptr;
  std::size_t stream_bytes_ = 0;
  std::size_t tls_noted_ = 0;  // of ctx_.tls_bytes
  ConnectionLink<Connection> link_;
  Connection* next_dirty_ = nullptr;
};

/// The connection that keeps the most for the longest time without an answered call, of those
/// without one since `used_by`. Null: there is none.
Connection* least_useful(const Context& context, TimePoint used_by) noexcept;
/// Shuts out the least useful connections until the worker's keep less than they may.
void make_room(Context& context);

/// Makes nghttp2's callbacks and options, the same for all connections.
void prepare_sessions(Context& context);

}  // namespace weir::net::grpc
