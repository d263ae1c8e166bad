#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <variant>

#include "admin/json.h"
#include "net/http/uri.h"

/// The admin door's own parsers: paths, queries, authorities, JSON bodies; and that the JSON it
/// makes of any bytes is UTF-8 that its own JSON reader accepts.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weir::admin;
  using weir::net::host_of_authority, weir::net::Query, weir::net::split_path;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto segments = split_path(text)) {
    for (const std::string& segment : *segments) {
      if (segment.empty() || segment == "." || segment == "..") std::abort();
    }
  }
  if (const auto query = Query::parse(text)) {
    if (query->all("key").size() > Query::kParametersMax) std::abort();
    query->unknown({"key"});
  }
  if (const auto host = host_of_authority(text)) {
    if (host->empty()) std::abort();
  }
  read_object(text, {"key", "for"});
  const std::string clean = utf8_text(text);
  if (utf8_text(clean) != clean) std::abort();
  boost::json::object body;
  body["key"] = clean;
  const auto reply = json_reply(body);
  if (!std::holds_alternative<boost::json::object>(read_object(reply.body, {"key"}))) std::abort();
  return 0;
}
