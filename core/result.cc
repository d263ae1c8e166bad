#include "core/result.h"

namespace weir {
namespace {

class Category final : public boost::system::error_category {
 public:
  const char* name() const noexcept override { return "weir"; }
  std::string message(int value) const override {
    switch (static_cast<Error>(value)) {
      case Error::malformed:
        return "malformed input";
      case Error::too_large:
        return "input over a limit";
      case Error::unsupported:
        return "not supported";
      case Error::not_found:
        return "not found";
      case Error::refused:
        return "refused";
      case Error::unavailable:
        return "unavailable";
      case Error::timed_out:
        return "timed out";
      case Error::full:
        return "full";
    }
    return "unknown error";
  }
};

}  // namespace

const boost::system::error_category& error_category() noexcept {
  static const Category category;
  return category;
}

}  // namespace weir
