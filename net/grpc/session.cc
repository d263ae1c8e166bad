// The callbacks between libnghttp2 and a connection.
#include "net/grpc/connection.h"
#include "net/grpc/context.h"
#include "net/grpc/stream.h"

namespace weir::net::grpc {

using telemetry::Metric;

/// From C to the connection. Nothing may be thrown through libnghttp2.
struct Callbacks {
  template <class Step>
  static int guarded(void* connection, Step step) noexcept {
    Connection& to = *static_cast<Connection*>(connection);
    try {
      return step(to);
    } catch (const std::exception&) {
      to.broken_ = true;
      return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
  }

  static int begin_frame(nghttp2_session*, const nghttp2_frame_hd* head, void* connection) {
    return guarded(connection, [&](Connection& to) { return to.on_begin_frame(*head); });
  }
  static int begin_fields(nghttp2_session*, const nghttp2_frame* frame, void* connection) {
    return guarded(connection, [&](Connection& to) { return to.on_begin_fields(*frame); });
  }
  static int field(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                   std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                   std::uint8_t /*flags*/, void* connection) {
    return guarded(connection, [&](Connection& to) -> int {
      Stream* const stream = to.stream_of(frame->hd.stream_id);
      if (stream == nullptr) return 0;
      stream->on_field({reinterpret_cast<const char*>(name), name_size},
                       {reinterpret_cast<const char*>(value), value_size});
      // The rest of the list is decoded, to keep the table correct, and not reported.
      return to.abuse_ != Abuse::none ? int{NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE} : 0;
    });
  }
  static int data(nghttp2_session*, std::uint8_t /*flags*/, std::int32_t id,
                  const std::uint8_t* bytes, std::size_t size, void* connection) {
    return guarded(connection, [&](Connection& to) {
      Stream* const stream = to.stream_of(id);
      if (stream != nullptr) stream->on_data({reinterpret_cast<const char*>(bytes), size});
      return 0;
    });
  }
  static int frame(nghttp2_session*, const nghttp2_frame* frame, void* connection) {
    return guarded(connection, [&](Connection& to) { return to.on_frame(*frame); });
  }
  static int sent(nghttp2_session*, const nghttp2_frame* frame, void* connection) {
    return guarded(connection, [&](Connection& to) { return to.on_frame_sent(*frame); });
  }
  static int closed(nghttp2_session*, std::int32_t id, std::uint32_t /*code*/, void* connection) {
    return guarded(connection, [&](Connection& to) { return to.on_stream_closed(id); });
  }
  static int invalid(nghttp2_session*, const nghttp2_frame*, int /*error*/, void* connection) {
    return guarded(connection, [&](Connection& to) {
      to.ctx_.metrics.add(Metric::grpc_malformed);
      return 0;
    });
  }
};

namespace {

/// libnghttp2 takes 8 CONTINUATIONs of a list by default: Debian's 1.52, and 1.61 and later. Others
/// have no such limit, and no such function.
template <class Option>
auto take_continuations(Option* option, int /*preferred*/)
    -> decltype(nghttp2_option_set_max_continuations(option, std::size_t{})) {
  nghttp2_option_set_max_continuations(option, FrameMeter::kContinuationsMax);
}
template <class Option>
void take_continuations(Option* /*option*/, long /*otherwise*/) {}

}  // namespace

void prepare_sessions(Context& context) {
  nghttp2_session_callbacks* callbacks = nullptr;
  if (nghttp2_session_callbacks_new(&callbacks) != 0) throw std::bad_alloc();
  context.callbacks.reset(callbacks);
  nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, Callbacks::begin_frame);
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, Callbacks::begin_fields);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, Callbacks::field);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, Callbacks::data);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, Callbacks::frame);
  nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, Callbacks::sent);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, Callbacks::closed);
  nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, Callbacks::invalid);
  nghttp2_option* option = nullptr;
  if (nghttp2_option_new(&option) != 0) throw std::bad_alloc();
  context.option.reset(option);
  nghttp2_option_set_no_closed_streams(option, 1);
  take_continuations(option, 0);
  // Connection::resets_ counts them by their cost, and forgives those of busy peers.
  constexpr std::uint64_t kResets = 1 << 20;
  nghttp2_option_set_stream_reset_rate_limit(option, kResets, kResets);
}

Stream* Connection::stream_of(std::int32_t id) const noexcept {
  return static_cast<Stream*>(nghttp2_session_get_stream_user_data(session_.get(), id));
}

// Connection errors of RFC 9113 that libnghttp2 does not report: it ignores HEADERS of every stream
// that is closed, and PRIORITY.
int Connection::on_begin_frame(const nghttp2_frame_hd& head) {
  if (head.type == NGHTTP2_HEADERS &&
      skipped_.on_headers(static_cast<std::uint32_t>(head.stream_id))) {
    shut_out(Abuse::protocol);
  }
  if (head.type == NGHTTP2_PRIORITY && head.stream_id == 0) shut_out(Abuse::protocol);
  return 0;
}

