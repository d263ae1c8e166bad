#include "store/resp/resp_reader.h"

#include <hiredis/read.h>

#include <new>

namespace weir::store {
namespace {

Reply& building(const redisReadTask* task) noexcept { return *static_cast<Reply*>(task->privdata); }
// hiredis wants a pointer per object and follows none of them.
void* some() noexcept {
  static char object;
  return &object;
}

Reply::Type text_type(int type) noexcept {
  if (type == REDIS_REPLY_ERROR) return Reply::Type::error;
  return type == REDIS_REPLY_STATUS ? Reply::Type::status : Reply::Type::string;
}

/// Calls `add` for hiredis, which is C: no exception may pass it. Null: no memory, and the
/// connection ends.
template <class Add>
void* added(Add add) noexcept {
  try {
    add();
    return some();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

redisReplyObjectFunctions functions = {
    [](const redisReadTask* task, char* text, std::size_t length) -> void* {
      return added([&] { building(task).add_text(text_type(task->type), {text, length}); });
    },
    [](const redisReadTask* task, int elements) -> void* {
      return added([&] {
        building(task).add(Reply::Type::array).length = static_cast<std::uint32_t>(elements);
      });
    },
    [](const redisReadTask* task, long long value) -> void* {
      return added([&] { building(task).add(Reply::Type::integer).integer = value; });
    },
    [](const redisReadTask* task) -> void* {
      return added([&] { building(task).add(Reply::Type::nil); });
    },
    [](void*) {},
};

redisReader* raw(void* reader) noexcept { return static_cast<redisReader*>(reader); }

}  // namespace

Reply::Node& Reply::add(Type type) {
  nodes_.push_back(Node{type});
  return nodes_.back();
}

void Reply::add_text(Type type, std::string_view text) {
  Node& node = add(type);
  node.offset = static_cast<std::uint32_t>(text_.size());
  node.length = static_cast<std::uint32_t>(text.size());
  text_ += text;
}

void RespReader::Free::operator()(void* reader) const noexcept {
  redisReaderFree(static_cast<redisReader*>(reader));
}

RespReader::RespReader() { reset(); }
RespReader::~RespReader() = default;

void RespReader::reset() {
  reader_.reset(redisReaderCreateWithFunctions(&functions));
  if (reader_ == nullptr) throw std::bad_alloc();
  raw(reader_.get())->privdata = &reply_;
  raw(reader_.get())->maxbuf = 0;  // its buffer is not thrown away after each large reply
  guard_ = RespGuard();
  reply_.clear();
  complete_ = false;
}

bool RespReader::feed(std::string_view bytes) {
  return guard_.admit(bytes) &&
         redisReaderFeed(raw(reader_.get()), bytes.data(), bytes.size()) == REDIS_OK;
}

RespReader::Step RespReader::next() {
  if (complete_) {
    reply_.clear();
    complete_ = false;
  }
  void* object = nullptr;
  if (redisReaderGetReply(raw(reader_.get()), &object) != REDIS_OK) return Step::broken;
  if (object == nullptr) return Step::more;
  complete_ = true;
  return Step::reply;
}

}  // namespace weir::store
