# veneer_plugin(TARGET NAME FOLDER sources...): the node plug-in FOLDER/NAME.so. It needs the public headers and nothing else of Veneer.
function(veneer_plugin target name folder)
  add_library(${target} MODULE ${ARGN})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/include")
  set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME ${name} LIBRARY_OUTPUT_DIRECTORY "${folder}" CXX_VISIBILITY_PRESET hidden
                                             VISIBILITY_INLINES_HIDDEN ON UNITY_BUILD OFF)
endfunction()
