#include "telemetry/access_line.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string>

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

/// Some characters, in memory that is copied as a whole.
struct Piece {
  std::array<char, 24> text{};
  std::size_t size = 0;

  constexpr void add(std::string_view more) {
    for (const char c : more) text[size++] = c;
  }
};

/// `,"name":` of each field.
constexpr auto kKeys = [] {
  std::array<Piece, std::size(kFields)> out;
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].add(",\"");
    out[i].add(kFields[i].name);
    out[i].add("\":");
  }
  return out;
}();

constexpr std::string_view kEnds[] = {"aborted", "drained", "refused", "local", "cut", "complete"};
static_assert(std::size(kEnds) == static_cast<std::size_t>(RequestEnd::complete) + 1);

constexpr auto kQuotedEnds = [] {
  std::array<Piece, std::size(kEnds)> out;
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].add("\"");
    out[i].add(kEnds[i]);
    out[i].add("\"");
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
static_assert(sizeof(Sixteen) == kTextStep);

/// Not zero in each place whose character JSON does not take as it is: controls, quotes, DEL, and
/// the bytes beyond ASCII, which are negative here.
inline Sixteen odd_places(const char* text) noexcept {
  Sixteen some;
  std::memcpy(&some, text, sizeof some);
  return (some < ' ') | (some == '"') | (some == '\\') | (some == 0x7f);
}

/// A member whose text needs no escapes takes less: its name, the longest text, quotes, and the
/// bytes copied beyond the end of a text.
constexpr std::size_t kMemberMax = 640;

/// State that is kept from line to line: memory, and texts that seldom change.
struct Kept {
  std::string room;
  std::size_t line_most = 0;  // of a line without escapes
  std::string escaped;
  FineTime second{};          // which `second_text` spells
  Piece second_text;          // 2026-11-24T08:00:00.
  std::string_view upstream;  // the address in `upstream_member`
  std::string upstream_member;
};

// The functions of MemberWriter that few lines need. They take and return the place in the line,
// and not the writer, so that the writer's own place stays in a register.

/// Room for so much and for a line besides.
[[gnu::noinline]] char* make_room(Kept& kept, char* p, std::size_t more) {
  const auto used = static_cast<std::size_t>(p - kept.room.data());
  const std::size_t wanted = used + more + kept.line_most;
  if (kept.room.size() < wanted) kept.room.resize(wanted);
  return kept.room.data() + used;
}

[[gnu::noinline]] char* put_escaped(Kept& kept, char* p, std::string_view text) {
  kept.escaped.clear();
  append_json(kept.escaped, text);
  p = make_room(kept, p, kept.escaped.size());
  std::memcpy(p, kept.escaped.data(), kept.escaped.size());
  return p + kept.escaped.size();
}

[[gnu::noinline]] char* put_long_number(char* p, std::uint64_t value) noexcept {
  return std::to_chars(p, p + 20, value).ptr;
}

[[gnu::noinline]] void spell_second(Kept& kept, FineTime time) noexcept {
  kept.second = std::chrono::floor<std::chrono::seconds>(time);
  IsoRoom room;
  kept.second_text.size = 0;
  kept.second_text.add(iso_time(std::chrono::floor<milliseconds>(time), room).substr(0, 20));
}

/// Puts members one after the other into memory that was made large enough once: a call of
/// std::string::append for each of some forty pieces would cost as much as all else of a line.
class MemberWriter {
 public:
  explicit MemberWriter(Kept& kept) noexcept : kept_(kept), p_(kept.room.data()) {}

  void put(AccessField field, const RequestFacts& facts);

  /// Ends the line: the place of the first comma gets the brace.
  std::string_view end() noexcept {
    char* const begin = kept_.room.data();
    if (p_ == begin) ++p_;  // no member
    std::memcpy(p_, "}\n", 2);
    *begin = '{';
    return {begin, static_cast<std::size_t>(p_ + 2 - begin)};
  }

