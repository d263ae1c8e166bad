# embed_text(TARGET NAMESPACE FILE...): each FILE becomes `extern const std::string_view kNAME` in
# the header <build>/embedded/NAMESPACE.h, NAME being the file's name in upper case with _ for others.
function(embed_text target namespace)
  set(dir "${PROJECT_BINARY_DIR}/embedded")
  set(header "${dir}/${namespace}.h")
  set(source "${dir}/${namespace}.cc")
  add_custom_command(OUTPUT "${header}" "${source}"
    COMMAND python3 "${PROJECT_SOURCE_DIR}/tools/embed_text.py" "${namespace}" "${header}" "${source}" ${ARGN}
    DEPENDS ${ARGN} "${PROJECT_SOURCE_DIR}/tools/embed_text.py"
    WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" VERBATIM)
  target_sources(${target} PRIVATE "${source}" "${header}")
  target_include_directories(${target} PRIVATE "${PROJECT_BINARY_DIR}")
endfunction()
