#pragma once

#include <cstdint>
#include <span>

#include "core/assert.h"
#include "core/clock.h"
#include "core/event.h"
#include "net/http/body_reader.h"
#include "net/http/chunked.h"
#include "net/http/client_end.h"
#include "net/http/head.h"

namespace weir::net {

class ClientConnection;

/// The state that the connections of one door and worker share. It must outlive them. The request
/// head is scratch: valid within one step of one connection.
struct ConnectionShare : ClientShare {
  ConnectionShare(Worker& of, BlockPool& kept_in, const HeadLimits& head, const ChunkLimits& chunks,
                  const std::size_t& body_most) noexcept
      : ClientShare{of, kept_in}, head_limits(head), chunk_limits(chunks), body_max(body_most) {
    WEIR_ASSERT(head.start_line <= kStartLineMax);
  }

  const HeadLimits& head_limits;
  const ChunkLimits& chunk_limits;
  const std::size_t& body_max;  ///< bytes of a body that are kept
  bool draining = false;        ///< every answer says Connection: close
  bool stopping = false;        ///< and clients that are idle are closed
  /// How many more steps the connection that advances may take in this turn: a step of its state,
  /// or a request.
  int steps_left = 0;
  RequestHead request;
  ClientConnection* resumed = nullptr;  ///< connections that resume at the end of the turn
};

/// A client's HTTP/1 connection whose requests are judged, in the workers: a plain state machine.
///
///     reading_head -> [reading_body] -> judged: [parked | held] -> answered -> [draining]
///          ^                                                                       |
///          '-----------------------------------------------------------------------'
///     any -> closing -> lingering -> closed
///
/// Two layers: ClientEnd moves bytes, and this class reads requests out of them. It splits them
/// into heads, keeps the bodies that are judged, gives other connections their turn, and closes so
/// that the client gets its last answer. A door derives its session from it, and says through the
/// virtual functions what becomes of a request. In the same way a proxy adds what comes between
/// request and answer. Lives on one worker; not thread-safe.
class ClientConnection : public ClientEnd {
 public:
  /// Goes on with the connections of the list; for the end of a turn.
  static void run_resumed(ConnectionShare& share) noexcept;

 protected:
  enum class State : std::uint8_t {
    closed,
    reading_head,
    reading_body,  ///< a policy reads the body: buffer it, then judge
    parked,    ///< waits for the shared store, or for others' reservations: then it is judged again
    held,      ///< delayed
    draining,  ///< answered; the rest of the request's body is thrown away
    closing,   ///< the last bytes are on their way out
    lingering,  ///< our side is shut; the client may still be sending
    // States of a proxy alone, see relay():
    exchanging,
    reading_on,  ///< the client has left; a policy still reads the rest of the answer
    tunnelling,
  };

  explicit ClientConnection(ConnectionShare& share) noexcept : ClientEnd(share) {}
  ~ClientConnection() = default;

  void start(Fd fd) noexcept;
  void advance();  ///< as many steps as a turn has, or as there are bytes
  /// Advances at the end of the turn: within another connection's step reading would overwrite the
  /// scratch buffer.
  void go_on_after_turn() noexcept;
  void next_head() noexcept;   ///< the request is over
  void lose_track() noexcept;  ///< the bytes that follow are no readable request; still read them
  void parse_kept_head();      ///< from in_ into ConnectionShare::request
  void begin_close();
  void client_ended() override { begin_close(); }

  /// The head at the front of the bytes is parsed into ConnectionShare::request. Returns how many
  /// bytes are dealt with; the rest is kept.
  virtual std::size_t on_head(std::span<char> bytes) = 0;
  /// The head cannot be accepted; in reading_body, the framing of the body.
  virtual void refuse(HttpRefusal refusal) = 0;
  virtual void on_body_bytes() noexcept {}  ///< more of a body has come that is kept
  /// The body is kept as far as needed, and body_state_ shows how far. False: closed.
  virtual bool judge_body() = 0;
  virtual bool drain_body() = 0;  ///< false: more bytes are needed, or it is closed
  /// A step of a state of a proxy. False: nothing more to do now.
  virtual bool relay() { return false; }
  virtual void take_timer() = 0;    ///< the deadline has passed
  virtual void drop_request() = 0;  ///< the connection ends, and any request on it
  virtual void close() = 0;

  State state_ = State::closed;
  // The connection.
  bool starved_ : 1 = false;  // the kept bytes are not a complete head
  bool served_ : 1 = false;   // not the first request
  bool head_begun_ : 1 = false;
  bool resumed_ : 1 = false;  // in the list of those that resume at the end of the turn
  // The request.
  bool http_1_0_ : 1 = false;
  bool keep_alive_ : 1 = false;
  bool is_head_ : 1 = false;
  TimePoint time_{};  // of the first byte of a head, then of its end
  BodyReader body_;

 private:
  void on_events(std::uint32_t events) final;
  void take_events(std::uint32_t events);
  int reads_ahead() const noexcept final;
  void on_timer(TimePoint now) final;
  bool read_head();
  std::size_t take_requests(std::span<char> input);
  bool read_body();
  HttpRefusal decode_body();
  void finish_close();
  void discard_input();
  ConnectionShare& shared() const noexcept { return static_cast<ConnectionShare&>(share_); }

  ClientConnection* next_resumed_ = nullptr;

 protected:                   // last, so that derived classes fill the gap after them
  HeadProgress progress_in_;  // of a head that is not whole yet
  std::uint32_t head_bytes_ = 0;
  std::uint32_t decoded_ = 0;  // body bytes after the head in in_ that are decoded already
  std::uint32_t drained_ = 0;  // body bytes that were thrown away
  BodyState body_state_ = BodyState::not_read;
};

}  // namespace weir::net
