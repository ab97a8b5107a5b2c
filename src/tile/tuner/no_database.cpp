// In the place of database.cpp, in builds without SQLite.
#include "tile/tuner/database.h"

namespace ingot::tile {

Result<std::unique_ptr<TuningDatabase>> TuningDatabase::open(const std::string& path, bool) {
    return fail(
        ErrorKind::kUnsupported,
        "{}: this program was built without SQLite; install libsqlite3-dev (`make packages-metal`) and "
        "build again",
        path);
}

}  // namespace ingot::tile
