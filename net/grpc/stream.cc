#include "net/grpc/stream.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <exception>
#include <utility>

#include "core/assert.h"
#include "core/no_memory.h"
#include "net/grpc/connection.h"
#include "net/grpc/context.h"
#include "net/grpc/wire.h"

namespace weir::net::grpc {
namespace {

using telemetry::Metric;

constexpr std::size_t kFieldOverhead = 32;  // RFC 9113, section 6.5.2
// A list of fields that is this many times larger than the limit ends the connection, not only its
// call: it has been decoded up to here for nothing.
constexpr std::uint32_t kFieldsShutOut = 16;
constexpr std::size_t kWhyMax = 1 << 10;
// An answer from here on is worth compressing for a peer whose message was not.
constexpr std::size_t kWorthCompressing = 1 << 10;
constexpr std::string_view kCodings = "identity,gzip,deflate";

nghttp2_nv field(std::string_view name, std::string_view value) noexcept {
  const auto bytes = [](std::string_view text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NO_COPY_NAME};
}

/// The fields of a head, and how many.
struct Fields {
  std::array<nghttp2_nv, 6> all;
  std::size_t count = 0;
  void add(std::string_view name, std::string_view value) noexcept {
    all[count++] = field(name, value);
  }
};

std::string_view number_of(Status status, std::array<char, 2>& text) noexcept {
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), static_cast<unsigned>(status)).ptr;
  return {text.data(), static_cast<std::size_t>(end - text.data())};
}

ssize_t read_stream(nghttp2_session* /*session*/, std::int32_t /*id*/, std::uint8_t* into,
                    std::size_t room, std::uint32_t* flags, nghttp2_data_source* source,
                    void* /*connection*/) {
  return static_cast<Stream*>(source->ptr)->read_answer(into, room, flags);
}

Metric metric_of(Status status) noexcept {
  switch (status) {
    case Status::ok:
      return Metric::grpc_ok;
    case Status::cancelled:
      return Metric::grpc_cancelled;
    case Status::deadline_exceeded:
      return Metric::grpc_deadline_exceeded;
    case Status::resource_exhausted:
      return Metric::grpc_resource_exhausted;
    case Status::unimplemented:
      return Metric::grpc_unimplemented;
    case Status::internal:
      return Metric::grpc_internal;
    case Status::unavailable:
      return Metric::grpc_unavailable;
    default:
      return Metric::grpc_other;
  }
}

}  // namespace

void Stream::open(Connection& connection, std::int32_t id) {
  connection_ = &connection;
  id_ = id;
  state_ = State::reading;
  method_ = nullptr;
  pending_ = nullptr;
  coding_ = Coding::identity;
  path_ = Path::none;
  is_post_ = is_grpc_ = bad_timeout_ = accepts_gzip_ = names_codings_ = false;
  compressed_ = too_many_fields_ = fields_ended_ = peer_ended_ = streaming_ = false;
  status_ = Status::ok;
  fields_bytes_ = fields_counted_ = 0;
  noted_ = 0;
  deadline_ = TimePoint::max();
  ctx_.worker.wheel().arm(*this, ctx_.worker.now() + ctx_.settings.message);
}

void Stream::close() {
  if (state_ == State::closed) return;
  const State state = std::exchange(state_, State::closed);
  Wheel::disarm(*this);
  if (state == State::waiting && pending_ != nullptr) {
    std::exchange(pending_, nullptr)->cancelled(ctx_.worker.now());
  }
  if (state == State::reading || state == State::waiting) {
    ctx_.metrics.add(Metric::grpc_cancelled);
  }
  in_.clear();
  out_.clear();
  recount();
}

