# Precompiled standard and library headers: parsing them is more than half of a clean build. One set for the rooms, one for the command line, and one
# for tests, which are compiled with other flags. No source may depend on them: VENEER_PCH=OFF builds the same tree, and the static checks read it
# that way.
option(VENEER_PCH "Precompile the headers that most sources include" ON)

set(std_headers <algorithm> <array> <cmath> <cstdint> <cstring> <filesystem> <functional> <limits> <map> <memory> <mutex> <optional> <set> <span> <string>
    <string_view> <unordered_map> <utility> <vector>)

# veneer_precompiled_set(NAME HEADERS... OPTIONS...): a target that other ones reuse the headers of.
function(veneer_precompiled_set name)
  cmake_parse_arguments(ARG "" "" "HEADERS;OPTIONS;LINK" ${ARGN})
  set(source "${PROJECT_BINARY_DIR}/generated/${name}.cc")
  file(CONFIGURE OUTPUT "${source}" CONTENT "// Carries precompiled headers.\n")
  add_library(${name} OBJECT "${source}")
  target_link_libraries(${name} PRIVATE veneer_openmp ${ARG_LINK})
  target_compile_options(${name} PRIVATE ${ARG_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()

if(VENEER_PCH)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # The first lets ccache see what is in them. The others: GCC 12 forgets that precompiled headers are the system's, and then reports overlaps and
    # overflows in std::string that cannot be (its bug 105651).
    add_compile_options(-fpch-preprocess -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds)
  endif()
  veneer_precompiled_set(veneer_pch HEADERS ${std_headers} <nlohmann/json.hpp> LINK nlohmann_json::nlohmann_json)
  veneer_precompiled_set(veneer_cli_pch HEADERS ${std_headers} <nlohmann/json.hpp> <CLI/CLI.hpp> OPTIONS -O1
                         LINK nlohmann_json::nlohmann_json CLI11::CLI11)
  if(VENEER_BUILD_TESTS)
    veneer_precompiled_set(veneer_test_pch HEADERS ${std_headers} <nlohmann/json.hpp> <gmock/gmock.h> <gtest/gtest.h> OPTIONS -O1
                           LINK nlohmann_json::nlohmann_json GTest::gmock)
  endif()
endif()

# veneer_use_precompiled(TARGET SET): SET is veneer_pch, veneer_cli_pch or veneer_test_pch.
function(veneer_use_precompiled target set)
  if(VENEER_PCH)
    target_precompile_headers(${target} REUSE_FROM ${set})
  endif()
endfunction()
