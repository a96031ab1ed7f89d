# ingot_room(NAME SOURCES ... DEPENDS ...): the static library ingot_NAME of src/NAME.
# The arrows between rooms are the DEPENDS here; tests/python/test_layering.py holds #include lines to them.
function(ingot_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(ingot_${name} STATIC ${ROOM_SOURCES})
  list(TRANSFORM ROOM_DEPENDS PREPEND ingot_)
  target_link_libraries(ingot_${name} PUBLIC ingot_options ${ROOM_DEPENDS})
endfunction()

# ingot_test(ROOM SOURCES ... DEPENDS ...): the GoogleTest program test_ROOM, known to ctest by its cases.
function(ingot_test room)
  cmake_parse_arguments(TEST "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(test_${room} ${TEST_SOURCES})
  list(TRANSFORM TEST_DEPENDS PREPEND ingot_)
  target_link_libraries(test_${room} PRIVATE ${TEST_DEPENDS} GTest::gtest_main)
  target_compile_definitions(test_${room} PRIVATE
    INGOT_TEST_DATA="${PROJECT_SOURCE_DIR}/tests")
  gtest_discover_tests(test_${room} TEST_PREFIX ${room}. DISCOVERY_MODE PRE_TEST)
endfunction()
