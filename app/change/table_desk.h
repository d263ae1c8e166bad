#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>
#include <vector>

#include "admin/operations.h"
#include "app/change/reload.h"
#include "app/change/table_book.h"
#include "app/support/log.h"

namespace weir::app {

/// Tables that people keep: who changes what, who agrees, and where it is written down. On the
/// control thread.
class TableDesk {
 public:
  /// `directory`: state.dir, where the book is kept; empty: it ends with the process.
  TableDesk(Log& log, const std::string& directory);

  /// Reads the book. Empty: it is read, or there is none; else why weir must not run with it.
  std::string load();
  const std::vector<config::TableEdit>& edits() const noexcept { return book_.edits(); }
  void serve(Reload& reload) noexcept { reload_ = &reload; }
  /// Whether a change waits for somebody else (`admin.approval`).
  void need_approval(bool needed) noexcept { approval_ = needed; }

  std::vector<admin::TableFacts> tables() const;
  boost::asio::awaitable<admin::TableAnswer> change_table(admin::TableWish wish);

 private:
  std::optional<admin::TableRecord> record_of(const admin::TableWish& wish,
                                              admin::TableAnswer& wrong) const;
  std::vector<config::TableEdit> edits_with(const admin::TableRecord& record) const;
  std::string write_book();
  boost::asio::awaitable<admin::TableAnswer> put_record(admin::TableRecord record,
                                                        std::string approve_id);
  boost::asio::awaitable<admin::TableAnswer> set_table(admin::TableWish wish);
  boost::asio::awaitable<admin::TableAnswer> decide_table(admin::TableWish wish);
  boost::asio::awaitable<admin::TableAnswer> undo_table(admin::TableWish wish);

  Log& log_;
  const std::string path_;
  Reload* reload_ = nullptr;  // null: weir is not running yet
  bool approval_ = false;
  TableBook book_;
};

}  // namespace weir::app
