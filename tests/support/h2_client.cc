#include "tests/support/h2_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

namespace weir::test {
namespace {

void set_patience(int fd) {
  timeval patience{10, 0};
  const int one = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));  // no matter on a Unix socket
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

net::Fd connect_h2(std::uint16_t port) {
  net::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof(to)) != 0) {
    throw std::runtime_error("h2_client: can't connect");
  }
  set_patience(fd.get());
  return fd;
}

net::Fd connect_h2(const std::string& path) {
  net::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, path.data(), std::min(path.size(), sizeof(to.sun_path) - 1));
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof(to)) != 0) {
    throw std::runtime_error("h2_client: can't connect");
  }
  set_patience(fd.get());
  return fd;
}

bool send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

struct H2Callbacks {
  static H2Client& self(void* user) { return *static_cast<H2Client*>(user); }

  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                       std::uint8_t, void* user) {
    self(user)
        .replies_[frame->hd.stream_id]
        .fields[std::string(reinterpret_cast<const char*>(name), name_size)] =
        std::string(reinterpret_cast<const char*>(value), value_size);
    return 0;
  }
  static int on_data(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data,
                     std::size_t size, void* user) {
    self(user).replies_[id].body.append(reinterpret_cast<const char*>(data), size);
    return 0;
  }
  static int on_close(nghttp2_session*, std::int32_t id, std::uint32_t code, void* user) {
    GrpcReply& reply = self(user).replies_[id];
    reply.closed = true;
    reply.code = code;
    return 0;
  }
  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    H2Client& client = self(user);
    if (frame->hd.type == NGHTTP2_GOAWAY) {
      client.goaways.push_back({frame->goaway.last_stream_id, frame->goaway.error_code});
    }
    if (frame->hd.type == NGHTTP2_PING) {
      ((frame->hd.flags & NGHTTP2_FLAG_ACK) != 0 ? client.pongs : client.pings)++;
    }
    if (frame->hd.type == NGHTTP2_SETTINGS) {
      for (std::size_t i = 0; i < frame->settings.niv; ++i) {
        client.settings[frame->settings.iv[i].settings_id] = frame->settings.iv[i].value;
      }
    }
    return 0;
  }
  static ssize_t read(nghttp2_session*, std::int32_t, std::uint8_t* into, std::size_t room,
                      std::uint32_t* flags, nghttp2_data_source* source, void*) {
    auto& upload = *static_cast<H2Client::Upload*>(source->ptr);
    const std::size_t n = std::min(room, upload.bytes.size() - upload.sent);
    std::memcpy(into, upload.bytes.data() + upload.sent, n);
    upload.sent += n;
    if (upload.sent != upload.bytes.size()) return static_cast<ssize_t>(n);
    if (!upload.end) {
      if (n == 0) return NGHTTP2_ERR_DEFERRED;
      return static_cast<ssize_t>(n);
    }
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(n);
  }
};

H2Client::H2Client(std::uint16_t port, Fields settings_wanted) : fd_(connect_h2(port)) {
  begin_session(settings_wanted);
}
H2Client::H2Client(const std::string& unix_path) : fd_(connect_h2(unix_path)) { begin_session({}); }
H2Client::~H2Client() = default;

void H2Client::begin_session(const Fields& settings_wanted) {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, H2Callbacks::on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, H2Callbacks::on_data);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, H2Callbacks::on_close);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, H2Callbacks::on_frame);
  nghttp2_session* session = nullptr;
  nghttp2_session_client_new(&session, callbacks, this);
  nghttp2_session_callbacks_del(callbacks);
  session_.reset(session);
  std::vector<nghttp2_settings_entry> entries;
  for (const auto& [id, value] : settings_wanted) {
    entries.push_back({std::stoi(id), static_cast<std::uint32_t>(std::stoul(value))});
  }
  nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, entries.data(), entries.size());
}

std::string H2Client::prefixed(std::string_view message, char flag) {
  std::string out(1, flag);
  for (int shift = 24; shift >= 0; shift -= 8) {
    out += static_cast<char>(message.size() >> shift);
  }
  return out.append(message);
}

std::int32_t H2Client::begin(std::string_view path, std::string body, bool end) {
  Fields all = {{":method", "POST"},    {":scheme", "http"}, {":path", std::string(path)},
                {":authority", "weir"}, {"te", "trailers"},  {"content-type", "application/grpc"}};
  for (const auto& [name, value] : std::exchange(fields, {})) {
    const auto found =
        std::find_if(all.begin(), all.end(), [&n = name](const auto& f) { return f.first == n; });
    if (found == all.end()) {
      all.emplace_back(name, value);
    } else if (value.empty()) {
      all.erase(found);
    } else {
      found->second = value;
    }
  }
  std::vector<nghttp2_nv> list;
  for (auto& [name, value] : all) {
    list.push_back({reinterpret_cast<std::uint8_t*>(name.data()),
                    reinterpret_cast<std::uint8_t*>(value.data()), name.size(), value.size(),
                    NGHTTP2_NV_FLAG_NONE});
  }
  auto upload = std::make_unique<Upload>(Upload{std::move(body), 0, end});
  nghttp2_data_provider provider;
  provider.source.ptr = upload.get();
  provider.read_callback = H2Callbacks::read;
  const bool nothing = upload->bytes.empty() && end;
  const std::int32_t id = nghttp2_submit_request(session_.get(), nullptr, list.data(), list.size(),
                                                 nothing ? nullptr : &provider, nullptr);
  uploads_[id] = std::move(upload);
  return id;
}

