#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>

#include "admin/operations.h"
#include "net/http/server.h"

namespace weir::admin {

/// Current numbers, second by second, for all readers: computed once, however many readers there
/// are. The totals of the last ten minutes are always kept, so that a new reader sees them.
/// Policies, lists and verdicts are read only while there is a reader.
///
/// A reader gets the newest second, never a queue: a slow reader misses some seconds, and a reader
/// that takes nothing for HttpServerLimits::write is disconnected. On the control thread.
class Live {
 public:
  static constexpr std::size_t kReadersMax = 16;
  static constexpr std::size_t kSecondsKept = 600;
  static constexpr std::size_t kPoliciesMax = 100;  ///< the busiest, in a second
  static constexpr std::size_t kListsMax = 1000;    ///< lists in a second
  static constexpr std::size_t kRowsMax = 40;       ///< verdicts of a second: the last ones

  Live(boost::asio::io_context& io, Operations& operations, const Stores& stores,
       std::size_t readers_most = kReadersMax);
  ~Live();
  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;

  void start();  ///< a second from now on: tick(), and so on
  void stop();   ///< ends the answers of all readers
  /// Server-sent events: `past`, then a `second` for each; 503 for more than `readers_most`.
  net::HttpReply subscribe();
  /// The second that ends now.
  void tick();
  std::size_t readers() const noexcept;

 private:
  struct Hub;
  std::shared_ptr<Hub> hub_;
  std::size_t readers_most_;
};

}  // namespace weir::admin
