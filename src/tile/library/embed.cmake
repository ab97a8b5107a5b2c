# Writes OUTPUT, a C++ file with a table of every file of FOLDER that ends in EXTENSION, as {name, text}, and the
# function ENTRY that gives it as a span of TYPE (both from HEADER):
# cmake -DFOLDER=... -DEXTENSION=tile -DOUTPUT=... -DHEADER=... -DTYPE=... -DENTRY=... -P embed.cmake
file(GLOB files RELATIVE ${FOLDER} ${FOLDER}/*.${EXTENSION})
list(SORT files)
set(table "")
foreach(file ${files})
  file(READ ${FOLDER}/${file} text)
  get_filename_component(name ${file} NAME_WE)
  string(APPEND table "    {\"${name}\", R\"tile(${text})tile\"},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"${HEADER}\"

namespace ingot::tile {
namespace {

constexpr ${TYPE} kEmbedded_${ENTRY}[] = {
${table}};

}  // namespace

std::span<const ${TYPE}> ${ENTRY}() {
    return kEmbedded_${ENTRY};
}

}  // namespace ingot::tile
")
