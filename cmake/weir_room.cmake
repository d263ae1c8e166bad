# weir_room(NAME [SMALL] [HEADERS SET] DEPENDS ROOM...): the library weir_NAME from every source of the
# folder NAME. SET: what is precompiled (precompiled.cmake); standard, if it is not said.
# SMALL: what is shipped is compiled for size, because no request waits for the code of this room; and in sections of their own, so that
# the image's program goes without the functions that nothing calls (image_program.cmake).
#
# A room's own CMakeLists.txt is optional and runs after the library exists; it adds third-party
# libraries and generated sources. Links follow the arrows, so an upward include fails to link or
# is caught by tools/tidy.py.
function(weir_room name)
  cmake_parse_arguments(ROOM "SMALL" "HEADERS" "DEPENDS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS
       "${PROJECT_SOURCE_DIR}/${name}/*.cc" "${PROJECT_SOURCE_DIR}/${name}/*.h")
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  if(NOT sources)
    return()
  endif()
  set(target weir_${name})
  add_library(${target} STATIC ${sources})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${target} PRIVATE weir_flags)
  if(NOT ROOM_HEADERS)
    set(ROOM_HEADERS standard)
  endif()
  if(ROOM_SMALL AND CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
    target_compile_options(${target} PRIVATE -Os -ffunction-sections -fdata-sections)
    set(ROOM_HEADERS ${ROOM_HEADERS}_small)
  endif()
  weir_precompiled(${target} ${ROOM_HEADERS})
  foreach(dependency IN LISTS ROOM_DEPENDS)
    if(TARGET weir_${dependency})
      target_link_libraries(${target} PUBLIC weir_${dependency})
    endif()
  endforeach()
  if(EXISTS "${PROJECT_SOURCE_DIR}/${name}/CMakeLists.txt")
    add_subdirectory("${PROJECT_SOURCE_DIR}/${name}" "${PROJECT_BINARY_DIR}/${name}")
  endif()
endfunction()
