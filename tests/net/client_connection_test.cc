// A client's connection without a door: its output, and when it resumes.
#include "net/http/client_connection.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weir::net::client_connection_test {
namespace {

constexpr milliseconds kHour{3'600'000};
constexpr std::chrono::seconds kPatience{20};

class Connection final : public ClientConnection {
 public:
  using State = ClientConnection::State;
  explicit Connection(ConnectionShare& share) noexcept : ClientConnection(share) {}
  ~Connection() { close(); }

  void open(Fd fd, State state) {
    start(std::move(fd));
    state_ = state;
    ASSERT_TRUE(watch());
  }
  bool say(std::string_view bytes) {
    Parts parts;
    parts.add(bytes);
    return send(parts);
  }
  void go_on() { go_on_after_turn(); }
  void fill() {  // the socket takes no byte more
    const std::string bytes(64 << 10, 'f');
    while (::write(fd_.get(), bytes.data(), bytes.size()) > 0) {
    }
  }
  bool is_open() const noexcept { return state_ != State::closed; }
  bool keeps_bytes() const noexcept { return !out_.empty(); }
  void close() override {
    forget_put_off();
    Wheel::disarm(*this);
    in_.clear();
    out_.clear();
    fd_.close();
    state_ = State::closed;
  }

  std::vector<State> took_all;  // the states in which the client had taken all its bytes
  int writes = 0, out_of_memories = 0, relayed = 0;

