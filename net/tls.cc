#include "net/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "core/address.h"

namespace weir::net {
namespace {

std::string tls_error() {
  char text[256] = "unknown";
  if (const unsigned long code = ERR_peek_last_error(); code != 0)
    ERR_error_string_n(code, text, sizeof text);
  ERR_clear_error();
  return text;
}

int fd_of(BIO* bio) noexcept {
  return static_cast<int>(std::bit_cast<std::intptr_t>(BIO_get_data(bio)));
}

int bio_write(BIO* bio, const char* bytes, int length) {
  BIO_clear_retry_flags(bio);
  const IoResult sent =
      net::transmit(fd_of(bio), std::string_view(bytes, static_cast<std::size_t>(length)));
  if (sent.bytes > 0) return static_cast<int>(sent.bytes);
  if (sent.would_block) BIO_set_retry_write(bio);
  return -1;
}

int bio_read(BIO* bio, char* bytes, int length) {
  BIO_clear_retry_flags(bio);
  const IoResult got =
      net::receive(fd_of(bio), std::span<char>(bytes, static_cast<std::size_t>(length)));
  if (got.bytes > 0) return static_cast<int>(got.bytes);
  if (got.would_block) BIO_set_retry_read(bio);
  return got.ended ? 0 : -1;
}

long bio_control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

BIO_METHOD* socket_method() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "weir socket");
    if (m == nullptr) throw std::bad_alloc();
    BIO_meth_set_write(m, bio_write);
    BIO_meth_set_read(m, bio_read);
    BIO_meth_set_ctrl(m, bio_control);
    return m;
  }();
  return method;
}

}  // namespace

void TlsContext::Free::operator()(ssl_ctx_st* context) const noexcept { SSL_CTX_free(context); }
void TlsSession::Free::operator()(ssl_st* session) const noexcept { SSL_free(session); }

Result<std::shared_ptr<const TlsContext>> TlsContext::open(const TlsFiles& files,
                                                           std::string& why) {
  auto out = std::make_shared<TlsContext>();
  out->context_.reset(SSL_CTX_new(TLS_client_method()));
  SSL_CTX* const raw = out->context_.get();
  if (raw == nullptr) throw std::bad_alloc();
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  SSL_CTX_set_mode(raw, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nullptr);
  const auto malformed = [&](std::string what) {
    why = std::move(what);
    return Result<std::shared_ptr<const TlsContext>>(Error::malformed);
  };
  const auto fail = [&](const std::string& file) {
    // OpenSSL's own words for a file that is not there are "system lib".
    if (::access(file.c_str(), R_OK) != 0) return malformed(file + ": " + std::strerror(errno));
    return malformed(file + ": " + tls_error());
  };
  if (files.ca.empty()) {
    if (SSL_CTX_set_default_verify_paths(raw) != 1)
      return malformed("the system's certificates: " + tls_error());
  } else if (SSL_CTX_load_verify_locations(raw, files.ca.c_str(), nullptr) != 1) {
    return fail(files.ca);
  }
  if (!files.cert.empty()) {
    if (SSL_CTX_use_certificate_chain_file(raw, files.cert.c_str()) != 1) return fail(files.cert);
    if (SSL_CTX_use_PrivateKey_file(raw, files.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(raw) != 1) {
      return fail(files.key);
    }
  }
  return std::shared_ptr<const TlsContext>(std::move(out));
}

TlsSession::TlsSession(const TlsContext& context, int fd, const std::string& name)
    : session_(SSL_new(context.raw())) {
  BIO* const bio = BIO_new(socket_method());
  if (session_ == nullptr || bio == nullptr) throw std::bad_alloc();
  BIO_set_data(bio, std::bit_cast<void*>(static_cast<std::intptr_t>(fd)));
  BIO_set_init(bio, 1);
  SSL_set_bio(session_.get(), bio, bio);
  SSL_set_connect_state(session_.get());
  if (Address::parse(name)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session_.get()), name.c_str());
  } else {
    SSL_set1_host(session_.get(), name.c_str());
    SSL_set_tlsext_host_name(session_.get(), name.c_str());
  }
}

TlsSession::Step TlsSession::handshake() noexcept {
  ERR_clear_error();
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
  ERR_clear_error();
  std::size_t bytes = 0;
  const int result = SSL_read_ex(session_.get(), into.data(), into.size(), &bytes);
  if (result == 1) return {.bytes = bytes};
  return outcome(result);
}

IoResult TlsSession::transmit(std::string_view bytes) noexcept {
  ERR_clear_error();
  std::size_t sent = 0;
  const int result = SSL_write_ex(session_.get(), bytes.data(), bytes.size(), &sent);
  if (result == 1) return {.bytes = sent};
  return outcome(result);
}

std::string TlsSession::why() const {
  const long verified = SSL_get_verify_result(session_.get());
  if (verified != X509_V_OK) return X509_verify_cert_error_string(verified);
  return tls_error();
}

}  // namespace weir::net
