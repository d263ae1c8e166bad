# weir_flags: the warnings and hardening that every target of ours compiles and links with.
add_library(weir_flags INTERFACE)
target_compile_options(weir_flags INTERFACE
  -Wall -Wextra -Wconversion -Wshadow -Werror -fno-omit-frame-pointer -pthread)
target_compile_definitions(weir_flags INTERFACE
  BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_DISABLE_CONCEPTS
  _FILE_OFFSET_BITS=64)  # hiredis wants it; precompiled headers want it everywhere or nowhere

if(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
  # What is shipped says nothing of where it was built, and is the same wherever that was.
  # Of several maps the last counts. The relative paths are those that ccache says instead (CCACHE_BASEDIR, scripts/test).
  set(WEIR_SHORT_PATHS "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=" "-ffile-prefix-map=${PROJECT_BINARY_DIR}/="
    "-ffile-prefix-map=../../=" "-ffile-prefix-map=./=" -gno-record-gcc-switches)  # ccache adds one for precompiled headers
  target_compile_options(weir_flags INTERFACE ${WEIR_SHORT_PATHS})
  # In sections of their own: the linker leaves out the functions and tables that nothing uses (--gc-sections).
  set(WEIR_SECTIONS -ffunction-sections -fdata-sections)
  target_compile_options(weir_flags INTERFACE ${WEIR_SECTIONS})
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 takes the operator delete of Asio's coroutine frames for a mismatched one when it optimises.
  target_compile_options(weir_flags INTERFACE -fstack-clash-protection -Wno-mismatched-new-delete)
  if(CMAKE_UNITY_BUILD)
    # Meant for headers: g++ takes the sources of a unit for such.
    target_compile_options(weir_flags INTERFACE -Wno-subobject-linkage)
  endif()
endif()

if(WEIR_SANITIZE)
  target_compile_options(weir_flags INTERFACE -fsanitize=${WEIR_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(weir_flags INTERFACE -fsanitize=${WEIR_SANITIZE})
  target_compile_definitions(weir_flags INTERFACE WEIR_SANITIZED=1)
  if(WEIR_SANITIZE MATCHES "undefined" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Checks of every single access. With them a unit takes half again as long to compile and has 14 times the data, all
    # of it relocated at each start of a test. AddressSanitizer sees most of what they would find; clang's fuzzers keep them.
    target_compile_options(weir_flags INTERFACE -fno-sanitize=null,alignment,vptr,pointer-overflow,object-size)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # What follows values through optimised code sees the instrumentation's and reports strings of the
    # standard library (GCC's manual on -fsanitize says so); the plain builds keep these warnings.
    target_compile_options(weir_flags INTERFACE -Wno-array-bounds -Wno-maybe-uninitialized -Wno-restrict
      -Wno-stringop-overflow -Wno-stringop-overread)
  endif()
  if(WEIR_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(weir_flags INTERFACE -Wno-tsan)  # Asio's fences
  endif()
else()
  # Verified on the binary by tests/app/hardening_test (checksec's list).
  target_compile_options(weir_flags INTERFACE
    -fstack-protector-strong -fcf-protection -ftrivial-auto-var-init=zero)
  target_compile_definitions(weir_flags INTERFACE _GLIBCXX_ASSERTIONS)
  target_compile_options(weir_flags INTERFACE -U_FORTIFY_SOURCE $<$<NOT:$<BOOL:${WEIR_FUZZ}>>:-D_FORTIFY_SOURCE=3>)
  target_link_options(weir_flags INTERFACE -Wl,-z,relro,-z,now)
endif()
if(WEIR_FUZZ)
  target_compile_options(weir_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
