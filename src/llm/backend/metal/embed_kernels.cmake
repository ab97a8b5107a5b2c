# Writes OUTPUT, a C++ file that holds every .metal and .tile file of FOLDER: cmake -DFOLDER=... -DOUTPUT=... -P embed_kernels.cmake
file(GLOB files RELATIVE ${FOLDER} ${FOLDER}/*.metal ${FOLDER}/*.tile)
list(SORT files)
set(table "")
foreach(file ${files})
  file(READ ${FOLDER}/${file} text)
  get_filename_component(name ${file} NAME_WE)
  # A string literal has a limit of its own; adjacent ones don't.
  string(LENGTH "${text}" length)
  set(literals "")
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 8000 part)
    string(APPEND literals "R\"msl(${part})msl\"\n")
    math(EXPR at "${at} + 8000")
  endwhile()
  string(APPEND table "    {\"${name}\", ${literals}},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"llm/backend/metal/kernel_table.h\"

namespace ingot::mtl {
namespace {

constexpr KernelSource kSources[] = {
${table}};

}  // namespace

std::span<const KernelSource> kernel_sources() {
    return kSources;
}

}  // namespace ingot::mtl
")
