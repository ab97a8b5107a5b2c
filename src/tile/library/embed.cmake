# Writes OUTPUT, a C++ file that holds every .tile file of FOLDER: cmake -DFOLDER=... -DOUTPUT=... -P embed.cmake
file(GLOB files RELATIVE ${FOLDER} ${FOLDER}/*.tile)
list(SORT files)
set(table "")
foreach(file ${files})
  file(READ ${FOLDER}/${file} text)
  get_filename_component(name ${file} NAME_WE)
  string(APPEND table "    {\"${name}\", R\"tile(${text})tile\"},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"tile/library/library.h\"

namespace ingot::tile {
namespace {

constexpr LibraryKernel kLibrary[] = {
${table}};

}  // namespace

std::span<const LibraryKernel> library() {
    return kLibrary;
}

}  // namespace ingot::tile
")