 private:
  std::size_t on_head(std::span<char> bytes) override { return bytes.size(); }
  void refuse(HttpRefusal /*refusal*/) override { begin_close(); }
  bool judge_body() override { return false; }
  bool drain_body() override { return false; }
  bool relay() override {
    ++relayed;
    return false;
  }
  void take_timer() override { close(); }
  void drop_request() override {}
  void client_gone() override { close(); }
  void out_of_memory() noexcept override {
    ++out_of_memories;
    close();
  }
  void expect_write() noexcept override {
    ++writes;
    arm(kHour);
  }
  void expect_by_state() noexcept override { took_all.push_back(state_); }
};

using State = Connection::State;

struct Ends {
  Fd ours, theirs;
};

Ends make_ends() {
  int fds[2] = {-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
  return {Fd(fds[0]), Fd(fds[1])};
}

class ClientConnectionTest : public testing::Test {
 protected:
  ClientConnectionTest() {
    share = std::make_unique<ConnectionShare>(pool[0], pool[0].blocks(), heads, chunks, body_max);
    pool.start();
  }
  ~ClientConnectionTest() override { pool.stop(); }

  /// A turn of the worker, at whose end what was put off has been sent.
  void on_worker(const std::function<void()>& function) {
    std::promise<void> done;
    pool[0].post(function);
    pool[0].post([&] { done.set_value(); });
    done.get_future().wait();
  }
  template <class Condition>
  bool comes_true(const Condition& condition) {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    for (bool is = false; !is;) {
      if (std::chrono::steady_clock::now() > until) return false;
      on_worker([&] { is = condition(); });
    }
    return true;
  }

  HeadLimits heads;
  ChunkLimits chunks;
  std::size_t body_max = 64 << 10;
  WorkerPool pool{1};
  std::unique_ptr<ConnectionShare> share;
};

TEST_F(ClientConnectionTest, after_a_short_write_each_state_has_its_own_deadline_again) {
  const std::string bytes(4 << 20, 'b');
  for (const State state : {State::reading_head, State::reading_body, State::parked, State::held,
                            State::draining, State::closing, State::lingering, State::exchanging,
                            State::reading_on, State::tunnelling}) {
    Ends ends = make_ends();
    Connection connection(*share);
    on_worker([&] {
      connection.open(std::move(ends.ours), state);
      EXPECT_TRUE(connection.say(bytes));
    });
    on_worker([&] {
      EXPECT_TRUE(connection.keeps_bytes());
      EXPECT_EQ(connection.writes, 1);
      EXPECT_TRUE(connection.took_all.empty());
    });
    std::size_t got = 0;
    std::string piece(64 << 10, '\0');
    EXPECT_TRUE(comes_true([&] {
      while (true) {
        const ssize_t n = ::read(ends.theirs.get(), piece.data(), piece.size());
        if (n <= 0) break;
        got += static_cast<std::size_t>(n);
      }
      return got == bytes.size() && !connection.took_all.empty();
    })) << static_cast<int>(state);
    on_worker([&] {
      EXPECT_EQ(connection.took_all, std::vector<State>{state});
      EXPECT_EQ(connection.is_open(), state != State::closing);
      connection.close();
    });
  }
}

// It is sent at the end of the batch, where others send as well.
TEST_F(ClientConnectionTest, no_memory_for_what_was_put_off_ends_that_connection_alone) {
  Ends full = make_ends(), free = make_ends();
  Connection one(*share), other(*share);
  on_worker([&] {
    one.open(std::move(full.ours), State::exchanging);
    other.open(std::move(free.ours), State::exchanging);
    one.fill();
    pool[0].blocks().set_limit(0);
    EXPECT_TRUE(one.say("first"));
    EXPECT_TRUE(one.say("second"));
    EXPECT_TRUE(other.say("other"));
  });
  on_worker([&] {
    EXPECT_EQ(one.out_of_memories, 1);
    EXPECT_FALSE(one.is_open());
    EXPECT_EQ(other.out_of_memories, 0);
    EXPECT_TRUE(other.is_open());
    other.close();
  });
  char got[16];
  EXPECT_EQ(::read(free.theirs.get(), got, sizeof got), 5);
}

TEST_F(ClientConnectionTest, what_closes_before_the_end_of_the_turn_does_not_go_on) {
  Ends first = make_ends(), second = make_ends(), again = make_ends();
  Connection one(*share), other(*share);
  on_worker([&] {
    one.open(std::move(first.ours), State::exchanging);
    other.open(std::move(second.ours), State::exchanging);
    one.go_on();
    one.go_on();
    other.go_on();
    one.close();
    ClientConnection::run_resumed(*share);
    EXPECT_EQ(share->resumed, nullptr);
    EXPECT_EQ(one.relayed, 0);
    EXPECT_EQ(other.relayed, 1);
    one.go_on();
    EXPECT_EQ(share->resumed, nullptr) << "it is closed";
    // In the list, closed, and of another client within one turn: it resumes once.
    other.go_on();
    other.close();
    other.open(std::move(again.ours), State::exchanging);
    other.go_on();
    ClientConnection::run_resumed(*share);
    EXPECT_EQ(other.relayed, 2);
    other.close();
  });
}

TEST(Parts, are_sent_as_one_whether_joined_or_not) {
  for (const std::size_t size : {std::size_t{10}, std::size_t{20'000}}) {
    const Ends ends = make_ends();
    const std::string data(size, 'd');
    Parts parts;
    EXPECT_TRUE(parts.empty());
    parts.add("head\r\n");
    parts.add_body(Framing::chunked, data, true);
    char length[8];
    std::snprintf(length, sizeof length, "%zx", size);
    const std::string want = "head\r\n" + std::string(length) + "\r\n" + data + "\r\n0\r\n\r\n";
    EXPECT_EQ(parts.size(), want.size());
    std::string scratch(64 << 10, '\0'), got(want.size() + 1, '\0');
    EXPECT_EQ(parts.transmit(ends.ours.get(), scratch).bytes, want.size());
    const ssize_t n = ::read(ends.theirs.get(), got.data(), got.size());
    ASSERT_EQ(n, static_cast<ssize_t>(want.size()));
    got.resize(want.size());
    EXPECT_EQ(got, want);
  }
}

}  // namespace
}  // namespace weir::net::client_connection_test
