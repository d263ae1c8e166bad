#include "net/tls.h"

#include <malloc.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "core/address.h"

namespace weir::net {
namespace {

/// Bytes that OpenSSL has allocated on this thread and not freed. A connection can make it keep
/// anything from 30 KiB to 150 KiB (a ClientHello that announces its most), so a guess would be no
/// bound.
thread_local std::int64_t allocated = 0;

void* take(std::size_t bytes, const char*, int) {
  void* const at = bytes == 0 ? nullptr : std::malloc(bytes);
  if (at != nullptr) allocated += static_cast<std::int64_t>(::malloc_usable_size(at));
  return at;
}
void give_back(void* at, const char*, int) {
  if (at != nullptr) allocated -= static_cast<std::int64_t>(::malloc_usable_size(at));
  std::free(at);
}
void* resize(void* at, std::size_t bytes, const char* file, int line) {
  if (bytes == 0) {
    give_back(at, file, line);
    return nullptr;
  }
  const std::size_t before = at == nullptr ? 0 : ::malloc_usable_size(at);
  void* const out = std::realloc(at, bytes);
  if (out == nullptr) return nullptr;
  allocated +=
      static_cast<std::int64_t>(::malloc_usable_size(out)) - static_cast<std::int64_t>(before);
  return out;
}

bool is_counted = false;

/// OpenSSL takes these functions before its first allocation only: this comes before what other
/// sources do at the start.
[[gnu::constructor(101)]] void count_allocations() {
  is_counted = CRYPTO_set_mem_functions(take, resize, give_back) == 1;
}

std::string tls_error() {
  char text[256] = "unknown";
  if (const unsigned long code = ERR_peek_last_error(); code != 0)
    ERR_error_string_n(code, text, sizeof text);
  ERR_clear_error();
  return text;
}

long bio_control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

// Memory that one call takes: a handshake with long chains of certificates, and a read of four
// records.
constexpr std::size_t kHandshakeRoom = 256 << 10, kReadRoom = 64 << 10;

}  // namespace

/// OpenSSL's way to the socket.
struct TlsSocket {
  static TlsSession::Link& of(BIO* bio) noexcept {
    return *static_cast<TlsSession::Link*>(BIO_get_data(bio));
  }
  static int write(BIO* bio, const char* bytes, int length) {
    BIO_clear_retry_flags(bio);
    const IoResult sent =
        net::transmit(of(bio).fd, std::string_view(bytes, static_cast<std::size_t>(length)));
    if (sent.bytes > 0) return static_cast<int>(sent.bytes);
    if (sent.would_block) BIO_set_retry_write(bio);
    return -1;
  }
  static int read(BIO* bio, char* bytes, int length) {
    BIO_clear_retry_flags(bio);
    TlsSession::Link& link = of(bio);
    const std::size_t most = std::min(link.room, static_cast<std::size_t>(length));
    if (most == 0) {
      BIO_set_retry_read(bio);
      return -1;
    }
    const IoResult got = net::receive(link.fd, std::span<char>(bytes, most));
    link.room -= got.bytes;
    if (got.bytes > 0) return static_cast<int>(got.bytes);
    if (got.would_block) BIO_set_retry_read(bio);
    return got.ended ? 0 : -1;
  }
};

namespace {

BIO_METHOD* socket_method() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "weir socket");
    if (m == nullptr) throw std::bad_alloc();
    BIO_meth_set_write(m, TlsSocket::write);
    BIO_meth_set_read(m, TlsSocket::read);
    BIO_meth_set_ctrl(m, bio_control);
    return m;
  }();
  return method;
}

}  // namespace

void TlsContext::Free::operator()(ssl_ctx_st* context) const noexcept { SSL_CTX_free(context); }
void TlsSession::Free::operator()(ssl_st* session) const noexcept { SSL_free(session); }

namespace {

using Made = Result<std::shared_ptr<const TlsContext>>;

Made malformed(std::string what, std::string& why) {
  why = std::move(what);
  return Made(Error::malformed);
}

// OpenSSL's own words for a file that is not there are "system lib".
Made unusable(const std::string& file, std::string& why) {
  if (::access(file.c_str(), R_OK) != 0) return malformed(file + ": " + std::strerror(errno), why);
  return malformed(file + ": " + tls_error(), why);
}

/// The file that cannot be used; null: our certificate and its key are in use.
const std::string* use_certificate(SSL_CTX* raw, const TlsFiles& files) {
  if (SSL_CTX_use_certificate_chain_file(raw, files.cert.c_str()) != 1) return &files.cert;
  const bool fits = SSL_CTX_use_PrivateKey_file(raw, files.key.c_str(), SSL_FILETYPE_PEM) == 1 &&
                    SSL_CTX_check_private_key(raw) == 1;
  return fits ? nullptr : &files.key;
}

void set_common(SSL_CTX* raw) {
  if (raw == nullptr) throw std::bad_alloc();
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  SSL_CTX_set_mode(raw, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                            SSL_MODE_RELEASE_BUFFERS);
}

int choose_h2(SSL*, const unsigned char** out, unsigned char* size, const unsigned char* offered,
              unsigned offered_size, void*) {
  static constexpr unsigned char kH2[] = {2, 'h', '2'};
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, size, kH2, sizeof kH2, offered, offered_size) !=
      OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace

Made TlsContext::open(const TlsFiles& files, std::string& why) {
  auto out = std::make_shared<TlsContext>();
  out->context_.reset(SSL_CTX_new(TLS_client_method()));
  SSL_CTX* const raw = out->context_.get();
  set_common(raw);
  SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nullptr);
  if (files.ca.empty()) {
    if (SSL_CTX_set_default_verify_paths(raw) != 1)
      return malformed("the system's certificates: " + tls_error(), why);
  } else if (SSL_CTX_load_verify_locations(raw, files.ca.c_str(), nullptr) != 1) {
    return unusable(files.ca, why);
  }
  if (!files.cert.empty()) {
    if (const auto* const wrong = use_certificate(raw, files)) return unusable(*wrong, why);
  }
  return std::shared_ptr<const TlsContext>(std::move(out));
}

