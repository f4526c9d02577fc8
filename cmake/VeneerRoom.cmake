# veneer_room(NAME [LINK targets...]): the static library veneer_NAME from src/NAME/**/*.cc and, with tests on, the program NAME_test from the
# *_test.cc files beside them. Rooms that a room includes come from src/layers.txt, so the build and the layer check read one table.
function(veneer_room name)
  cmake_parse_arguments(ARG "" "" "LINK;TEST_LINK" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${name}/*.cc")
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")

  file(STRINGS "${PROJECT_SOURCE_DIR}/src/layers.txt" lines REGEX "^${name}:")
  string(REGEX REPLACE "^${name}:[ ]*" "" rooms "${lines}")
  string(REPLACE " " ";" rooms "${rooms}")
  list(TRANSFORM rooms PREPEND "veneer_")

  if(sources)
    add_library(veneer_${name} STATIC ${sources})
    set(visibility PUBLIC)
  else()
    add_library(veneer_${name} INTERFACE)
    set(visibility INTERFACE)
  endif()
  target_include_directories(veneer_${name} ${visibility} "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(veneer_${name} ${visibility} ${rooms} ${ARG_LINK})

  if(VENEER_BUILD_TESTS AND tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE veneer_${name} ${ARG_TEST_LINK} GTest::gmock GTest::gtest_main)
    target_compile_definitions(${name}_test PRIVATE VENEER_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    # The tests' own code is not what is measured; this halves their compile time.
    target_compile_options(${name}_test PRIVATE -O1)
    gtest_discover_tests(${name}_test DISCOVERY_MODE PRE_TEST TEST_PREFIX "${name}." PROPERTIES TIMEOUT 300)
  endif()
endfunction()
