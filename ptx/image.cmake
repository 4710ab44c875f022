# Code images: fatbins, cubins.
add_library(cutrace_image STATIC
  ${CMAKE_CURRENT_LIST_DIR}/fatbin.c
  ${CMAKE_CURRENT_LIST_DIR}/cubin.c)
target_link_libraries(cutrace_image PUBLIC cutrace_base PRIVATE PkgConfig::ZSTD PkgConfig::LZ4)
