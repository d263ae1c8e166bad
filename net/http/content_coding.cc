#include "net/http/content_coding.h"

#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <climits>
#include <new>

#include "core/assert.h"
#include "core/chars/ascii.h"

namespace weir::net {
namespace {

/// Calls `use` with every member of all comma-separated lines of this name; empty members count as
/// absent (RFC 9110, 5.6.1). Aliases are the same name to CGI and its heirs.
template <class Use>
void for_members(const FieldList& fields, std::string_view name, Use use) {
  for (const HeaderField& field : fields.span()) {
    if (!aliases(field.name, name)) continue;
    std::string_view rest = field.value;
    while (!rest.empty()) {
      const std::size_t comma = rest.find(',');
      const std::string_view member = ascii::trimmed(rest.substr(0, comma));
      rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
      if (!member.empty()) use(member);
    }
  }
}

ContentCoding coding_named(std::string_view name) noexcept {
  if (same_ignoring_case(name, "identity")) return ContentCoding::identity;
  if (same_ignoring_case(name, "gzip") || same_ignoring_case(name, "x-gzip"))
    return ContentCoding::gzip;
  if (same_ignoring_case(name, "deflate")) return ContentCoding::deflate;
  if (same_ignoring_case(name, "zstd")) return ContentCoding::zstd;
  return ContentCoding::other;
}

/// Whether the parameters of a member (`;q=0.000`) mean that it is not accepted.
bool is_refused(std::string_view parameters) noexcept {
  const std::size_t equals = parameters.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view weight = ascii::trimmed(parameters.substr(equals + 1));
  return !weight.empty() && weight.find_first_not_of("0.") == std::string_view::npos;
}

}  // namespace

ContentCoding content_coding(const FieldList& fields) noexcept {
  ContentCoding found = ContentCoding::identity;
  for_members(fields, "content-encoding", [&found](std::string_view member) {
    const ContentCoding coding = coding_named(member);
    if (coding == ContentCoding::identity) return;
    found = found == ContentCoding::identity ? coding : ContentCoding::other;
  });
  return found;
}

void append_readable_codings(std::string& out, const FieldList& fields) {
  const std::size_t begin = out.size();
  bool any = false;         // the field has a member
  bool accepts = false;     // one of the appended codings is acceptable
  bool names_gzip = false;  // by its name; then `*` does not apply to it
  for_members(fields, "accept-encoding", [&](std::string_view member) {
    any = true;
    const std::string_view name = ascii::trimmed(member.substr(0, member.find(';')));
    names_gzip = names_gzip || coding_named(name) == ContentCoding::gzip;
  });
  if (!any) return;
  for_members(fields, "accept-encoding", [&](std::string_view member) {
    const std::size_t end = member.find(';');
    const std::string_view name = ascii::trimmed(member.substr(0, end));
    const std::string_view parameters =
        end == std::string_view::npos ? std::string_view{} : member.substr(end);
    const bool refused = is_refused(parameters);
    const bool star = name == "*" && !refused && !names_gzip;
    if (!star && coding_named(name) == ContentCoding::other) return;
    if (out.size() != begin) out += ", ";
    out.append(star ? "gzip" : name).append(parameters);
    accepts = accepts || !refused;
  });
  if (accepts) return;
  out.resize(begin);
  out += "identity";
}

struct ContentDecoder::Inflater {
  Inflater() noexcept { ready = inflateInit2(&stream, 16 + MAX_WBITS) == Z_OK; }
  ~Inflater() {
    if (ready) inflateEnd(&stream);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  z_stream stream{};
  bool ready = false;
};

struct ContentDecoder::ZstdContext {
  ZstdContext() noexcept : context(ZSTD_createDCtx()) {}
  ~ZstdContext() { ZSTD_freeDCtx(context); }
  ZstdContext(const ZstdContext&) = delete;
  ZstdContext& operator=(const ZstdContext&) = delete;