void Stream::on_field(std::string_view name, std::string_view value) {
  const auto limits_reached = [&] {
    return fields_counted_ / static_cast<std::uint32_t>(ctx_.settings.field_bytes);
  };
  const std::uint32_t before = limits_reached();
  fields_counted_ += static_cast<std::uint32_t>(name.size() + value.size() + kFieldOverhead);
  if (fields_counted_ > ctx_.settings.field_bytes) {
    too_many_fields_ = true;
    const std::uint32_t limits = limits_reached();
    if (limits >= kFieldsShutOut || !connection_->meter_.take_fields(limits - before))
      connection_->shut_out(Abuse::fields);
    return;
  }
  if (state_ != State::reading || fields_ended_) return;  // trailers are ignored
  if (name.front() == ':') {
    if (name == ":method") {
      is_post_ = value == "POST";
    } else if (name == ":path") {
      path_ = Path::unknown;
      for (Method* method : ctx_.methods) {
        if (method->path() != value) continue;
        method_ = method;
        path_ = Path::known;
        break;
      }
    }
    return;
  }
  if (name == "content-type") {
    is_grpc_ = grpc::is_grpc(value);
  } else if (name == "grpc-timeout") {
    const auto timeout = parse_timeout(value);
    bad_timeout_ = !timeout;
    if (timeout) deadline_ = ctx_.worker.now() + *timeout;
  } else if (name == "grpc-encoding") {
    coding_ = value == "identity"  ? Coding::identity
              : value == "gzip"    ? Coding::gzip
              : value == "deflate" ? Coding::deflate
                                   : Coding::unknown;
  } else if (name == "grpc-accept-encoding") {
    names_codings_ = true;
    accepts_gzip_ = names_coding(value, "gzip");
  } else if (name != "te") {
    keep_field(name, value);
  }
}

// Two lengths of two bytes each, then name and value.
void Stream::keep_field(std::string_view name, std::string_view value) {
  const auto room = in_.room(ctx_.worker.blocks(), 4 + name.size() + value.size());
  const auto name_size = static_cast<std::uint16_t>(name.size());
  const auto value_size = static_cast<std::uint16_t>(value.size());
  char* to = room.data();
  std::memcpy(to, &name_size, 2);
  std::memcpy(to + 2, &value_size, 2);
  std::memcpy(to + 4, name.data(), name.size());
  std::memcpy(to + 4 + name.size(), value.data(), value.size());
  in_.added(4 + name.size() + value.size());
  recount();
}

std::string_view Stream::metadata(std::string_view name) const noexcept {
  std::string_view rest = in_.view().substr(0, fields_bytes_);
  while (!rest.empty()) {
    std::uint16_t name_size = 0;
    std::uint16_t value_size = 0;
    std::memcpy(&name_size, rest.data(), 2);
    std::memcpy(&value_size, rest.data() + 2, 2);
    if (rest.substr(4, name_size) == name) return rest.substr(4 + name_size, value_size);
    rest.remove_prefix(std::size_t{4} + name_size + value_size);
  }
  return {};
}

const Address& Stream::peer() const noexcept { return connection_->peer(); }

bool Stream::is_memory_short() const noexcept { return ctx_.is_filling(); }

void Stream::on_fields_end() {
  if (state_ != State::reading) return;
  fields_ended_ = true;
  fields_bytes_ = static_cast<std::uint32_t>(in_.size());
  if (!is_post_) return answer_http("405");
  if (!is_grpc_) return answer_http("415");
  if (too_many_fields_) return fail(Status::resource_exhausted, "too much metadata");
  if (path_ != Path::known) return fail(Status::unimplemented, "no such method here");
  if (bad_timeout_) return fail(Status::internal, "grpc-timeout is not a timeout");
  const TimePoint now = ctx_.worker.now();
  if (deadline_ <= now) return fail(Status::deadline_exceeded, "the deadline has passed");
  if (deadline_ < now + ctx_.settings.message) ctx_.worker.wheel().arm(*this, deadline_);
}

void Stream::on_data(std::string_view bytes) {
  if (state_ != State::reading) return;
  in_.append(ctx_.worker.blocks(), bytes);
  recount();
  const std::string_view received = in_.view().substr(fields_bytes_);
  if (received.size() < kPrefixBytes) return;
  const Prefix prefix = read_prefix(received);
  if (prefix.flag > 1) return fail(Status::internal, "the message has no valid prefix");
  if (prefix.bytes > ctx_.settings.message_bytes) {
    return fail(Status::resource_exhausted, "the message is larger than is taken here");
  }
  if (prefix.flag == 1 && coding_ != Coding::gzip && coding_ != Coding::deflate) {
    return fail(Status::unimplemented, "the message is in a coding that is not known here");
  }
  if (received.size() > kPrefixBytes + prefix.bytes) {
    return fail(Status::internal, "a call of this method has one message");
  }
}

