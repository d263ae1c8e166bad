#include "admin/dashboard/page.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "embedded/dashboard.h"

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
  std::shared_ptr<const std::string> plain, packed;
};

// By path, read once: the texts lie in the program, packed when it was built.
const std::map<std::string, File, std::less<>>& files() {
  static const auto* const kAll = [] {
    auto* const all = new std::map<std::string, File, std::less<>>;
    for (int i = 0; i < embedded::dashboard::kFileCount; ++i) {
      const auto& [name, text] = embedded::dashboard::kFiles[i];
      constexpr std::string_view kPacked = ".gz";
      const bool packed = name.ends_with(kPacked);
      const std::string_view plain = packed ? name.substr(0, name.size() - kPacked.size()) : name;
      File& file = (*all)[plain == "index.html" ? "/" : "/" + std::string(plain)];
      for (const Type& type : kTypes) {
        if (plain.ends_with(type.ending)) file.type = type.type;
      }
      (packed ? file.packed : file.plain) = std::make_shared<const std::string>(text);
    }
    return all;
  }();
  return *kAll;
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
  reply.page = packs ? file.packed : file.plain;
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
