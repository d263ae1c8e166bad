// Deliveries to real servers, with TLS and without.
#include "app/support/webhook.h"

#include <openssl/ssl.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>

#include "tests/support/certificates.h"
#include "tests/support/origin_server.h"

namespace weir::app::webhook_test {
namespace {

namespace asio = boost::asio;
using test::OriginServer;
using test::Stream;

Delivery post(const std::string& url, const std::string& body,
              std::shared_ptr<asio::ssl::context> tls = nullptr,
              milliseconds deadline = milliseconds{20'000}) {
  asio::io_context context;
  Delivery out;
  asio::co_spawn(
      context,
      [&]() -> asio::awaitable<void> {
        out = co_await post_json(*Url::parse(url), body, tls, deadline);
      },
      asio::detached);
  context.run();
  return out;
}

std::string address_of(const OriginServer& server, const std::string& scheme = "http") {
  return scheme + "://127.0.0.1:" + std::to_string(server.port()) + "/hook?x=1";
}

/// A server that reads one request and then says this, in these pieces.
OriginServer::Script saying(std::vector<std::string> pieces) {
  return [pieces](Stream& stream, int) {
    const auto head = stream.read_head();
    if (head) stream.read_body(*head);
    for (const std::string& piece : pieces) stream.write(piece);
  };
}

TEST(Webhook, SendsOneRequestAndReadsTheStatus) {
  std::string got_head;
  std::string got_body;
  OriginServer server([&](Stream& stream, int) {
    got_head = stream.read_head().value_or("");
    got_body = stream.read_body(got_head);
    stream.write("HTTP/1.1 204 No Content\r\n\r\n");
  });
  const std::string body = "{\"a\":\"" + std::string(300'000, 'x') + "\"}\n";
  const Delivery delivery = post(address_of(server), body);
  server.stop();
  EXPECT_EQ(delivery.status, 204);
  EXPECT_TRUE(delivery.good()) << delivery.error;
  EXPECT_EQ(got_body, body);
  EXPECT_EQ(got_head,
            "POST /hook?x=1 HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(server.port()) +
                "\r\nUser-Agent: weir\r\nContent-Type: application/json\r\n"
                "Connection: close\r\nContent-Length: " +
                std::to_string(body.size()) + "\r\n\r\n");
}

TEST(Webhook, ReadsAnswersInPiecesAndAfterInterimOnes) {
  OriginServer server(
      saying({"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r",
              "\nHTTP/1.", "1 503 Busy\r\nContent-Le", "ngth: 4\r\n\r", "\nbusy"}));
  const Delivery delivery = post(address_of(server), "{}");
  EXPECT_EQ(delivery.status, 503);
  EXPECT_EQ(delivery.error, "");
  EXPECT_FALSE(delivery.good());
}

TEST(Webhook, SaysWhyThereIsNoAnswer) {
  OriginServer garbage(saying({"SSH-2.0-OpenSSH_9.2\r\n\r\n"}));
  EXPECT_EQ(post(address_of(garbage), "{}").error,
            "read: the answer is not HTTP/1.1 that weir takes");
  OriginServer closing(saying({"HTTP/1.1 200 OK\r\nA: b"}));
  EXPECT_EQ(post(address_of(closing), "{}").error, "read: End of file");
  OriginServer endless(saying({"HTTP/1.1 200 OK\r\nA: " + std::string(40'000, 'x') + "\r\n\r\n"}));
  EXPECT_EQ(post(address_of(endless), "{}").error, "read: the answer's head is too long");
  OriginServer gone(saying({}));
  const std::string address = address_of(gone);
  gone.stop();
  EXPECT_EQ(post(address, "{}").error, "connect: Connection refused");
  EXPECT_EQ(post("http://host.invalid/", "{}").error.substr(0, 9), "resolve: ");
}

TEST(Webhook, WaitsNoLongerThanTheDeadline) {
  OriginServer silent([](Stream& stream, int) { stream.read_to_end(); });
  EXPECT_EQ(post(address_of(silent), "{}", nullptr, milliseconds{50}).error, "no answer in time");
  EXPECT_EQ(post(address_of(silent, "https"), "{}", webhook_tls(), milliseconds{50}).error,
            "no answer in time");
}

TEST(Webhook, BelievesOnlyWhomACertificateNames) {
  const test::Certificates certificates;
  std::string got_body;
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_server_method()),
                                                                  &SSL_CTX_free);
  const std::string server_files = certificates.dir + "/server";
  ASSERT_EQ(SSL_CTX_use_certificate_chain_file(context.get(), (server_files + ".pem").c_str()), 1);
  ASSERT_EQ(
      SSL_CTX_use_PrivateKey_file(context.get(), (server_files + ".key").c_str(), SSL_FILETYPE_PEM),
      1);
  OriginServer server([&](Stream& stream, int) {
    const std::unique_ptr<SSL, decltype(&SSL_free)> tls(SSL_new(context.get()), &SSL_free);
    SSL_set_fd(tls.get(), stream.fd());
    if (SSL_accept(tls.get()) != 1) return;
    std::string bytes;
    char room[4096];
    while (bytes.find("\r\n\r\n{}") == std::string::npos) {
      const int n = SSL_read(tls.get(), room, sizeof room);
      if (n <= 0) return;
      bytes.append(room, static_cast<std::size_t>(n));
    }
    got_body = bytes.substr(bytes.find("\r\n\r\n") + 4);
    constexpr std::string_view kAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    SSL_write(tls.get(), kAnswer.data(), static_cast<int>(kAnswer.size()));
  });
  const auto trusting = [&](const char* ca) {
    auto out = webhook_tls();
    out->load_verify_file(certificates.dir + ca);
    return out;
  };
  const Delivery good = post(address_of(server, "https"), "{}", trusting("/ca.pem"));
  EXPECT_EQ(good.status, 200) << good.error;
  const std::string by_name = "https://localhost:" + std::to_string(server.port()) + "/";
  EXPECT_EQ(post(by_name, "{}", trusting("/ca.pem")).error.substr(0, 5), "tls: ")
      << "the certificate does not name localhost";
  EXPECT_EQ(post(address_of(server, "https"), "{}", trusting("/other.pem")).error.substr(0, 5),
            "tls: ");
  server.stop();
  EXPECT_EQ(got_body, "{}");
}

}  // namespace
}  // namespace weir::app::webhook_test
