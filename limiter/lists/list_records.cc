#include "limiter/lists/list_records.h"

namespace weir::limiter {
namespace {

constexpr std::string_view kCut = "\xE2\x80\xA6";  // …

void put_time(std::string& out, TimePoint t) { put(out, to_ms(t)); }

TimePoint get_time(Reader& in) { return clamp_list_time(from_ms(in.get<std::int64_t>())); }

}  // namespace

std::string printable(std::string_view text) {
  if (text.size() <= kListTextMax) return std::string(text);
  const auto is_inside = [&](std::size_t at) {  // of a UTF-8 character
    return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
  };
  std::size_t n = kListTextMax - kCut.size();
  for (int back = 0; back < 3 && is_inside(n); ++back) --n;
  return std::string(text.substr(0, n)).append(kCut);
}

bool is_cut(std::string_view kept) noexcept {
  return kept.size() >= kListTextMax - 3 && kept.ends_with(kCut);
}

bool may_be_cut(std::string_view kept) noexcept { return kept.size() >= kListTextMax - 3; }

void put_entry(std::string& out, const ListEntry& e) {
  put_time(out, e.since);
  put_time(out, e.until);
  put_time(out, e.forget_until);
  put_number(out, e.value);
  put_number(out, e.limit);
  put_varint(out, e.times);
  put(out, e.level);
  put_text(out, e.policy);
  put_text(out, e.why);
  put_text(out, e.by);
  put_varint(out, e.parts.size());
  for (const std::string& part : e.parts) put_text(out, part);
  put_time(out, e.listed);
}

bool get_entry(Reader& in, ListEntry& e) {
  e.since = get_time(in);
  e.until = get_time(in);
  e.forget_until = get_time(in);
  e.value = in.number();
  e.limit = in.number();
  e.times = in.varint();
  e.level = in.get<std::uint16_t>();
  e.policy = printable(in.text());
  e.why = printable(in.text());
  e.by = printable(in.text());
  const std::uint64_t parts = in.varint();
  if (parts > kListPartsMax) return false;
  e.parts.clear();
  for (std::uint64_t i = 0; i < parts && in.ok(); ++i) e.parts.push_back(printable(in.text()));
  if (!in.ok()) return false;
  e.listed = in.at_end() ? e.since : get_time(in);  // as it was written before
  return in.ok();
}

}  // namespace weir::limiter
