#include "app/remote/left_alone.h"

#include <atomic>
#include <system_error>
#include <utility>

#include "app/support/http_client.h"

namespace weir::app {
namespace {

constexpr int kMost = 4;  // each keeps two threads
std::atomic<int> left_count{0};

}  // namespace

bool too_many_are_left() noexcept { return left_count.load() >= kMost; }

void leave_alone(std::shared_ptr<void> left) {
  left_count.fetch_add(1);
  try {
    run_beside([left = std::move(left)]() mutable {
      left.reset();
      left_count.fetch_sub(1);
    });
  } catch (const std::system_error&) {
    left_count.fetch_sub(1);
  }
}

}  // namespace weir::app
