#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/event.h"
#include "core/spares.h"
#include "gate/judge.h"
#include "net/http/head.h"
#include "net/worker_pool.h"
#include "proxy/request_ids.h"
#include "proxy/settings.h"
#include "proxy/to_event.h"
#include "telemetry/latency.h"
#include "telemetry/request_sink.h"

namespace weir::proxy {

using telemetry::RequestEnd;

/// Notes about the request that is under way on a session: its id, and the times of its steps. Lent
/// by the NoteBook for as long as the request takes, so that an idle connection holds none.
class Notes {
 public:
  std::string_view id() const noexcept { return id_; }
  /// The value of `traceparent` that goes to the app; empty: as the client sent it, or not at all.
  std::string_view traceparent() const noexcept { return {traceparent_.data(), traceparent_size_}; }
  /// It begins a trace: the client's trace context could not be read, or is not there.
  bool new_trace() const noexcept { return new_trace_; }
  void took(std::size_t bytes) noexcept { bytes_in_ += bytes; }   ///< of the request
  void gave(std::size_t bytes) noexcept { bytes_out_ += bytes; }  ///< of the answer
  void ends(RequestEnd end) noexcept { end_ = end; }  ///< how it would end if nothing followed
  /// From here on it is a tunnel: its length is no measure of how long requests take.
  void tunnels() noexcept {
    timed_ = false;
    end_ = RequestEnd::complete;
  }

  TimePoint held_until{};  ///< of a request that is held
  TimePoint body_due{};    ///< when a body that streams to the app falls under kLeastRate

 private:
  friend class NoteBook;
  std::string_view id_;  // into one of these
  std::array<char, 32> new_id_;
  char their_id_[128];
  std::uint8_t route_;
  bool timed_;  ///< counts in the histogram
  bool judged_;
  bool new_trace_;
  RequestEnd end_;
  std::uint16_t status_;
  std::uint8_t traceparent_size_;
  std::array<char, telemetry::kTraceparentSize> traceparent_;
  FineTime begun_, sent_at_, waits_since_;
  std::int64_t head_us_, wait_us_;
  std::uint64_t bytes_in_, bytes_out_;
  telemetry::RequestFacts* facts_;  ///< null: the log and the traces want nothing of it so far
};

/// The notes of one worker's sessions, and where they go: histograms, access log, traces.
class NoteBook {
 public:
  NoteBook(net::Worker& worker, const Settings& settings, RequestIds& ids) noexcept
      : worker_(worker), settings_(settings), ids_(ids) {}
  /// Either may be null: nothing goes there. Both outlive the sessions.
  void use(telemetry::RequestSink* sink, telemetry::LatencyCells* latency) noexcept {
    sink_ = sink;
    latency_ = latency;
  }

  /// A request begins. `head`: null if it could not be read. `first`: when its first byte came.
  Notes& begin(const net::RequestHead* head, const Peer& peer, TimePoint first);
  void waits(Notes& notes) noexcept {
    end_wait(notes);
    notes.waits_since_ = worker_.fine_now();
  }
  /// The verdict is here, and it is not `wait`.
  void judged(Notes& notes, const Request& request, const gate::Decision& decision,
              const Peer& peer);
  /// On its way to the app, perhaps once more.
  void sent(Notes& notes, bool connecting) noexcept;
  void connected(Notes& notes) noexcept;
  /// The head of the app's answer is here.
  void answered(Notes& notes, int status) noexcept;
  /// The request is not judged: to_event() does not take it, or it ends while its body is read or
  /// while it waits. Of `request` only the client, method, host and target are read. Harmless if it
  /// was judged.
  void unjudged(Notes& notes, const Request& request, const Peer& peer) noexcept;
  /// weir answers itself.
  void replied(Notes& notes, int status, const Peer& peer) noexcept;
  /// Nothing of it is left to note; `notes` becomes null. Harmless if it is.
  void end(Notes*& notes) noexcept;

 private:
  telemetry::RequestFacts* begin_unjudged(Notes& notes, const Peer& peer) noexcept;
  void trace(Notes& notes, const Request& request, const Peer& peer);
  void fill(Notes& notes, const Request& request, const gate::Decision& decision,
            const Peer& peer) noexcept;
  void end_wait(Notes& notes) noexcept {
    if (notes.waits_since_ == FineTime{}) return;
    notes.wait_us_ += since(notes.waits_since_);
    notes.waits_since_ = {};
  }
  std::int64_t since(FineTime time) const noexcept { return (worker_.fine_now() - time).count(); }

  net::Worker& worker_;
  const Settings& settings_;
  RequestIds& ids_;
  telemetry::RequestSink* sink_ = nullptr;
  telemetry::LatencyCells* latency_ = nullptr;
  telemetry::TraceContext trace_;         // of the request under judgement
  std::array<std::uint8_t, 8> parent_{};  // and whose child weir's span is
  Spares<Notes> notes_;
};

}  // namespace weir::proxy