int Connection::on_begin_fields(const nghttp2_frame& frame) {
  if (frame.headers.cat != NGHTTP2_HCAT_REQUEST || abuse_ != Abuse::none) return 0;
  Stream* stream = ctx_.free_streams;
  if (stream != nullptr) {
    ctx_.free_streams = stream->next_;
  } else {
    stream = new Stream(ctx_);
  }
  stream->previous_ = nullptr;
  stream->next_ = streams_;
  if (streams_ != nullptr) streams_->previous_ = stream;
  streams_ = stream;
  stream->open(*this, frame.hd.stream_id);
  nghttp2_session_set_stream_user_data(session_.get(), frame.hd.stream_id, stream);
  return 0;
}

int Connection::on_frame(const nghttp2_frame& frame) {
  const std::uint8_t type = frame.hd.type;
  if (type == NGHTTP2_PING && (frame.hd.flags & NGHTTP2_FLAG_ACK) == 0) {
    ctx_.metrics.add(Metric::grpc_pings);
    return 0;
  }
  if (type != NGHTTP2_HEADERS && type != NGHTTP2_DATA && type != NGHTTP2_RST_STREAM) return 0;
  Stream* const stream = stream_of(frame.hd.stream_id);
  if (stream == nullptr) return 0;
  if (type == NGHTTP2_RST_STREAM) {
    // If a call waits for reservations or a delay, its client gives it up, not the proxy that sends
    // the reset: it has cost no more than one that was answered.
    if (stream->has_waited(ctx_.worker.now())) {
      meter_.call_answered();
    } else if (!stream->is_answered() && !resets_.spend(1)) {
      shut_out(Abuse::resets);
    }
    return 0;  // on_stream_closed() comes next
  }
  if (type == NGHTTP2_HEADERS && frame.headers.cat == NGHTTP2_HCAT_REQUEST) {
    stream->on_fields_end();
  }
  if (type == NGHTTP2_DATA && stream->is_reading()) meter_.data_taken();
  if ((frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) stream->on_end();
  return 0;
}

int Connection::on_frame_sent(const nghttp2_frame& frame) {
  const bool ends = (frame.hd.type == NGHTTP2_HEADERS || frame.hd.type == NGHTTP2_DATA) &&
                    (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  if (!ends) return 0;
  Stream* const stream = stream_of(frame.hd.stream_id);
  if (stream == nullptr) return 0;
  stream->on_answered();
  used_ = ctx_.worker.now();
  meter_.call_answered();
  resets_.earn(1);
  // The answer came before the end of the question: the peer is to send no more of it.
  if (stream->peer_may_send()) {
    nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, frame.hd.stream_id,
                              NGHTTP2_NO_ERROR);
  }
  return 0;
}

int Connection::on_stream_closed(std::int32_t id) {
  Stream* stream = nullptr;
  if (session_ != nullptr) {
    stream = stream_of(id);
  }
  if (stream == nullptr) {
    for (stream = streams_; stream != nullptr && stream->id_ != id;) stream = stream->next_;
    if (stream == nullptr) return 0;
  }
  if (session_ != nullptr) nghttp2_session_set_stream_user_data(session_.get(), id, nullptr);
  stream->close();
  (stream->previous_ != nullptr ? stream->previous_->next_ : streams_) = stream->next_;
  if (stream->next_ != nullptr) stream->next_->previous_ = stream->previous_;
  stream->next_ = ctx_.free_streams;
  ctx_.free_streams = stream;
  return 0;
}

void Connection::submit(Stream& stream, std::span<const nghttp2_nv> fields,
                        const nghttp2_data_provider* answer) noexcept {
  touch();
  // No memory: nothing else is left, the stream is open and has no answer.
  if (nghttp2_submit_response(session_.get(), stream.id(), fields.data(), fields.size(), answer) !=
      0) {
    give_up();
  }
}

void Connection::resume(Stream& stream) noexcept {
  touch();
  const int error = nghttp2_session_resume_data(session_.get(), stream.id());
  if (error == NGHTTP2_ERR_NOMEM) give_up();  // others: it has not stopped, or has not begun
}

bool Connection::submit_trailer(Stream& stream, const nghttp2_nv& field) noexcept {
  return nghttp2_submit_trailer(session_.get(), stream.id(), &field, 1) == 0;
}

void Connection::reset(Stream& stream, std::uint32_t code) noexcept {
  touch();
  nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, stream.id(), code);
}

}  // namespace weir::net::grpc
