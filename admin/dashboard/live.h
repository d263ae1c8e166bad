#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>

#include "admin/operations.h"
#include "net/http/server.h"

namespace weir::admin {

/// What happens, second by second, for everybody who looks: computed once, however many they are.
/// The totals of the last ten minutes are always kept, so that who comes sees how it began;
/// policies, lists and verdicts are looked at only while somebody does.
///
/// A reader is given the newest second, never a queue: one who is slow misses some, and one who
/// takes nothing for HttpServerLimits::write is let go. On the control thread.
class Live {
 public:
  static constexpr std::size_t kReadersMost = 16;
  static constexpr std::size_t kSecondsKept = 600;
  static constexpr std::size_t kPoliciesMost = 100;  ///< told of in a second: the busiest
  static constexpr std::size_t kListsMost = 1000;    ///< told of
  static constexpr std::size_t kRowsMost = 40;       ///< verdicts of a second: the last ones

  Live(boost::asio::io_context& io, Operations& operations, const Stores& stores);
  ~Live();
  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;

  void start();  ///< a second from now on: tick(), and so on
  void stop();   ///< ends the answers of all readers
  /// Server-sent events: `past`, then a `second` for each; 503 for more than kReadersMost.
  net::HttpReply subscribe();
  /// The second that ends now.
  void tick();
  std::size_t readers() const noexcept;

 private:
  struct Hub;
  std::shared_ptr<Hub> hub_;
};

}  // namespace weir::admin
