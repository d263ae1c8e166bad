#include "store/lists/list_wire.h"

#include <cmath>
#include <cstring>

#include "core/number.h"
#include "limiter/lists/list_records.h"
#include "store/redis/key_stem.h"
#include "store/resp/resp_writer.h"

namespace weir::store {
namespace {

constexpr std::size_t kKeyBytes = 16;
constexpr char kNoKey[kKeyBytes] = {};  // the asker knows which key it was
constexpr std::int64_t kIntegerMax = kExactInteger;
constexpr std::size_t kRecordHead = 4 * sizeof(double) + 8;

std::string key_bytes(const Hash128& key) {
  std::string out;
  limiter::put(out, key.lo);
  limiter::put(out, key.hi);
  return out;
}

void put_ms(std::string& out, std::int64_t ms) { limiter::put(out, static_cast<double>(ms)); }

// The writer is not trusted: a time is 0 .. kForever.
std::optional<std::int64_t> get_ms(limiter::Reader& in) {
  const auto value = in.get<double>();
  if (!(value >= 0 && value <= static_cast<double>(to_ms(limiter::kForever)) * 2))
    return std::nullopt;
  return std::min(static_cast<std::int64_t>(value), to_ms(limiter::kForever));
}

std::optional<ListRecord> read_record(std::string_view key, std::string_view bytes) {
  if (key.size() != kKeyBytes || bytes.size() < kRecordHead) return std::nullopt;
  ListRecord out;
  limiter::Reader name(key);
  out.key.lo = name.get<std::uint64_t>();
  out.key.hi = name.get<std::uint64_t>();
  limiter::Reader in(bytes);
  for (std::int64_t* const field : {&out.removed, &out.listed, &out.until, &out.needed}) {
    const auto ms = get_ms(in);
    if (!ms) return std::nullopt;
    *field = *ms;
  }
  std::memcpy(out.maker.bytes.data(), bytes.data() + kRecordHead - 8, 8);
  out.entry = bytes.substr(kRecordHead);
  return out;
}

/// Walks the flat reply.
class Words {
 public:
  explicit Words(const Reply& reply) : reply_(reply) {}
  /// Reads an integer that Lua's numbers can hold, not below 0: times, sequences, counts.
  bool integer(std::int64_t& out) {
    if (!is(Reply::Type::integer)) return false;
    out = reply_[at_++].integer;
    return out >= 0 && out <= kIntegerMax;
  }
  bool string(std::string_view& out) {
    if (!is(Reply::Type::string)) return false;
    out = reply_.text(reply_[at_++]);
    return true;
  }
  bool at_end() const { return at_ == reply_.size(); }

 private:
  bool is(Reply::Type type) const { return at_ < reply_.size() && reply_[at_].type == type; }
  const Reply& reply_;
  std::size_t at_ = 1;
};

}  // namespace

ListOrigin ListOrigin::of(std::uint64_t number) noexcept {
  ListOrigin out;
  std::memcpy(out.bytes.data(), &number, sizeof(number));
  return out;
}

std::array<std::string, 4> list_keys(std::string_view name, const Hash128& id) {
  const std::string stem = key_stem("list", name, id);
  return {stem, stem + ":order", stem + ":terms", stem + ":tombstones"};
}

void append_question(std::string& out, const ListQuestion& question) {
  std::string bytes(question.epoch.data(), question.epoch.size());
  put_ms(bytes, question.known);
  bytes.append(question.origin.bytes.data(), question.origin.bytes.size());
  bytes.append(question.fresh.data(), question.fresh.size());
  limiter::put(bytes, static_cast<double>(question.changes_most));
  limiter::put(bytes, static_cast<double>(question.keys_most));
  append_bulk(out, bytes);
}

void append_op(std::string& out, const ListOp& op) {
  std::string bytes = key_bytes(op.key);
  for (const std::int64_t ms : {op.removed, op.listed, op.until, op.needed}) put_ms(bytes, ms);
  bytes += op.entry;
  append_bulk(out, bytes);
}

bool read_answer(const Reply& reply, std::size_t ops, ListAnswer& out) {
  out = {};
  if (reply.root().type != Reply::Type::array) return false;
  Words words(reply);
  std::int64_t more = 0, count = 0;
  std::string_view epoch, key, bytes;
  if (!words.integer(out.now) || !words.string(epoch) || !words.integer(out.known) ||
      !words.integer(more) || !words.integer(count) || (!epoch.empty() && epoch.size() != 16)) {
    return false;
  }
  std::copy(epoch.begin(), epoch.end(), out.epoch.begin());
  out.more = more != 0;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t sequence = 0;
    if (!words.integer(sequence) || !words.string(key) || !words.string(bytes)) return false;
    // An unreadable record may come from another version: the rest counts.
    if (auto record = read_record(key, bytes)) {
      record->sequence = sequence;
      out.records.push_back(*record);
    }
  }
  for (std::size_t i = 0; i < ops; ++i) {
    std::int64_t flags = 0;
    if (!words.integer(flags) || !words.string(bytes)) return false;
    ListResult& result = out.results.emplace_back();
    result.changed = (flags & 1) != 0;
    result.made_here = (flags & 2) != 0;
    result.full = (flags & 4) != 0;
    if (!bytes.empty()) result.record = read_record(std::string_view(kNoKey, kKeyBytes), bytes);
  }
  return words.at_end();
}

std::string entry_bytes(const limiter::ListEntry& entry) {
  std::string out;
  limiter::put_entry(out, entry);
  return out;
}

std::optional<limiter::ListEntry> entry_of(const ListRecord& record) {
  limiter::Reader in(record.entry);
  limiter::ListEntry out;
  if (!limiter::get_entry(in, out) || !in.at_end()) return std::nullopt;
  out.key = record.key;
  return out;
}

}  // namespace weir::store
