#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/lists/lists.h"
#include "store/resp/resp_reader.h"

/// The arguments and replies of list.lua. Times are the store's, in Unix milliseconds.
namespace weir::store {

using ListEpoch = std::array<char, 16>;  ///< names one life of a list in the store; all 0: none

/// The author of an entry: a process, from its start to its end.
struct ListOrigin {
  std::array<char, 8> bytes{};
  static ListOrigin of(std::uint64_t number) noexcept;
  friend bool operator==(const ListOrigin&, const ListOrigin&) = default;
};

/// The store's record of a key. until 0: a tombstone, kept so that no replica brings the entry
/// back.
struct ListRecord {
  Hash128 key;
  std::int64_t sequence = 0;
  std::int64_t removed = 0;  ///< 0: never
  std::int64_t listed = 0;   ///< last; 0: never
  std::int64_t until = 0;
  std::int64_t needed = 0;  ///< until then the store keeps it
  ListOrigin maker;         ///< whose listing made the entry
  std::string_view entry;   ///< as put_entry writes it, times the store's; a view into the answer
};

/// One change of this replica.
struct ListOp {
  Hash128 key;
  std::int64_t removed = 0, listed = 0, until = 0, needed = 0;  ///< as in a record
  std::string entry;
};

struct ListQuestion {
  ListEpoch epoch{};
  std::int64_t known = 0;  ///< the sequence up to which everything is known
  ListOrigin origin;
  ListEpoch fresh{};  ///< the epoch if the store has none
  std::size_t changes_most = 0, keys_most = 0;
};

struct ListResult {
  bool changed = false;
  bool made_here = false;  ///< in force, and made by a listing of this origin
  bool full = false;
  std::optional<ListRecord> record;  ///< the store's record, if it differs from the sent one
};

struct ListAnswer {
  std::int64_t now = 0;
  ListEpoch epoch{};
  std::int64_t known = 0;
  bool more = false;
  std::vector<ListRecord> records;
  std::vector<ListResult> results;  ///< one for each change
};

/// Keys of the store that hold the list. `name`: printable; `id`: keyed by the shared secret, so
/// that replicas with another secret, whose hashes mean nothing here, keep lists of their own.
std::array<std::string, 4> list_keys(std::string_view name, const Hash128& id);

// Arguments, as bulk strings.
void append_question(std::string& out, const ListQuestion& question);
void append_op(std::string& out, const ListOp& op);

/// Reads the answer of list.lua to `ops` changes. False: it is none.
bool read_answer(const Reply& reply, std::size_t ops, ListAnswer& out);

std::string entry_bytes(const limiter::ListEntry& entry);
std::optional<limiter::ListEntry> entry_of(const ListRecord& record);

}  // namespace weir::store