GrpcReply H2Client::call(std::string_view path, std::string_view message) {
  return finish(begin(path, prefixed(message)));
}

GrpcReply H2Client::finish(std::int32_t id) {
  while (!replies_[id].closed && pump()) {
  }
  return replies_[id];
}

void H2Client::send() {
  for (;;) {
    const std::uint8_t* data = nullptr;
    const ssize_t n = nghttp2_session_mem_send(session_.get(), &data);
    if (n <= 0) return;
    if (!send_all(fd_.get(), {reinterpret_cast<const char*>(data), static_cast<std::size_t>(n)})) {
      return;
    }
  }
}

bool H2Client::pump() {
  send();
  std::array<std::uint8_t, 16384> bytes;
  const ssize_t n = ::recv(fd_.get(), bytes.data(), bytes.size(), 0);
  if (n <= 0) {
    ended = true;
    return false;
  }
  nghttp2_session_mem_recv(session_.get(), bytes.data(), static_cast<std::size_t>(n));
  send();
  return true;
}

RawH2::RawH2(std::uint16_t port) : fd_(connect_h2(port)) {}

std::string RawH2::frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream,
                         std::string_view payload) {
  std::string out;
  for (int shift = 16; shift >= 0; shift -= 8) out += static_cast<char>(payload.size() >> shift);
  out += static_cast<char>(type);
  out += static_cast<char>(flags);
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(stream >> shift);
  return out.append(payload);
}

std::string RawH2::literal(const H2Client::Fields& fields) {
  const auto text = [](std::string& out, const std::string& value) {
    if (value.size() < 127) {
      out += static_cast<char>(value.size());
    } else {  // RFC 7541, section 5.1, with a prefix of 7 bits
      out += static_cast<char>(127);
      std::size_t rest = value.size() - 127;
      for (; rest >= 128; rest >>= 7) out += static_cast<char>(rest % 128 + 128);
      out += static_cast<char>(rest);
    }
    out += value;
  };
  std::string out;
  for (const auto& [name, value] : fields) {
    out += '\0';  // literal, not indexed, with a new name
    text(out, name);
    text(out, value);
  }
  return out;
}

H2Client::Fields RawH2::call_fields(std::string_view path) {
  return {{":method", "POST"},    {":scheme", "http"}, {":path", std::string(path)},
          {":authority", "weir"}, {"te", "trailers"},  {"content-type", "application/grpc"}};
}

void RawH2::greet() { send(std::string(kPreface) + frame(NGHTTP2_SETTINGS, 0, 0)); }

bool RawH2::send(std::string_view bytes) { return send_all(fd_.get(), bytes); }

bool RawH2::fill() {
  std::array<char, 65536> bytes;
  const ssize_t n = ::recv(fd_.get(), bytes.data(), bytes.size(), 0);
  if (n <= 0) return false;
  in_.append(bytes.data(), static_cast<std::size_t>(n));
  return true;
}

RawH2::Frame RawH2::read() {
  while (in_.size() < 9) {
    if (!fill()) return {};
  }
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(in_[i]));
  };
  const std::size_t size = byte(0) << 16 | byte(1) << 8 | byte(2);
  while (in_.size() < 9 + size) {
    if (!fill()) return {};
  }
  Frame out;
  out.type = static_cast<std::uint8_t>(byte(3));
  out.flags = static_cast<std::uint8_t>(byte(4));
  out.stream = byte(5) << 24 | byte(6) << 16 | byte(7) << 8 | byte(8);
  out.payload = in_.substr(9, size);
  in_.erase(0, 9 + size);
  return out;
}

RawH2::Frame RawH2::read_to(std::uint8_t type) {
  for (;;) {
    Frame frame = read();
    if (frame.type == type || frame.type == 0xFF) return frame;
  }
}

int RawH2::goaway_code() {
  const Frame frame = read_to(NGHTTP2_GOAWAY);
  if (frame.payload.size() < 8) return -1;
  return static_cast<unsigned char>(frame.payload[7]);
}

bool RawH2::at_end() {
  for (;;) {
    std::array<char, 65536> bytes;
    const ssize_t n = ::recv(fd_.get(), bytes.data(), bytes.size(), 0);
    if (n > 0) continue;
    return n == 0 || errno == ECONNRESET || errno == EPIPE;
  }
}

}  // namespace weir::test
