# The package for Debian, by CPack; tools/package calls it. With SOURCE_DATE_EPOCH the same source gives the
# same bytes.
set(maintainer "The outboxd authors <authors@outboxd.example>")
# A package needs the libraries of the Debian release that it was built on. Its revision names the release
# (1+deb12), so the packages of a version have different names, and the one for the next release is newer.
set(revision 1)
file(STRINGS /etc/os-release release REGEX "^(ID|VERSION_ID)=")
if(release MATCHES "^ID=debian;VERSION_ID=\"([0-9]+)\"|VERSION_ID=\"([0-9]+)\";ID=debian")
  set(revision 1+deb${CMAKE_MATCH_1}${CMAKE_MATCH_2})
endif()

# What Debian's policy wants beside the files of every installation.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/changelog.Debian CONTENT
"outboxd (${PROJECT_VERSION}-${revision}) unstable; urgency=medium

  * What is new is in changelog.gz.

 -- ${maintainer}  ${date}
")
install(FILES ${manual}/outboxd.toml DESTINATION /etc/outboxd)
install(FILES debian/copyright DESTINATION ${documents})
install(FILES debian/lintian-overrides DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides RENAME outboxd)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/changelog.Debian DESTINATION ${documents})
install(FILES ${PROJECT_SOURCE_DIR}/CHANGELOG.md DESTINATION ${documents} RENAME changelog)
install(CODE [[
  file(GLOB to_compress
    $ENV{DESTDIR}/usr/share/man/man*/*.[1-8] $ENV{DESTDIR}/usr/share/doc/outboxd/changelog*)
  execute_process(COMMAND gzip -9nf ${to_compress} COMMAND_ERROR_IS_FATAL ANY)
]])

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME outboxd)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT ${maintainer})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "relay from a transactional outbox in PostgreSQL to RabbitMQ")
set(CPACK_PACKAGE_DESCRIPTION
"An application writes its rows, and an event into a table of the outbox, in
one transaction. outboxd publishes the event to RabbitMQ within about a
millisecond of the commit, with publisher confirms, in order for each
aggregate. It marks an event as published only when the broker has it.
.
Any number of relays may run for one outbox: one leads, the others stand by.")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
if(CMAKE_CROSSCOMPILING)  # otherwise it is that of this machine
  execute_process(COMMAND dpkg-architecture -t ${CMAKE_LIBRARY_ARCHITECTURE} -q DEB_HOST_ARCH
    OUTPUT_VARIABLE CPACK_DEBIAN_PACKAGE_ARCHITECTURE OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY)
endif()
set(CPACK_DEBIAN_PACKAGE_RELEASE ${revision})
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_HOMEPAGE https://outboxd.example)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "systemd | systemd-standalone-sysusers | systemd-sysusers")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS ca-certificates)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "postgresql, rabbitmq-server")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
foreach(control conffiles postinst prerm postrm)
  list(APPEND CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_SOURCE_DIR}/debian/${control})
endforeach()
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_STRIP_FILES ON)
# Through DESTDIR: one file is outside of /usr.
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
include(CPack)
