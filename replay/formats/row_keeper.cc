#include "replay/formats/row_keeper.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <type_traits>

#include "replay/lines.h"

namespace weir::replay {

struct RowKeeper::Move {
  std::string_view from, to;
  /// Where the part of `from` lies; null: it is none.
  const char* find(std::string_view part) const noexcept {
    const std::less_equal<> before;
    const bool inside = before(from.data(), part.data()) &&
                        before(part.data() + part.size(), from.data() + from.size());
    return inside ? to.data() + (part.data() - from.data()) : nullptr;
  }
};

std::string_view RowKeeper::keep(std::string_view text) {
  char* const at = arena_.allocate(text.size() + LineReader::kPadding);
  if (at == nullptr) return {};
  std::memcpy(at, text.data(), text.size());
  return {at, text.size()};
}

/// Without data() it is not known, and stays so.
bool RowKeeper::keep(std::string_view& text, const Move& move) {
  if (text.data() == nullptr) return true;
  const char* const at = move.find(text);
  text = at != nullptr ? std::string_view(at, text.size()) : keep(text);
  return text.data() != nullptr;
}

bool RowKeeper::keep(Value& value, const Move& move) {
  if (value.is(Type::text)) {
    std::string_view text = value.as_text();
    const bool kept = keep(text, move);
    value = Value::text(text);
    return kept;
  }
  if (value.is(Type::address)) {
    const Address* const kept = arena_.make(value.as_address());
    value = Value::address(kept);
    return kept != nullptr;
  }
  return !value.is(Type::list) && !value.is(Type::json);
}

bool RowKeeper::keep(std::span<const policies::Preset>& values, const Move& move) {
  if (values.empty()) return true;
  static_assert(std::is_trivially_copyable_v<policies::Preset>);
  char* const at = arena_.allocate(values.size_bytes());
  if (at == nullptr) return false;
  auto* const kept = reinterpret_cast<policies::Preset*>(at);
  std::uninitialized_copy(values.begin(), values.end(), kept);
  values = {kept, values.size()};
  return std::all_of(kept, kept + values.size(),
                     [&](policies::Preset& preset) { return keep(preset.value, move); });
}

bool RowKeeper::keep(std::span<const HeaderField>& headers, const Move& move) {
  if (headers.empty()) return true;
  char* const at = arena_.allocate(headers.size_bytes());
  if (at == nullptr) return false;
  auto* const kept = reinterpret_cast<HeaderField*>(at);
  std::uninitialized_copy(headers.begin(), headers.end(), kept);
  headers = {kept, headers.size()};
  return std::all_of(kept, kept + headers.size(), [&](HeaderField& field) {
    return keep(field.name, move) && keep(field.value, move);
  });
}

bool RowKeeper::keep(Row& row, std::string_view from, std::string_view to) {
  const Move move{from, to};
  Request& request = row.request;
  Answer& answer = row.answer;
  for (std::string_view* const text :
       {&request.method, &request.target, &request.path, &request.query, &request.host,
        &request.scheme, &request.body, &request.id, &answer.body}) {
    if (!keep(*text, move)) return false;
  }
  return keep(row.values, move) && keep(row.answered, move) && keep(request.headers, move) &&
         keep(answer.headers, move);
}

}  // namespace weir::replay
