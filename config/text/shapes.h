#pragma once

#include <string_view>

#include "config/text/word_lists.h"

/// JSON Schema of the shapes that many keys share; schema.cc writes the definitions they point to.
namespace weir::config::shape {

inline constexpr std::string_view kText = R"({"type":"string","minLength":1})";
inline constexpr std::string_view kTextMap = R"({"type":"object"})";
inline constexpr std::string_view kTexts = R"({"$ref":"#/$defs/texts"})";
inline constexpr std::string_view kName = R"({"$ref":"#/$defs/name"})";
inline constexpr std::string_view kNames = R"({"$ref":"#/$defs/names"})";
inline constexpr std::string_view kWatched =
    R"({"anyOf":[{"$ref":"#/$defs/names"},{"$ref":"#/$defs/described"},{"type":"array","items":{"anyOf":[{"type":"string"},{"$ref":"#/$defs/described"}]}}]})";
inline constexpr std::string_view kExpression = R"({"$ref":"#/$defs/expression"})";
inline constexpr std::string_view kFields = R"({"$ref":"#/$defs/fields"})";
inline constexpr std::string_view kKey =
    R"({"anyOf":[{"$ref":"#/$defs/texts"},{"$ref":"#/$defs/place"},{"type":"array","items":{"anyOf":[{"type":"string"},{"$ref":"#/$defs/place"}]}}]})";
inline constexpr std::string_view kWindow =
    R"({"anyOf":[{"$ref":"#/$defs/duration"},{"$ref":"#/$defs/window"}]})";
inline constexpr std::string_view kDuration = R"({"$ref":"#/$defs/duration"})";
inline constexpr std::string_view kSize = R"({"$ref":"#/$defs/size"})";
inline constexpr std::string_view kEndpoint = R"({"$ref":"#/$defs/endpoint"})";
inline constexpr std::string_view kLimit = R"({"$ref":"#/$defs/limit"})";
inline constexpr std::string_view kBoolean = R"({"type":"boolean"})";
inline constexpr std::string_view kCount = R"({"type":"integer","minimum":1})";
inline constexpr std::string_view kStatus = R"({"type":"integer","minimum":400,"maximum":599})";
inline constexpr std::string_view kAction = kSchemaOf<kActions, RungActions>;
inline constexpr std::string_view kEffect = kSchemaOf<kActions, ListEffects>;
inline constexpr std::string_view kTell = kSchemaOf<kTells>;
inline constexpr std::string_view kMode = kSchemaOf<kModes>;
inline constexpr std::string_view kListKind = kSchemaOf<kListKinds>;
inline constexpr std::string_view kMissing = kSchemaOf<kMissings>;
inline constexpr std::string_view kMethod = kSchemaOf<kMethods>;

}  // namespace weir::config::shape
