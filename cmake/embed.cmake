# SPDX-License-Identifier: Apache-2.0
# cj_embed(TARGET PREFIX FILE...)
#
# Adds to the target a source with each file's bytes: `const char PREFIX_NAME[]`, NUL-terminated, NAME being the file's name
# up to its first dot. Configuring again follows a change of a file.
function(cj_embed target prefix)
    foreach(file IN LISTS ARGN)
        get_filename_component(name ${file} NAME_WE)
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
        file(READ ${file} bytes HEX)
        string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
        string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
        set(source ${CMAKE_CURRENT_BINARY_DIR}/embedded/${prefix}_${name}.c)
        file(CONFIGURE OUTPUT ${source} @ONLY CONTENT
            "extern const char ${prefix}_${name}[];\nconst char ${prefix}_${name}[] = {\n${bytes}0};\n")
        target_sources(${target} PRIVATE ${source})
    endforeach()
endfunction()
