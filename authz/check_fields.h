#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "authz/messages.h"
#include "core/event.h"
#include "envoy/config/core/v3/base.pb.h"

namespace weir::authz {

/// The fields of Envoy's CheckRequest that weir reads, as views into its bytes. Generated messages
/// would copy every header into a hash table, which took half of the time of a check. The metadata
/// of filters, which few Envoys send, are generated messages. Not thread-safe; allocates nothing
/// once its vectors have grown, except for metadata.
class CheckFields {
 public:
  using Metadata = envoy::config::core::v3::Metadata;
  using Pairs = std::vector<std::pair<std::string_view, std::string_view>>;
  /// The most entries of each list: Envoy itself takes 100 headers by default.
  static constexpr std::size_t kFieldsMax = 10'000;
  /// The entries of each list for which a call that has ended keeps memory.
  static constexpr std::size_t kFieldsKept = 256;

  /// False: the bytes are no CheckRequest, a text that is read is not UTF-8, or there are too many
  /// headers. `bytes` and `memory`, which holds the metadata, outlive what is read. A part that
  /// is repeated counts as protobuf says: later fields replace earlier ones, lists
  /// are joined. A header that is repeated in the map is two.
  bool read(std::string_view bytes, Messages& memory);
  /// Drops what was read. Gives lists back that are longer than most calls have.
  void clear() noexcept;

  /// The other end of Envoy's connection; none: it is not an address of a network.
  std::optional<std::string_view> source;
  bool has_http = false;  ///< false: a connection of plain TCP
  std::string_view method, path, host, scheme, body, raw_body;
  std::vector<HeaderField> headers;  ///< `headers`: joined, in lower case
  std::vector<HeaderField> lines;    ///< `header_map`: one for each line
  Pairs context;                     ///< `context_extensions`
  Metadata* metadata = nullptr;
  Metadata* route_metadata = nullptr;

 private:
  bool read_attributes(std::string_view bytes, Messages& memory);
  bool read_source(std::string_view peer);
  bool read_address(std::string_view address);
  bool read_http(std::string_view bytes);
  bool read_lines(std::string_view header_map);
};

}  // namespace weir::authz
