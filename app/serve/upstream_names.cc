#include "app/serve/upstream_names.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

namespace weir::app {
namespace {

constexpr milliseconds kAgain{10'000};
constexpr milliseconds kAgainWhileUnknown{1'000};
// The most addresses of one name: more would only make a request wait longer for all of them to
// fail.
constexpr std::size_t kAddressesMax = 16;

// Resolvers rotate their answers: the same addresses in another order are no change.
std::vector<std::string> sorted_texts(const UpstreamNames::Addresses& addresses) {
  std::vector<std::string> out;
  for (const net::SocketAddress& address : addresses) out.push_back(address.to_string());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

struct UpstreamNames::Question {
  std::mutex mutex;
  std::condition_variable answered;
  std::optional<Found> found;
};

UpstreamNames::Found UpstreamNames::look_up(const std::string& host, std::uint16_t port) {
  Found found;
  std::string why;
  found.addresses = resolve_all(host, port, &why);
  if (found.addresses.empty()) found.why_not = "can't resolve " + host + ": " + why;
  return found;
}

UpstreamNames::UpstreamNames(const config::Endpoint& upstream, decltype(&look_up) ask,
                             RunBeside run)
    : upstream_(upstream), ask_(ask), run_(std::move(run)) {}

UpstreamNames::~UpstreamNames() = default;

void UpstreamNames::begin(TimePoint now, milliseconds patience) {
  if (upstream_.is_unix()) {
    if (const auto path = net::SocketAddress::unix_path(upstream_.path)) addresses_ = {*path};
    if (addresses_.empty()) why_not_ = "the path of the socket is too long";
    return;
  }
  if (const auto address = Address::parse(upstream_.host)) {
    addresses_ = {net::SocketAddress::tcp(*address, upstream_.port)};
    return;
  }
  why_not_ = "can't resolve " + upstream_.host + ": no answer yet";
  begin_asking(now);
  if (question_ != nullptr) {
    std::unique_lock lock(question_->mutex);
    question_->answered.wait_for(lock, patience, [this] { return question_->found.has_value(); });
  }
  tick(now);
}

void UpstreamNames::begin_asking(TimePoint now) {
  asked_ = now;
  const auto question = std::make_shared<Question>();
  question_ = question;
  try {
    run_([question, ask = ask_, host = upstream_.host, port = upstream_.port] {
      Found found;
      try {
        found = ask(host, port);
      } catch (const std::exception& error) {  // no memory
        found.addresses.clear();
      }
      const std::lock_guard lock(question->mutex);
      question->found = std::move(found);
      question->answered.notify_all();
    });
  } catch (const std::exception&) {  // no thread can be had now
    question_ = nullptr;
  }
}

bool UpstreamNames::tick(TimePoint now) {
  bool changed = false;
  if (question_ != nullptr) {
    std::optional<Found> found;
    {
      const std::lock_guard lock(question_->mutex);
      found.swap(question_->found);
    }
    if (!found) return false;
    question_ = nullptr;
    changed = take(std::move(*found));
  }
  const bool is_name = asked_ != TimePoint{};
  const milliseconds pause = addresses_.empty() ? kAgainWhileUnknown : kAgain;
  if (is_name && now >= asked_ + pause) begin_asking(now);
  return changed;
}

bool UpstreamNames::take(Found found) {
  if (found.addresses.size() > kAddressesMax) found.addresses.resize(kAddressesMax);
  if (found.addresses.empty()) {
    if (addresses_.empty() && !found.why_not.empty()) why_not_ = std::move(found.why_not);
    return false;
  }
  why_not_.clear();
  if (sorted_texts(found.addresses) == sorted_texts(addresses_)) return false;
  addresses_ = std::move(found.addresses);
  return true;
}

}  // namespace weir::app
