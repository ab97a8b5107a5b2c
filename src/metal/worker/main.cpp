// The child process of exec/isolated_compiler.h; not meant to be started by hand.
#include <cstdio>

#include <sys/stat.h>

#include "metal/exec/isolated_compiler.h"

int main() {
    struct stat input;
    if (::fstat(0, &input) != 0 || !S_ISSOCK(input.st_mode)) {
        std::fputs("ingot_metal_worker: started by the virtual Metal device, not by hand\n", stderr);
        return 2;
    }
    return ingot::metal::run_compiler_worker();
}
