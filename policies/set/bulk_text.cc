#include "policies/set/bulk_text.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>

#include "config/text/units.h"
#include "core/chars/ascii.h"
#include "core/chars/network_text.h"
#include "limiter/lists/lists.h"

namespace weir::policies {
namespace {

constexpr std::size_t kProblemsShown = 10;
constexpr std::size_t kPartsMax = 32;
constexpr std::int64_t kSecondsUpTo = 100'000'000'000;  // more are milliseconds

std::string_view trimmed_of(std::string_view text) noexcept {
  return ascii::trimmed_if(text, [](char c) { return c == ' ' || c == '\t' || c == '\r'; });
}

/// `192.0.2.1` and nothing else, at a tenth of the general way's cost.
std::optional<std::uint32_t> plain_v4(std::string_view text) noexcept {
  std::uint32_t out = 0;
  std::size_t at = 0;
  for (int part = 0; part < 4; ++part) {
    std::uint32_t value = 0;
    const std::size_t begin = at;
    for (; at < text.size() && ascii::is_digit(text[at]) && at - begin < 3; ++at)
      value = value * 10 + static_cast<std::uint32_t>(text[at] - '0');
    if (at == begin || value > 255 || (at - begin > 1 && text[begin] == '0')) return std::nullopt;
    out = out << 8 | value;
    if (part < 3 && (at == text.size() || text[at++] != '.')) return std::nullopt;
  }
  return at == text.size() ? std::optional(out) : std::nullopt;
}

std::optional<Cidr> block_of(std::string_view text) noexcept {
  if (const auto four = plain_v4(text)) return Cidr{Address::v4(*four), 32};
  return Cidr::parse(text);
}

std::optional<TimePoint> end_of(std::string_view text) {
  const bool digits = std::all_of(text.begin(), text.end(), ascii::is_digit);
  if (digits && text.size() >= 9) {
    const auto number = config::parse_integer(text);
    if (!number) return std::nullopt;
    return from_ms(*number.value < kSecondsUpTo ? *number.value * 1000 : *number.value);
  }
  const auto date = config::parse_date(text);
  return date ? std::optional(*date.value) : std::nullopt;
}

class BulkReader {
 public:
  BulkReader(const List& list, const HashSecret& secret, TimePoint now)
      : list_(list), secret_(secret), now_(now), entries_(std::make_shared<limiter::BulkList>()) {}

  void read(std::string_view text, std::size_t entries_max) {
    const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
    entries_->reserve(std::min(lines, entries_max), list_.of_address);
    std::size_t taken = 0;
    for (std::size_t number = 1; !text.empty(); ++number) {
      const void* const found = std::memchr(text.data(), '\n', text.size());
      const std::size_t end =
          found == nullptr
              ? text.size()
              : static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
      const std::string_view line = content(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
      if (line.empty()) continue;
      if (++taken > entries_max) {
        refuse(number, "more than " + std::to_string(entries_max) + " entries");
        break;
      }
      if (const std::string wrong = take(line); !wrong.empty()) refuse(number, wrong);
    }
  }

  BulkText finish() {
    if (out_.problem_count == 0) {
      entries_->build();
      out_.entries = std::move(entries_);
    }
    return std::move(out_);
  }

 private:
  static std::string_view content(std::string_view line) noexcept {
    return trimmed_of(line.substr(0, std::min(line.find_first_of("#;"), line.size())));
  }

  void refuse(std::size_t line, const std::string& why) {
    if (++out_.problem_count <= kProblemsShown)
      out_.problems.push_back("line " + std::to_string(line) + ": " + why);
  }

  std::string take(std::string_view line) {
    std::array<std::string_view, kPartsMax> parts;
    const std::size_t fields = std::max<std::size_t>(list_.of.size(), 1);
    const std::string_view between = list_.of_address ? ", \t" : ",";
    std::size_t count = 0;
    for (; !line.empty() && count < std::min(fields + 2, kPartsMax); ++count) {
      const std::size_t end = count == fields + 1 ? line.size() : line.find_first_of(between);
      parts[count] = trimmed_of(line.substr(0, std::min(end, line.size())));
      line = end >= line.size() ? std::string_view{} : trimmed_of(line.substr(end + 1));
      if (list_.of_address && line.starts_with(',')) line = trimmed_of(line.substr(1));
    }
    if (count < fields) {
      return "the list has " + std::to_string(fields) + " fields, this entry has " +
             std::to_string(count);
    }
    TimePoint until = limiter::kForever;
    if (count > fields && !parts[fields].empty()) {
      const auto end = end_of(parts[fields]);
      if (!end)
        return quoted_start(parts[fields]) +
               " is not an end time: write 2027-01-01, RFC 3339 or Unix seconds";
      if (*end <= now_) {
        ++out_.ended;
        return {};
      }
      until = *end;
    }
    return add({parts.data(), fields}, until);
  }

  std::string add(std::span<const std::string_view> parts, TimePoint until) {
    if (list_.of_address) {
      const auto block = block_of(parts.front());
      if (!block) {
        const std::string fault = network_fault(parts.front());
        return quoted_start(parts.front()) +
               (fault.empty() ? " is neither an address nor a network such as 10.0.0.0/8"
                              : " is not a network: " + fault);
      }
      entries_->add(*block, until);
      return {};
    }
    builder_.start();
    const auto& slots = list_.bindings.front().key;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].empty()) return "a field is empty";
      if (i < slots.size() && slots[i].is_address) {
        const auto address = address_part(slots[i], parts[i]);
        if (!address) return quoted_start(parts[i]) + " is not an address";
        builder_.add_address(*address);
      } else {
        builder_.add_text(parts[i]);
      }
    }
    entries_->add(builder_.hash(secret_).owned_by(list_.identity), until);
    return {};
  }

  static std::string quoted_start(std::string_view text) {
    return "\"" + std::string(text.substr(0, 64)) + "\"";
  }

  const List& list_;
  const HashSecret& secret_;
  const TimePoint now_;
  std::shared_ptr<limiter::BulkList> entries_;
  KeyBuilder builder_;
  BulkText out_;
};

}  // namespace

BulkText read_bulk_list(const List& list, std::string_view text, const HashSecret& secret,
                        TimePoint now, std::size_t entries_max) {
  BulkReader reader(list, secret, now);
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  reader.read(text, entries_max);
  return reader.finish();
}

}  // namespace weir::policies
