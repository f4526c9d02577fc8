# Every third-party library of the project, found once, as imported targets.
find_package(Threads REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(CLI11 REQUIRED)
find_package(PNG REQUIRED)
find_package(JPEG REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto SSL)
find_package(Boost 1.74 REQUIRED)  # headers: Asio and Beast
find_package(ZLIB REQUIRED)
find_package(spdlog REQUIRED)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(PkgConfig REQUIRED)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(hwy REQUIRED IMPORTED_TARGET libhwy)
pkg_check_modules(utf8proc REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(webp REQUIRED IMPORTED_TARGET libwebp)
pkg_check_modules(sqlite REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(yaml REQUIRED IMPORTED_TARGET yaml-cpp)

# ThreadSanitizer does not know the OpenMP run-time's barriers, so builds without OpenMP run every loop on the calling thread.
add_library(veneer_openmp INTERFACE)
if(VENEER_OPENMP)
  find_package(OpenMP REQUIRED COMPONENTS CXX)
  target_link_libraries(veneer_openmp INTERFACE OpenMP::OpenMP_CXX)
else()
  # A pragma for a switched-off OpenMP is no mistake.
  target_compile_options(veneer_openmp INTERFACE -Wno-unknown-pragmas)
endif()

# oneDNN 3.x where `make deps` has put it, else the distribution's 2.6: src/compute accepts both.
add_library(veneer_onednn INTERFACE)
if(EXISTS "${VENEER_ONEDNN_ROOT}/include/oneapi/dnnl/dnnl.hpp")
  target_include_directories(veneer_onednn SYSTEM INTERFACE "${VENEER_ONEDNN_ROOT}/include")
  target_link_libraries(veneer_onednn INTERFACE "${VENEER_ONEDNN_ROOT}/lib/libdnnl.so")
  message(STATUS "oneDNN: ${VENEER_ONEDNN_ROOT}")
else()
  # Not find_package(dnnl): Debian's configuration file asks for OpenCL, which its library does not need.
  find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.hpp REQUIRED)
  find_library(DNNL_LIBRARY dnnl REQUIRED)
  target_link_libraries(veneer_onednn INTERFACE "${DNNL_LIBRARY}")
  message(STATUS "oneDNN: the system's")
endif()

if(VENEER_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
if(VENEER_BUILD_BENCH)
  find_package(benchmark REQUIRED)
endif()
