#include "config/sections/sections.h"
#include "config/text/shapes.h"
#include "config/text/yaml_text.h"

/// Remote texts: `url:` of a list, and URLs and Redis keys of `include:`.
namespace weir::config {
namespace {

constexpr std::size_t kKeyLength = 44;  // 32 bytes in base64
constexpr std::size_t kDigestLength = 64;

bool is_web_url(std::string_view text) {
  const std::size_t host = text.starts_with("http://") ? 7 : text.starts_with("https://") ? 8 : 0;
  return host != 0 && text.size() > host && text[host] != '/' &&
         text.find_first_of(" \t\n#@") == std::string_view::npos;
}

std::optional<Text> read_web_url(Reader& reader, const Member& m) {
  auto text = reader.text(m);
  if (!text || is_web_url(text->value)) return text;
  reader.error(*m.value, quoted(text->value) + " is not a URL that weir can fetch",
               "write https://HOST/PATH, without user name and fragment");
  return std::nullopt;
}

constexpr Row<RemoteDef> kRemote[] = {
    {{"url", shape::kText, "`http://` or `https://` URL", "",
      "Where the text is. Redirects are not followed."},
     [](Reader& r, const Member& m, RemoteDef& out) { set(read_web_url(r, m), out.url); }},
    {{"redis", shape::kText, "name of a key", "",
      "In `include:` instead of `url`: a string in the store of `redis:`."},
     [](Reader& r, const Member& m, RemoteDef& out) { set(r.text(m), out.redis_key); }},
    duration<&RemoteDef::every, kSecond, 31 * kDay>(
        "every", "`1m`", "How often weir asks whether it has changed (by ETag and Last-Modified)."),
    {{"sha256", shape::kText, "64 hex digits, or a URL", "",
      "The hash that the text must have, or the URL of a text whose first word is the hash "
      "(fetched with "
      "each new "
      "text)."},
     [](Reader& r, const Member& m, RemoteDef& out) {
       const auto text = r.text(m);
       if (!text) return;
       const bool digits =
           text->value.size() == kDigestLength &&
           text->value.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
       if (!digits && !is_web_url(text->value))
         return r.error(*m.value, quoted(text->value) + " is neither a SHA-256 nor a URL",
                        "write 64 hex digits, or https://HOST/PATH.sha256");
       out.sha256 = text;
     }},
    {{"signed_by", shape::kText, "an Ed25519 public key, base64", "",
      "weir accepts only texts with a signature of this key. The signature is at the URL with "
      "`.sig` after "
      "it (in Redis: the key with `.sig`), 64 bytes or base64."},
     [](Reader& r, const Member& m, RemoteDef& out) {
       const auto text = r.text(m);
       if (!text) return;
       if (text->value.size() != kKeyLength || text->value.back() != '=')
         return r.error(*m.value, quoted(text->value) + " is not a public key",
                        "write the 32 bytes of an Ed25519 key in base64, 44 letters");
       out.signer = text;
     }},
    {{"token_file", shape::kText, "path", "",
      "File of a bearer token for the requests. Only the server of `url` gets it, also for the "
      "signature "
      "and a checksum on that server."},
     [](Reader& r, const Member& m, RemoteDef& out) { out.token_file = r.text(m); }},
    {{"ca_file", shape::kText, "path", "the system's", "CA certificates for the server, in PEM."},
     [](Reader& r, const Member& m, RemoteDef& out) { out.ca_file = r.text(m); }},
};

}  // namespace

std::optional<RemoteDef> read_remote(Reader& reader, const Member& m, bool redis) {
  RemoteDef out;
  out.where = m.value->where;
  const std::size_t errors = reader.problems().errors();
  if (m.value->is_map()) {
    reader.walk(*m.value, "what is fetched", kRemote, out);
  } else if (auto url = read_web_url(reader, m)) {
    out.url = std::move(*url);
  }
  if (reader.problems().errors() != errors) return std::nullopt;
  const bool web = !out.url.value.empty();
  const bool key = !out.redis_key.value.empty();
  if (key && !redis) {
    reader.error(*m.value,
                 "a list does not come from a Redis key: entries of all replicas are "
                 "those of \"share: redis\"",
                 "write url: https://HOST/PATH");
  } else if (web == key) {
    reader.error(*m.value,
                 web ? "one of \"url\" and \"redis\", not both"
                     : "what is fetched needs \"url\"" + std::string(redis ? " or \"redis\"" : ""));
  } else if (key && (out.token_file || out.ca_file)) {
    reader.error(*m.value, "\"token_file\" and \"ca_file\" are allowed only beside \"url\"");
  } else if (out.url.value.starts_with("http://") && !out.sha256 && !out.signer &&
             !out.url.value.starts_with("http://127.0.0.1") &&
             !out.url.value.starts_with("http://localhost")) {
    reader.problems().warning(m.value->where,
                              "anybody on the network path can change what comes over http://",
                              "take https://, or add sha256 or signed_by");
  }
  if (reader.problems().errors() != errors) return std::nullopt;
  return out;
}

void read_includes(Reader& reader, const Member& m, std::vector<Text>& patterns,
                   std::vector<RemoteDef>& remotes) {
  const auto one = [&](const Member& item) {
    const bool web = item.value->is_scalar() && (item.value->text.starts_with("http://") ||
                                                 item.value->text.starts_with("https://"));
    if (web || item.value->is_map()) {
      if (auto remote = read_remote(reader, item, true)) remotes.push_back(std::move(*remote));
      return;
    }
    for (Text& pattern : reader.texts(item)) patterns.push_back(std::move(pattern));
  };
  if (!m.value->is_list()) return one(m);
  for (const Member& item : m.value->items) one(item);
}

void add_remote_tables(std::vector<TableDoc>& out) {
  out.push_back(doc_of<kRemote>(
      "remote", "what is fetched", "What is fetched",
      "`url:` of a list, and an item of `include:`: a URL alone, or a map with these keys. The "
      "last "
      "good text is kept in `state.dir`; a text that weir cannot fetch, or that is not valid, "
      "changes "
      "nothing."));
}

}  // namespace weir::config