  ZSTD_DCtx* context;
};

ContentDecoder::ContentDecoder() noexcept = default;
ContentDecoder::~ContentDecoder() = default;

bool ContentDecoder::make_room(std::size_t bytes) noexcept {
  if (bytes <= room_) return true;
  out_.reset(new (std::nothrow) char[bytes]);  // untouched pages of it cost nothing
  room_ = out_ ? bytes : 0;
  return out_ != nullptr;
}

ContentDecoder::Decoded ContentDecoder::decode(ContentCoding coding, std::string_view coded,
                                               std::size_t most) {
  WEIR_ASSERT(coding != ContentCoding::other && most < (std::size_t{1} << 30));
  if (coded.empty() || coding == ContentCoding::identity) {
    if (coded.size() > most) return {Status::too_large, {}};
    return {Status::complete, coded};
  }
  // One extra byte shows whether a body just fits or is larger.
  if (coded.size() > UINT_MAX || !make_room(most + 1)) return {};
  if (coding == ContentCoding::zstd) return decode_zstd(coded, most);
  if (!inflater_) inflater_.reset(new (std::nothrow) Inflater);
  if (!inflater_ || !inflater_->ready) {
    inflater_.reset();
    return {};
  }
  return coding == ContentCoding::gzip ? inflate_members(coded, most) : inflate_one(coded, most);
}

/// gzip: one member after the other (RFC 1952, 2.2). zlib checks each one's length and CRC.
ContentDecoder::Decoded ContentDecoder::inflate_members(std::string_view coded, std::size_t most) {
  z_stream& stream = inflater_->stream;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(coded.data()));
  stream.avail_in = static_cast<uInt>(coded.size());
  stream.next_out = reinterpret_cast<Bytef*>(out_.get());
  stream.avail_out = static_cast<uInt>(most + 1);
  while (stream.avail_in != 0) {
    if (inflateReset2(&stream, 16 + MAX_WBITS) != Z_OK) return {};
    const int result = inflate(&stream, Z_FINISH);
    if (stream.avail_out == 0) return {Status::too_large, {}};
    if (result != Z_STREAM_END) return {};
  }
  return {Status::complete, {out_.get(), most + 1 - stream.avail_out}};
}

ContentDecoder::Decoded ContentDecoder::inflate_one(std::string_view coded, std::size_t most) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(coded[i]); };
  const bool zlib =
      coded.size() >= 2 && (byte(0) & 0x0f) == 8 && (byte(0) * 256U + byte(1)) % 31 == 0;
  z_stream& stream = inflater_->stream;
  if (inflateReset2(&stream, zlib ? MAX_WBITS : -MAX_WBITS) != Z_OK) return {};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(coded.data()));
  stream.avail_in = static_cast<uInt>(coded.size());
  stream.next_out = reinterpret_cast<Bytef*>(out_.get());
  stream.avail_out = static_cast<uInt>(most + 1);
  const int result = inflate(&stream, Z_FINISH);
  if (stream.avail_out == 0) return {Status::too_large, {}};
  if (result != Z_STREAM_END || stream.avail_in != 0) return {};
  return {Status::complete, {out_.get(), most + 1 - stream.avail_out}};
}

/// Frame by frame, each straight into the output: so no window is allocated, whatever size a frame
/// claims. Frames of the formats before 1.0, for which the library would allocate, are refused.
ContentDecoder::Decoded ContentDecoder::decode_zstd(std::string_view coded, std::size_t most) {
  if (!zstd_) zstd_.reset(new (std::nothrow) ZstdContext);
  if (!zstd_ || zstd_->context == nullptr) {
    zstd_.reset();
    return {};
  }
  std::size_t size = 0;
  while (!coded.empty()) {
    if (coded.size() < 4) return {};
    std::uint32_t magic = 0;
    for (std::size_t i = 4; i-- > 0;) magic = magic << 8 | static_cast<unsigned char>(coded[i]);
    const bool skippable = (magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
    if (magic != ZSTD_MAGICNUMBER && !skippable) return {};
    const std::size_t frame = ZSTD_findFrameCompressedSize(coded.data(), coded.size());
    if (ZSTD_isError(frame) != 0) return {};
    if (!skippable) {
      const std::size_t left = most + 1 - size;
      const std::size_t written =
          ZSTD_decompressDCtx(zstd_->context, out_.get() + size, left, coded.data(), frame);
      if (ZSTD_isError(written) != 0) {
        const bool large = ZSTD_getErrorCode(written) == ZSTD_error_dstSize_tooSmall;
        return {large ? Status::too_large : Status::broken, {}};
      }
      size += written;
      if (size > most) return {Status::too_large, {}};
    }
    coded.remove_prefix(frame);
  }
  return {Status::complete, {out_.get(), size}};
}

}  // namespace weir::net
