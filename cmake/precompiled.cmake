# weir_precompiled(TARGET SET): TARGET starts from the precompiled headers of a SET below. They are
# made once, by the first target that asks for the set; flags and definitions must be the same
# (g++ says so if not).
#
# Half of what a small source costs is the parsing of the standard library. Sources still include
# what they use: clang (the fuzz preset) and -DWEIR_PRECOMPILED=OFF build without them.
option(WEIR_PRECOMPILED "Precompile what many sources include" ON)

set(WEIR_HEADERS_standard <algorithm> <array> <atomic> <charconv> <chrono> <functional> <map> <memory> <optional>
    <random> <set> <span> <string> <string_view> <unordered_map> <variant> <vector>)
set(WEIR_HEADERS_asio ${WEIR_HEADERS_standard} <boost/asio/awaitable.hpp> <boost/asio/io_context.hpp>
    <boost/asio/steady_timer.hpp>)
set(WEIR_HEADERS_commands ${WEIR_HEADERS_asio} <CLI/CLI.hpp>)
set(WEIR_HEADERS_tests ${WEIR_HEADERS_standard} <gmock/gmock.h> <gtest/gtest.h>)

function(weir_precompiled target set)
  if(NOT WEIR_PRECOMPILED OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  # A set once more with the flags of the rooms that are compiled for size (weir_room's SMALL).
  string(REGEX REPLACE "_small$" "" headers "${set}")
  get_property(owner GLOBAL PROPERTY WEIR_PRECOMPILED_${set})
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    target_precompile_headers(${target} PRIVATE ${WEIR_HEADERS_${headers}})
    set_property(GLOBAL PROPERTY WEIR_PRECOMPILED_${set} ${target})
  endif()
endfunction()
