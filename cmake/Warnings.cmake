# Warnings are errors everywhere, in generated code too.
add_compile_options(-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror
                    -fno-strict-aliasing -fno-omit-frame-pointer)
