#pragma once

#include <cstdint>
#include <new>
#include <span>
#include <stdexcept>
#include <string_view>

#include "gate/judge.h"
#include "net/bytes.h"
#include "net/fd.h"
#include "net/outbox.h"
#include "net/reactor.h"
#include "proxy/answer_tap.h"
#include "proxy/context.h"
#include "proxy/relay.h"
#include "proxy/to_event.h"
#include "proxy/upstream.h"

namespace weir::proxy {

inline constexpr int kReadsPerTurn = 16;  ///< of one body; then the others get their turn
inline constexpr std::size_t kReadMore = 4 << 10;

/// One downstream connection and the request that is under way on it: a plain state machine.
///
///     reading_head -> [reading_body] -> judge -> exchanging -> reading_head ...
///                                         |  \-> held, parked -> exchanging
///                                         \-> local answer -> [draining] -> reading_head
///     exchanging -> tunnelling (101);  any -> closing -> lingering -> closed
///
/// Reads go to the worker's scratch buffer; the session keeps bytes only while a head or a judged
/// body is incomplete, while its request waits, while a write was short, or while a request may
/// have to be sent again. Lives on one worker, in its pool of sessions; not thread-safe.
class Session final : net::EventHandler, net::Timer, net::Sender, gate::Waiter, UpstreamUser {
 public:
  explicit Session(Context& context) noexcept : ctx_(context) {}

  void open(net::Fd fd, const Address& peer);
  /// Goes on after resume(); for the end of a turn.
  void run_resumed();
  /// No further request will be taken: closes if nothing is under way.
  void stop_if_idle();
  void abort();  ///< at the drain's deadline: whatever is under way is cut

 private:
  friend class Server;
  enum class State : std::uint8_t {
    closed,
    reading_head,
    reading_body,  ///< a policy reads the body: buffer it, then judge
    parked,        ///< waits for others' reservations
    held,          ///< delayed
    exchanging,
    reading_on,  ///< the client has left; a policy still reads what is left of the answer
    tunnelling,
    draining,   ///< answered locally; the rest of the request's body is thrown away
    closing,    ///< the last bytes are on their way out
    lingering,  ///< our side is shut; the client may still be sending
  };
  enum class Phase : std::uint8_t {
    head,
    idle,
    body,
    connect,
    answer,
    read_on,
    write,
    tunnel,
    linger,
    hold
  };

  // session.cc: the connection
  void on_events(std::uint32_t events) override;
  void take_events(std::uint32_t events);
  int reads_ahead() const noexcept override;
  void on_timer(TimePoint now) override;
  void take_timer();
  void send_now(std::string_view bytes) override;
  void resume(TimePoint now) override;
  void advance();
  void expect(Phase phase, milliseconds within) noexcept;
  std::size_t receive(
      std::span<char> into);  // 0: nothing now, or the session has changed its state
  void client_ended();
  void client_gone();
  bool send(const Parts& parts);  // at the end of the batch; false: the session is closed
  bool send_put_off();            // now; false: the session is closed
  bool write(const Parts& parts);
  bool flush();
  void await_writable() noexcept;
  void watch_writable(bool yes) noexcept;
  void next_request();
  void begin_close();
  void finish_close();
  void discard_input();
  void close();

  // judging.cc: from the head to the effect
  bool read_head();
  std::size_t take_requests(std::span<char> input);
  std::size_t on_head(std::span<char> input);
  bool read_body();
  bool judge_kept(bool may_wait);
  bool want_body(Request& request, std::span<char> input);
  std::size_t judge(Request& request, std::span<char> input, bool may_wait);
  std::size_t hold(const gate::Judgement& judgement);
  void release_held(bool client_left);
  void refuse(net::HttpRefusal refusal);
  void reply_problem(int status, std::string_view lines = {});
  void reply(LocalAnswer answer);
  bool can_drain() const noexcept;
  void begin_draining();
  bool drain_body();
  void expect_body(std::size_t received) noexcept;
  void count_status(int status) noexcept;

  // exchange.cc: from the effect to the end of the answer
  std::size_t begin_exchange(std::string_view upstream_lines, std::string_view response_lines,
                             std::span<char> input);
  void build_upstream_head(std::string_view extra_lines);
  void on_upstream(std::uint32_t events) override;
  void take_upstream(std::uint32_t events);
  bool will_read_upstream() const noexcept override;
  void relay();
  void pump_request();
  void pass_client_end();
  void pump_answer();
  std::size_t take_answer(std::span<char> input);
  std::size_t take_answer_head(std::span<char> input);
  std::size_t start_answer(std::span<char> input);
  std::size_t take_answer_body(std::span<char> input);
  void finish_answer(bool surplus);
  void upstream_ended(bool broken);
  bool retry();
  void fail(int status, gate::End end);
  void fail_malformed();
  void finish(gate::End end);
  void drop_upstream() noexcept;
  void update_deadline() noexcept;

