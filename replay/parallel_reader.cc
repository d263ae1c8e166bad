#include "replay/parallel_reader.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "core/assert.h"

namespace weir::replay {
namespace {

/// Records that are read where they are found (values in quotes, long lines) make a block of so
/// many rows, or of so many bytes.
constexpr std::size_t kRowsHere = 256, kBytesHere = std::size_t{64} << 10;

}  // namespace

/// One judge's way through the blocks of a file.
class ParallelReader::BlockStream final : public Stream {
 public:
  BlockStream(ParallelReader& reader, File& file, unsigned judge)
      : Stream(file.stream->path()),
        reader_(reader),
        file_(file),
        judge_(judge),
        size_(file.stream->size()),
        error_(file.stream->error()) {}

  bool next() override {
    while (block_ == nullptr || at_ == block_->count) {
      if (ended_ || !next_block()) return false;
    }
    const Item& item = block_->items.data()[at_++];
    row_ = &item.row;
    if (item.again) {
      const Format::Got got = file_.formats[judge_]->read(item.text, again_);
      WEIR_ASSERT(got == Format::Got::row);  // as it was the first time
      row_ = &again_;
    }
    text_ = item.text;
    line_ = lines_ + item.line;
    owner_ = item.owner;
    ++rows_;
    return true;
  }
  const std::string& error() const override { return error_; }
  std::uint64_t consumed() const override { return consumed_; }
  std::uint64_t size() const override { return size_; }

 private:
  bool next_block() {
    if (block_ != nullptr) {
      lines_ += block_->lines;
      reader_.leave(file_, number_++);
    }
    at_ = 0;
    block_ = reader_.next(file_, number_, judge_);
    ended_ = block_ == nullptr;
    if (ended_) {
      error_ = file_.error;  // it is no longer written to
      return false;
    }
    bad_.add(block_->bad, lines_);
    consumed_ = block_->consumed;
    return true;
  }

  ParallelReader& reader_;
  File& file_;
  const unsigned judge_;
  const Block* block_ = nullptr;
  std::uint64_t number_ = 0;  // of the block
  std::uint64_t lines_ = 0;   // before it
  std::size_t at_ = 0;        // in it
  Row again_;
  bool ended_ = false;
  std::uint64_t size_, consumed_ = 0;
  std::string error_;
};

ParallelReader::ParallelReader(unsigned judges, unsigned helpers, std::size_t block)
    : judges_(judges), helpers_(helpers), block_(block) {}

ParallelReader::~ParallelReader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ParallelReader::share_out(const std::function<std::unique_ptr<RowShare>()>& make) {
  for (unsigned i = 0; i < judges_ + helpers_; ++i) shares_.push_back(make());
}

void ParallelReader::prepare(const std::function<std::unique_ptr<policies::Preparing>()>& make) {
  for (unsigned i = 0; i < judges_ + helpers_; ++i) preparings_.push_back(make());
}

std::unique_ptr<Stream> ParallelReader::open(std::size_t index, unsigned judge,
                                             const Source& source) {
  File& file = file_at(index);
  if (file.stream == nullptr) {
    file.event = source.event;
    file.requests = source.requests;
    file.stream = std::make_unique<FileStream>(source.path, source.make(), source.header);
    for (unsigned i = 0; i < judges_ + helpers_; ++i) file.formats.push_back(source.make());
    for (unsigned i = 0; i < 2 * (judges_ + helpers_); ++i)
      file.blocks.push_back(std::make_unique<Block>());
  }
  return std::make_unique<BlockStream>(*this, file, judge);
}

ParallelReader::File& ParallelReader::file_at(std::size_t index) {
  while (files_.size() <= index) files_.push_back(std::make_unique<File>());
  return *files_[index];
}

std::shared_ptr<MappedColumns> ParallelReader::columns(std::size_t index, const Mapping& mapping) {
  std::shared_ptr<MappedColumns>& columns = file_at(index).columns;
  if (columns == nullptr) {
    columns = std::make_shared<MappedColumns>();
    columns->mapping = mapping;
  }
  return columns;
}

void ParallelReader::start() {
  for (unsigned i = 0; i < helpers_; ++i)
    threads_.emplace_back([this, reader = judges_ + i] { help(reader); });
}

void ParallelReader::help(unsigned reader) {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const auto file = std::find_if(files_.begin(), files_.end(),
                                   [&](const auto& each) { return may_cut(*each); });
    file != files_.end() ? read_next(**file, reader, lock) : changed_.wait(lock);
  }
}

bool ParallelReader::may_cut(const File& file) const noexcept {
  return !file.cutting && !file.ended && file.cut - file.first < file.blocks.size();
}

