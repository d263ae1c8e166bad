#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "policies/judge/preparing.h"
#include "replay/formats/row_keeper.h"
#include "replay/row_share.h"
#include "replay/stream.h"

namespace weir::replay {

/// Files that several threads read together. Each file is cut into blocks of whole lines. A thread
/// that has nothing to judge reads the next block, and every judge gets all rows in the order of
/// the file, as one FileStream would give them. So each line is read once, whatever the number of
/// threads, and a judge that is ahead of the others reads for them.
///
/// Memory is bounded: a file has so many blocks as there are threads, twice, and a block is read
/// again only when all judges have left it. Thread-safe, except open() and share_out(), which come
/// first; streams and all readers end before it.
class ParallelReader {
 public:
  /// Some 200 lines of an access log: the rows of a few blocks stay in the cache of a core.
  static constexpr std::size_t kBlock = std::size_t{32} << 10;
  /// `judges` threads call the streams, one each; `helpers` threads of its own only read. `block`:
  /// how many bytes one of them reads at a time, and longer lines where they are found.
  ParallelReader(unsigned judges, unsigned helpers, std::size_t block = kBlock);
  ~ParallelReader();
  ParallelReader(const ParallelReader&) = delete;
  ParallelReader& operator=(const ParallelReader&) = delete;

  /// Each row gets the number of its judge. `make`: called for each reader.
  void share_out(const std::function<std::unique_ptr<RowShare>()>& make);
  /// Requests are prepared for their judgement while they are read. `make`: as above.
  void prepare(const std::function<std::unique_ptr<policies::Preparing>()>& make);
  /// How a file is read: the same for all of its readers.
  struct Source {
    std::string path;
    bool header = false;
    policies::EventIndex event = 0;
    std::function<std::unique_ptr<Format>()> make;
    bool requests = false;  ///< its rows are HTTP requests
  };
  /// The rows of a file for one judge. The first call for the file opens it; error() of the stream
  /// says if it cannot be read.
  std::unique_ptr<Stream> open(std::size_t file, unsigned judge, const Source& source);
  /// The columns of a mapped file, shared by all its readers.
  std::shared_ptr<MappedColumns> columns(std::size_t file, const Mapping& mapping);
  /// All files are open: the helpers begin.
  void start();

 private:
  /// One row, as long as its block is.
  struct Item {
    Row row;
    std::string_view text;
    std::uint64_t line = 0;  // in its block, from 1
    policies::Prepared prepared;
    unsigned owner = 0;
    bool again = false;  // the row cannot be kept: the judge reads the text again
  };
  struct Block {
    std::vector<char> text;  // whole lines that are still to be read
    std::size_t size = 0;    // of text
    std::vector<Item> items;
    std::size_t count = 0;    // of items
    std::uint64_t lines = 0;  // that it has
    BadRows bad;              // by lines of the block
    std::uint64_t consumed = 0;
    RowKeeper keeper;
    bool ready = false;   // from here on under the mutex
    unsigned judges = 0;  // that have not left it
  };
  struct File {
    std::unique_ptr<FileStream> stream;            // used by the thread that holds `cutting`
    std::vector<std::unique_ptr<Format>> formats;  // by reader
    std::shared_ptr<MappedColumns> columns;
    policies::EventIndex event = 0;
    bool requests = false;
    std::vector<std::unique_ptr<Block>> blocks;  // a ring: block n lies at n modulo its size
    // Under the mutex:
    std::uint64_t first = 0;  // that some judge has not left
    std::uint64_t cut = 0;    // so many have been begun
    bool cutting = false, ended = false;
    std::string error;
  };
  class BlockStream;

  File& file_at(std::size_t index);
  const Block* next(File& file, std::uint64_t number, unsigned judge);
  void leave(File& file, std::uint64_t number);
  bool may_cut(const File& file) const noexcept;
  void read_next(File& file, unsigned reader, std::unique_lock<std::mutex>& lock);
  bool fill(File& file, Block& block) const;
  static bool fill_here(File& file, Block& block);
  void parse(File& file, Block& block, unsigned reader);
  void own(File& file, Block& block, unsigned reader);
  void prepare(Block& block, unsigned reader);
  void help(unsigned reader);

  const unsigned judges_, helpers_;
  const std::size_t block_;
  std::vector<std::unique_ptr<File>> files_;
  std::vector<std::unique_ptr<RowShare>> shares_;  // by reader; empty: rows have no owner
  std::vector<std::unique_ptr<policies::Preparing>> preparings_;  // likewise
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
};

}  // namespace weir::replay
