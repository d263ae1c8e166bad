#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "replay/bad_rows.h"
#include "replay/formats.h"
#include "replay/lines.h"

namespace weir::replay {

/// One `--event NAME=FILE`: the rows of a file, bad ones counted and skipped. Not thread-safe.
class Stream {
 public:
  virtual ~Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Moves to the next good row. False: there is none, or error() says why it cannot be read.
  virtual bool next() = 0;
  const Row& row() const noexcept { return *row_; }         ///< a view until the next call
  std::string_view text() const noexcept { return text_; }  ///< the text of the row in the file
  std::uint64_t line() const noexcept { return line_; }     ///< where it begins, from 1
  /// The thread that judges it, where rows are shared out; else 0.
  unsigned owner() const noexcept { return owner_; }

  const std::string& path() const noexcept { return path_; }
  std::uint64_t rows() const noexcept { return rows_; }
  const BadRows& bad() const noexcept { return bad_; }
  virtual const std::string& error() const = 0;  ///< of the file; empty: none
  virtual std::uint64_t consumed() const = 0;    ///< bytes of the file as it is stored
  virtual std::uint64_t size() const = 0;        ///< of the file; 0: not known

 protected:
  explicit Stream(std::string path) : path_(std::move(path)) {}

  std::string path_;
  const Row* row_ = nullptr;
  std::string_view text_;
  std::uint64_t line_ = 0, rows_ = 0;
  unsigned owner_ = 0;
  BadRows bad_;
};

/// A stream that reads its file itself.
class FileStream final : public Stream {
 public:
  /// `header`: the first line is none of the rows.
  FileStream(std::string path, std::unique_ptr<Format> format, bool header);

  bool next() override;
  const std::string& error() const override { return lines_.input().error(); }
  std::uint64_t consumed() const override { return lines_.input().consumed(); }
  std::uint64_t size() const override { return lines_.input().size(); }

  // For readers of blocks of the file, several at a time.

  /// The lines that come next, with their ends, up to `most` bytes, if another reader of the same
  /// make can read them by themselves. They are skipped, and not counted as lines. Empty:
  /// next() must read. Valid until the next call of either.
  std::string_view take_lines(std::size_t most);
  std::uint64_t lines() const noexcept { return lines_.last(); }  ///< counted so far
  /// Returns the bad rows since the last call.
  BadRows take_bad() noexcept { return std::exchange(bad_, {}); }

 private:
  bool extend(std::string_view& text);
  void fault(std::size_t column, std::string_view why) { bad_.add(lines_.number(), column, why); }

  std::unique_ptr<Format> format_;
  LineReader lines_;
  bool header_;
  Row here_;
};

}  // namespace weir::replay
