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
constexpr std::size_t kEnough = 2'048;

/// `,"name":` of a field, in memory that is copied as a whole.
struct Key {
  std::array<char, 24> text{};
  std::size_t size = 0;
};

constexpr auto kKeys = [] {
  std::array<Key, std::size(kFields)> out;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto put = [&](std::string_view text) {
      for (const char c : text) out[i].text[out[i].size++] = c;
    };
    put(",\"");
    put(kFields[i].name);
    put("\":");
  }
  return out;
}();

/// `.000` to `.999`.
constexpr auto kThousandths = [] {
  std::array<std::array<char, 4>, 1'000> out{};
  for (unsigned i = 0; i < 1'000; ++i) {
    out[i] = {'.', static_cast<char>('0' + i / 100), static_cast<char>('0' + i / 10 % 10),
              static_cast<char>('0' + i % 10)};
  }
  return out;
}();

/// In the high bit of each byte: JSON takes that character not as it is. `x`: eight of them.
constexpr std::uint64_t odd_bytes(std::uint64_t x) noexcept {
  constexpr std::uint64_t kEach = 0x0101'0101'0101'0101, kHigh = 0x80 * kEach;
  // Without the high bit no byte borrows from the next one.
  const std::uint64_t low = x & ~kHigh;
  const auto below = [&](std::uint64_t y, std::uint64_t c) { return ~((y | kHigh) - c * kEach); };
  const std::uint64_t controls = below(low, 0x20);
  const std::uint64_t quotes = below(low ^ ('"' * kEach), 1) | below(low ^ ('\\' * kEach), 1);
  return (x | controls | quotes | below(low ^ (0x7f * kEach), 1)) & kHigh;
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
  void key(const Key& key) noexcept {
    std::memcpy(p_, key.text.data(), key.text.size());
    p_ += key.size;
  }
  /// Of characters that JSON takes as they are: words of ours, ids, methods.
  void plain(const Key& name, std::string_view value) {
    if (value.empty()) return;
    key(name);
    quote();
    raw(value);
    quote();
  }
  void text(const Key& name, std::string_view value) {
    if (value.empty()) return;
    key(name);
    char* const begin = p_;
    quote();
    raw(value);
    // Looked at where they lie, with quiet ones behind the last.
    std::memset(p_, ' ', 8);
    std::uint64_t odd = 0;
    for (const char* at = begin + 1; at < p_; at += 8) {
      std::uint64_t eight = 0;
      std::memcpy(&eight, at, 8);
      odd |= odd_bytes(eight);
    }
    if (odd == 0) return quote();
    p_ = begin;
    escaped_.clear();
    append_json(escaped_, value);
    grow(escaped_.size());
    raw(escaped_);
  }
  void number(const Key& name, std::uint64_t value) noexcept {
    key(name);
    digits(value);
  }
  void digits(std::uint64_t value) noexcept {
    if (value < 10) {
      *p_++ = static_cast<char>('0' + value);
    } else if (value < 1'000) {
      const std::size_t skip = value < 100 ? 2 : 1;
      std::memcpy(p_, kThousandths[value].data() + skip, 3);
      p_ += 4 - skip;
    } else {
      p_ = std::to_chars(p_, p_ + 20, value).ptr;
    }
  }
  void milliseconds_of(const Key& name, std::int64_t us) noexcept {
    if (us == RequestFacts::kNever) return;
    const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(us, 0));
    std::size_t rest = value;
    if (value < 1'000) {  // most are
      key(name);
      *p_++ = '0';
    } else {
      number(name, value / 1'000);
      rest = value % 1'000;
    }
    if (rest != 0) {
      std::memcpy(p_, kThousandths[rest].data(), 4);
      p_ += 4;
    }
  }
  void address(const Key& name, const Address& value) noexcept {
    if (value == Address{}) return;
    key(name);
    quote();
    p_ += value.to_chars(p_);
    quote();
  }
  void time(const Key& name, FineTime time) noexcept {
    const std::int64_t ms = std::chrono::floor<milliseconds>(time).time_since_epoch().count();
    if (ms / 1'000 != second_) {
      second_ = ms / 1'000;
      IsoRoom room;
      iso_time(from_ms(ms), room).copy(second_text_.data(), second_text_.size());
    }
    key(name);
    quote();
    std::memcpy(p_, second_text_.data(), second_text_.size());
    p_ += second_text_.size();
    std::memcpy(p_, kThousandths[static_cast<std::size_t>(ms % 1'000)].data() + 1, 3);
    p_ += 3;
    raw("Z\"");
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

using Put = void (*)(MemberWriter&, const Key& key, const RequestFacts&);

template <auto Member>
void put_text(MemberWriter& out, const Key& key, const RequestFacts& facts) {
  out.text(key, (facts.*Member).view());
}
template <auto Member>
void put_plain(MemberWriter& out, const Key& key, const RequestFacts& facts) {
  out.plain(key, (facts.*Member).view());
}
template <auto Member>
void put_number(MemberWriter& out, const Key& key, const RequestFacts& facts) {
  out.number(key, facts.*Member);
}
template <auto Member>
void put_ms(MemberWriter& out, const Key& key, const RequestFacts& facts) {
  out.milliseconds_of(key, facts.*Member);
}
template <auto Member>
void put_address(MemberWriter& out, const Key& key, const RequestFacts& facts) {
  out.address(key, facts.*Member);
}
void put_trace(MemberWriter& out, const Key& key, const RequestFacts& facts) {
  if (facts.trace.trace_id == TraceContext{}.trace_id) return;
  std::array<char, 32> digits;
  put_hex(digits.data(), facts.trace.trace_id.data(), facts.trace.trace_id.size());
  out.plain(key, {digits.data(), digits.size()});
}

using Facts = RequestFacts;
/// In the order of AccessField.
constexpr Put kPuts[] = {
    [](MemberWriter& out, const Key& key, const Facts& facts) { out.time(key, facts.begun); },
    put_plain<&Facts::request_id>,
    put_address<&Facts::client>,
    put_address<&Facts::peer>,
    put_plain<&Facts::method>,
    put_text<&Facts::host>,
    put_text<&Facts::path>,
    put_text<&Facts::query>,
    put_text<&Facts::route>,
    [](MemberWriter& out, const Key& key, const Facts& facts) {
      if (facts.status != 0) out.number(key, facts.status);
    },
    put_number<&Facts::bytes_in>,
    put_number<&Facts::bytes_out>,
    put_ms<&Facts::head_us>,
    put_ms<&Facts::judge_us>,
    [](MemberWriter& out, const Key& key, const Facts& facts) {
      if (facts.wait_us != 0) out.milliseconds_of(key, facts.wait_us);
    },
    put_ms<&Facts::connect_us>,
    put_ms<&Facts::first_byte_us>,
    put_ms<&Facts::total_us>,
    put_plain<&Facts::verdict>,
    put_text<&Facts::policy>,
    [](MemberWriter& out, const Key& key, const Facts& facts) { out.text(key, facts.upstream); },
    [](MemberWriter& out, const Key& key, const Facts& facts) {
      out.plain(key, name_of(facts.end));
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
  for (const AccessField field : fields_) {
    const auto i = static_cast<std::size_t>(field);
    kPuts[i](out, kKeys[i], facts);
  }
  out.end();
  return out.written();
}

}  // namespace weir::telemetry
