#include "core/value.h"

namespace weir {

std::string_view type_name(Type type) noexcept {
  switch (type) {
    case Type::null:
      return "null";
    case Type::error:
      return "error";
    case Type::boolean:
      return "bool";
    case Type::integer:
      return "int";
    case Type::real:
      return "double";
    case Type::text:
      return "string";
    case Type::address:
      return "ip address";
    case Type::list:
      return "list";
    case Type::json:
      return "JSON object or array";
    case Type::dyn:
      return "any type";
  }
  return "unknown";
}

}  // namespace weir
