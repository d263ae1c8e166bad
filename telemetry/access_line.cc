#include "telemetry/access_line.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string>

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

/// Sixteen characters that are compared at once.
using Sixteen [[gnu::vector_size(16)]] = signed char;

/// Not zero in each place whose character JSON does not take as it is: controls, quotes, DEL, and
/// what is negative here, the bytes beyond ASCII.
inline Sixteen odd_places(const char* text) noexcept {
  Sixteen some;
  std::memcpy(&some, text, sizeof some);
  return (some < ' ') | (some == '"') | (some == '\\') | (some == 0x7f);
}

/// What is kept from line to line: memory, and texts that seldom change.
struct Kept {
  std::string room;
  std::string escaped;
  std::int64_t second = -1;            // which `second_text` spells
  std::array<char, 20> second_text{};  // 2026-11-24T08:00:00.
  std::string_view upstream;           // which `upstream_member` tells
  std::string upstream_member;
};

/// Puts members one behind the other into memory that was made large enough once: a call of
/// std::string::append for each of some forty pieces would cost as much as all else of a line.
class MemberWriter {
 public:
  explicit MemberWriter(Kept& kept) noexcept : kept_(kept), p_(kept.room.data()) {}

  void raw(std::string_view text) noexcept {
    WEIR_ASSERT(text.size() <=
                static_cast<std::size_t>(kept_.room.data() + kept_.room.size() - p_));
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
    std::memset(p_, ' ', sizeof(Sixteen));
    Sixteen odd{};
    for (const char* at = begin + 1; at < p_; at += sizeof(Sixteen)) odd |= odd_places(at);
    std::array<std::uint64_t, 2> halves;
    std::memcpy(halves.data(), &odd, sizeof odd);
    if ((halves[0] | halves[1]) == 0) return quote();
    p_ = begin;
    std::string& escaped = kept_.escaped;
    escaped.clear();
    append_json(escaped, value);
    grow(escaped.size());
    raw(escaped);
  }
  /// The app's name is the same from line to line, in the same place: its member is copied whole.
  void upstream(const Key& name, std::string_view value) {
    if (value.empty()) return;
    if (value.data() != kept_.upstream.data() || value.size() != kept_.upstream.size()) {
      const std::size_t before = written().size();
      text(name, value);
      kept_.upstream = value;
      kept_.upstream_member = written().substr(before);
      return;
    }
    grow(kept_.upstream_member.size());
    raw(kept_.upstream_member);
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
    std::array<char, 20>& text = kept_.second_text;
    if (ms / 1'000 != kept_.second) {
      kept_.second = ms / 1'000;
      IsoRoom room;
      iso_time(from_ms(ms), room).copy(text.data(), text.size());
    }
    key(name);
    quote();
    std::memcpy(p_, text.data(), text.size());
    p_ += text.size();
    std::memcpy(p_, kThousandths[static_cast<std::size_t>(ms % 1'000)].data() + 1, 3);
    p_ += 3;
    raw("Z\"");
  }
  /// Ends the line: what would be the first comma is its brace.
  void end() noexcept {
    const bool nothing = p_ == kept_.room.data();
    raw(nothing ? "{}\n" : "}\n");
    kept_.room.front() = '{';
  }
  std::string_view written() const noexcept {
    return {kept_.room.data(), static_cast<std::size_t>(p_ - kept_.room.data())};
  }

 private:
  // Escapes make text up to six times as long.
  void grow(std::size_t more) {
    std::string& room = kept_.room;
    const auto used = static_cast<std::size_t>(p_ - room.data());
    if (room.size() - used >= more + sizeof(RequestFacts) + kEnough) return;
    room.resize(used + more + sizeof(RequestFacts) + 4 * kEnough);
    p_ = room.data() + used;
  }

  Kept& kept_;
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
    [](MemberWriter& out, const Key& key, const Facts& facts) {
      out.upstream(key, facts.upstream);
    },
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

struct AccessLine::State {
  struct Step {
    Put put;
    Key key;
  };
  std::vector<Step> steps;  // of the fields, in their order
  Kept kept;
};

AccessLine::AccessLine(const std::vector<AccessField>& fields) : state_(std::make_unique<State>()) {
  state_->steps.reserve(fields.size());
  for (const AccessField field : fields) {
    const auto i = static_cast<std::size_t>(field);
    state_->steps.push_back({kPuts[i], kKeys[i]});
  }
  // All texts at their longest, names, numbers.
  state_->kept.room.resize(sizeof(RequestFacts) + 4 * kEnough);
}

AccessLine::~AccessLine() = default;

std::string_view AccessLine::write(const RequestFacts& facts) {
  MemberWriter out(state_->kept);
  for (const State::Step& step : state_->steps) step.put(out, step.key, facts);
  out.end();
  return out.written();
}

}  // namespace weir::telemetry
