#include "core/redis_url.h"

#include "core/chars/ascii.h"
#include "core/chars/parse.h"
#include "core/chars/percent.h"
#include "core/unix_path.h"

namespace weir {
namespace {

bool read_int(std::string_view text, int most, int& out) {
  const auto number = parse_whole<int>(text);
  if (!number || *number < 0 || *number > most) return false;
  out = *number;
  return true;
}

bool decode(std::string_view text, std::string& out) {
  auto decoded = percent_decode(text, false);
  if (decoded) out = std::move(*decoded);
  return decoded.has_value();
}

}  // namespace

std::string RedisEndpoint::to_string() const {
  if (is_unix()) return "unix:" + path;
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<RedisEndpoint> parse_redis_endpoint(std::string_view text, std::uint16_t default_port) {
  RedisEndpoint out;
  out.port = default_port;
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == text.npos) return Error::malformed;
    out.host = text.substr(1, end - 1);
    const std::string_view rest = text.substr(end + 1);
    if (!rest.empty() && rest[0] != ':') return Error::malformed;
    if (!rest.empty()) port = rest.substr(1);
    if (!rest.empty() && port.empty()) return Error::malformed;
  } else {
    const std::size_t colon = text.find(':');
    out.host = text.substr(0, colon);
    if (colon != text.npos) {
      port = text.substr(colon + 1);
      if (port.empty()) return Error::malformed;
    }
  }
  if (out.host.empty() || out.host.size() > 253) return Error::malformed;
  for (const char c : out.host) {
    const bool good =
        ascii::is_letter_or_digit(c) || c == '-' || c == '.' || c == '_' || c == ':' || c == '%';
    if (!good) return Error::malformed;
  }
  if (!port.empty()) {
    int n = 0;
    if (!read_int(port, 65535, n) || n == 0) return Error::malformed;
    out.port = static_cast<std::uint16_t>(n);
  }
  return out;
}

Result<RedisUrl> parse_redis_url(std::string_view text, std::string* why) {
  const auto fail = [&](const char* what) {
    if (why != nullptr) *why = what;
    return Result<RedisUrl>(Error::malformed);
  };
  RedisUrl out;
  const std::size_t colon = text.find("://");
  if (colon == text.npos) return fail("it begins with redis://, rediss:// or unix://");
  const std::string_view scheme = text.substr(0, colon);
  std::string_view rest = text.substr(colon + 3);
  const bool is_unix = scheme == "unix";
  out.tls = scheme == "rediss";
  if (!is_unix && !out.tls && scheme != "redis")
    return fail("it begins with redis://, rediss:// or unix://");

  const std::size_t slash = rest.find('/');
  const std::string_view authority = rest.substr(0, slash);
  if (const std::size_t at = authority.rfind('@'); at != authority.npos) {
    const std::string_view who = authority.substr(0, at);
    const std::size_t split = who.find(':');
    if (!decode(who.substr(0, split), out.user) ||
        (split != who.npos && !decode(who.substr(split + 1), out.password))) {
      return fail("user and password are percent-encoded");
    }
    rest.remove_prefix(at + 1);
  }
  if (is_unix) {
    const std::size_t query = rest.find('?');
    out.endpoint.path = rest.substr(0, query);
    if (!out.endpoint.path.starts_with('/')) return fail("unix:// is followed by an absolute path");
    if (out.endpoint.path.size() > kUnixPathMax)
      return fail("the path of a socket has at most 107 bytes");
    if (query == rest.npos) return out;
    const std::string_view option = rest.substr(query + 1);
    if (!option.starts_with("db=") || !read_int(option.substr(3), 1 << 20, out.database))
      return fail("the only option of unix:// is ?db=NUMBER");
    return out;
  }
  const std::size_t path = rest.find('/');
  const auto endpoint = parse_redis_endpoint(rest.substr(0, path), 6379);
  if (!endpoint) return fail("its host is a name or address, with a port behind a colon");
  out.endpoint = *endpoint;
  if (path == rest.npos || path + 1 == rest.size()) return out;
  if (!read_int(rest.substr(path + 1), 1 << 20, out.database))
    return fail("the number of the database comes after the host");
  return out;
}

}  // namespace weir
