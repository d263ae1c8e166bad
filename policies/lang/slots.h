#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/value.h"
#include "core/words.h"

/// Everything that expressions can read, as small integers. A slot is an attribute of the request
/// or answer (a row of the extractor table with its argument), a computed field of an event (a
/// compiled expression), or a special word of the moment (`event`, `value`, `limit`).
namespace weir::policies {

namespace expr {
struct Program;
}
class Expression;
struct ExtractorRow;

using SlotId = std::uint16_t;

/// When something can be known: `answer` once the app has answered. A thing of both sides is
/// `answer`.
enum class Side : std::uint8_t { request, answer };

/// A step into a JSON body: a member's name or an array index.
struct PathStep {
  std::string name;
  std::uint32_t index = 0;
  bool is_index = false;
  friend bool operator==(const PathStep&, const PathStep&) = default;
};

/// The argument of an extractor; the row's ArgumentForm defines which member counts.
struct Argument {
  std::string name;  ///< headers: as on the wire, in lower case (`x-device-id`)
  std::vector<PathStep> path;
  std::uint32_t index = 0;
  BodyKind body = BodyKind::none;  ///< of a path: the only kind of body that is read
};

struct Slot {
  enum class Kind : std::uint8_t {
    attribute,
    computed,
    column,
    event,
    value,
    limit,
    metric,
    unread
  };
  Kind kind = Kind::attribute;
  Type type = Type::dyn;  ///< static type; dyn for body.*, value and limit
  Side side = Side::request;
  bool needs_body = false;  ///< of the request; transitively for computed fields, as all below
  bool needs_answer_body = false;
  bool client_asserted = false;  ///< the sender of the request can write any value there
  bool reads_header = false;     ///< of the request
  bool varies = false;           ///< reads event, value or limit: changes within one request
  std::uint8_t depth = 1;        ///< nesting of evaluation
  std::string text;              ///< canonical: `header.x_device_id`, `body.username.lowerAscii()`
  const ExtractorRow* extractor = nullptr;       ///< attribute
  Argument argument;                             ///< attribute; column: its name; metric: which
  std::string source;                            ///< column: the event whose records have it
  std::shared_ptr<const expr::Program> program;  ///< computed

  /// Whether it may mean another thing to a policy that watches another event.
  bool names_event() const noexcept {
    return varies || (kind == Kind::column && argument.name == "event");
  }
};

/// All slots of a policy set. Filled while it is compiled, immutable and shareable afterwards.
/// Interning: asking twice for the same thing gives the same slot; equal field expressions of
/// different events are one slot. Slots never move (references stay valid). At most kMax slots;
/// beyond that `full()` turns true, the last slot is handed out again, and the compiler must report
/// it and stop.
class SlotTable {
 public:
  static constexpr std::size_t kMax = 0xfff0;
  SlotTable();

  SlotId attribute(const ExtractorRow& row, Argument argument);
  SlotId segment(
      std::uint32_t k);  ///< k-th segment of the normalised path, from 0; never spelled in text
  /// The value of a descriptor's k-th entry, from 0; never spelled in text.
  SlotId entry(std::uint32_t k);
  /// A column of the records of event `source`; its value is preset, or null.
  SlotId column(std::string_view source, std::string_view name, Type type);
  /// The slot of this canonical text, if it is read.
  std::optional<SlotId> find(std::string_view text) const;
  /// The slot of a field's expression: of the attribute or field itself if it is nothing else.
  SlotId computed(const Expression& expression);
  static constexpr SlotId event() noexcept { return 0; }
  static constexpr SlotId value() noexcept { return 1; }
  static constexpr SlotId limit() noexcept { return 2; }
  SlotId metric(std::uint32_t k);  ///< the k-th of a policy's `metrics`, in its rungs
  /// A part that could not be read, and may be of any type: to compile its readers, and find
  /// their own mistakes. Never run.
  SlotId unread();

  const Slot& operator[](SlotId id) const noexcept { return *slots_[id]; }
  /// The slots whose values are addresses, other than the attribute `ip`. A record brings such a
  /// value as text; Frame::begin() reads the address.
  const std::vector<SlotId>& addresses() const noexcept { return addresses_; }
  /// The slot of the attribute `ip`, which nearly every key has; kMax: it is not read.
  SlotId client() const noexcept { return client_; }
  std::size_t size() const noexcept { return slots_.size(); }
  bool full() const noexcept { return full_; }

 private:
  SlotId intern(Slot slot);

  std::vector<std::unique_ptr<const Slot>> slots_;
  std::map<std::string, SlotId, std::less<>> by_text_;
  std::vector<SlotId> addresses_;
  SlotId client_ = kMax;
  bool full_ = false;
};

}  // namespace weir::policies
