#include "telemetry/access_line.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "core/assert.h"
#include "core/text.h"

namespace weir::telemetry {
namespace {

constexpr AccessFieldRow kFields[] = {
    {AccessField::time, "time", true, "when the head was complete, UTC"},
    {AccessField::request_id, "request_id", true, "X-Request-Id of request and answer"},
    {AccessField::client, "client", true, "the address that is counted"},
    {AccessField::peer, "peer", false, "the connection's other end"},
    {AccessField::method, "method", true, ""},
    {AccessField::host, "host", false, ""},
    {AccessField::path, "path", true, "in normal form, without the query"},
    {AccessField::query, "query", false, "as received; may hold secrets"},
    {AccessField::route, "route", true, "the named event that the request is"},
    {AccessField::status, "status", true, "of the answer"},
    {AccessField::bytes_in, "bytes_in", true, "of the request, head included"},
    {AccessField::bytes_out, "bytes_out", true, "of the answer, head included"},
    {AccessField::head_ms, "head_ms", true, "from the head's first byte to its end"},
    {AccessField::judge_ms, "judge_ms", true,
     "from there to the verdict, a body that policies read included"},
    {AccessField::wait_ms, "wait_ms", true,
     "for others' reservations, Redis, or held by `delay`; left out if nothing was waited for"},
    {AccessField::connect_ms, "connect_ms", true, "to the app; 0: a connection that was there"},
    {AccessField::first_byte_ms, "first_byte_ms", true,
     "from sending the request to the head of the app's answer"},
    {AccessField::total_ms, "total_ms", true, "from the head to the end of the answer"},
    {AccessField::verdict, "verdict", true,
     "`pass`, `allow`, or the action: `flag`, `graylist`, `delay`, `challenge`, `deny`"},
    {AccessField::policy, "policy", true, "the policy or list that decided"},
    {AccessField::upstream, "upstream", true, "the app that it was sent to"},
    {AccessField::end, "end", true,
     "`complete`, `refused` (by a policy or list), `local` (weir's own answer), `cut` (the app "
     "broke "
     "off), `aborted` (the client left)"},
    {AccessField::user_agent, "user_agent", false, ""},
    {AccessField::referer, "referer", false, ""},
    {AccessField::trace_id, "trace_id", false, "of the trace, with `tracing`"},
};

// Of everything but texts from outside, which are appended as strings.
constexpr std::size_t kEnough = 512;

/// The high bit of each byte of `x` that is 0; of others as well, but only above one that is.
constexpr std::uint64_t zero_bytes(std::uint64_t x) noexcept {
  return (x - 0x0101'0101'0101'0101) & ~x & 0x8080'8080'8080'8080;
}

/// Whether JSON takes all eight characters as they are.
constexpr bool is_plain(std::uint64_t x) noexcept {
  constexpr std::uint64_t kEach = 0x0101'0101'0101'0101;
  const std::uint64_t controls = (x - 0x20 * kEach) & ~x;
  const std::uint64_t odd = x | controls | zero_bytes(x ^ ('"' * kEach)) |
                            zero_bytes(x ^ ('\\' * kEach)) | zero_bytes(x ^ (0x7f * kEach));
  return (odd & 0x8080'8080'8080'8080) == 0;
}

bool is_plain(std::string_view text) noexcept {
  while (text.size() >= 8) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, text.data(), 8);
    if (!is_plain(eight)) return false;
    text.remove_prefix(8);
  }
  std::uint64_t rest = 0x2020'2020'2020'2020;
  std::memcpy(&rest, text.data(), text.size());
  return is_plain(rest);
}

/// `,"name":` of each field, in the order of AccessField.
const std::vector<std::string>& keys() {
  static const std::vector<std::string> kKeys = [] {
    std::vector<std::string> out;
    for (const AccessFieldRow& row : kFields) out.push_back(",\"" + std::string(row.name) + "\":");
    return out;
  }();
  return kKeys;
}

/// Puts members one behind the other into memory that was made large enough once: a call of
/// std::string::append for each of some forty pieces would cost as much as all else of a line.
class MemberWriter {
 public:
  MemberWriter(std::string& room, std::string& escaped, std::int64_t& second,
               std::array<char, 20>& second_text) noexcept
      : room_(room),
        escaped_(escaped),
        second_(second),
        second_text_(second_text),
        p_(room.data()) {}

