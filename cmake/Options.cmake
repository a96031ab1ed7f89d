option(INGOT_PYTHON "build the Python extension and its core" ON)
option(INGOT_TESTS "build the C++ tests and ingot-opt" OFF)
option(INGOT_WERROR "warnings end the build: for work on Ingot, not for packages of it" ${INGOT_TESTS})
option(INGOT_AMDGPU "code for AMD's GPUs: a third of what LLVM weighs" ON)
option(INGOT_CHECKED "assertions on, and the verifier after every pass" OFF)
option(INGOT_PRECOMPILE "headers that a component includes nearly everywhere are compiled once" ON)
set(INGOT_SANITIZE "" CACHE STRING "empty, address;undefined or thread")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG" CACHE STRING "" FORCE)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(INGOT_CCACHE ccache)
if(INGOT_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_CURRENT_LIST_DIR}/ccache.sh ${INGOT_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${INGOT_CCACHE})
endif()

find_program(INGOT_MOLD mold)
find_program(INGOT_LLD NAMES ld.lld-19 ld.lld)
if(INGOT_MOLD)
  add_link_options(-fuse-ld=mold)
elseif(INGOT_LLD)
  add_link_options(-fuse-ld=lld)
endif()

# The flags of Ingot's own sources; headers from elsewhere are SYSTEM.
add_library(ingot_options INTERFACE)
# No contraction and no fast-math anywhere: the interpreter and the runtime define values.
target_compile_options(ingot_options INTERFACE
  -Wall -Wextra -Wconversion -Wshadow $<$<BOOL:${INGOT_WERROR}>:-Werror> -ffp-contract=off -fno-math-errno)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # It is wrong about `"text" + std::string`: GCC bug 105651.
  # (The second flag is for clang-tidy, which reads these and does not know the first.)
  target_compile_options(ingot_options INTERFACE -Wno-restrict -Wno-unknown-warning-option)
endif()
target_include_directories(ingot_options INTERFACE
  ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
if(INGOT_CHECKED)
  target_compile_definitions(ingot_options INTERFACE INGOT_CHECKED=1)
endif()
if(INGOT_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # The instrumentation hides from it that a variant's members are set.
  target_compile_options(ingot_options INTERFACE -Wno-maybe-uninitialized)
endif()
foreach(sanitizer IN LISTS INGOT_SANITIZE)
  add_compile_options(-fsanitize=${sanitizer} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${sanitizer})
endforeach()
