# ingot_precompile(TARGET [HEADER ...]): compiles the standard library's headers that most sources include, and those
# given, once for all sources of a target. Sources include what they use all the same: debug builds precompile nothing.
function(ingot_precompile target)
  if(INGOT_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE
      <algorithm> <array> <bit> <cstddef> <cstdint> <cstring> <functional> <limits> <map>
      <memory> <numeric> <optional> <set> <span> <string> <string_view> <unordered_map> <utility> <variant> <vector>
      ${ARGN})
  endif()
endfunction()

# ingot_component(NAME SOURCES ... DEPENDS ... PRECOMPILED ...): the static library ingot_NAME of src/NAME.
# The arrows between components are the DEPENDS here; tests/python/test_layering.py checks #include lines against them.
function(ingot_component name)
  cmake_parse_arguments(COMPONENT "" "" "SOURCES;DEPENDS;PRECOMPILED" ${ARGN})
  add_library(ingot_${name} STATIC ${COMPONENT_SOURCES})
  list(TRANSFORM COMPONENT_DEPENDS PREPEND ingot_)
  target_link_libraries(ingot_${name} PUBLIC ingot_options ${COMPONENT_DEPENDS})
  list(LENGTH COMPONENT_SOURCES count)
  if(COMPONENT_PRECOMPILED OR count GREATER 12)
    ingot_precompile(ingot_${name} ${COMPONENT_PRECOMPILED})
  endif()
endfunction()

# ingot_thread_memory(TARGET...): variables of each thread are in the memory that it is made with, also in a library that is
# loaded later. Else the first access by each thread allocates memory, and ends the process where there is none. There is little
# of it for all libraries of a process (test_package has a limit); ahead-of-time libraries, of which there may be many, take none.
function(ingot_thread_memory)
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE -ftls-model=initial-exec)
  endforeach()
endfunction()

# ingot_test(COMPONENT SOURCES ... DEPENDS ... LIBRARIES ...): the GoogleTest program test_COMPONENT, known to ctest by its cases.
# DEPENDS are components of Ingot, LIBRARIES other targets.
function(ingot_test component)
  cmake_parse_arguments(TEST "" "" "SOURCES;DEPENDS;LIBRARIES" ${ARGN})
  add_executable(test_${component} ${TEST_SOURCES})
  list(TRANSFORM TEST_DEPENDS PREPEND ingot_)
  target_link_libraries(test_${component} PRIVATE ${TEST_DEPENDS} ${TEST_LIBRARIES} GTest::gtest_main)
  ingot_precompile(test_${component} <gtest/gtest.h>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # Of what is inlined from a precompiled <string> it warns, wrongly, as if it were Ingot's own.
    target_compile_options(test_${component} PRIVATE -Wno-array-bounds -Wno-stringop-overflow)
  endif()
  target_compile_definitions(test_${component} PRIVATE
    INGOT_TEST_DATA="${PROJECT_SOURCE_DIR}/tests")
  gtest_discover_tests(test_${component} TEST_PREFIX ${component}. DISCOVERY_MODE PRE_TEST)
endfunction()