Made TlsContext::serve(const TlsFiles& files, std::string& why) {
  // The ciphers that RFC 9113 allows with TLS 1.2; TLS 1.3 has no others.
  static constexpr char kCiphers[] = "ECDHE+AESGCM:ECDHE+CHACHA20";
  static constexpr unsigned char kSessions[] = "weir grpc";
  auto out = std::make_shared<TlsContext>();
  out->context_.reset(SSL_CTX_new(TLS_server_method()));
  SSL_CTX* const raw = out->context_.get();
  set_common(raw);
  SSL_CTX_set_options(raw, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  if (SSL_CTX_set_cipher_list(raw, kCiphers) != 1) return malformed(tls_error(), why);
  // Tickets alone: sessions kept here would be memory that peers fill.
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_session_id_context(raw, kSessions, sizeof kSessions - 1);
  SSL_CTX_set_alpn_select_cb(raw, choose_h2, nullptr);
  if (const auto* const wrong = use_certificate(raw, files)) return unusable(*wrong, why);
  if (!files.ca.empty()) {
    if (SSL_CTX_load_verify_locations(raw, files.ca.c_str(), nullptr) != 1)
      return unusable(files.ca, why);
    SSL_CTX_set_client_CA_list(raw, SSL_load_client_CA_file(files.ca.c_str()));
    SSL_CTX_set_verify(raw, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  return std::shared_ptr<const TlsContext>(std::move(out));
}

/// Counts what OpenSSL allocates while it lives as this session's.
class TlsSession::Counting {
 public:
  explicit Counting(TlsSession& session) noexcept : session_(session), before_(allocated) {}
  ~Counting() { session_.bytes_ += allocated - before_; }
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;

 private:
  TlsSession& session_;
  std::int64_t before_;
};

std::size_t TlsSession::bytes() const noexcept {
  constexpr std::size_t kMost = 160 << 10;  // if OpenSSL had allocated before the hooks were set
  return is_counted ? static_cast<std::size_t>(std::max<std::int64_t>(bytes_, 0)) : kMost;
}

void TlsSession::attach(int fd) {
  BIO* const bio = BIO_new(socket_method());
  if (session_ == nullptr || bio == nullptr) throw std::bad_alloc();
  link_.fd = fd;
  BIO_set_data(bio, &link_);
  BIO_set_init(bio, 1);
  SSL_set_bio(session_.get(), bio, bio);
}

TlsSession::TlsSession(const TlsContext& context, int fd) {
  const Counting counting(*this);
  session_.reset(SSL_new(context.raw()));
  attach(fd);
  SSL_set_accept_state(session_.get());
}

TlsSession::TlsSession(const TlsContext& context, int fd, const std::string& name) {
  const Counting counting(*this);
  session_.reset(SSL_new(context.raw()));
  attach(fd);
  SSL_set_connect_state(session_.get());
  if (Address::parse(name)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session_.get()), name.c_str());
  } else {
    SSL_set1_host(session_.get(), name.c_str());
    SSL_set_tlsext_host_name(session_.get(), name.c_str());
  }
}

TlsSession::Step TlsSession::handshake() noexcept {
  const Counting counting(*this);
  ERR_clear_error();
  link_.room = kHandshakeRoom;
  const int result = SSL_do_handshake(session_.get());
  if (result == 1) return Step::done;
  const int error = SSL_get_error(session_.get(), result);
  return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? Step::wait : Step::failed;
}

IoResult TlsSession::outcome(int result) noexcept {
  IoResult out;
  switch (SSL_get_error(session_.get(), result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      out.would_block = true;
      break;
    case SSL_ERROR_ZERO_RETURN:
      out.ended = true;
      break;
    default:
      out.error = ECONNRESET;
  }
  return out;
}

IoResult TlsSession::receive(std::span<char> into) noexcept {
  const Counting counting(*this);
  ERR_clear_error();
  link_.room = kReadRoom;
  std::size_t bytes = 0;
  const int result = SSL_read_ex(session_.get(), into.data(), into.size(), &bytes);
  if (result == 1) return {.bytes = bytes};
  if (link_.room == 0) return {.error = EPROTO};
  return outcome(result);
}

IoResult TlsSession::transmit(std::string_view bytes) noexcept {
  const Counting counting(*this);
  ERR_clear_error();
  std::size_t sent = 0;
  const int result = SSL_write_ex(session_.get(), bytes.data(), bytes.size(), &sent);
  if (result == 1) return {.bytes = sent};
  return outcome(result);
}

void TlsSession::end() noexcept {
  const Counting counting(*this);
  ERR_clear_error();
  SSL_shutdown(session_.get());
  ERR_clear_error();
}

std::string TlsSession::why() const {
  const long verified = SSL_get_verify_result(session_.get());
  if (verified != X509_V_OK) return X509_verify_cert_error_string(verified);
  return tls_error();
}

}  // namespace weir::net
