// Bodies in a content coding. The bytes are decoded as they are, within a bound, and beside it by
// the libraries' own streams; and they are encoded, and must come back.
#include <zlib.h>
#include <zstd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "net/http/content_coding.h"
#include "tests/support/codings.h"

namespace {

using weir::net::ContentCoding;
using weir::net::ContentDecoder;
using Status = ContentDecoder::Status;

void fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

/// zlib, fed byte by byte, member after member: the result of gunzip. Null: damaged. Stops at
/// `most` + 1 bytes.
struct Stream {
  bool sound = false;
  std::string body;
};

Stream inflated(std::string_view coded, int window_bits, bool members, std::size_t most) {
  Stream out;
  z_stream stream{};
  if (inflateInit2(&stream, window_bits) != Z_OK) fail("inflateInit2");
  bool ended = false;
  for (std::size_t at = 0; at < coded.size() && out.body.size() <= most;) {
    if (ended) {
      if (!members) break;  // bytes behind the end
      inflateReset(&stream);
      ended = false;
    }
    Bytef byte = static_cast<Bytef>(coded[at]);
    stream.next_in = &byte;
    stream.avail_in = 1;
    int result = Z_OK;
    do {
      Bytef room[512];
      stream.next_out = room;
      stream.avail_out = sizeof room;
      result = inflate(&stream, Z_NO_FLUSH);
      out.body.append(reinterpret_cast<char*>(room), sizeof room - stream.avail_out);
    } while (result == Z_OK && stream.avail_out == 0 && out.body.size() <= most);
    if (result == Z_STREAM_END) {
      ended = true;
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      inflateEnd(&stream);
      return out;
    }
    ++at;
    if (ended && !members) {
      out.sound = at == coded.size();
      inflateEnd(&stream);
      return out;
    }
  }
  out.sound = ended;
  inflateEnd(&stream);
  return out;
}

void check(ContentDecoder& decoder, ContentCoding coding, std::string_view coded,
           std::size_t most) {
  const auto got = decoder.decode(coding, coded, most);
  if (got.status == Status::complete && got.body.size() > most) fail("more than was asked for");
  if (coded.empty() || coding == ContentCoding::zstd || coding == ContentCoding::identity) return;
  const bool zlib =
      coded.size() >= 2 && (coded[0] & 0x0f) == 8 &&
      (static_cast<unsigned char>(coded[0]) * 256 + static_cast<unsigned char>(coded[1])) % 31 == 0;
  const int bits = coding == ContentCoding::gzip ? 16 + MAX_WBITS : zlib ? MAX_WBITS : -MAX_WBITS;
  const Stream oracle = inflated(coded, bits, coding == ContentCoding::gzip, most);
  if (got.status == Status::complete && (!oracle.sound || oracle.body != got.body))
    fail("decoded what the stream does not");
  if (got.status == Status::broken && oracle.sound && oracle.body.size() <= most)
    fail("refused what the stream decodes");
  if (got.status == Status::too_large && oracle.body.size() <= most) fail("it is not too large");
}

}  // namespace

/// The first byte chooses the bound.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static ContentDecoder decoder;
  const std::string_view bytes{reinterpret_cast<const char*>(data) + 1, size - 1};
  const std::size_t most = std::size_t{1} << (data[0] % 17);
  for (const ContentCoding coding : {ContentCoding::identity, ContentCoding::gzip,
                                     ContentCoding::deflate, ContentCoding::zstd}) {
    check(decoder, coding, bytes, most);
  }
  const auto returns = [&](ContentCoding coding, const std::string& coded) {
    const auto got = decoder.decode(coding, coded, bytes.size());
    if (got.status != Status::complete || got.body != bytes) fail("it did not come back");
    if (bytes.empty()) return;
    if (decoder.decode(coding, coded, bytes.size() - 1).status != Status::too_large)
      fail("the bound is not exact");
  };
  returns(ContentCoding::gzip, weir::test::gzip_coded(bytes));
  returns(ContentCoding::deflate, weir::test::deflate_coded(bytes));
  if (data[0] >= 128) returns(ContentCoding::zstd, weir::test::zstd_coded(bytes, data[0] % 2 == 0));
  return 0;
}
