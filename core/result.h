#pragma once

#include <boost/system/error_code.hpp>
#include <boost/system/result.hpp>
#include <string>

namespace weir {

/// Expected errors at run time. Each code shows whether to retry.
enum class Error {
  malformed = 1,  ///< the input breaks its grammar; never retry
  too_large,      ///< the input is over a configured limit; never retry
  unsupported,    ///< understood, but not served here; never retry
  not_found,      ///< no such thing; never retry
  refused,        ///< not permitted, or the peer said no; never retry
  unavailable,    ///< the peer or a resource is away; retry later
  timed_out,      ///< no answer in time; may be retried where that is safe
  full,           ///< a bounded thing is at its bound; retry later
};

const boost::system::error_category& error_category() noexcept;

inline boost::system::error_code make_error_code(Error error) noexcept {
  return {static_cast<int>(error), error_category()};
}

/// The outcome of anything that may fail at run time: no exception, no allocation.
/// (std::expected needs C++23 in g++ 12 and clang-tidy 14 cannot read it.)
template <class T>
using Result = boost::system::result<T>;

}  // namespace weir

template <>
struct boost::system::is_error_code_enum<weir::Error> : std::true_type {};
