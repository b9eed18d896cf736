# SPDX-License-Identifier: Apache-2.0
# cj_add_layer(NAME DIRECTORY [SEES LAYER...])
#
# One OBJECT library cj_NAME from every source in the directory. Its include path is narrow (the public headers, its own
# directory, and those of the layers that it SEES), so an #include against the layering does not compile.
# Adds to CJ_LAYERS the library's name and to CJ_OBJECTS its objects.
function(cj_add_layer name directory)
    cmake_parse_arguments(PARSE_ARGV 2 arg "" "" SEES)
    file(GLOB sources CONFIGURE_DEPENDS ${directory}/*.c)
    list(TRANSFORM arg_SEES PREPEND cj_)

    add_library(cj_${name} OBJECT ${sources})
    target_include_directories(cj_${name} PUBLIC ${directory} PRIVATE ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(cj_${name} PRIVATE ${arg_SEES})
    target_compile_definitions(cj_${name} PRIVATE $<$<NOT:$<BOOL:${BUILD_SHARED_LIBS}>>:CJ_STATIC>
        CJ__EXPLICIT=)  # the library copies structures of callers into variables that nothing has initialized

    set(CJ_LAYERS ${CJ_LAYERS} cj_${name} PARENT_SCOPE)
    set(CJ_OBJECTS ${CJ_OBJECTS} $<TARGET_OBJECTS:cj_${name}> PARENT_SCOPE)
endfunction()
