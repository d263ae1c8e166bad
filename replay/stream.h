#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "replay/formats.h"
#include "replay/lines.h"

namespace weir::replay {

/// One `--event NAME=FILE`: the rows of a file, bad ones counted and passed over.
class Stream {
 public:
  static constexpr std::size_t kFaultsShown = 10;
  struct Fault {
    std::uint64_t line = 0;
    std::size_t column = 0;
    std::string why;
  };

  /// `header`: the first line is none of the rows. `most`: bytes of the file, as Input has it.
  Stream(std::string path, std::unique_ptr<Format> format, bool header,
         std::uint64_t most = Input::kAll);

  /// Moves to the next good row. False: there is none.
  bool next();
  const Row& row() const noexcept { return row_; }                 ///< a view until the next call
  std::string_view text() const noexcept { return text_; }         ///< what the row was read from
  std::uint64_t line() const noexcept { return lines_.number(); }  ///< where it begins, from 1

  const std::string& path() const noexcept { return path_; }
  std::uint64_t rows() const noexcept { return rows_; }
  std::uint64_t bad() const noexcept { return bad_; }
  const std::vector<Fault>& faults() const noexcept { return faults_; }  ///< the first ones
  const Input& input() const noexcept { return lines_.input(); }

 private:
  bool extend(std::string_view& text);
  void fault(std::size_t column, std::string_view why);

  std::string path_;
  std::unique_ptr<Format> format_;
  LineReader lines_;
  bool header_;
  Row row_;
  std::string_view text_;
  std::uint64_t rows_ = 0, bad_ = 0;
  std::vector<Fault> faults_;
};

}  // namespace weir::replay