  // answer_reading.cc: policies that read the answer's body
  void ask_for_readable_answer(UpstreamHeadOptions& options);
  void observe_head(std::string_view head);
  void settle_tap(bool whole);
  bool begin_reading_on();
  void read_on();
  void end_reading_on(bool whole);

  // eviction.cc: when buffers are short, and when there is no memory
  std::size_t held_bytes() const noexcept;
  int eviction_rank() const noexcept;
  void make_room();
  void evict();
  void out_of_memory() noexcept;
  /// Every way into a session leads through here: what fails for want of memory ends the session.
  template <class Step>
  void guarded(Step step) noexcept {
    try {
      if (ctx_.worker.blocks().is_short()) [[unlikely]]
        make_room();
      step();
    } catch (const std::bad_alloc&) {
      out_of_memory();
    } catch (const std::length_error&) {
      out_of_memory();
    }
  }

  // tunnel.cc: after a 101
  void begin_tunnel(std::span<char> first);
  void tunnel();
  bool tunnel_down();
  bool tunnel_up();

  Context& ctx_;
  net::Fd fd_;
  State state_ = State::closed;
  Phase phase_ = Phase::head;

  // The connection.
  bool readable_ : 1 = false;
  bool peer_ended_ : 1 = false;  // its end has been announced, perhaps behind unread bytes
  bool watching_writable_ : 1 = false;
  bool starved_ : 1 = false;  // what is kept is no complete head
  bool served_ : 1 = false;   // not the first request
  bool head_begun_ : 1 = false;
  bool resumed_ : 1 = false;  // in the list of those that go on at the end of the turn
  // The request.
  bool http_1_0_ : 1 = false;
  bool keep_alive_ : 1 = false;
  bool is_head_ : 1 = false;
  bool retryable_ : 1 = false;
  bool expects_continue_ : 1 = false;  // the client waits for a 100
  bool continued_ : 1 = false;         // and got it from us
  bool websocket_ : 1 = false;
  // The answer.
  bool answer_bytes_ : 1 = false;
  bool answer_started_ : 1 = false;
  bool upstream_keep_alive_ : 1 = false;
  bool reads_answer_ : 1 = false;  // the app is asked for an answer that policies can read
  bool tapping_ : 1 = false;       // a policy reads the answer's body, and has not got it yet
  bool progress_ : 1 = false;
  bool end_passed_ : 1 = false;  // the client's end has been passed on to the app
  bool sent_ : 1 = false;        // a byte of the request has reached an app
  bool up_shut_ : 1 = false;     // tunnel: end passed on to the app
  bool down_shut_ : 1 = false;   // tunnel: end passed on to the client
  BodyState body_state_ = BodyState::not_read;
  net::Framing answer_framing_ = net::Framing::none;  // towards the client
  std::uint8_t interims_ = 0;
  std::uint8_t put_off_ = 0;  // writes in the outbox
  std::uint8_t peer_text_size_ = 0;
  std::uint8_t key_bytes_ = 0;  // of the websocket key at the front of kept_
  std::uint32_t drained_ = 0;
  std::uint32_t head_bytes_ = 0;
  net::HeadProgress progress_in_;
  net::HeadProgress progress_out_;
  std::size_t decoded_ = 0;  // body bytes behind the head in in_ that are decoded already
  TimePoint time_{};         // of the request
  Peer peer_;
  char peer_text_[46];
  gate::Ticket* ticket_ = nullptr;
  UpstreamConnection* upstream_ = nullptr;
  Session* next_resumed_ = nullptr;
  Session* previous_open_ = nullptr;
  Session* next_open_ = nullptr;  // also links retired and free sessions
  BodyReader body_;
  BodyReader answer_body_;
  net::Bytes in_;    // received and not yet dealt with
  net::Bytes out_;   // not yet taken by the client
  net::Bytes kept_;  // the request head, to be sent again; for upgrades the websocket key before it
  net::Bytes lines_;  // response lines of the effect; while held: upstream lines in kept_
  AnswerTap tap_;     // the answer's head and as much of its body as a policy may read
};

// The promise of docs/architecture.md: an idle connection is one small object.
static_assert(sizeof(Session) <= 512);
static_assert(net::Outbox::kWrites <= 255, "put_off_ counts them in a byte");

}  // namespace weir::proxy
