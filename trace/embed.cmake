# cutrace_embed_text(VARIABLE FILE OUTPUT): a C file that defines `const char VARIABLE[]`, the text of FILE.
function(cutrace_embed_text variable file output)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
  file(WRITE ${output}.new "extern const char ${variable}[];\nconst char ${variable}[] = {\n${bytes}0};\n")
  configure_file(${output}.new ${output} COPYONLY)
endfunction()
