# weir_image: the program of the container image. It has the same objects as weir, and in it the libraries that Debian has as
# archives: a container has one program only, so a shared library is not shared with anything, and its unused half would
# be carried, mapped and relocated. glibc, libstdc++, simdjson and cctz stay shared (the last two have no archives).
# The Debian package has weir itself: there, the system's libraries are shared, and mended without weir.
if(WEIR_SANITIZE OR WEIR_FUZZ)
  return()
endif()
set(rooms)
foreach(room app admin api proxy authz authz_messages replay gate policies store net config limiter telemetry core)
  list(APPEND rooms "$<TARGET_FILE:weir_${room}>")
endforeach()
get_property(small GLOBAL PROPERTY WEIR_SMALL_LIBRARIES)
foreach(library IN LISTS small)
  list(APPEND rooms "$<TARGET_FILE:${library}>")
endforeach()
set(passed)
foreach(room net proxy gate policies limiter store telemetry core)
  list(APPEND passed "$<TARGET_FILE:weir_${room}>")
endforeach()
add_executable(weir_image EXCLUDE_FROM_ALL $<TARGET_OBJECTS:weir>)
add_dependencies(weir_image weir)
set_target_properties(weir_image PROPERTIES LINKER_LANGUAGE CXX LINK_DEPENDS "$<TARGET_FILE:weir>;${CMAKE_CURRENT_LIST_DIR}/without_unwinding.ld"
  RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
target_link_options(weir_image PRIVATE -pthread -Wl,-z,relro,-z,now,-z,pack-relative-relocs,-O1,--gc-sections
  "-Wl,-T,${CMAKE_CURRENT_LIST_DIR}/without_unwinding.ld"
  -Wl,--whole-archive ${passed} -Wl,--no-whole-archive)  # as weir (app/CMakeLists.txt)
target_link_libraries(weir_image PRIVATE
  -Wl,--start-group ${rooms} -Wl,--end-group
  -Wl,-Bstatic -lprotobuf-lite -lre2 -lhiredis -lzstd -lboost_json -lboost_container -lnghttp2 -lsodium -lyaml-cpp -lssl -lcrypto -lz
  -Wl,-Bdynamic -lsimdjson -lcctz)
