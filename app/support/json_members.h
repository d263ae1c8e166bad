#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <string>
#include <string_view>

/// Members of JSON that another process has written: of an object, or of a value that should be
/// one. A member that is missing or of another type reads as nothing. Pure.
namespace weir::app {

/// Null: there is none.
inline const boost::json::value* member(const boost::json::object& of, std::string_view name) {
  return of.if_contains(name);
}
inline const boost::json::value* member(const boost::json::value& of, std::string_view name) {
  return of.is_object() ? member(of.get_object(), name) : nullptr;
}

/// A text, as it is: it may have several lines and characters that no terminal should get. Else
/// empty.
template <class Json>
std::string text_in(const Json& of, std::string_view name) {
  const boost::json::value* const found = member(of, name);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

/// An integer, else 0.
template <class Json>
std::int64_t count_of(const Json& of, std::string_view name) {
  const boost::json::value* const found = member(of, name);
  return found != nullptr && found->is_int64() ? found->get_int64() : 0;
}

template <class Json>
bool is_true(const Json& of, std::string_view name) {
  const boost::json::value* const found = member(of, name);
  return found != nullptr && found->is_bool() && found->get_bool();
}

/// The items of a list; none if it is not a list.
inline const boost::json::array& items(const boost::json::value& of, std::string_view name) {
  static const boost::json::array kNone;
  const boost::json::value* const found = member(of, name);
  return found != nullptr && found->is_array() ? found->get_array() : kNone;
}

}  // namespace weir::app
