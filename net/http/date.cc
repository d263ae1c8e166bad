#include "net/http/date.h"

#include <ctime>

namespace weir::net {

std::string_view HttpDate::at(TimePoint wall) noexcept {
  const std::int64_t second = to_ms(wall) / 1000;
  if (second != second_) {
    second_ = second;
    const std::time_t t = second;
    std::tm parts{};
    gmtime_r(&t, &parts);
    std::strftime(text_, sizeof(text_), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  }
  return {text_, sizeof(text_) - 1};
}

}  // namespace weir::net
