#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "limiter/views/view.h"
#include "limiter/views/view_part.h"

/// Counts of a view as bytes, for other replicas: a *chunk* is a list of panes, and of each pane
/// the keys with their counts. Chunks of one view add up in any order.
namespace weir::limiter {

/// The view that a chunk belongs to. Chunks of another shape belong to another view.
struct ViewShape {
  enum class Form : std::uint8_t { count, sum, average, minimum, maximum, members, registers };
  Form form = Form::count;
  std::uint8_t precision = 0;  ///< registers: of the sketch

  static ViewShape of(const ViewSpec& spec);
  bool has_parts() const noexcept { return form < Form::members; }
  friend bool operator==(const ViewShape&, const ViewShape&) = default;
};

/// Writes one chunk, pane by pane. Each number of items precedes its items.
class ChunkWriter {
 public:
  explicit ChunkWriter(const ViewShape& shape);
  void pane(const ViewPane& pane, std::size_t keys);
  void key(std::string_view parts, const ViewPart& part);  ///< where has_parts()
  void key(std::string_view parts, std::size_t members);   ///< otherwise
  void member(const Hash128& member);                      ///< Form::members
  void member(std::uint32_t entry);                        ///< Form::registers
  std::size_t size() const noexcept { return bytes_.size(); }
  std::string take() { return std::move(bytes_); }

 private:
  void text(std::string_view parts);
  void part(const ViewPart& part);

  ViewShape shape_;
  std::string bytes_;
};

/// Receives the contents of a chunk. The texts are valid during the call.
class ChunkSink {
 public:
  /// False: the pane is of no interest; its keys are left out.
  virtual bool on_pane(const ViewPane& pane) = 0;
  virtual void on_key(std::string_view parts, const ViewPart& part) = 0;
  virtual void on_member(std::string_view parts, const Hash128& member) = 0;
  virtual void on_register(std::string_view parts, std::uint32_t entry) = 0;

 protected:
  ~ChunkSink() = default;
};

/// The writer is not trusted. False: these bytes are not a chunk of this shape. Contents that were
/// passed on before the error was found stay passed on.
bool read_chunk(std::string_view bytes, const ViewShape& shape, ChunkSink& sink);

}  // namespace weir::limiter
