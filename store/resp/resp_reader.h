#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "store/resp/resp_guard.h"

namespace weir::store {

/// One reply as a flat list, in the order of its bytes: an array precedes its elements.
class Reply {
 public:
  enum class Type : std::uint8_t { status, error, integer, string, array, nil };
  struct Node {
    Type type;
    std::uint32_t offset = 0;  // of the text
    std::uint32_t length = 0;  // of the text; elements of an array
    std::int64_t integer = 0;
  };

  std::size_t size() const noexcept { return nodes_.size(); }
  const Node& operator[](std::size_t i) const noexcept { return nodes_[i]; }
  const Node& root() const noexcept { return nodes_.front(); }
  bool is_error() const noexcept { return root().type == Type::error; }
  std::string_view text(const Node& node) const noexcept {
    return node.type == Type::array ? std::string_view{}
                                    : std::string_view{text_}.substr(node.offset, node.length);
  }
  std::string_view text() const noexcept { return text(root()); }

  void clear() noexcept {
    nodes_.clear();
    text_.clear();
  }
  Node& add(Type type);
  void add_text(Type type, std::string_view text);

 private:
  std::vector<Node> nodes_;
  std::string text_;
};

/// The reader of hiredis behind the guard. It builds Replies without an allocation each: its
/// buffers keep their size, which the guard bounds. Not thread-safe.
class RespReader {
 public:
  RespReader();
  ~RespReader();
  RespReader(const RespReader&) = delete;
  RespReader& operator=(const RespReader&) = delete;

  /// False: not RESP, or over a limit; the connection is worth nothing any more.
  bool feed(std::string_view bytes);
  enum class Step : std::uint8_t { reply, more, broken };
  /// reply: reply() holds the next one, until the next call.
  Step next();
  const Reply& reply() const noexcept { return reply_; }
  void reset();  ///< for a new connection

 private:
  struct Free {
    void operator()(void* reader) const noexcept;
  };
  RespGuard guard_;
  Reply reply_;
  bool complete_ = false;
  std::unique_ptr<void, Free> reader_;
};

}  // namespace weir::store