void Stream::on_end() {
  peer_ended_ = true;
  if (state_ != State::reading) return;
  const std::string_view received = in_.view().substr(fields_bytes_);
  if (received.empty()) return fail(Status::internal, "the call has no message");
  if (received.size() < kPrefixBytes ||
      received.size() != kPrefixBytes + read_prefix(received).bytes) {
    return fail(Status::internal, "the message is cut short");
  }
  compressed_ = received.front() == 1;
  if (compressed_ && !decompress()) return;
  start();
}

// False: the call has been answered.
bool Stream::decompress() {
  const ContentCoding coding =
      coding_ == Coding::gzip ? ContentCoding::gzip : ContentCoding::deflate;
  const auto decoded = ctx_.inflater.decode(coding, in_.view().substr(fields_bytes_ + kPrefixBytes),
                                            ctx_.settings.message_bytes);
  switch (decoded.status) {
    case ContentDecoder::Status::complete:
      break;
    case ContentDecoder::Status::too_large:
      fail(Status::resource_exhausted, "the message is larger than is taken here");
      return false;
    case ContentDecoder::Status::broken:
      fail(Status::internal, "the message cannot be decompressed");
      return false;
  }
  in_.truncate(fields_bytes_ + kPrefixBytes);
  in_.append(ctx_.worker.blocks(), decoded.body);
  recount();
  return true;
}

std::string_view Stream::message() const noexcept {
  return in_.view().substr(fields_bytes_ + kPrefixBytes);
}

void Stream::start() {
  const TimePoint now = ctx_.worker.now();
  state_ = State::waiting;
  waits_since_ = now;
  // From now on it is the service that takes its time, within what the peer grants.
  if (deadline_ == TimePoint::max()) {
    Wheel::disarm(*this);
  } else {
    ctx_.worker.wheel().arm(*this, deadline_);
  }
  // A method that throws has let go of the call.
  if (!survives_no_memory([&] { method_->start(*this, now); }) && state_ == State::waiting) {
    return fail(Status::resource_exhausted, "there is no memory for the call");
  }
  WEIR_ASSERT(state_ != State::waiting || pending_ != nullptr);
  if (connection_->drain_ == Connection::Drain::final) end_streaming(now);
}

void Stream::end_streaming(TimePoint now) {
  if (!streaming_ || state_ != State::waiting) return;
  std::exchange(pending_, nullptr)->cancelled(now);
  fail(Status::unavailable, "the server ends the connection");
}

void Stream::send(std::string_view message) {
  WEIR_ASSERT(state_ == State::waiting && pending_ != nullptr);
  const bool sent = survives_no_memory([&] {
    put_message({0, static_cast<std::uint32_t>(message.size())}, message);
    if (streaming_) return connection_->resume(*this);
    streaming_ = true;
    submit_head(false);
  });
  if (!sent) connection_->give_up();
}

void Stream::complete(std::string_view message) {
  WEIR_ASSERT(state_ == State::waiting && !streaming_);
  pending_ = nullptr;
  if (survives_no_memory([&] { answer(message); })) return;
  // The service has let go of the call: it may not wait any longer.
  fail(Status::resource_exhausted, "there is no memory for the answer");
}

void Stream::answer(std::string_view message) {
  const bool compress = accepts_gzip_ && (compressed_ || message.size() >= kWorthCompressing);
  Prefix prefix;
  if (compress) {
    if (const auto packed = ctx_.deflater.gzip(message)) {
      prefix.flag = 1;
      message = *packed;
    }
  }
  prefix.bytes = static_cast<std::uint32_t>(message.size());
  put_message(prefix, message);
  begin_answer();  // after the copy: an answer may be made of the question
  submit_head(prefix.flag == 1);
}

