# SPDX-License-Identifier: Apache-2.0
# The folders of the CPU device, the lowest first. Each may include the layers of the library and the folders that it names.
set(cpu src/device/cpu)
set(below base ${ptxgen} contract)
set(data cpu_number cpu_memory cpu_shadow cpu_machine)

cj_add_layer(cpu_number  ${cpu}/number  SEES ${below})
cj_add_layer(cpu_memory  ${cpu}/memory  SEES ${below})
cj_add_layer(cpu_shadow  ${cpu}/shadow  SEES ${below} cpu_memory)
cj_add_layer(cpu_machine ${cpu}/machine SEES ${below} cpu_memory cpu_shadow cpu_number)
cj_add_layer(cpu_watch   ${cpu}/watch   SEES ${below} ${data})
cj_add_layer(cpu_access  ${cpu}/access  SEES ${below} ${data} cpu_watch device)
cj_add_layer(cpu_async   ${cpu}/async   SEES ${below} ${data} cpu_watch cpu_access device)
cj_add_layer(cpu_load    ${cpu}/load    SEES ${below} ${data})

set(machinery ${below} ${data} cpu_watch cpu_access cpu_async cpu_load device)
cj_add_layer(cpu_execute ${cpu}/execute         SEES ${machinery})
cj_add_layer(cpu_scalar  ${cpu}/execute/scalar  SEES ${machinery} cpu_execute)
cj_add_layer(cpu_memory_instructions ${cpu}/execute/memory SEES ${machinery} cpu_execute)
cj_add_layer(cpu_async_instructions  ${cpu}/execute/async  SEES ${machinery} cpu_execute)
cj_add_layer(cpu_matrix  ${cpu}/execute/matrix  SEES ${machinery} cpu_execute)
cj_add_layer(cpu_texture ${cpu}/execute/texture SEES ${machinery} cpu_execute)
cj_add_layer(cpu_library ${cpu}/execute/library SEES ${machinery} cpu_execute)
cj_add_layer(cpu_control ${cpu}/execute/control SEES ${machinery} cpu_execute cpu_matrix cpu_library)

cj_add_layer(cpu_run     ${cpu}/run     SEES ${machinery} cpu_matrix)
cj_add_layer(cpu         ${cpu}         SEES ${machinery} cpu_execute cpu_matrix cpu_run)

# The CPU device computes the same bits as the GPU, so the compiler must not contract a product and a sum.
foreach(layer ${CJ_LAYERS})
    if(layer MATCHES "^cj_cpu")
        target_compile_options(${layer} PRIVATE -ffp-contract=off -fno-math-errno -fno-trapping-math)
    endif()
endforeach()
# Tiles are loops that only an optimizer makes vector code of; without it products take ten times as long in every test.
if(NOT CJ_SANITIZE)
    set_source_files_properties(${cpu}/number/tile.c PROPERTIES COMPILE_OPTIONS "-O3;-fno-trapping-math")
endif()
