#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "telemetry/cut_text.h"

namespace weir::telemetry {

/// A key as the log and the tail of verdicts keep it: as one text, which is cut where it is long,
/// with the places where its parts end. A value of fixed size: allocates nothing but in parts().
class LoggedKey {
 public:
  static constexpr std::size_t kPartsMax = 8;  ///< of a key; further ones are left out

  void set(std::span<const std::string_view> parts) noexcept;
  void clear() noexcept {
    text_.clear();
    count_ = 0;
  }
  /// The parts with ", " between them: the text that the log prints or hashes.
  std::string_view view() const noexcept { return text_.view(); }
  /// None: of a policy without a key. A part that was cut ends with `…`, one after it is `…`.
  std::vector<std::string> parts() const;

 private:
  CutText<kLoggedKeyBytes> text_;
  bool cut_ = false;
  std::uint8_t count_ = 0;
  std::array<std::uint8_t, kPartsMax> ends_{};
};

}  // namespace weir::telemetry
