#include "net/http/door_guard.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "core/chars/ascii.h"
#include "net/fd.h"
#include "net/http/fields.h"
#include "net/http/uri.h"

namespace weir::net {
namespace {

constexpr std::size_t kTokenBytesMax = 4096;

/// The token in a file that is open: without the blanks around it.
std::optional<std::string> read_token_of(int fd) {
  std::array<char, kTokenBytesMax + 1> bytes;
  const ssize_t n = ::read(fd, bytes.data(), bytes.size());
  if (n <= 0 || static_cast<std::size_t>(n) > kTokenBytesMax) return std::nullopt;
  const std::string_view token =
      ascii::trimmed({bytes.data(), static_cast<std::size_t>(n)}, " \t\r\n");
  if (token.empty()) return std::nullopt;
  return std::string(token);
}

}  // namespace

std::optional<std::string> read_token(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return read_token_of(fd.get());
}

TokenFile::TokenFile(std::string path) : path_(std::move(path)), secret_(HashSecret::random()) {}

bool TokenFile::refresh() {
  const Fd fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    token_.reset();
    seen_ns_ = -1;
    return false;
  }
  const std::int64_t changed =
      std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  if (changed == seen_ns_ && status.st_size == seen_size_ && status.st_ino == seen_inode_) {
    return token_.has_value();
  }
  token_.reset();
  if (const auto token = read_token_of(fd.get())) token_ = secret_.hash(*token);
  seen_ns_ = changed;
  seen_size_ = status.st_size;
  seen_inode_ = status.st_ino;
  return token_.has_value();
}

Result<void> TokenFile::check(std::string_view offered) {
  if (!refresh()) return make_error_code(Error::unavailable);
  if (secret_.hash(offered) != *token_) return make_error_code(Error::refused);
  return {};
}

bool DoorGuard::needs_token(const SocketAddress& bound) noexcept {
  return !bound.is_unix() && !bound.is_loopback();
}

// A page of another site can make a browser resolve its own name to our address; then the Host is
// that name. Address literals cannot be rebound; names other than localhost are refused,
// unless the operator names them. The port is not compared: behind `kubectl port-forward` or ssh it
// is another one.
bool DoorGuard::host_allowed(std::string_view authority) const {
  if (bound_.is_unix()) return true;  // no browser connects to it
  const auto host = host_of_authority(authority);
  if (!host) return false;
  if (*host == "localhost") return true;
  if (std::find(hosts_.begin(), hosts_.end(), *host) != hosts_.end()) return true;
  const auto address = Address::parse(*host);
  if (!address) return false;
  const bool any = bound_.address() == Address{} || bound_.address() == Address::v4(0);
  return any || address->is_loopback() || *address == bound_.address();
}

std::optional<Hash128> DoorGuard::token_mark() {
  return token_ != nullptr ? token_->mark() : std::nullopt;
}

std::optional<DoorGuard::Refusal> DoorGuard::check(const HttpRequest& request, bool known) {
  const std::string_view host = request.field("host");
  if (token_ != nullptr) {
    if (!known || request.count("authorization") > 0) {
      if (auto refusal = check_token(request)) return refusal;
    }
  } else if (!host_allowed(host)) {
    return Refusal{403,
                   "without a token the Host must be localhost, the address that this door listens "
                   "on, or one of its `hosts`"};
  }
  if (request.count("origin") > 0) {
    const std::string_view origin = request.field("origin");
    const bool same = request.count("origin") == 1 && origin.starts_with("http://") &&
                      same_ignoring_case(origin.substr(7), host);
    if (!same) return Refusal{403, "requests from pages of another origin are refused"};
  }
  if (request.count("sec-fetch-site") > 0) {
    const std::string_view site = request.field("sec-fetch-site");
    // Any site may link to a page that is open to everyone; frames and scripts are refused.
    const bool link = known && request.method == "GET" &&
                      request.field("sec-fetch-mode") == "navigate" &&
                      request.field("sec-fetch-dest") == "document";
    if (!link && site != "same-origin" && site != "none") {
      return Refusal{403, "requests from pages of another site are refused"};
    }
  }
  return std::nullopt;
}

std::optional<DoorGuard::Refusal> DoorGuard::check_token(const HttpRequest& request) {
  const std::string_view credentials = request.field("authorization");
  const bool bearer = request.count("authorization") == 1 && credentials.size() > 7 &&
                      same_ignoring_case(credentials.substr(0, 7), "bearer ");
  const Result<void> checked =
      token_->check(bearer ? ascii::trimmed(credentials.substr(7)) : std::string_view{});
  if (!checked && checked.error() == Error::unavailable) {
    return Refusal{503, "the token file cannot be read or is empty: no login is possible"};
  }
  if (bearer && checked) return std::nullopt;
  return Refusal{401, bearer ? "the bearer token is not the one in the token file"
                             : "send `Authorization: Bearer TOKEN`"};
}

}  // namespace weir::net
