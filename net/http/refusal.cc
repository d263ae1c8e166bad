#include "net/http/refusal.h"

#include <array>
#include <cstddef>

namespace weir::net {
namespace {

constexpr std::array kRows = {
#define WEIR_ROW(id, status, word, detail) HttpRefusalRow{status, word, detail},
    WEIR_HTTP_REFUSALS(WEIR_ROW)
#undef WEIR_ROW
};

}  // namespace

const HttpRefusalRow& http_refusal_row(HttpRefusal refusal) noexcept {
  return kRows[static_cast<std::size_t>(refusal)];
}

}  // namespace weir::net
