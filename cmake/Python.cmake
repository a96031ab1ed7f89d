# The Python package of this build. Its binaries are in <build>/python/ingot next to links to the sources in
# python/ingot, so that PYTHONPATH=<build>/python imports this build; the install component `python` is the wheel's.
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module NumPy)
execute_process(
  COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
  OUTPUT_VARIABLE nanobind_DIR OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)

set(INGOT_PYTHON_DIR ${PROJECT_BINARY_DIR}/python)
file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/python
  ${PROJECT_SOURCE_DIR}/python/*.py ${PROJECT_SOURCE_DIR}/python/*.pyi ${PROJECT_SOURCE_DIR}/python/*.cpp
  ${PROJECT_SOURCE_DIR}/python/*.h ${PROJECT_SOURCE_DIR}/python/py.typed)
file(GLOB_RECURSE old_links ${INGOT_PYTHON_DIR}/*.py ${INGOT_PYTHON_DIR}/*.pyi ${INGOT_PYTHON_DIR}/*.cpp
  ${INGOT_PYTHON_DIR}/*.h)
foreach(link IN LISTS old_links)
  if(NOT EXISTS ${link})
    file(REMOVE ${link})
  endif()
endforeach()
foreach(source IN LISTS sources)
  cmake_path(GET source PARENT_PATH folder)
  file(MAKE_DIRECTORY ${INGOT_PYTHON_DIR}/${folder})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/python/${source} ${INGOT_PYTHON_DIR}/${source} SYMBOLIC)
endforeach()

# All binaries of the package; what `pip install` builds.
add_custom_target(ingot_python)

# Which module of the library has a function for what.
set(index ${INGOT_PYTHON_DIR}/ingot/library/_index.py)
file(GLOB library CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/ingot/library/*.py ${PROJECT_SOURCE_DIR}/python/ingot/library/own/*.py)
add_custom_command(OUTPUT ${index}
  COMMAND ${Python_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/library_index.py ${index}
  DEPENDS ${PROJECT_SOURCE_DIR}/tools/library_index.py ${library} ${PROJECT_SOURCE_DIR}/src/ir/ops.def
    ${PROJECT_SOURCE_DIR}/src/frontend/builtins.def)
add_custom_target(ingot_library_index ALL DEPENDS ${index})
add_dependencies(ingot_python ingot_library_index)
install(FILES ${index} DESTINATION ingot/library COMPONENT python)

# The ASTs of its functions.
set(trees ${INGOT_PYTHON_DIR}/ingot/library/_trees)
file(GLOB_RECURSE library RELATIVE ${PROJECT_SOURCE_DIR}/python/ingot/library CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/python/ingot/library/*.py)
string(REPLACE "/" "." kept "${library}")
list(TRANSFORM kept REPLACE "\\.py$" ".bin")
list(TRANSFORM kept PREPEND ${trees}/)
list(TRANSFORM library PREPEND ${PROJECT_SOURCE_DIR}/python/ingot/library/)
add_custom_command(OUTPUT ${kept}
  COMMAND ${Python_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/library_trees.py ${trees}
  DEPENDS ${PROJECT_SOURCE_DIR}/tools/library_trees.py ${PROJECT_SOURCE_DIR}/python/ingot/_code/trees.py ${library})
add_custom_target(ingot_library_trees ALL DEPENDS ${kept})
add_dependencies(ingot_python ingot_library_trees)
install(FILES ${kept} DESTINATION ingot/library/_trees COMPONENT python)

# What distinguishes this build from others, for the cache of compiled code. The folder of sources may be edited without a build.
set(identity ${INGOT_PYTHON_DIR}/ingot/_cache/build)
list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/python/ OUTPUT_VARIABLE identified)
add_custom_command(OUTPUT ${identity} ${identity}.files
  COMMAND ${Python_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/build_identity.py ${INGOT_PYTHON_DIR}/ingot
  DEPENDS ${PROJECT_SOURCE_DIR}/tools/build_identity.py ${identified} ${index} ${kept} _core _ingot)
add_custom_target(ingot_build_identity ALL DEPENDS ${identity})
install(FILES ${identity} DESTINATION ingot/_cache COMPONENT python)

# ingot_python_module(TARGET [EXPORTS ...]): makes a module a binary of the package. All symbols in it, those of
# static libraries (LLVM's, the components') too, are hidden, but for the module's own and those given; what nobody calls
# is left out. It needs the C and C++ libraries of manylinux_2_34 and no others.
function(ingot_python_module target)
  cmake_parse_arguments(MODULE "" "" "EXPORTS" ${ARGN})
  set(exports "")
  foreach(name IN ITEMS PyInit_${target} LISTS MODULE_EXPORTS)
    string(APPEND exports "${name}; ")
  endforeach()
  set(script ${CMAKE_CURRENT_BINARY_DIR}/${target}.exports)
  file(CONFIGURE OUTPUT ${script} CONTENT "{ global: ${exports}local: *; };\n")
  set_target_properties(${target} PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${INGOT_PYTHON_DIR}/ingot
    LINK_DEPENDS ${script})
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:ingot_older_systems>)
  target_link_options(${target} PRIVATE -Wl,--version-script=${script} -Wl,--gc-sections -Wl,--as-needed)
  add_dependencies(ingot_python ${target} ingot_build_identity)
  install(TARGETS ${target} LIBRARY DESTINATION ingot COMPONENT python)
endfunction()
