#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/address.h"
#include "core/clock.h"
#include "core/key.h"
#include "core/number.h"
#include "core/words.h"
#include "limiter/lists/lists.h"
#include "telemetry/short_text.h"

/// What workers tell the control thread, as values of fixed size: a worker copies, and never waits.
namespace weir::app {

/// A text that says by `…` at its end that it was cut.
template <std::size_t N>
class NewsText : public telemetry::ShortText<N> {
 public:
  NewsText& operator=(std::string_view text) noexcept {
    telemetry::ShortText<N>::operator=(text);
    if (text.size() > N) [[unlikely]]
      mark(text);
    return *this;
  }

 private:
  static constexpr std::string_view kMark = "\xe2\x80\xa6";
  void mark(std::string_view text) noexcept {
    std::size_t size = N - kMark.size();
    while (size != 0 && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) --size;
    std::array<char, N> cut;
    std::copy_n(text.begin(), size, cut.begin());
    std::copy(kMark.begin(), kMark.end(), cut.begin() + size);
    telemetry::ShortText<N>::operator=(std::string_view(cut.data(), size + kMark.size()));
  }
};

/// A verdict, or a key that a rung has put on a list (or would notify of).
struct News {
  enum class Kind : std::uint8_t { verdict, listed };
  Kind kind = Kind::verdict;
  Action effect = Action::none;
  bool shadow = false;
  bool created = false;  ///< listed: a new entry
  bool list = false;     ///< verdict: `decider` is a list; listed: `list_name` is one
  std::uint16_t status = 0;
  TimePoint time{};
  TimePoint until{};  ///< epoch: not known
  milliseconds window{0};
  Number value;
  std::optional<Number> limit;
  std::uint32_t in_flight = 0;  ///< verdict: policies::Standing::in_flight
  Address client;
  telemetry::ShortText<16> method;
  NewsText<208> path;
  NewsText<64> event;                ///< verdict: of one that did not come as a request; else empty
  telemetry::ShortText<64> decider;  ///< policy or list
  telemetry::ShortText<64> list_name;    ///< listed
  telemetry::ShortText<64> notify;       ///< listed: empty: nobody asked
  NewsText<160> key;                     ///< listed: printable parts
  NewsText<64> field;                    ///< verdict: what of the request could not be read
  NewsText<64> why;                      ///< and why
  telemetry::ShortText<128> request_id;  ///< verdict: of a request; else empty
  limiter::ListId shared_list;           ///< listed: if replicas share it; then also `hash`
  Hash128 hash;                          ///< of the key, in that list
};

}  // namespace weir::app
