#include <algorithm>

#include "policies/lang/expr/ast.h"
#include "policies/lang/expr/functions.h"

namespace weir::policies::expr {
namespace {

void add_once(std::vector<SlotId>& slots, SlotId id) {
  if (std::find(slots.begin(), slots.end(), id) == slots.end()) slots.push_back(id);
}

class Emitter {
 public:
  Emitter(Program& program, const SlotTable& slots) noexcept : program_(program), slots_(slots) {}

  std::uint32_t node(const Ast& ast, std::uint8_t& depth) {
    std::vector<std::uint32_t> children;
    std::uint8_t below = 0;
    const bool literals = ast.op == Op::call;  // patterns, networks and the like are in the payload
    for (std::size_t k = 0; k < ast.children.size(); ++k) {
      if (literals && !is_passed(*ast.function, k)) continue;
      children.push_back(node(*ast.children[k], below));
    }
    Node out;
    out.op = ast.op;
    out.slot = ast.slot;
    out.constant = ast.constant;
    out.function = ast.function;
    out.payload = ast.payload;
    out.first = static_cast<std::uint32_t>(program_.arguments.size());
    out.count = static_cast<std::uint32_t>(children.size());
    program_.arguments.insert(program_.arguments.end(), children.begin(), children.end());
    std::uint8_t own = static_cast<std::uint8_t>(below + 1);
    if (ast.op == Op::load) {
      own = slots_[ast.slot].depth;
      read(ast.slot);
    }
    depth = std::max(depth, own);
    program_.nodes.push_back(out);
    return static_cast<std::uint32_t>(program_.nodes.size() - 1);
  }

 private:
  static bool is_passed(const FunctionRow& function, std::size_t k) noexcept {
    return function.params[std::min(k, function.params.size() - 1)].role == Param::Role::value;
  }

  void read(SlotId id) {
    const Slot& slot = slots_[id];
    if (slot.side == Side::answer) program_.side = Side::answer;
    program_.needs_body |= slot.needs_body;
    program_.needs_answer_body |= slot.needs_answer_body;
    program_.client_asserted |= slot.client_asserted;
    program_.varies |= slot.varies;
    add_once(program_.slots, id);
    if (slot.program) {
      for (const SlotId inner : slot.program->slots) add_once(program_.slots, inner);
    }
    if (slot.side == Side::request && !slot.varies) {
      add_once(program_.captures, id);
    } else if (slot.program) {
      for (const SlotId inner : slot.program->captures) add_once(program_.captures, inner);
    }
  }

  Program& program_;
  const SlotTable& slots_;
};

}  // namespace

std::shared_ptr<const Program> emit(const Ast& ast, const SlotTable& slots,
                                    std::shared_ptr<Pool> pool) {
  auto program = std::make_shared<Program>();
  program->depth = 0;
  program->root = Emitter(*program, slots).node(ast, program->depth);
  program->type = ast.type;
  program->precedence = precedence(ast, slots);
  program->pool = std::move(pool);
  return program;
}

}  // namespace weir::policies::expr
