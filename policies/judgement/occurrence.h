#pragma once

#include <cstdint>

#include "core/event.h"
#include "policies/lang/record.h"

namespace weir::policies {

/// An event for a Driver: a request that came through a door, or a record. A view, alive for one
/// call.
class Occurrence {
 public:
  Occurrence(const Request& request) noexcept : request_(&request) {}  // NOLINT: is one
  Occurrence(const Record& record) noexcept                            // NOLINT: is one
      : request_(record.request), record_(&record) {}

  /// Null: it came as a request.
  const Record* record() const noexcept { return record_; }
  /// For a record: the reported parts of its request; null if there are none.
  const Request* request() const noexcept { return request_; }
  /// Its line in its file; 0: it is in no file.
  std::uint64_t line() const noexcept { return record_ != nullptr ? record_->line : 0; }

  /// Calls `use` with the Request, or with the Record.
  template <class Use>
  decltype(auto) visit(Use use) const {
    return record_ != nullptr ? use(*record_) : use(*request_);
  }

 private:
  const Request* request_;
  const Record* record_ = nullptr;
};

}  // namespace weir::policies
