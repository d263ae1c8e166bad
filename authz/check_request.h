#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "authz/asked.h"
#include "authz/check_fields.h"
#include "authz/client.h"
#include "core/event.h"
#include "net/http/target.h"
#include "policies/lang/asked_facts.h"

namespace weir::authz {

/// How messages are read. The same for every call.
struct CheckRules {
  ClientRules client{{}, "x-forwarded-for", 0};
  PathRules path;
  std::size_t body_bytes_max = 64 << 10;
  bool error_response =
      false;  ///< report failures by `error_response`, which Envoy knows since 1.37
};

/// Memory for the targets that are built again. All readers of a thread share one: a reader for
/// each open call would hold fifteen times its path. Pages that no target has needed take no
/// memory.
class TargetRoom {
 public:
  /// Bytes. Envoy accepts heads of 60 KiB by default.
  static constexpr std::size_t kTargetMax = 64 << 10;

  std::span<char> span() noexcept { return {bytes_.get(), kBytes}; }

 private:
  static constexpr std::size_t kBytes = net::normal_path_room(kTargetMax);
  std::unique_ptr<char[]> bytes_ = std::make_unique_for_overwrite<char[]>(kBytes);
};

/// An Envoy CheckRequest as a Request: pure, and no allocation once its memory has grown. The
/// Request is a view into the message, the reader and the room; keep them. After another reader has
/// used the room, call read_target_again(). Not thread-safe.
class CheckReader final : public AskedFacts {
 public:
  explicit CheckReader(TargetRoom& room) noexcept : room_(room) {}

  /// False: these bytes are no CheckRequest that is taken here (CheckFields::read). Keep them, and
  /// the memory.
  bool parse(std::string_view message, Messages& memory) { return fields_.read(message, memory); }
  /// Reads the parsed message as a Request. Returns the error of the asked request; empty: none.
  /// `client_word`: the client from the call's metadata, in the form of the header; without data():
  /// none.
  std::string_view read(std::string_view client_word, const CheckRules& rules, TimePoint now);
  /// Before a later use of a request that read() could read, by the same rules.
  void read_target_again(const PathRules& rules) noexcept;
  /// The call has ended: drops its views. Gives memory back if the call had more headers than most
  /// calls have.
  void clear() noexcept;
  Request& request() noexcept { return request_; }
  /// False: the call does not name the client; request().client is unspecified.
  bool client_known() const noexcept { return client_known_; }
  /// Names beginning with `x-weir-` that the client has sent: none of them is ours.
  const std::vector<std::string_view>& forged() const noexcept { return forged_; }

  policies::Extracted context(std::string_view name) const noexcept override;
  policies::Extracted metadata(policies::Arena& arena,
                               std::span<const policies::PathStep> path) const noexcept override;

 private:
  void read_headers();
  void add_header(std::string_view name, std::string_view value);
  void read_body(const CheckRules& rules);
  std::string_view header(std::string_view name) const noexcept;
  std::string_view asked_target() const noexcept {
    return fields_.path.empty() ? path_ : fields_.path;
  }

  TargetRoom& room_;
  CheckFields fields_;
  Request request_;
  std::vector<HeaderField> headers_;
  std::vector<std::string_view> forged_;
  std::string_view method_, path_, authority_, scheme_;  // pseudo headers
  bool client_known_ = false;
  std::array<char, net::kHostMax> host_room_;
  net::NormalTarget target_;
};

/// Whether the word about the client in this header may come as a metadatum of the call: those that
/// Envoy fills itself describe Envoy.
bool comes_as_metadatum(std::string_view header) noexcept;

}  // namespace weir::authz