 private:
  void quote() noexcept { *p_++ = '"'; }
  void piece(const Piece& piece) noexcept {
    std::memcpy(p_, piece.text.data(), piece.text.size());
    p_ += piece.size;
  }
  /// Adds a text whose characters JSON takes unescaped: words of ours, ids, methods.
  template <std::size_t N>
  void plain(const Piece& name, const ShortText<N>& value) noexcept {
    if (value.view().empty()) return;
    piece(name);
    quote();
    p_ = value.copy_to(p_);
    quote();
  }
  template <std::size_t N>
  void text(const Piece& name, const ShortText<N>& value) {
    static_assert(N + kTextStep + sizeof(Piece) < kMemberMax);
    if (value.view().empty()) return;
    piece(name);
    char* const begin = p_;
    quote();
    p_ = value.copy_to(p_);
    // Examined in place, with blanks after the last.
    std::memset(p_, ' ', sizeof(Sixteen));
    Sixteen odd{};
    for (const char* at = begin + 1; at < p_; at += sizeof(Sixteen)) odd |= odd_places(at);
    std::array<std::uint64_t, 2> halves;
    std::memcpy(halves.data(), &odd, sizeof odd);
    if ((halves[0] | halves[1]) == 0) return quote();
    p_ = put_escaped(kept_, begin, value.view());
  }
  /// The app's name is the same from line to line, in the same place: its member is copied whole.
  void upstream(const Piece& name, std::string_view value) {
    if (value.empty()) return;
    std::string& member = kept_.upstream_member;
    if (value.data() != kept_.upstream.data() || value.size() != kept_.upstream.size()) {
      kept_.upstream = value;
      member.assign(name.text.data(), name.size);
      append_json(member, value);
    }
    const char* const end = kept_.room.data() + kept_.room.size();
    if (static_cast<std::size_t>(end - p_) < member.size() + kept_.line_most)
      p_ = make_room(kept_, p_, member.size());
    std::memcpy(p_, member.data(), member.size());
    p_ += member.size();
  }
  void number(const Piece& name, std::uint64_t value) noexcept {
    piece(name);
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
      p_ = put_long_number(p_, value);
    }
  }
  void milliseconds_of(const Piece& name, std::int64_t us) noexcept {
    if (us == RequestFacts::kNever) return;
    const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(us, 0));
    const std::uint64_t rest = value % 1'000;
    number(name, value / 1'000);
    if (rest == 0) return;
    std::memcpy(p_, kThousandths[rest].data(), 4);
    p_ += 4;
  }
  void address(const Piece& name, const Address& value) noexcept {
    std::array<std::uint64_t, 2> halves;
    std::memcpy(halves.data(), value.bytes().data(), sizeof halves);
    if ((halves[0] | halves[1]) == 0) return;
    piece(name);
    quote();
    p_ += value.to_chars(p_);
    quote();
  }
  void time(const Piece& name, FineTime time) noexcept {
    constexpr std::uint64_t kSecond = 1'000'000;
    auto us = static_cast<std::uint64_t>((time - kept_.second).count());
    if (us >= kSecond || kept_.second_text.size == 0) {  // another second, or an earlier one
      spell_second(kept_, time);
      us = static_cast<std::uint64_t>((time - kept_.second).count());
    }
    piece(name);
    quote();
    piece(kept_.second_text);
    std::memcpy(p_, kThousandths[us / 1'000].data() + 1, 3);
    std::memcpy(p_ + 3, "Z\"", 2);
    p_ += 5;
  }
  void trace_id(const Piece& name, const TraceContext& trace) noexcept {
    if (trace.trace_id == TraceContext{}.trace_id) return;
    piece(name);
    quote();
    p_ = put_hex(p_, trace.trace_id.data(), trace.trace_id.size());
    quote();
  }

  Kept& kept_;
  char* p_;
};

// One function with all of them in it, and no table of functions: a call for each of some twenty
// members costs as much as their texts.
[[gnu::always_inline]] inline void MemberWriter::put(AccessField field, const RequestFacts& facts) {
  const Piece& name = kKeys[static_cast<std::size_t>(field)];
  switch (field) {
    case AccessField::time:
      return time(name, facts.begun);
    case AccessField::request_id:
      return plain(name, facts.request_id);
    case AccessField::client:
      return address(name, facts.client);
    case AccessField::peer:
      return address(name, facts.peer);
    case AccessField::method:
      return plain(name, facts.method);
    case AccessField::host:
      return text(name, facts.host);
    case AccessField::path:
      return text(name, facts.path);
    case AccessField::query:
      return text(name, facts.query);
    case AccessField::route:
      return text(name, facts.route);
    case AccessField::status:
      if (facts.status != 0) number(name, facts.status);
      return;
    case AccessField::bytes_in:
      return number(name, facts.bytes_in);
    case AccessField::bytes_out:
      return number(name, facts.bytes_out);
    case AccessField::head_ms:
      return milliseconds_of(name, facts.head_us);
    case AccessField::judge_ms:
      return milliseconds_of(name, facts.judge_us);
    case AccessField::wait_ms:
      if (facts.wait_us != 0) milliseconds_of(name, facts.wait_us);
      return;
    case AccessField::connect_ms:
      return milliseconds_of(name, facts.connect_us);
    case AccessField::first_byte_ms:
      return milliseconds_of(name, facts.first_byte_us);
    case AccessField::total_ms:
      return milliseconds_of(name, facts.total_us);
    case AccessField::verdict:
      return plain(name, facts.verdict);
    case AccessField::policy:
      return text(name, facts.policy);
    case AccessField::upstream:
      return upstream(name, facts.upstream);
    case AccessField::end:
      piece(name);
      return piece(kQuotedEnds[static_cast<std::size_t>(facts.end)]);
    case AccessField::user_agent:
      return text(name, facts.user_agent);
    case AccessField::referer:
      return text(name, facts.referer);
    case AccessField::trace_id:
      return trace_id(name, facts.trace);
  }
}

}  // namespace

std::string_view name_of(RequestEnd end) noexcept { return kEnds[static_cast<std::size_t>(end)]; }

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
  std::vector<AccessField> fields;
  Kept kept;
};

AccessLine::AccessLine(const std::vector<AccessField>& fields) : state_(std::make_unique<State>()) {
  state_->fields = fields;
  state_->kept.line_most = (fields.size() + 1) * kMemberMax;
  state_->kept.room.resize(2 * state_->kept.line_most);  // enough for most, also with escapes
}

AccessLine::~AccessLine() = default;

std::string_view AccessLine::write(const RequestFacts& facts) {
  MemberWriter out(state_->kept);
  for (const AccessField field : state_->fields) out.put(field, facts);
  return out.end();
}

}  // namespace weir::telemetry
