#include "bench/load/requests.h"

#include <algorithm>

namespace weir::load {
namespace {

constexpr std::string_view kDevice = "d0000000000000000";  // d and 16 hex digits
constexpr std::string_view kUser = "user00000000";         // 8 decimal digits
constexpr std::string_view kAddress =
    "100.100.100.100";                   // each octet 100..227: always 15 characters
constexpr std::size_t kRealBytes = 541;  // a GET of "/api/items"; the cookie is padded to it

void put_decimal(char* end, std::uint64_t value, int digits) noexcept {
  for (; digits > 0; --digits, value /= 10) *--end = static_cast<char>('0' + value % 10);
}

void put_hex(char* end, std::uint64_t value, int digits) noexcept {
  for (; digits > 0; --digits, value /= 16) *--end = "0123456789abcdef"[value % 16];
}

std::string real_head(const std::string& line) {
  std::string text =
      line +
      "Host: shop.example\r\n"
      "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
      "Chrome/126.0.0.0 Safari/537.36\r\n"
      "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n"
      "Accept-Language: en-GB,en;q=0.9,de;q=0.8\r\n"
      "Accept-Encoding: gzip, deflate, br\r\n"
      "X-Request-Id: 7d3f2a90-5c1e-4b8a-9f63-2e8d1c0b7a54\r\n"
      "X-Forwarded-For: " +
      std::string(kAddress) +
      "\r\n"
      "X-Device-Id: " +
      std::string(kDevice) +
      "\r\n"
      "Cookie: session=";
  // Padding makes a GET of the default path exactly kRealBytes long; other requests carry the same
  // cookie.
  const std::size_t fixed =
      text.size() - line.size() + std::string_view("GET /api/items HTTP/1.1\r\n").size() + 4;
  for (std::size_t i = fixed; i < kRealBytes; ++i) text += static_cast<char>('a' + i * 7 % 26);
  return text + "\r\n";
}

}  // namespace

Requests::Requests(const Options& options) : random_(options.random), state_(options.seed | 1) {
  using Shape = Options::Shape;
  std::string path = options.path;
  if (path.empty())
    path = options.login ? "/api/login" : options.shape == Shape::bare ? "/" : "/api/items";
  const std::string line = (options.login ? "POST " : "GET ") + path + " HTTP/1.1\r\n";
  text_ = options.shape == Shape::bare ? line + "Host: 127.0.0.1\r\n" : real_head(line);
  std::string body;
  if (options.login) {
    body =
        "{\"username\":\"" + std::string(kUser) + "\",\"password\":\"" + options.password + "\"}";
    text_ +=
        "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  }
  for (const std::string& header : options.headers) text_ += header + "\r\n";
  text_ += "\r\n" + body;
  const auto slot = [&](std::string_view what, std::uint64_t values) {
    const std::size_t at = values > 1 ? text_.find(what) : std::string::npos;
    Slot out{at == std::string::npos ? at : at + what.size(), values, {}};
    if (options.skew != 0 && at != std::string::npos) out.skewed.emplace(values, options.skew);
    return out;
  };
  device_ = slot(kDevice, options.devices);
  user_ = slot(kUser, options.users);
  address_ = slot(kAddress, options.addresses);
}

std::uint64_t Requests::pick(const Slot& slot) noexcept {
  if (!random_ && !slot.skewed) return sequence_ % slot.values;
  state_ ^= state_ << 13;  // xorshift64
  state_ ^= state_ >> 7;
  state_ ^= state_ << 17;
  if (!slot.skewed) return state_ % slot.values;
  return slot.skewed->draw(static_cast<double>(state_ >> 11) * 0x1p-53);
}

std::string_view Requests::next() noexcept {
  if (device_.offset != std::string::npos) put_hex(&text_[device_.offset], pick(device_), 16);
  if (user_.offset != std::string::npos) put_decimal(&text_[user_.offset], pick(user_), 8);
  if (address_.offset != std::string::npos) {
    std::uint64_t value = pick(address_);
    for (std::size_t back = 0; back < 16; back += 4, value /= 128) {
      put_decimal(&text_[address_.offset - back], 100 + value % 128, 3);
    }
  }
  ++sequence_;
  return text_;
}

}  // namespace weir::load
