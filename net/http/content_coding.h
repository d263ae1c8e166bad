#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "net/http/fields.h"

namespace weir::net {

/// The coding of a body's bytes, according to all Content-Encoding fields of its head.
enum class ContentCoding : std::uint8_t {
  identity,  ///< plain bytes: no field, or nothing but `identity`
  gzip,      ///< also `x-gzip`
  deflate,   ///< the zlib format, or (as some servers send) bare deflate
  zstd,
  other,  ///< a coding that ContentDecoder does not know, or more than one
};

/// Reads every Content-Encoding line and every member of each: an app may believe any of them.
ContentCoding content_coding(const FieldList& fields) noexcept;

/// Appends the value of an Accept-Encoding field that asks for no coding but those that
/// ContentDecoder knows, as far as `fields` (the client's) accept them: `br, gzip;q=0.8` becomes
/// `gzip;q=0.8`, `*` becomes `gzip`, and `identity` is asked for where nothing else is left.
/// Appends nothing if the client sent no such field: servers then send plain bytes.
void append_readable_codings(std::string& out, const FieldList& fields);

/// Decodes whole bodies into memory of its own, which the next body reuses. The output never
/// exceeds the bound of the caller, so a small body that would become huge costs no more than a
/// plain body of that size. In addition, a decoder holds about 50 KB for gzip and deflate, and 160
/// KB for zstd, from the first such body on. Not thread-safe.
class ContentDecoder {
 public:
  enum class Status : std::uint8_t {
    complete,
    too_large,  ///< the decoded body is longer than `most`
    broken,     ///< cut short, damaged, followed by other bytes, or there was no memory for it
  };
  struct Decoded {
    Status status = Status::broken;
    std::string_view body;  ///< if complete; lives until the next call
  };

  ContentDecoder() noexcept;
  ~ContentDecoder();
  ContentDecoder(const ContentDecoder&) = delete;
  ContentDecoder& operator=(const ContentDecoder&) = delete;

  /// `coding` must not be `other`; of `identity` the result is a view of `coded`. An empty body is
  /// complete in every coding. `most`: bytes, below 1 GiB.
  Decoded decode(ContentCoding coding, std::string_view coded, std::size_t most);

 private:
  struct Inflater;
  struct ZstdContext;
  bool make_room(std::size_t bytes) noexcept;
  Decoded inflate_members(std::string_view coded, std::size_t most);
  Decoded inflate_one(std::string_view coded, std::size_t most);
  Decoded decode_zstd(std::string_view coded, std::size_t most);

  std::unique_ptr<Inflater> inflater_;
  std::unique_ptr<ZstdContext> zstd_;
  std::unique_ptr<char[]> out_;
  std::size_t room_ = 0;
};

}  // namespace weir::net
