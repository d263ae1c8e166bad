#pragma once

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>
#include <vector>

/// Lists as files, both ways: CSV (RFC 4180) and JSON. Pure.
namespace weir::app {

/// Reads a file into entries as POST /v1/lists/{list}/import wants them. Returns its error,
/// or an empty text.
///
/// CSV: a header names the columns; `parts` are the key's, `until`, `for`, `why` and `effect` are
/// known, others are ignored. Without a header the columns are the key's parts, then `until`,
/// then `why`. Text that is not UTF-8, or whose columns other signs separate, is refused. A quote
/// (') before what a spreadsheet would take for a formula is taken off, as the export has put it
/// there. JSON: a list of entries, or an object with `entries`; a `key` is a text or a list. Other
/// members that weir's output has are ignored, unknown ones are refused.
std::string read_list_file(std::string_view text, const std::vector<std::string>& parts,
                           boost::json::array& entries);

/// Turns a problem of `entry 3: ` in a piece of a file into a problem of the whole file. `before`:
/// the number of entries before the piece.
std::string entry_of_file(const std::string& problem, std::size_t before);

/// Pages of GET /v1/lists/{list} as one file that read_list_file takes. Entries of the
/// configuration are left out, and those of which only the beginning of the key is kept.
class ListFileWriter {
 public:
  explicit ListFileWriter(bool json) : json_(json) {}
  std::string page(const boost::json::value& answer);  ///< the next piece of the file
  std::string end();
  std::size_t cut() const noexcept { return cut_; }  ///< how many were left out for their keys

 private:
  bool json_;
  bool begun_ = false;    // the header is out
  bool several_ = false;  // the policy has several lists: the effect selects one
  std::size_t rows_ = 0, cut_ = 0;
};

}  // namespace weir::app
