#include "authz/check_fields.h"

#include <google/protobuf/io/coded_stream.h>

#include <cstdint>
#include <cstring>

#include "authz/wire_fields.h"
#include "core/kept_memory.h"
#include "core/utf8.h"

namespace weir::authz {
namespace {

/// A field of protobuf's type `string`.
bool read_text(std::string_view bytes, std::string_view& out) noexcept {
  out = bytes;
  return is_utf8(bytes);
}

/// An entry of a map of texts.
bool read_entry(std::string_view entry, std::string_view& key, std::string_view& value) noexcept {
  WireFields fields(entry);
  while (fields.next()) {
    if (fields.tag() == length_delimited(1)) key = fields.bytes();
    if (fields.tag() == length_delimited(2)) value = fields.bytes();
  }
  return fields.is_sound() && is_utf8(key) && is_utf8(value);
}

bool merge(std::string_view bytes, Messages& memory, CheckFields::Metadata*& into) {
  if (bytes.empty()) return true;  // Envoy sends an empty one where it has none
  if (into == nullptr) into = &memory.make<CheckFields::Metadata>();
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  return into->MergeFromCodedStream(&stream) && stream.ConsumedEntireMessage();
}

}  // namespace

void CheckFields::clear() noexcept {
  source.reset();
  has_http = false;
  method = path = host = scheme = body = raw_body = {};
  clear_keeping(headers, kFieldsKept);
  clear_keeping(lines, kFieldsKept);
  clear_keeping(context, kFieldsKept);
  metadata = route_metadata = nullptr;
}

bool CheckFields::read(std::string_view bytes, Messages& memory) {
  clear();
  WireFields fields(bytes);
  while (fields.next()) {
    if (fields.tag() == length_delimited(1) && !read_attributes(fields.bytes(), memory))
      return false;
  }
  return fields.is_sound();
}

bool CheckFields::read_attributes(std::string_view bytes, Messages& memory) {
  WireFields fields(bytes);
  bool fine = true;
  while (fine && fields.next()) {
    const std::string_view part = fields.bytes();
    switch (fields.tag()) {
      case length_delimited(1):
        fine = read_source(part);
        break;
      case length_delimited(4): {
        WireFields request(part);
        while (fine && request.next()) {
          if (request.tag() == length_delimited(2)) fine = read_http(request.bytes());
        }
        fine = fine && request.is_sound();
        break;
      }
      case length_delimited(10): {
        auto& [key, value] = context.emplace_back();
        fine = context.size() <= kFieldsMax && read_entry(part, key, value);
        break;
      }
      case length_delimited(11):
        fine = merge(part, memory, metadata);
        break;
      case length_delimited(13):
        fine = merge(part, memory, route_metadata);
        break;
      default:
        break;
    }
  }
  return fine && fields.is_sound();
}

bool CheckFields::read_source(std::string_view peer) {
  WireFields fields(peer);
  while (fields.next()) {
    if (fields.tag() == length_delimited(1) && !read_address(fields.bytes())) return false;
  }
  return fields.is_sound();
}

bool CheckFields::read_address(std::string_view address) {
  WireFields fields(address);
  while (fields.next()) {
    if (fields.tag() == length_delimited(2) || fields.tag() == length_delimited(3))
      source.reset();  // a pipe, or a listener inside Envoy: one of the three
    if (fields.tag() != length_delimited(1)) continue;
    if (!source) source.emplace();
    WireFields socket(fields.bytes());
    while (socket.next()) {
      if (socket.tag() == length_delimited(2) && !read_text(socket.bytes(), *source)) return false;
    }
    if (!socket.is_sound()) return false;
  }
  return fields.is_sound();
}

bool CheckFields::read_http(std::string_view bytes) {
  has_http = true;
  WireFields fields(bytes);
  bool fine = true;
  while (fine && fields.next()) {
    const std::string_view part = fields.bytes();
    switch (fields.tag()) {
      case length_delimited(2):
        fine = read_text(part, method);
        break;
      case length_delimited(3): {
        HeaderField& field = headers.emplace_back();
        fine = headers.size() <= kFieldsMax && read_entry(part, field.name, field.value);
        break;
      }
      case length_delimited(4):
        fine = read_text(part, path);
        break;
      case length_delimited(5):
        fine = read_text(part, host);
        break;
      case length_delimited(6):
        fine = read_text(part, scheme);
        break;
      case length_delimited(11):
        fine = read_text(part, body);
        break;
      case length_delimited(12):
        raw_body = part;
        break;
      case length_delimited(13):
        fine = read_lines(part);
        break;
      default:
        break;
    }
  }
  return fine && fields.is_sound();
}

bool CheckFields::read_lines(std::string_view header_map) {
  WireFields fields(header_map);
  while (fields.next()) {
    if (fields.tag() != length_delimited(1)) continue;
    HeaderField& line = lines.emplace_back();
    if (lines.size() > kFieldsMax) return false;
    std::string_view raw;
    WireFields parts(fields.bytes());
    while (parts.next()) {
      if (parts.tag() == length_delimited(1)) line.name = parts.bytes();
      if (parts.tag() == length_delimited(2)) line.value = parts.bytes();
      if (parts.tag() == length_delimited(3)) raw = parts.bytes();  // any bytes
    }
    if (!parts.is_sound() || !is_utf8(line.name) || !is_utf8(line.value)) return false;
    if (!raw.empty()) line.value = raw;
  }
  return fields.is_sound();
}

}  // namespace weir::authz
