// TLS of one connection as its server: bytes of peers that are not data.
#include "net/tls.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string>

#include "net/fd.h"
#include "tests/support/certificates.h"

namespace weir::net::tls_test {
namespace {

/// A server's session, and OpenSSL itself at the other end.
class Pair {
 public:
  explicit Pair(const std::string& dir) {
    int both[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, both), 0);
    ours_ = Fd(both[0]);
    theirs_ = Fd(both[1]);
    std::string why;
    const auto context = TlsContext::serve({"", dir + "/server.pem", dir + "/server.key"}, why);
    EXPECT_TRUE(context) << why;
    if (context) server.emplace(**context, ours_.get());
    context_ = SSL_CTX_new(TLS_client_method());
    client = SSL_new(context_);
    SSL_set_fd(client, theirs_.get());
    SSL_set_connect_state(client);
  }
  ~Pair() {
    SSL_free(client);
    SSL_CTX_free(context_);
  }
  bool shake_hands() {
    for (int i = 0; i < 10; ++i) {
      const bool there = SSL_do_handshake(client) == 1;
      const TlsSession::Step step = server->handshake();
      if (step == TlsSession::Step::failed) return false;
      if (there && step == TlsSession::Step::done) return true;
    }
    return false;
  }
  IoResult receive() { return server->receive(room_); }
  void send_raw(const std::string& bytes) {
    EXPECT_EQ(::send(theirs_.get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
  }
  /// So many KeyUpdates at once: small writes would fill the socket's accounts before its bytes.
  void change_keys(int times) {
    BIO* const kept = BIO_new(BIO_s_mem());
    SSL_set0_wbio(client, kept);
    for (int i = 0; i < times; ++i) {
      ASSERT_EQ(SSL_key_update(client, SSL_KEY_UPDATE_NOT_REQUESTED), 1);
      ASSERT_EQ(SSL_do_handshake(client), 1);
    }
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(kept, &bytes);
    ASSERT_EQ(::send(theirs_.get(), bytes, static_cast<std::size_t>(size), 0), size);
    SSL_set0_wbio(client, BIO_new_socket(theirs_.get(), BIO_NOCLOSE));
  }

  std::optional<TlsSession> server;
  SSL* client = nullptr;

 private:
  Fd ours_, theirs_;
  SSL_CTX* context_ = nullptr;
  std::array<char, 32 << 10> room_;
};

TEST(TlsServer, ReadsARecordAtATimeAndHearsOfTheEnd) {
  const weir::test::Certificates certificates;
  Pair pair(certificates.dir);
  ASSERT_TRUE(pair.shake_hands());
  EXPECT_TRUE(pair.receive().would_block);
  const std::string text(20'000, 'x');
  EXPECT_EQ(SSL_write(pair.client, text.data(), static_cast<int>(text.size())), 20'000);
  EXPECT_EQ(pair.receive().bytes, 16'384U);
  EXPECT_EQ(pair.receive().bytes, 3'616U);
  EXPECT_TRUE(pair.receive().would_block);
  SSL_shutdown(pair.client);
  EXPECT_TRUE(pair.receive().ended);
}

TEST(TlsServer, CountsWhatItKeeps) {
  const weir::test::Certificates certificates;
  Pair pair(certificates.dir);
  const std::size_t fresh = pair.server->bytes();
  EXPECT_GT(fresh, 1'000U);
  ASSERT_TRUE(pair.shake_hands());
  EXPECT_TRUE(pair.receive().would_block);
  const std::size_t idle = pair.server->bytes();
  EXPECT_GT(idle, fresh);
  EXPECT_LT(idle, 60'000U);
  const std::string text(10'000, 'x');
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(SSL_write(pair.client, text.data(), 10'000), 10'000);
    EXPECT_EQ(pair.receive().bytes, 10'000U);
  }
  EXPECT_TRUE(pair.receive().would_block);
  EXPECT_LT(pair.server->bytes(), idle + 2'000) << "nothing stays of records";
  pair.send_raw("\x17\x03\x03\x40" + std::string(1'000, 'x'));
  EXPECT_TRUE(pair.receive().would_block);
  EXPECT_GT(pair.server->bytes(), idle + 16'000) << "half a record";

  Pair large(certificates.dir);
  large.send_raw(std::string("\x16\x03\x01\x40\x00\x01\x01\xff\x00\x03\x03", 11) +
                 std::string(16'378, 'x'));
  EXPECT_EQ(large.server->handshake(), TlsSession::Step::wait);
  EXPECT_GT(large.server->bytes(), 128U << 10) << "a greeting that announces its most";
}

TEST(TlsServer, EndsAPeerThatOnlyChangesKeys) {
  const weir::test::Certificates certificates;
  Pair pair(certificates.dir);
  ASSERT_TRUE(pair.shake_hands());
  pair.change_keys(50);  // as a peer may, once in a while
  EXPECT_EQ(SSL_write(pair.client, "x", 1), 1);
  EXPECT_EQ(pair.receive().bytes, 1U);
  pair.change_keys(4'000);
  const IoResult result = pair.receive();
  EXPECT_EQ(result.bytes, 0U);
  EXPECT_FALSE(result.would_block);
  EXPECT_EQ(result.error, EPROTO);
}

TEST(TlsServer, RefusesOtherProtocols) {
  const weir::test::Certificates certificates;
  Pair pair(certificates.dir);
  constexpr unsigned char kHttp1[] = "\x08http/1.1";
  ASSERT_EQ(SSL_set_alpn_protos(pair.client, kHttp1, sizeof kHttp1 - 1), 0);
  EXPECT_FALSE(pair.shake_hands());
}

TEST(TlsServer, FilesThatCannotBeUsedAreNamed) {
  const weir::test::Certificates certificates;
  const std::string& dir = certificates.dir;
  std::string why;
  EXPECT_FALSE(TlsContext::serve({"", dir + "/none.pem", dir + "/server.key"}, why));
  EXPECT_NE(why.find("none.pem: No such file"), std::string::npos) << why;
  EXPECT_FALSE(TlsContext::serve({"", dir + "/server.pem", dir + "/client.key"}, why));
  EXPECT_NE(why.find("client.key"), std::string::npos) << why;
  EXPECT_FALSE(TlsContext::serve({dir + "/san", dir + "/server.pem", dir + "/server.key"}, why));
  EXPECT_NE(why.find("/san"), std::string::npos) << why;
}

}  // namespace
}  // namespace weir::net::tls_test
