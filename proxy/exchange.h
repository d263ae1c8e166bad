#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "gate/judge.h"
#include "net/http/body_reader.h"
#include "proxy/answer_tap.h"
#include "proxy/downstream.h"
#include "proxy/hop_headers.h"
#include "proxy/to_event.h"
#include "proxy/upstream.h"

namespace weir::proxy {

/// After a local answer, the rest of a body up to this size is read and thrown away: that is
/// cheaper for both sides than a new connection.
inline constexpr std::uint32_t kDrainBytes = 64 << 10;
/// Bytes a second that a body must bring. Kestrel's default.
inline constexpr std::size_t kLeastRate = 240;

/// The app's half of a session: a request on its way to the app, and the answer on its way back.
/// The session handles what comes before (head, judgement) and after the exchange, and provides the
/// functions at the end.
class Exchange : public Downstream, UpstreamUser {
 protected:
  explicit Exchange(Context& context) noexcept : Downstream(context) {}
  ~Exchange() = default;

  // exchange.cc
  std::size_t begin_exchange(std::string_view upstream_lines, std::string_view response_lines,
                             std::span<char> input);
  void exchange();
  void update_deadline() noexcept;
  bool can_drain() const noexcept;
  void count_status(int status) noexcept;
  void finish(gate::End end);
  /// The exchange has failed. Before the head of the answer, weir sends an answer of its own. After
  /// it, the bytes that the client has must not look like a complete answer.
  void fail(int status, gate::End end);
  void drop_upstream() noexcept;

  // answer_reading.cc: policies that read the answer's body
  void settle_tap(bool whole);
  bool begin_reading_on();
  void read_on();
  void end_reading_on(bool whole);

  // Actions of the session.
  virtual void reply_problem(int status, std::string_view lines = {}) = 0;
  virtual void next_request() = 0;
  virtual void begin_draining() = 0;
  virtual void begin_tunnel(std::span<char> first) = 0;

  // The request.
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
  bool end_passed_ : 1 = false;    // of an exchange: the client's end has been passed on to the app
  bool sent_ : 1 = false;          // a byte of the request has reached an app
  // The tunnel; here is room.
  bool up_shut_ : 1 = false;    // of a tunnel: the client's end has been passed on to the app
  bool down_shut_ : 1 = false;  // the app's end has been passed on to the client
  net::Framing answer_framing_ = net::Framing::none;  // towards the client
  std::uint8_t interims_ = 0;
  std::uint8_t peer_text_size_ = 0;
  std::uint8_t key_bytes_ = 0;  // of the websocket key at the front of kept_
  net::HeadProgress progress_out_;
  Peer peer_;
  char peer_text_[46];
  gate::Ticket* ticket_ = nullptr;
  UpstreamConnection* upstream_ = nullptr;
  net::BodyReader answer_body_;
  // The request head, to be sent again; for upgrades the websocket key before it. While the request
  // is held, the lines that the effect adds to the request.
  net::Bytes kept_;
  net::Bytes lines_;  // the lines that the effect adds to the response
  AnswerTap tap_;     // the answer's head and as much of its body as a policy may read

 private:
  void build_upstream_head(std::string_view extra_lines);
  void credit_body(std::size_t bytes) noexcept;
  void on_upstream(std::uint32_t events) override;
  void take_upstream(std::uint32_t events);
  bool will_read_upstream() const noexcept override;
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
  void fail_malformed();
  void ask_for_readable_answer(UpstreamHeadOptions& options);
  void observe_head(std::string_view head);
};

}  // namespace weir::proxy
