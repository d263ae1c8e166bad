#include <sys/epoll.h>

#include <list>
#include <string_view>
#include <utility>

#include "app/doors/lines/door.h"
#include "gate/judging.h"
#include "net/doorway.h"
#include "net/socket.h"

namespace weir::app {
namespace {

constexpr std::size_t kLineMax = 4096;
constexpr std::size_t kLinePeersMax = 64;
constexpr milliseconds kLineIdle{300'000};

/// The door of one worker. A connection that is closed lives until the turn ends.
class LineDoor final : public WorkerDoor, net::AcceptHandler, net::TurnHook {
 public:
  explicit LineDoor(const DoorParts& parts) : parts_(parts) {
    parts_.worker.reactor().add_hook(*this);
  }
  ~LineDoor() override {
    parts_.worker.reactor().remove_hook(*this);
    close_all();
  }

  void use(const policies::PolicySet&) override {}
  Result<void> listen(net::Fd fd) override { return doorway_.listen(std::move(fd)); }
  void begin_drain(bool) override {}  // lines have no word for it
  void stop_accepting() override {
    doorway_.stop_accepting();
    for (Peer& peer : peers_) {
      if (!peer.waits) close(peer);
    }
  }
  void finish_by(TimePoint deadline, std::function<void()> stopped) override {
    doorway_.finish_by(deadline, std::move(stopped));
  }

 private:
  struct Peer final : net::EventHandler, net::Timer, gate::Waiter {
    Peer(LineDoor& in, net::Fd socket) : door(in), fd(std::move(socket)) {}
    void on_events(std::uint32_t) override { door.read(*this); }
    void on_timer(TimePoint) override { door.close(*this); }
    void resume(TimePoint) override { door.answer(*this); }
    LineDoor& door;
    net::Fd fd;
    std::string text;    // from the line that is answered next
    bool waits = false;  // for the shared store
  };

  void on_accept(net::Fd fd, const Address&) override {
    if (peers_.size() == kLinePeersMax) return;
    Peer& peer = peers_.emplace_back(*this, std::move(fd));
    parts_.worker.wheel().arm(peer, parts_.worker.now() + kLineIdle);
    if (!parts_.worker.reactor().add(peer.fd.get(), EPOLLIN, peer)) close(peer);
  }
  void end_of_turn(TimePoint) override {
    std::erase_if(peers_, [](const Peer& peer) { return peer.fd.get() < 0; });
    doorway_.end_of_turn(peers_.size());
  }

  void close_all() {
    for (Peer& peer : peers_) close(peer);
  }
  void close(Peer& peer) {
    if (peer.fd.get() < 0) return;
    if (std::exchange(peer.waits, false)) parts_.gate.unpark(peer);
    net::Wheel::disarm(peer);
    peer.fd.close();
  }

  void read(Peer& peer) {
    if (peer.fd.get() < 0) return;
    const std::span<char> into = parts_.worker.scratch_in();
    const net::IoResult got = net::receive(peer.fd.get(), into);
    if (got.bytes == 0) {
      if (!got.would_block) close(peer);
      return;
    }
    if (peer.text.size() + got.bytes > kLineMax) return close(peer);
    peer.text.append(into.data(), got.bytes);
    parts_.worker.wheel().arm(peer, parts_.worker.now() + kLineIdle);
    answer(peer);
  }

  /// The lines that are there, until one has to wait.
  void answer(Peer& peer) {
    for (std::size_t end;
         peer.fd.get() >= 0 && (end = peer.text.find('\n')) != std::string::npos;) {
      if (!answer(peer, std::string_view(peer.text).substr(0, end))) return;
      peer.text.erase(0, end + 1);
    }
  }
  bool answer(Peer& peer, std::string_view line) {
    const std::size_t path = line.find(' ') + 1;
    const std::size_t address = line.find(' ', path) + 1;
    const auto client = Address::parse(line.substr(address));
    if (path == 0 || address == 0 || !client || line[path] != '/') {
      close(peer);
      return false;
    }
    const TimePoint now = parts_.worker.now();
    Request request;
    request.time = now;
    request.method = line.substr(0, path - 1);
    request.target = request.path = line.substr(path, address - 1 - path);
    request.scheme = "http";
    request.client = *client;
    const gate::Decision decision = gate::judge_or_park(parts_.gate, request, now, false, peer);
    if (decision.effect.kind == Effect::Kind::wait) {
      peer.waits = true;
      return false;
    }
    if (std::exchange(peer.waits, false)) parts_.gate.unpark(peer);
    if (decision.effect.kind == Effect::Kind::delay) parts_.gate.end_hold();
    if (decision.ticket != nullptr) parts_.unsettled.keep(*decision.ticket, now);
    const bool passes = decision.effect.kind != Effect::Kind::answer;
    const std::string said = passes ? "pass\n" : std::to_string(decision.effect.status) + "\n";
    if (net::transmit(peer.fd.get(), said).bytes != said.size()) close(peer);
    return peer.fd.get() >= 0;
  }

  DoorParts parts_;
  net::Doorway doorway_{parts_.worker, *this, [this] { close_all(); }};
  std::list<Peer> peers_;
};

class LinesDoor final : public FrontDoor {
 public:
  std::unique_ptr<WorkerDoor> on_worker(const DoorParts& parts) override {
    return std::make_unique<LineDoor>(parts);
  }
  void reload(const config::Server&, Log&) override {}
};

}  // namespace

DoorAddress lines_address(const config::Server& settings) {
  const config::Endpoint& at = settings.api.lines.value;
  if (at.port == 0 && !at.is_unix()) return {};
  return {at, true};
}

std::unique_ptr<FrontDoor> make_lines_door(const DoorPlan&, std::string&) {
  return std::make_unique<LinesDoor>();
}

}  // namespace weir::app
