#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/model.h"
#include "core/event.h"
#include "policies/judgement/prepared.h"
#include "policies/lang/record.h"
#include "policies/lang/slots.h"
#include "policies/set/policy_set.h"
#include "replay/mapping.h"

/// How rows of files become events. A new format is a file under formats/ and a row of the table.
namespace weir::replay {

/// The content type that makes body readers parse a text as JSON.
inline constexpr HeaderField kJsonType{"content-type", "application/json"};

/// One event of a file: a record, a request with its answer (access logs), or both (written by
/// `weir serve --record`). A view: alive until the format reads the next text, and as long as that
/// text.
struct Row {
  TimePoint time;
  std::span<const policies::Preset> values;   ///< record
  bool recorded = false;                      ///< the five below mean something
  std::optional<policies::EventIndex> event;  ///< reported by its name
  TimePoint own_time{};                       ///< of the event itself; `time` is when it was judged
  bool has_request = true;
  bool refused = false;  ///< the proxy would answer 400 for its path: nothing judges it
  bool aborted = false;  ///< the client hung up before an answer
  std::span<const policies::Preset> answered;  ///< known fields of the answer beside its status
  Request request;                             ///< request
  Answer answer;
  /// Facts about the request, found while it was read; null: there are none.
  const policies::Prepared* prepared = nullptr;
};

/// The row as the evaluator takes it, if it is no request alone. `event`: the one that its file is
/// of. A view of the row.
policies::Record record_of(const Row& row, policies::EventIndex event);

/// Reads the texts of one file. Keeps its memory: no allocation per row. Not thread-safe.
class Format {
 public:
  virtual ~Format() = default;
  enum class Got : std::uint8_t {
    row,
    more,  ///< the record continues in the next line (a line feed between quotes)
    skip,  ///< no row, and nothing wrong: a line of column names
    bad,   ///< fault() says why
  };
  /// Whether these lines can be parsed independently of the lines before and after them: they
  /// change no state of the reader, and no record continues in the text that follows.
  virtual bool stands_alone(std::string_view) const { return true; }
  /// `text`: a line, or several if it asked for more. 64 bytes after it can be read.
  virtual Got read(std::string_view text, Row& row) = 0;
  struct Fault {
    std::size_t column = 1;  ///< from 1, in bytes
    std::string_view why;    ///< static, or alive until the next read
  };
  const Fault& fault() const noexcept { return fault_; }

 protected:
  Got bad(std::size_t offset, std::string_view why) {
    fault_ = {offset + 1, why};
    return Got::bad;
  }

 private:
  Fault fault_;
};

/// The reader of `event`'s records, which fills the slots that some expression reads.
std::unique_ptr<Format> make_record_format(const config::SourceDef& source, std::string_view event,
                                           const policies::SlotTable& slots);
/// The reader of access logs as HTTP requests. `format`: as config::LogFormat; empty: combined or
/// common, each line as it comes, whatever follows; lines that begin with `{` are read by
/// make_recording(). Null: `problem` says why.
std::unique_ptr<Format> make_request_format(std::string_view format, const policies::PolicySet& set,
                                            std::string& problem);
/// The problem of such a format, in words for people; empty: there is none.
std::string wrong_request_format(std::string_view format);
/// The columns of a file with `--map`, shared by its readers. Each reader may be the one that reads
/// the first line.
struct MappedColumns {
  Mapping mapping;
  bool known = false;    ///< the first line has been read
  bool is_json = false;  ///< else csv, and the next three describe its first line
  std::size_t count = 0;
  std::vector<std::size_t> places;  ///< of the mapping's fields
  std::string problem;              ///< a column is missing; empty: none
};
/// The reader of JSON lines, or of csv with a line of column names, as HTTP requests.
std::unique_ptr<Format> make_mapped(std::shared_ptr<MappedColumns> columns,
                                    const policies::PolicySet& set);
/// The reader of recordings of `weir serve --record`. `set` must outlive it.
std::unique_ptr<Format> make_recording(const policies::PolicySet& set);

// The formats.
std::unique_ptr<Format> make_csv(const config::SourceDef&, std::string_view,
                                 const policies::SlotTable&);
std::unique_ptr<Format> make_access_log(const config::SourceDef&, std::string_view,
                                        const policies::SlotTable&);
std::unique_ptr<Format> make_json(const config::SourceDef&, std::string_view,
                                  const policies::SlotTable&);

/// A column that a policy reads.
struct UsedColumn {
  std::string name;
  policies::SlotId slot;
};
std::vector<UsedColumn> used_columns(const policies::SlotTable& slots, std::string_view event);

}  // namespace weir::replay