  void raw(std::string_view text) noexcept {
    WEIR_ASSERT(text.size() <= static_cast<std::size_t>(room_.data() + room_.size() - p_));
    std::memcpy(p_, text.data(), text.size());
    p_ += text.size();
  }
  void quote() noexcept { *p_++ = '"'; }
  void text(std::string_view key, std::string_view value) {
    if (value.empty()) return;
    raw(key);
    if (is_plain(value)) {
      quote();
      raw(value);
      quote();
      return;
    }
    escaped_.clear();
    append_json(escaped_, value);
    grow(escaped_.size());
    raw(escaped_);
  }
  void number(std::string_view key, std::uint64_t value) noexcept {
    raw(key);
    p_ = std::to_chars(p_, p_ + 20, value).ptr;
  }
  void milliseconds_of(std::string_view key, std::int64_t us) noexcept {
    if (us == RequestFacts::kNever) return;
    const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(us, 0));
    number(key, value / 1'000);
    const auto rest = static_cast<unsigned>(value % 1'000);
    if (rest == 0) return;
    const char digits[] = {'.', static_cast<char>('0' + rest / 100),
                           static_cast<char>('0' + rest / 10 % 10),
                           static_cast<char>('0' + rest % 10)};
    raw({digits, sizeof digits});
  }
  void address(std::string_view key, const Address& value) noexcept {
    if (value == Address{}) return;
    raw(key);
    quote();
    p_ += value.to_chars(p_);
    quote();
  }
  void time(std::string_view key, FineTime time) {
    const std::int64_t ms = std::chrono::floor<milliseconds>(time).time_since_epoch().count();
    if (ms / 1'000 != second_) {
      second_ = ms / 1'000;
      iso_time(from_ms(ms)).copy(second_text_.data(), second_text_.size());
    }
    const auto rest = static_cast<unsigned>(ms % 1'000);
    const char end[] = {static_cast<char>('0' + rest / 100),
                        static_cast<char>('0' + rest / 10 % 10), static_cast<char>('0' + rest % 10),
                        'Z', '"'};
    raw(key);
    quote();
    raw({second_text_.data(), second_text_.size()});
    raw({end, sizeof end});
  }
  /// Ends the line: what would be the first comma is its brace.
  void end() noexcept {
    const bool nothing = p_ == room_.data();
    raw(nothing ? "{}\n" : "}\n");
    room_.front() = '{';
  }
  std::string_view written() const noexcept {
    return {room_.data(), static_cast<std::size_t>(p_ - room_.data())};
  }

 private:
  // Escapes make text up to six times as long.
  void grow(std::size_t more) {
    const auto used = static_cast<std::size_t>(p_ - room_.data());
    if (room_.size() - used >= more + sizeof(RequestFacts) + kEnough) return;
    room_.resize(used + more + sizeof(RequestFacts) + 4 * kEnough);
    p_ = room_.data() + used;
  }

  std::string& room_;
  std::string& escaped_;
  std::int64_t& second_;  // what second_text_ spells
  std::array<char, 20>& second_text_;
  char* p_;
};

using Put = void (*)(MemberWriter&, std::string_view key, const RequestFacts&);

template <auto Member>
void put_text(MemberWriter& out, std::string_view key, const RequestFacts& facts) {
  out.text(key, (facts.*Member).view());
}
template <auto Member>
void put_number(MemberWriter& out, std::string_view key, const RequestFacts& facts) {
  out.number(key, facts.*Member);
}
template <auto Member>
void put_ms(MemberWriter& out, std::string_view key, const RequestFacts& facts) {
  out.milliseconds_of(key, facts.*Member);
}
template <auto Member>
void put_address(MemberWriter& out, std::string_view key, const RequestFacts& facts) {
  out.address(key, facts.*Member);
}
void put_trace(MemberWriter& out, std::string_view key, const RequestFacts& facts) {
  if (facts.trace.trace_id == TraceContext{}.trace_id) return;
  std::array<char, 32> digits;
  put_hex(digits.data(), facts.trace.trace_id.data(), facts.trace.trace_id.size());
  out.text(key, {digits.data(), digits.size()});
}

using Facts = RequestFacts;
/// In the order of AccessField.
constexpr Put kPuts[] = {
    [](MemberWriter& out, std::string_view key, const Facts& facts) { out.time(key, facts.begun); },
    put_text<&Facts::request_id>,
    put_address<&Facts::client>,
    put_address<&Facts::peer>,
    put_text<&Facts::method>,
    put_text<&Facts::host>,
    put_text<&Facts::path>,
    put_text<&Facts::query>,
    put_text<&Facts::route>,
    [](MemberWriter& out, std::string_view key, const Facts& facts) {
      if (facts.status != 0) out.number(key, facts.status);
    },
    put_number<&Facts::bytes_in>,
    put_number<&Facts::bytes_out>,
    put_ms<&Facts::head_us>,
    put_ms<&Facts::judge_us>,
    [](MemberWriter& out, std::string_view key, const Facts& facts) {
      if (facts.wait_us != 0) out.milliseconds_of(key, facts.wait_us);
    },
    put_ms<&Facts::connect_us>,
    put_ms<&Facts::first_byte_us>,
    put_ms<&Facts::total_us>,
    put_text<&Facts::verdict>,
    put_text<&Facts::policy>,
    [](MemberWriter& out, std::string_view key, const Facts& facts) {
      out.text(key, facts.upstream);
    },
    [](MemberWriter& out, std::string_view key, const Facts& facts) {
      out.text(key, name_of(facts.end));
    },
    put_text<&Facts::user_agent>,
    put_text<&Facts::referer>,
    put_trace,
};
static_assert(std::size(kPuts) == std::size(kFields));

}  // namespace

std::string_view name_of(RequestEnd end) noexcept {
  switch (end) {
    case RequestEnd::refused:
      return "refused";
    case RequestEnd::local:
      return "local";
    case RequestEnd::cut:
      return "cut";
    case RequestEnd::complete:
      return "complete";
    case RequestEnd::aborted:
      break;
  }
  return "aborted";
}

std::span<const AccessFieldRow> access_fields() noexcept { return kFields; }

std::optional<AccessField> access_field_named(std::string_view name) noexcept {
  for (const AccessFieldRow& row : kFields) {
    if (row.name == name) return row.field;
  }
  return std::nullopt;
}

std::vector<AccessField> default_access_fields() {
  std::vector<AccessField> out;
  for (const AccessFieldRow& row : kFields) {
    if (row.by_default) out.push_back(row.field);
  }
  return out;
}

AccessLine::AccessLine(std::vector<AccessField> fields) : fields_(std::move(fields)) {
  // All texts at their longest, names, numbers.
  room_.resize(sizeof(RequestFacts) + 4 * kEnough);
}

std::string_view AccessLine::write(const RequestFacts& facts) {
  MemberWriter out(room_, escaped_, second_.number, second_.text);
  const std::vector<std::string>& names = keys();
  for (const AccessField field : fields_) {
    const auto i = static_cast<std::size_t>(field);
    kPuts[i](out, names[i], facts);
  }
  out.end();
  return out.written();
}

}  // namespace weir::telemetry
