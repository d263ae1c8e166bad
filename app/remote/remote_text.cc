#include "app/remote/remote_text.h"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <utility>

#include "app/remote/fetch.h"
#include "app/support/files.h"
#include "config/text/secrets.h"
#include "core/chars/ascii.h"
#include "core/text.h"

namespace weir::app {
namespace {

constexpr std::string_view kFirstLine = "weir-fetched 1";
constexpr std::size_t kSmall = 64 << 10;  // checksums, signatures, tokens
constexpr std::size_t kFieldMax = 1024;

std::string leading_word(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  text.remove_prefix(begin);
  return std::string(text.substr(0, text.find_first_of(" \t\r\n")));
}

bool is_sha256(std::string_view text) noexcept {
  return text.size() == 2 * crypto_hash_sha256_BYTES &&
         text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

/// Bytes of a header that go back to the server: no line ends, not too long.
std::string tame(std::string_view field) {
  if (field.size() > kFieldMax || ascii::has_control(field)) return {};
  return std::string(field);
}

template <std::size_t N>
bool bytes_of_base64(std::string_view text, std::array<unsigned char, N>& out) {
  std::size_t n = 0;
  return sodium_base642bin(out.data(), out.size(), text.data(), text.size(), " \t\r\n", &n, nullptr,
                           sodium_base64_VARIANT_ORIGINAL) == 0 &&
         n == N;
}

bool signed_by(std::string_view key64, std::string_view signature, std::string_view body) {
  std::array<unsigned char, crypto_sign_PUBLICKEYBYTES> key;
  std::array<unsigned char, crypto_sign_BYTES> mark;
  if (!bytes_of_base64(key64, key)) return false;
  if (signature.size() == mark.size()) {
    std::copy(signature.begin(), signature.end(), mark.begin());
  } else if (!bytes_of_base64(signature, mark)) {
    return false;
  }
  return crypto_sign_verify_detached(mark.data(),
                                     reinterpret_cast<const unsigned char*>(body.data()),
                                     body.size(), key.data()) == 0;
}

/// Whether this is a web page: a login, or an error page that comes with status 200.
bool is_web_page(std::string_view text) noexcept {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  constexpr std::string_view kBegins[] = {"<!doctype", "<html", "<head", "<body"};
  return std::any_of(std::begin(kBegins), std::end(kBegins), [&](std::string_view begin) {
    return text.size() >= begin.size() &&
           std::equal(begin.begin(), begin.end(), text.begin(),
                      [](char a, char b) { return a == ascii::lower(b); });
  });
}

/// Why an answer does not fit the request, for any kind of body; empty: it fits.
std::string wrong_answer(const Fetched& fetched) {
  if (fetched.status == 0) return fetched.error;
  if (fetched.status / 100 == 3 && fetched.status != 304) {
    const std::string to = tame(fetched.location);
    return "status " + std::to_string(fetched.status) + (to.empty() ? "" : ", to \"" + to + "\"") +
           "; weir follows no redirect" + (to.empty() ? "" : ": write that URL");
  }
  if (fetched.status != 200) return "status " + std::to_string(fetched.status);
  if (!fetched.encoding.empty())
    return "the answer is encoded (" + tame(fetched.encoding) + "), which weir did not ask for";
  if (is_web_page(fetched.body))
    return "the answer is a web page (HTML); perhaps a login or an error page is in the way";
  return {};
}

/// The URL of a side file (checksum, signature): the ending follows the path, the query stays.
std::string with_ending(std::string url, std::string_view ending) {
  const std::size_t query = std::min(url.find('?'), url.size());
  return url.insert(query, ending);
}

}  // namespace

std::string sha256_hex(std::string_view text) {
  std::array<unsigned char, crypto_hash_sha256_BYTES> digest;
  crypto_hash_sha256(digest.data(), reinterpret_cast<const unsigned char*>(text.data()),
                     text.size());
  std::string out(2 * digest.size() + 1, '\0');
  sodium_bin2hex(out.data(), out.size(), digest.data(), digest.size());
  out.pop_back();
  return out;
}

RemoteText::RemoteText(config::RemoteDef def, const std::string& directory, std::size_t bytes_max)
    : def_(std::move(def)), directory_(directory), bytes_max_(bytes_max) {}

std::string RemoteText::file() const {
  if (directory_.empty()) return {};
  return directory_ + "/fetched-" + sha256_hex(def_.name()).substr(0, 32);
}

// The second line of the kept file. It contains the key of the signer: a text that was signed by
// another key is not taken for this definition.
std::string RemoteText::whose() const {
  return def_.name() + (def_.signer ? " signed by " + def_.signer->value : "");
}

bool RemoteText::restore() {
  if (directory_.empty()) return false;
  const auto read = read_file(file(), bytes_max_ + kSmall);
  if (!read) return false;
  std::string_view rest = *read;
  std::array<std::string, 4> lines;  // the form, whose text it is, ETag, Last-Modified
  for (std::string& line : lines) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return false;
    line = std::string(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  if (lines[0] != kFirstLine || lines[1] != whose()) return false;
  // A text on disk that no longer fits the definition (a new key, a new checksum) is not used
  // either.
  const bool pinned = def_.sha256 && !def_.sha256->value.starts_with("http");
  if (pinned && ascii::lowered(def_.sha256->value) != sha256_hex(rest)) return false;
  text_ = std::string(rest);
  has_text_ = true;
  etag_ = tame(lines[2]);
  last_modified_ = tame(lines[3]);
  last_digest_ = sha256_hex(text_);
  return true;
}

std::string RemoteText::read_token(std::string& token) const {
  if (!def_.token_file) return {};
  const auto text = read_file(def_.token_file->value, kSmall);
  if (!text) return "token_file " + def_.token_file->value + ": " + text.error().message();
  token = tame(leading_word(*text));
  return {};
}

RemoteText::Turn RemoteText::failed(std::string why) {
  why_ = config::without_secrets_of_message(why);  // a URL in it may have some
  return Turn::failed;
}

RemoteText::Turn RemoteText::same() {
  why_ = refused_why_;
  return Turn::same;
}

RemoteText::Turn RemoteText::came(std::string body) {
  std::string digest = sha256_hex(body);
  etag_ = std::exchange(fresh_etag_, {});
  last_modified_ = std::exchange(fresh_last_modified_, {});
  if (digest == last_digest_) {
    // A body that was refused is not the last good one.
    if (!unkept_.empty() && refused_why_.empty()) write(body);
    return same();
  }
  last_digest_ = std::move(digest);
  refused_why_.clear();
  why_.clear();
  fresh_ = std::move(body);
  return Turn::fresh;
}

RemoteText::Turn RemoteText::ask(milliseconds deadline, const ReadKey& read_key,
                                 const std::atomic<bool>* stop) {
  if (!unkept_.empty() && has_text_) write(text_);
  if (!def_.redis_key.value.empty()) {
    if (!read_key) return failed("there is no Redis to read the key from");
    KeyValue key = read_key(def_.redis_key.value);
    if (!key.error.empty()) return failed(std::move(key.error));
    if (!key.found) return failed("there is no such key");
    if (key.value.size() > bytes_max_)
      return failed("the value is larger than " + human_size(bytes_max_));
    if (std::string wrong = wrong_with(key.value, deadline, read_key, stop); !wrong.empty())
      return failed(std::move(wrong));
    return came(std::move(key.value));
  }
  FetchAsk ask;
  const auto url = Url::parse(def_.url.value);
  if (!url) return failed("the URL can't be used");
  ask.url = *url;
  // A good text that is neither here nor on disk must come as a whole once more.
  const bool whole = !unkept_.empty() && !has_text_ && refused_why_.empty();
  if (!whole) {
    ask.etag = etag_;
    ask.last_modified = last_modified_;
  }
  ask.bytes_max = bytes_max_;
  std::string why = read_token(ask.token);
  if (!why.empty()) return failed(std::move(why));
  if (def_.ca_file && (ask.tls = tls_with(def_.ca_file->value, why)) == nullptr) return failed(why);
  Fetched fetched = fetch_now(std::move(ask), deadline, stop);
  if (fetched.status == 304 && !last_digest_.empty()) return same();
  if (std::string wrong = wrong_answer(fetched); !wrong.empty()) return failed(std::move(wrong));
  if (std::string wrong = wrong_with(fetched.body, deadline, read_key, stop); !wrong.empty())
    return failed(std::move(wrong));
  fresh_etag_ = tame(fetched.etag);
  fresh_last_modified_ = tame(fetched.last_modified);
  return came(std::move(fetched.body));
}

/// The checksum and the signature, as far as they are wanted. Empty: the body is what it must be.
std::string RemoteText::wrong_with(const std::string& body, milliseconds deadline,
                                   const ReadKey& read_key, const std::atomic<bool>* stop) {
  const auto beside = [&](const std::string& url, std::string& out) -> std::string {
    FetchAsk ask;
    const auto parsed = Url::parse(url);
    if (!parsed) return "\"" + url + "\" can't be used";
    ask.url = *parsed;
    ask.bytes_max = kSmall;
    std::string why;
    // A checksum may be on another server, which must not get the token.
    const auto own = Url::parse(def_.url.value);
    const bool same_server =
        own && own->tls == parsed->tls && own->host == parsed->host && own->port == parsed->port;
    if (same_server && !(why = read_token(ask.token)).empty()) return why;
    if (def_.ca_file && (ask.tls = tls_with(def_.ca_file->value, why)) == nullptr) return why;
    Fetched fetched = fetch_now(std::move(ask), deadline, stop);
    if (const std::string wrong = wrong_answer(fetched); !wrong.empty())
      return "\"" + url + "\": " + wrong;
    out = std::move(fetched.body);
    return {};
  };
  if (def_.sha256) {
    std::string wanted = def_.sha256->value;
    if (wanted.starts_with("http")) {
      std::string text;
      if (std::string why = beside(wanted, text); !why.empty()) return why;
      wanted = leading_word(text);
      if (!is_sha256(wanted))
        return "\"" + def_.sha256->value + "\": it does not begin with a SHA-256";
    }
    const std::string is = sha256_hex(body);
    if (ascii::lowered(wanted) != is)
      return "the checksum is wrong: it is " + is + ", and must be " + ascii::lowered(wanted);
  }
  if (!def_.signer) return {};
  std::string signature;
  if (!def_.redis_key.value.empty()) {
    KeyValue key = read_key(def_.redis_key.value + ".sig");
    if (!key.error.empty()) return key.error;
    signature = std::move(key.value);
  } else if (std::string why = beside(with_ending(def_.url.value, ".sig"), signature);
             !why.empty()) {
    return why;
  }
  return signed_by(def_.signer->value, signature, body) ? "" : "the signature is wrong";
}

void RemoteText::refuse(std::string why) {
  refused_why_ = why_ = std::move(why);
  fresh_.clear();
  fresh_.shrink_to_fit();
}

void RemoteText::keep(bool here) {
  std::string text = std::exchange(fresh_, {});
  write(text);
  if (here) text_ = std::move(text);
  has_text_ = here;
}

/// The last good text, to the disk.
void RemoteText::write(std::string_view text) {
  if (directory_.empty()) return;
  const auto done = [&]() -> Result<void> {
    auto replacement = FileReplacement::begin(file(), 0600);
    if (!replacement) return replacement.error();
    // The last answer may have been refused: then its ETag is not that of this text.
    const bool tags = refused_why_.empty();
    const std::string head = std::string(kFirstLine) + "\n" + whose() + "\n" + (tags ? etag_ : "") +
                             "\n" + (tags ? last_modified_ : "") + "\n";
    if (auto wrote = replacement->append(head); !wrote) return wrote;
    if (auto wrote = replacement->append(text); !wrote) return wrote;
    return replacement->commit();
  }();
  unkept_ = done ? std::string() : file() + ": " + done.error().message();
}

}  // namespace weir::app
