#include "admin/dashboard/page.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "core/assert.h"
#include "embedded/dashboard.h"
#include "net/http/content_coding.h"

namespace weir::admin {
namespace {

// No foreign sources, no inline scripts or styles, no code from text at run time, no framing.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

struct Type {
  std::string_view ending;
  const char* type;
};
constexpr Type kTypes[] = {
    {".html", "text/html; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".svg", "image/svg+xml"},
};

struct File {
  const char* type = "";
  std::shared_ptr<const std::string> packed;
};

constexpr std::size_t kPlainMax = std::size_t{1} << 20;

// By path, read once: the texts lie in the program, packed when it was built.
const std::map<std::string, File, std::less<>>& files() {
  static const auto* const kAll = [] {
    auto* const all = new std::map<std::string, File, std::less<>>;
    for (int i = 0; i < embedded::dashboard::kFileCount; ++i) {
      const auto& [name, text] = embedded::dashboard::kFiles[i];
      const std::string_view plain = name.substr(0, name.rfind(".gz"));
      File& file = (*all)[plain == "index.html" ? "/" : "/" + std::string(plain)];
      for (const Type& type : kTypes) {
        if (plain.ends_with(type.ending)) file.type = type.type;
      }
      file.packed = std::make_shared<const std::string>(text);
    }
    return all;
  }();
  return *kAll;
}

/// For clients that are no browsers: those take it as it is kept.
std::shared_ptr<const std::string> unpacked(const std::string& packed) {
  net::ContentDecoder decoder;
  const auto decoded = decoder.decode(net::ContentCoding::gzip, packed, kPlainMax);
  WEIR_ASSERT(decoded.status == net::ContentDecoder::Status::complete);
  return std::make_shared<const std::string>(decoded.body);
}

}  // namespace

bool is_page_file(std::string_view path) noexcept { return files().contains(path); }

std::optional<net::HttpReply> page_file(const net::HttpRequest& request) {
  const auto found = files().find(request.path);
  if (found == files().end()) return std::nullopt;
  const File& file = found->second;
  net::HttpReply reply;
  reply.content_type = file.type;
  const bool packs = request.field("accept-encoding").find("gzip") != std::string_view::npos;
  reply.page = packs ? file.packed : unpacked(*file.packed);
  if (packs) reply.fields.emplace_back("Content-Encoding", "gzip");
  reply.fields.emplace_back("Vary", "Accept-Encoding");
  reply.fields.emplace_back("Content-Security-Policy", kPolicy);
  reply.fields.emplace_back("Referrer-Policy", "no-referrer");
  reply.fields.emplace_back("X-Frame-Options", "DENY");
  reply.fields.emplace_back("Cross-Origin-Opener-Policy", "same-origin");
  reply.fields.emplace_back("Cross-Origin-Resource-Policy", "same-origin");
  return reply;
}

}  // namespace weir::admin