/// Waits until a block has been read, and returns it. The judge reads it itself if no other thread
/// does. Null: the file has no more.
const ParallelReader::Block* ParallelReader::next(File& file, std::uint64_t number,
                                                  unsigned judge) {
  std::unique_lock lock(mutex_);
  for (;;) {
    const Block& block = *file.blocks[number % file.blocks.size()];
    if (number < file.cut && block.ready) return &block;
    if (number >= file.cut && file.ended) return nullptr;
    may_cut(file) ? read_next(file, judge, lock) : changed_.wait(lock);
  }
}

void ParallelReader::leave(File& file, std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  Block& block = *file.blocks[number % file.blocks.size()];
  if (--block.judges != 0) return;
  block.ready = false;
  file.first = number + 1;  // judges leave blocks in order
  changed_.notify_all();
}

/// Cuts the next block, which one thread does at a time, and reads it.
void ParallelReader::read_next(File& file, unsigned reader, std::unique_lock<std::mutex>& lock) {
  Block& block = *file.blocks[file.cut % file.blocks.size()];
  file.cutting = true;
  lock.unlock();
  const bool more = fill(file, block);
  lock.lock();
  file.cutting = false;
  if (more) {
    ++file.cut;
  } else {
    file.ended = true;
    file.error = file.stream->error();
  }
  changed_.notify_all();
  if (!more) return;
  lock.unlock();
  parse(file, block, reader);
  if (!shares_.empty()) own(file, block, reader);
  if (!preparings_.empty() && file.requests) prepare(block, reader);
  lock.lock();
  block.judges = judges_;
  block.ready = true;
  changed_.notify_all();
}

/// False: the file has no more.
bool ParallelReader::fill(File& file, Block& block) const {
  block.count = block.lines = block.size = 0;
  block.bad.clear();
  block.keeper.reset();
  const std::string_view text = file.stream->take_lines(block_);
  if (text.empty()) return fill_here(file, block);
  if (block.text.size() < block_ + LineReader::kPadding)
    block.text.resize(block_ + LineReader::kPadding);
  std::memcpy(block.text.data(), text.data(), text.size());
  block.size = text.size();
  block.consumed = file.stream->consumed();
  return true;
}

/// Reads lines that only one reader can read.
bool ParallelReader::fill_here(File& file, Block& block) {
  FileStream& stream = *file.stream;
  const std::uint64_t before = stream.lines();
  std::size_t bytes = 0;
  while (block.count < kRowsHere && bytes < kBytesHere && stream.next()) {
    if (block.count == block.items.size()) block.items.emplace_back();
    Item& item = block.items[block.count++];
    bytes += stream.text().size();
    item.line = stream.line() - before;
    item.text = block.keeper.keep(stream.text());
    WEIR_ASSERT(item.text.data() != nullptr);  // an arena has room for several of the longest
    item.row = stream.row();
    item.again = !block.keeper.keep(item.row, stream.text(), item.text);
  }
  block.lines = stream.lines() - before;
  block.bad = stream.take_bad();
  for (BadRows::Fault& fault : block.bad.first) fault.line -= before;
  block.consumed = stream.consumed();
  return block.lines != 0;
}

void ParallelReader::parse(File& file, Block& block, unsigned reader) {
  Format& format = *file.formats[reader];
  const char* at = block.text.data();
  const char* const end = at + block.size;
  while (at != end) {
    const auto* const stop =
        static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
    std::string_view line(at, static_cast<std::size_t>(stop - at));
    at = stop + 1;
    ++block.lines;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    if (block.count == block.items.size()) block.items.emplace_back();
    Item& item = block.items.data()[block.count];
    const Format::Got got = format.read(line, item.row);
    WEIR_ASSERT(got != Format::Got::more);  // the text is one whole record
    if (got == Format::Got::bad)
      block.bad.add(block.lines, format.fault().column, format.fault().why);
    if (got != Format::Got::row) continue;
    item.text = line;
    item.line = block.lines;
    item.again = !block.keeper.keep(item.row, line, line);
    if (item.again) item.row = {};
    ++block.count;
  }
}

void ParallelReader::own(File& file, Block& block, unsigned reader) {
  Row again;
  for (std::size_t i = 0; i < block.count; ++i) {
    Item& item = block.items[i];
    const Row* row = &item.row;
    if (item.again) {
      const Format::Got got = file.formats[reader]->read(item.text, again);
      WEIR_ASSERT(got == Format::Got::row);
      row = &again;
    }
    item.owner = shares_[reader]->owner(*row, file.event);
  }
}

/// In a second pass: rows point to their prepared parts, and all items have their places now.
void ParallelReader::prepare(Block& block, unsigned reader) {
  policies::Preparing& preparing = *preparings_[reader];
  for (Item& item : std::span(block.items).first(block.count)) {
    item.row.prepared = nullptr;
    if (item.again || item.row.recorded || item.row.refused) continue;
    preparing.prepare(item.row.request, item.prepared);
    item.row.prepared = &item.prepared;
  }
}

}  // namespace weir::replay
