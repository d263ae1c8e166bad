# embed_text(TARGET NAMESPACE [--packed] FILE...): each FILE becomes `extern const std::string_view k_NAME` in
# the header <build>/embedded/NAMESPACE.h, NAME being the file's name with _ for other characters than letters and digits.
# --packed: they are compressed in the program, and the header has `files()` for them (tools/embed_text.py).
function(embed_text target namespace)
  set(dir "${PROJECT_BINARY_DIR}/embedded")
  set(header "${dir}/${namespace}.h")
  set(source "${dir}/${namespace}.cc")
  set(files ${ARGN})
  list(REMOVE_ITEM files --packed)
  add_custom_command(OUTPUT "${header}" "${source}"
    COMMAND python3 "${PROJECT_SOURCE_DIR}/tools/embed_text.py" "${namespace}" "${header}" "${source}" ${ARGN}
    DEPENDS ${files} "${PROJECT_SOURCE_DIR}/tools/embed_text.py"
    WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" VERBATIM)
  # The library was made in the directory above (weir_room), where this command's outputs are unknown.
  add_custom_target(embed_${target}_${namespace} DEPENDS "${header}" "${source}")
  set_source_files_properties("${source}" "${header}" TARGET_DIRECTORY ${target} PROPERTIES GENERATED TRUE)
  add_dependencies(${target} embed_${target}_${namespace})
  target_sources(${target} PRIVATE "${source}" "${header}")
  target_include_directories(${target} PRIVATE "${PROJECT_BINARY_DIR}")
endfunction()
