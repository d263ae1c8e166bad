#include "app/support/http_client.h"

#include <netdb.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include "app/support/thread.h"
#include "core/no_memory.h"

namespace weir::app {
namespace {

constexpr std::size_t kAnswerMax = 16 << 20;
const Clock kClock;

Result<void> wait_for(int fd, short events, TimePoint deadline) {
  while (true) {
    const auto left = deadline - kClock.now();
    if (left.count() <= 0) return make_error_code(Error::timed_out);
    pollfd waiting{fd, events, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(left.count()));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR)
      return boost::system::error_code(errno, boost::system::system_category());
  }
}

boost::system::error_code system_error(int number) {
  return {number, boost::system::system_category()};
}

Result<void> send_all(int fd, std::string_view bytes, TimePoint deadline) {
  while (!bytes.empty()) {
    const net::IoResult sent = net::transmit(fd, bytes);
    if (sent.error != 0) return system_error(sent.error);
    bytes.remove_prefix(sent.bytes);
    if (!sent.would_block) continue;
    if (auto ready = wait_for(fd, POLLOUT, deadline); !ready) return ready;
  }
  return {};
}

}  // namespace

Result<HttpAnswer> http_request(const net::SocketAddress& address, std::string_view method,
                                std::string_view target, std::string_view authority,
                                std::string_view head_lines, std::string_view body,
                                milliseconds deadline_in) {
  namespace http = boost::beast::http;
  const TimePoint deadline = kClock.now() + deadline_in;
  const auto fd = net::start_connect(address);
  if (!fd) return fd.error();
  if (auto ready = wait_for(fd->get(), POLLOUT, deadline); !ready) return ready.error();
  if (const int error = net::socket_error(fd->get()); error != 0) return system_error(error);

  std::string request;
  request.append(method).append(" ").append(target).append(" HTTP/1.1\r\nHost: ").append(authority);
  request.append("\r\nUser-Agent: weir\r\nConnection: close\r\n").append(head_lines);
  if (!body.empty() || method != "GET") {
    request.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n");
  }
  request.append("\r\n").append(body);
  if (auto sent = send_all(fd->get(), request, deadline); !sent) return sent.error();

  http::response_parser<http::string_body> parser;
  parser.body_limit(kAnswerMax);
  parser.eager(true);
  std::string unread;
  char piece[16 << 10];
  boost::system::error_code error;
  while (!parser.is_done()) {
    const net::IoResult got = net::receive(fd->get(), piece);
    if (got.error != 0) return system_error(got.error);
    if (got.would_block) {
      if (auto ready = wait_for(fd->get(), POLLIN, deadline); !ready) return ready.error();
      continue;
    }
    if (got.ended) {
      parser.put_eof(error);
      if (error || !parser.is_done()) return make_error_code(Error::malformed);
      break;
    }
    unread.append(piece, got.bytes);
    if (unread.size() > kAnswerMax) return make_error_code(Error::malformed);
    const std::size_t used = parser.put(boost::asio::buffer(unread), error);
    if (error == http::error::need_more) error = {};
    if (error) return make_error_code(Error::malformed);
    unread.erase(0, used);
  }
  return HttpAnswer{static_cast<int>(parser.get().result_int()), std::move(parser.get().body())};
}

namespace {

int addresses_of(const std::string& host, std::uint16_t port,
                 std::vector<net::SocketAddress>& out) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  const int status = ::getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (status != 0) return status;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    if (each->ai_family != AF_INET && each->ai_family != AF_INET6) continue;
    net::SocketAddress any;
    std::memcpy(any.raw(), each->ai_addr, each->ai_addrlen);
    out.push_back(net::SocketAddress::tcp(any.address(), port));
  }
  std::stable_partition(out.begin(), out.end(),
                        [](const net::SocketAddress& each) { return each.address().is_v4(); });
  return out.empty() ? EAI_NONAME : 0;
}

}  // namespace

Result<net::SocketAddress> resolve(const std::string& host, std::uint16_t port,
                                   std::string* message) {
  if (const auto address = Address::parse(host)) return net::SocketAddress::tcp(*address, port);
  std::vector<net::SocketAddress> all;
  if (const int status = addresses_of(host, port, all); status != 0) {
    if (message != nullptr) *message = ::gai_strerror(status);
    return make_error_code(status == EAI_AGAIN ? Error::unavailable : Error::not_found);
  }
  return all.front();
}

namespace {

/// One of the open questions of the process, until it is destroyed.
class OpenQuestion {
 public:
  OpenQuestion() noexcept : is_one_too_many_(count_.fetch_add(1) >= kOpenQuestionsMax) {}
  ~OpenQuestion() { count_.fetch_sub(1); }
  OpenQuestion(const OpenQuestion&) = delete;
  OpenQuestion& operator=(const OpenQuestion&) = delete;
  bool is_one_too_many() const noexcept { return is_one_too_many_; }

 private:
  static inline std::atomic<int> count_{0};
  const bool is_one_too_many_;
};

}  // namespace

void run_beside(std::function<void()> function) {
  start_thread("weir/names", std::move(function)).detach();
}

Result<net::SocketAddress> resolve_within(const std::string& host, std::uint16_t port,
                                          milliseconds limit, std::string* message,
                                          const RunBeside& run) {
  if (const auto address = Address::parse(host)) return net::SocketAddress::tcp(*address, port);
  struct Question {
    OpenQuestion open;
    std::mutex mutex;
    std::condition_variable answered;
    std::optional<Result<net::SocketAddress>> found;
    std::string why;
  };
  const auto question = std::make_shared<Question>();
  if (question->open.is_one_too_many()) {
    if (message != nullptr)
      *message = std::to_string(kOpenQuestionsMax) + " names have no answer yet (/etc/resolv.conf)";
    return make_error_code(Error::unavailable);
  }
  try {
    run([question, host, port] {
      std::string why;
      Result<net::SocketAddress> found = make_error_code(Error::unavailable);
      // Without memory there is no answer.
      static_cast<void>(survives_no_memory([&] { found = resolve(host, port, &why); }));
      const std::lock_guard lock(question->mutex);
      question->found.emplace(std::move(found));
      question->why = std::move(why);
      question->answered.notify_all();
    });
  } catch (const std::system_error& error) {  // no thread can be had now
    if (message != nullptr) *message = error.what();
    return make_error_code(Error::unavailable);
  }
  std::unique_lock lock(question->mutex);
  if (!question->answered.wait_for(lock, limit, [&] { return question->found.has_value(); })) {
    if (message != nullptr)
      *message = "no answer within " + std::to_string(limit.count()) + " ms (/etc/resolv.conf)";
    return make_error_code(Error::timed_out);
  }
  if (message != nullptr) *message = question->why;
  return *question->found;
}

std::vector<net::SocketAddress> resolve_all(const std::string& host, std::uint16_t port,
                                            std::string* message) {
  std::vector<net::SocketAddress> all;
  const int status = addresses_of(host, port, all);
  if (status != 0 && message != nullptr) *message = ::gai_strerror(status);
  return all;
}

}  // namespace weir::app