void Stream::put_message(Prefix prefix, std::string_view message) {
  const auto room = out_.room(ctx_.worker.blocks(), kPrefixBytes + message.size());
  write_prefix(room.data(), prefix);
  std::memcpy(room.data() + kPrefixBytes, message.data(), message.size());
  out_.added(kPrefixBytes + message.size());
  recount();
}

void Stream::submit_head(bool compressed) {
  Fields fields;
  fields.add(":status", "200");
  fields.add("content-type", "application/grpc");
  if (compressed) fields.add("grpc-encoding", "gzip");
  if (names_codings_) fields.add("grpc-accept-encoding", kCodings);
  nghttp2_data_provider provider;
  provider.source.ptr = this;
  provider.read_callback = read_stream;
  connection_->submit(*this, {fields.all.data(), fields.count}, &provider);
}

void Stream::fail(Status status, std::string_view why) {
  WEIR_ASSERT(state_ == State::waiting || state_ == State::reading);
  WEIR_ASSERT(status != Status::ok);
  ctx_.text.clear();
  append_escaped(ctx_.text, why, kWhyMax);
  begin_answer();
  status_ = status;
  if (streaming_) return connection_->resume(*this);  // the trailer carries the status
  std::array<char, 2> number;
  Fields fields;
  fields.add(":status", "200");
  fields.add("content-type", "application/grpc");
  fields.add("grpc-status", number_of(status, number));
  fields.add("grpc-message", ctx_.text);
  if (names_codings_ || coding_ == Coding::unknown) fields.add("grpc-accept-encoding", kCodings);
  connection_->submit(*this, {fields.all.data(), fields.count}, nullptr);
}

// A peer that does not use gRPC gets an HTTP answer.
void Stream::answer_http(std::string_view status) {
  begin_answer();
  status_ = Status::unknown;
  Fields fields;
  fields.add(":status", status);
  if (status == "405") fields.add("allow", "POST");
  connection_->submit(*this, {fields.all.data(), fields.count}, nullptr);
}

void Stream::begin_answer() noexcept {
  state_ = State::answering;
  pending_ = nullptr;
  in_.clear();
  recount();
  ctx_.worker.wheel().arm(*this, ctx_.worker.now() + ctx_.settings.write);
}

ssize_t Stream::read_answer(std::uint8_t* into, std::size_t room, std::uint32_t* flags) {
  const bool more = state_ != State::answering;  // of a stream of answers
  if (more && out_.empty()) return NGHTTP2_ERR_DEFERRED;
  const std::size_t n = std::min(room, out_.size());
  if (n != 0) {  // a stream may end without another answer
    std::memcpy(into, out_.data(), n);
    out_.consume(n);
    recount();
  }
  if (out_.empty() && !more) {
    *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    std::array<char, 2> number;
    const nghttp2_nv trailer = field("grpc-status", number_of(status_, number));
    if (!connection_->submit_trailer(*this, trailer)) return NGHTTP2_ERR_CALLBACK_FAILURE;
  }
  return static_cast<ssize_t>(n);
}

void Stream::on_answered() {
  state_ = State::answered;
  ctx_.metrics.add(metric_of(status_));
}

void Stream::on_timer(TimePoint now) {
  connection_->guarded([&] { take_timer(now); });
}

void Stream::take_timer(TimePoint now) {
  switch (state_) {
    case State::reading:
      ctx_.metrics.add(Metric::timeout_grpc_message);
      return fail(Status::deadline_exceeded, "the message did not come in time");
    case State::waiting:
      std::exchange(pending_, nullptr)->cancelled(now);
      return fail(Status::deadline_exceeded, "the deadline has passed");
    case State::answering:
      ctx_.metrics.add(Metric::timeout_grpc_answer);
      return connection_->reset(*this, NGHTTP2_CANCEL);
    case State::closed:
    case State::answered:
      return;
  }
}

void Stream::recount() noexcept {
  const std::size_t held = in_.held() + out_.held();
  ctx_.stream_bytes += held - noted_;
  connection_->stream_bytes_ += held - noted_;
  noted_ = held;
}

}  // namespace weir::net::grpc
