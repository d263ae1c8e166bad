# What `cmake --install` puts where, and the Debian packages that CPack makes of it: weir, and weir-dbgsym with the symbols that
# are stripped from it. scripts/package does all of this, and the image.
include(GNUInstallDirs)

set(WEIR_UNIT_DIR "lib/systemd/system" CACHE STRING "Where the unit of systemd goes")
# The binary, stripped when it is installed; its symbols are a component of their own, found by the build id.
install(TARGETS weir RUNTIME COMPONENT weir)
install(CODE "execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-unneeded --remove-section=.comment --remove-section=.note
  \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/weir\" COMMAND_ERROR_IS_FATAL ANY)" COMPONENT weir)
install(CODE "set(BINARY \"$<TARGET_FILE:weir>\")
set(READELF \"${CMAKE_READELF}\")
set(OBJCOPY \"${CMAKE_OBJCOPY}\")
set(TO \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/debug/.build-id\")
include(\"${PROJECT_SOURCE_DIR}/cmake/split_symbols.cmake\")" COMPONENT dbgsym)

# Written by weir itself from the tables that it parses by.
set(pages "${PROJECT_BINARY_DIR}/pages")
set(written)
function(weir_writes file)
  add_custom_command(OUTPUT "${pages}/${file}" COMMAND ${CMAKE_COMMAND} -E make_directory "${pages}"
    COMMAND weir ${ARGN} > "${pages}/${file}" DEPENDS weir VERBATIM)
  set(written ${written} "${pages}/${file}" PARENT_SCOPE)
endfunction()
weir_writes(weir.1 man weir)
weir_writes(weir.yaml.5 man weir.yaml)
weir_writes(weir.bash completion bash)
weir_writes(_weir completion zsh)
weir_writes(weir.fish completion fish)
weir_writes(weir.schema.json schema)
foreach(page weir.1 weir.yaml.5)
  add_custom_command(OUTPUT "${pages}/${page}.gz" COMMAND gzip -9nkf "${pages}/${page}" DEPENDS "${pages}/${page}" VERBATIM)
  list(APPEND written "${pages}/${page}.gz")
endforeach()
# Debian wants the history of the package in a form of its own.
add_custom_command(OUTPUT "${pages}/changelog.Debian.gz"
  COMMAND python3 "${PROJECT_SOURCE_DIR}/tools/debian_changelog.py" ${PROJECT_VERSION} "${pages}/changelog.Debian.gz"
  COMMAND ${CMAKE_COMMAND} -E copy "${PROJECT_SOURCE_DIR}/CHANGELOG.md" "${pages}/changelog"
  COMMAND gzip -9nf "${pages}/changelog"
  DEPENDS "${PROJECT_SOURCE_DIR}/tools/debian_changelog.py" "${PROJECT_SOURCE_DIR}/CHANGELOG.md" VERBATIM)
add_custom_target(weir_pages ALL DEPENDS ${written} "${pages}/changelog.Debian.gz")

install(FILES "${pages}/weir.1.gz" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT weir)
install(FILES "${pages}/weir.yaml.5.gz" DESTINATION "${CMAKE_INSTALL_MANDIR}/man5" COMPONENT weir)
install(FILES "${pages}/weir.bash" DESTINATION share/bash-completion/completions RENAME weir COMPONENT weir)
install(FILES "${pages}/weir.fish" DESTINATION share/fish/vendor_completions.d COMPONENT weir)
install(FILES "${pages}/weir.schema.json" DESTINATION share/weir COMPONENT weir)
install(DIRECTORY config/recipes DESTINATION share/weir COMPONENT weir FILES_MATCHING PATTERN "*.yaml")
install(DIRECTORY docs DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT weir FILES_MATCHING PATTERN "*.md" PATTERN "*.yaml" PATTERN images EXCLUDE)
install(FILES README.md SECURITY.md packaging/debian/copyright DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT weir)
install(FILES "${pages}/changelog.Debian.gz" "${pages}/changelog.gz" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT weir)
install(FILES "${pages}/changelog.Debian.gz" packaging/debian/copyright DESTINATION share/doc/weir-dbgsym COMPONENT dbgsym)
# Not for Debian's own archive, whose first uploads close a bug.
foreach(package weir dbgsym)
  string(REPLACE "weir-weir" "weir" name "weir-${package}")
  file(WRITE "${pages}/overrides-${name}" "${name}: initial-upload-closes-no-bugs\n")
  install(FILES "${pages}/overrides-${name}" DESTINATION share/lintian/overrides RENAME ${name} COMPONENT ${package})
endforeach()
install(FILES packaging/weir.service DESTINATION "${WEIR_UNIT_DIR}" COMPONENT weir)
# Below /usr the configuration is in /etc, and Debian's zsh looks into vendor-completions; below another prefix all stays there.
install(CODE "set(PAGES \"${pages}\")
set(FROM \"${PROJECT_SOURCE_DIR}/packaging\")
include(\"${PROJECT_SOURCE_DIR}/cmake/install_by_prefix.cmake\")" COMPONENT weir)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME weir)
set(CPACK_PACKAGE_VENDOR "the weir maintainers")
set(CPACK_PACKAGE_CONTACT "weir maintainers <maintainers@users.noreply.github.com>")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/cpack")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL weir dbgsym)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_WEIR_PACKAGE_NAME weir)
set(CPACK_DEBIAN_WEIR_PACKAGE_SECTION web)
set(CPACK_DEBIAN_WEIR_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_WEIR_PACKAGE_DEPENDS "init-system-helpers (>= 1.54~), procps, tzdata")
set(CPACK_DEBIAN_WEIR_PACKAGE_RECOMMENDS ca-certificates)
set(CPACK_DEBIAN_WEIR_PACKAGE_SUGGESTS redis-server)
set(CPACK_DEBIAN_WEIR_DESCRIPTION "rate limiter and counter in front of an app
weir is a reverse proxy that counts what the callers of an app do (failed
logins per address, accounts per device, anything that a request or its
answer says) and flags, delays, challenges or refuses them by policies of a
few lines of YAML. Counts are exact to a written contract, bounded in memory,
and may be shared by all replicas through Redis.")
foreach(file postinst prerm postrm conffiles)
  list(APPEND control "${PROJECT_SOURCE_DIR}/packaging/debian/${file}")
endforeach()
set(CPACK_DEBIAN_WEIR_PACKAGE_CONTROL_EXTRA ${control})
set(CPACK_DEBIAN_WEIR_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_DBGSYM_PACKAGE_NAME weir-dbgsym)
set(CPACK_DEBIAN_DBGSYM_PACKAGE_SECTION debug)
set(CPACK_DEBIAN_DBGSYM_PACKAGE_DEPENDS "weir (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
set(CPACK_DEBIAN_DBGSYM_DESCRIPTION "debug symbols for weir
What was stripped from the program, for debuggers and profilers; they find it
by the build id.")
include(CPack)
